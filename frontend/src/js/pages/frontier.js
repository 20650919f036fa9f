// Frontier page: the chart, and the offers picked in it or in the tables for a comparison.
import { element } from "../lib/dom.js";
import { showFrontier } from "../lib/frontierchart.js";
import { _ } from "../lib/words.js";

const $ = (id) => document.getElementById(id);

function showCount() {
  const count = $("picks").querySelectorAll("input[name=o]:checked").length;
  $("picked").textContent = count ? _("{count} of at most 6 picked.", { count }) : _("Pick two to six offers.");
}

// A point that the tables do not list gets a box of its own.
function pick({ offer, label }) {
  let box = $("picks").querySelector(`input[name=o][value="${CSS.escape(offer)}"]`);
  if (!box) {
    box = element("input", { type: "checkbox", name: "o", value: offer });
    $("picked-beside").append(element("label", {}, box, label));
  }
  box.checked = !box.checked;
  showCount();
}

if ($("frontier")) {
  showFrontier(pick);
  $("picks").addEventListener("change", showCount);
  $("picks").addEventListener("rackrate:drawn", showCount);
  showCount();
}
