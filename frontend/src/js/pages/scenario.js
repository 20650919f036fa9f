// Scenarios: in the editor only the fields of what is chosen show, and figures follow what is typed.
import "../lib/base.js";
import { followChoices } from "../lib/choices.js";
import { showCharts } from "../lib/figures.js";
import { keepDetailsOpen } from "../lib/partial.js";
import { setUpPassOn } from "../lib/passon.js";

/** A link to what is wrong opens what it is folded away in. */
function openWhatLinksLeadTo() {
  document.addEventListener("click", ({ target }) => {
    const field = target.closest?.("ul.errors a[href^='#']") && document.getElementById(target.hash.slice(1));
    for (let box = field?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  });
}

if (document.getElementById("scenario-form")) {
  followChoices();
  openWhatLinksLeadTo();
}
keepDetailsOpen();
setUpPassOn();
showCharts();
document.body.addEventListener("htmx:afterSwap", showCharts);
