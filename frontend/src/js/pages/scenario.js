// Scenarios: in the editor only the fields of what is chosen show, and figures follow what is typed.
import "../lib/base.js";
import { showCharts } from "../lib/figures.js";
import { keepDetailsOpen } from "../lib/partial.js";
import { setUpPassOn } from "../lib/passon.js";

function setUpEditor(form) {
  const showWhatCounts = () => {
    for (const part of form.querySelectorAll("[data-when]")) {
      const chosen = document.getElementById(part.dataset.when).value;
      part.hidden = !part.dataset.is.split(" ").includes(chosen);
    }
  };
  form.addEventListener("change", showWhatCounts);
  showWhatCounts();
  // A link to what is wrong opens what it is folded away in.
  document.addEventListener("click", ({ target }) => {
    const field = target.closest?.("ul.errors a[href^='#']") && document.getElementById(target.hash.slice(1));
    for (let box = field?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  });
}

const form = document.getElementById("scenario-form");
if (form) setUpEditor(form);
keepDetailsOpen();
setUpPassOn();
showCharts();
document.body.addEventListener("htmx:afterSwap", showCharts);
