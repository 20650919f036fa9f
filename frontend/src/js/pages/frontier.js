// Frontier page: the chart, its table, and the offers picked in either for a comparison.
import { onThemeChange } from "../lib/base.js";
import { providerColour } from "../lib/colours.js";
import { dataTable, element, json, legendEntry } from "../lib/dom.js";

const $ = (id) => document.getElementById(id);

function showCount() {
  const count = $("picks").querySelectorAll("input[name=o]:checked").length;
  $("picked").textContent = count ? `${count} of at most 6 picked.` : "Pick two to six offers.";
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

function showData(data, charts) {
  const heads = [
    { label: "Offer" },
    { label: "Provider" },
    { label: data.x.label, isNumber: true },
    { label: data.y.label, isNumber: true },
    { label: "95 % interval", isNumber: true },
    { label: "Position" },
  ];
  const position = (p) => (p.isFrontier ? "on the line" : p.isBeyond ? "beyond the limits" : "");
  const rows = [...data.points, ...data.dots].map((p) => [
    p.label,
    data.providers[p.provider],
    charts.figure(p.x),
    charts.figure(p.y),
    p.low === undefined ? "not drawn" : charts.interval(p),
    position(p),
  ]);
  $("chart-data").replaceChildren(dataTable(data.title, heads, rows));
}

// Returns what gives the keys the colours of the current theme.
function legend(data, charts, hidden, redraw) {
  const keys = Object.entries(data.providers).map(([slug, name]) => {
    const key = element("span", { "aria-hidden": "true" }, charts.glyph(slug));
    $("chart-legend").append(legendEntry(key, name, slug, hidden, redraw));
    return [slug, key];
  });
  return () => {
    for (const [slug, key] of keys) key.style.color = providerColour(slug);
  };
}

async function show() {
  const data = json("chart-json");
  data.dots = data.dots.map(([offer, label, provider, x, y, isBeyond]) => ({ offer, label, provider, x, y, isBeyond }));
  const hidden = new Set();
  const charts = await import("../lib/scatter.js");
  let chart = null;
  const redraw = () => {
    chart?.destroy();
    chart = charts.drawScatter($("chart"), data, hidden, pick);
    paint();
  };
  const paint = legend(data, charts, hidden, redraw);
  redraw();
  onThemeChange(redraw);
  // Opened before the chart was there, or later.
  if ($("chart-details").open) showData(data, charts);
  else $("chart-details").addEventListener("toggle", () => showData(data, charts), { once: true });
  $("chart-save").addEventListener("click", async () => {
    const { savePicture } = await import("../lib/picture.js");
    savePicture(chart, { ...data.picture, title: data.title });
  });
}

if ($("frontier")) {
  show();
  $("picks").addEventListener("change", showCount);
  showCount();
}
