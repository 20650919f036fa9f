// Scenarios: in the editor only the fields of what is chosen show, and figures follow what is typed.
import "../lib/base.js";
import { showCharts } from "../lib/figures.js";
import htmx, { keepDetailsOpen } from "../lib/partial.js";

function setUpEditor(form) {
  const showWhatCounts = () => {
    for (const part of form.querySelectorAll("[data-when]")) {
      const chosen = document.getElementById(part.dataset.when).value;
      part.hidden = !part.dataset.is.split(" ").includes(chosen);
    }
  };
  form.addEventListener("change", showWhatCounts);
  showWhatCounts();
  // Names of offers are fetched only where one is typed.
  for (const input of form.querySelectorAll("input[list=offer-names]")) {
    input.addEventListener("input", () => {
      const values = { offer: input.value };
      // A single letter would name half of the offers.
      if (input.value.length > 1) htmx.ajax("GET", form.dataset.offers, { target: "#offer-names", values });
    });
  }
}

const form = document.getElementById("scenario-form");
if (form) setUpEditor(form);
keepDetailsOpen();
showCharts();
document.body.addEventListener("htmx:afterSwap", showCharts);
