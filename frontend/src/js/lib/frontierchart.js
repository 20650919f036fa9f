// Price against score: the figure of charts/_frontier.html, on each page that has one.
import { onThemeChange } from "./base.js";
import { providerColour } from "./colours.js";
import { beforeCharts, dataTable, element, json, legendEntry, pause } from "./dom.js";
import { _ } from "./words.js";

const $ = (id) => document.getElementById(id);

function showData(data, charts) {
  const heads = [
    { label: _("Offer") },
    { label: _("Provider") },
    { label: data.x.label, isNumber: true },
    { label: data.y.label, isNumber: true },
    { label: _("95% interval"), isNumber: true },
    { label: _("Position") },
  ];
  const position = (p) => (p.isFrontier ? _("on the line") : p.isBeyond ? _("beyond the limits") : "");
  const rows = [...data.points, ...data.dots].map((p) => [
    p.label,
    data.providers[p.provider],
    charts.figure(p.x),
    charts.figure(p.y),
    p.low === undefined ? _("not in the chart") : charts.interval(p),
    position(p),
  ]);
  $("chart-data").replaceChildren(dataTable(data.title, heads, rows));
}

// Returns what gives the keys the colours of the current theme.
function legend(data, charts, hidden, redraw) {
  // All is read before anything is changed: a style asked for in between is worked out anew each time.
  const keys = Object.keys(data.providers).map((slug) => [
    slug,
    element("span", { "aria-hidden": "true" }, charts.glyph(slug)),
  ]);
  // The server wrote the names, so that the space is taken before this script runs.
  $("chart-legend").replaceChildren(
    ...keys.map(([slug, key]) => legendEntry(key, data.providers[slug], slug, hidden, redraw)),
  );
  return () => {
    const colours = keys.map(([slug]) => providerColour(slug));
    for (const [n, [, key]] of keys.entries()) key.style.color = colours[n];
  };
}

/** Draws the chart of the page's figure with its legend and table; `onPick` gets the point that is clicked. */
export async function showFrontier(onPick) {
  const data = json("chart-json");
  data.dots = data.dots.map(([offer, label, provider, x, y, isBeyond]) => ({ offer, label, provider, x, y, isBeyond }));
  const hidden = new Set();
  const charts = await import("./scatter.js");
  await beforeCharts();
  let chart = null;
  const drawAxes = () => {
    chart?.destroy();
    chart = charts.drawAxes($("chart"), data, onPick);
  };
  const showPoints = () => charts.showPoints(chart, data, hidden);
  const paint = legend(data, charts, hidden, showPoints);
  paint();
  await pause();
  drawAxes();
  await pause();
  showPoints();
  onThemeChange(() => {
    drawAxes();
    showPoints();
    paint();
  });
  // Opened before the chart was there, or later.
  if ($("chart-details").open) showData(data, charts);
  else $("chart-details").addEventListener("toggle", () => showData(data, charts), { once: true });
  $("chart-save").addEventListener("click", async () => {
    const { savePicture } = await import("./picture.js");
    savePicture(chart, { ...data.picture, title: data.title });
  });
}
