// The button under which a chart is saved as a picture.
import { element } from "./dom.js";
import { _ } from "./words.js";

/** Adds it to the caption of a figure; `chartOf` gives the chart as it is then drawn. */
export function addSaveButton(figure, chartOf) {
  const button = element("button", { type: "button", class: "quiet" }, _("Save picture"));
  const heading = document.querySelector("h1").textContent.trim();
  const title = figure.querySelector("h3").textContent.trim();
  button.addEventListener("click", async () => {
    const { savePicture } = await import("./picture.js");
    const name = `rackrate-${figure.querySelector("canvas").id}`;
    savePicture(chartOf(), { name, title, subtitle: heading, footer: figure.dataset.footer });
  });
  button.setAttribute("aria-label", _("Save picture of {title}", { title }));
  figure.querySelector("figcaption").prepend(button);
}
