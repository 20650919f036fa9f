// Ranking page: filters swap the results in place; the chart follows them.
import { onThemeChange } from "../lib/base.js";
import { beforeCharts, dataTable, element, json, legendEntry, pause } from "../lib/dom.js";
import { drawAll } from "../lib/later.js";
import { onEach } from "../lib/partial.js";
import { connectTable } from "../lib/rankingtable.js";
import { _ } from "../lib/words.js";

const MOST_BARS = 20;
let charts = null; // the chart code, loaded with the first chart
let chart = null;
let modeName = null;

const $ = (id) => document.getElementById(id);

function showData(mode, bars) {
  const heads = [
    { label: _("Offer") },
    { label: _("Provider") },
    { label: mode.unit, isNumber: true },
    { label: _("95% low"), isNumber: true },
    { label: _("95% high"), isNumber: true },
  ];
  const text = (value) => (value === null ? _("none") : charts.figure(value));
  const rows = bars.map((bar) => [bar.label, bar.providerName, text(bar.value), text(bar.low), text(bar.high)]);
  $("chart-data").replaceChildren(dataTable(mode.title, heads, rows));
}

async function draw(data, hidden) {
  const mode = data.modes[modeName];
  const bars = mode.bars.filter((bar) => !hidden.has(bar.provider)).slice(0, MOST_BARS);
  const box = $("chart-box");
  box.style.height = `${64 + Math.max(bars.length, 2) * 25}px`;
  $("chart").setAttribute("aria-label", mode.summary);
  $("chart-title").textContent = mode.title;
  showData(mode, bars);
  chart?.destroy();
  const begun = charts.drawAxes($("chart"), mode, bars);
  chart = begun;
  await pause();
  if (chart === begun) charts.showBars(chart, bars); // else another one was begun meanwhile
}

function legend(data, hidden, redraw) {
  const providers = new Map(data.modes[modeName].bars.map((bar) => [bar.provider, bar.providerName]));
  const entries = [...providers].map(([slug, name]) => {
    const swatch = element("span", { class: `swatch provider-${slug}`, "aria-hidden": "true" });
    return legendEntry(swatch, name, slug, hidden, redraw);
  });
  $("chart-legend").replaceChildren(...entries);
}

function connect(figureElement, data, hidden, redraw) {
  for (const input of figureElement.querySelectorAll("input[name=chart-mode]")) {
    input.checked = input.value === modeName;
    input.addEventListener("change", () => {
      modeName = input.value;
      legend(data, hidden, redraw);
      redraw();
    });
  }
  $("chart-save").addEventListener("click", async () => {
    const { savePicture } = await import("../lib/picture.js");
    savePicture(chart, { ...data.picture, title: data.modes[modeName].title });
  });
}

async function show(figureElement) {
  const data = json("chart-json");
  const hidden = new Set();
  if (!data.modes[modeName]?.bars.length) modeName = data.default;
  const redraw = () => charts && draw(data, hidden);
  connect(figureElement, data, hidden, redraw);
  legend(data, hidden, redraw);
  // The code of the charts is the largest part of the page, and many come for the table.
  charts ??= await import("../lib/barchart.js");
  await beforeCharts();
  if (!figureElement.isConnected) return; // another swap came first
  draw(data, hidden);
  figureElement.redraw = redraw;
}

onEach("chart-figure", show);
onThemeChange(() => $("chart-figure")?.redraw?.());

// A closed menu says what is chosen in it.
function nameChoices(menu) {
  const ticked = [...menu.querySelectorAll("input:checked:not([name=not])")];
  const chosen = ticked.map((i) => i.parentElement.firstChild.nextSibling.textContent.trim()).join(", ");
  const isNot = menu.querySelector("input[name=not]")?.checked;
  menu.querySelector("summary").textContent = chosen ? (isNot ? _("not {chosen}", { chosen }) : chosen) : _("All");
}
document.addEventListener("change", ({ target }) => {
  const menu = target.closest(".controls details.menu");
  if (menu) nameChoices(menu);
});
// The menus follow the other filters; what was ticked after the request left stays ticked.
document.body.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  for (const box of detail.target.querySelectorAll("input[type=checkbox]")) {
    const successor = detail.fragment.querySelector(`#${CSS.escape(box.id)}`);
    if (successor) successor.checked = box.checked;
  }
});
connectTable();

// Panels stay as they were left while a person works on one list, also over a reload.
for (const panel of document.querySelectorAll("details.panel")) {
  try {
    if (sessionStorage.getItem(panel.id)) {
      drawAll(panel);
      panel.open = true;
    }
    panel.addEventListener("toggle", () => sessionStorage.setItem(panel.id, panel.open ? "open" : ""));
  } catch {
    // Without storage they begin closed.
  }
}
