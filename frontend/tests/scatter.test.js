import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { drawAxes, glyph, showPoints } = await import("../src/js/lib/scatter.js");

const point = (more) => ({ x: 1, y: 10, low: 9, high: 11, provider: "aws", isFrontier: false, label: "a", ...more });
const CHEAP = point({ x: 1, y: 10, isFrontier: true });
const FAST = point({ x: 5, y: 40, isFrontier: true, provider: "gcp" });

function draw(more = {}, hidden = new Set(), onPick = () => {}) {
  show('<div><canvas id="chart"></canvas></div>');
  const data = {
    x: { min: 0.5, max: 20, label: "USD" },
    y: { min: 5, max: 50, label: "CMIPS" },
    isHigherBetter: true,
    points: [CHEAP, FAST],
    dots: [],
    limits: [],
    line: [
      [1, 10],
      [5, 40],
    ],
    ...more,
  };
  const chart = drawAxes(document.getElementById("chart"), data, onPick);
  showPoints(chart, data, hidden);
  return chart;
}

const lineOf = (chart) => chart.data.datasets.find((set) => set.stepped).data.map(({ x, y }) => [x, y]);

test("the line rises from the foot to the first offer and ends at the edge", () => {
  assert.deepEqual(lineOf(draw()), [
    [1, 5],
    [1, 10],
    [5, 40],
    [20, 40],
  ]);
});

test("the line ends at the lowest budget that the last offer keeps", () => {
  const limits = [3, 8, 12].map((value) => ({ axis: "x", value, label: "budget" }));
  assert.deepEqual(lineOf(draw({ limits })).at(-1), [8, 40]);
});

test("the line comes from above where lower is better, and the axis is turned", () => {
  const chart = draw({ isHigherBetter: false });
  assert.deepEqual(lineOf(chart)[0], [1, 50]);
  assert.equal(chart.options.scales.y.reverse, true);
});

test("points of a provider are one set, and a hidden provider has none", () => {
  const chart = draw({}, new Set(["aws"]));
  const sets = chart.data.datasets.filter((set) => set.type === "scatterWithErrorBars");
  assert.deepEqual(
    sets.map((set) => set.data.map(({ x, y, yMin, yMax }) => [x, y, yMin, yMax])),
    [[[5, 40, 9, 11]]],
  );
});

test("providers that share a colour differ in their sign", () => {
  const properties = {
    aws: "gold",
    "aws-shape": "circle",
    vultr: "green",
    "vultr-shape": "right",
    "vultr-hollow": "1",
  };
  for (const [name, value] of Object.entries(properties)) {
    document.documentElement.style.setProperty(`--provider-${name}`, value);
  }
  assert.deepEqual(["aws", "vultr", "elsewhere"].map(glyph), ["●", "▷", "○"]);
});

test("ticks are round figures: 1, 2 and 5 of each decade", () => {
  const { ticks } = draw({ x: { min: 0.5, max: 20, label: "USD" } }).scales.x;
  assert.deepEqual(
    ticks.map((tick) => [tick.value, tick.label]),
    [
      [0.5, "0.5"],
      [1, "1"],
      [2, "2"],
      [5, "5"],
      [10, "10"],
      [20, "20"],
    ],
  );
});

test("ticks are even steps within one decade and powers of ten over many", () => {
  const values = (min, max) => draw({ x: { min, max, label: "USD" } }).scales.x.ticks.map((tick) => tick.value);
  assert.deepEqual(values(10, 30), [10, 15, 20, 25, 30]);
  assert.deepEqual(values(1, 10_000), [1, 10, 100, 1_000, 10_000]);
});

test("a click on an offer picks it, and one beside them picks nothing", () => {
  const picked = [];
  const chart = draw({}, new Set(), (offer) => picked.push(offer));
  const { onClick } = chart.options;
  onClick(null, []);
  onClick(null, [{ element: { $context: { raw: { x: 1, y: 5 } } } }]); // a point of the line
  onClick(null, [{ element: { $context: { raw: { of: CHEAP } } } }]);
  assert.deepEqual(picked, [CHEAP]);
});

test("points of one spot are each named in the tooltip, and counted", () => {
  const labels = ["a", "b", "c"];
  const points = labels.map((label) => point({ label }));
  const chart = draw({
    points,
    x: { min: 0.5, max: 20, unit: "USD" },
    y: { min: 5, max: 50, unit: "CMIPS" },
    providers: { aws: "AWS" },
  });
  const { title, label, footer } = chart.options.plugins.tooltip.callbacks;
  const items = points.map((of) => ({ raw: { of } }));
  assert.equal(title(items), "a");
  const said = items.map((item) => [label(item)].flat().join("\n"));
  assert.match(said[0], /^1 USD\n10 CMIPS\n/);
  assert.equal(said[1], "b: 1 USD, 10 CMIPS");
  assert.equal(said[2], "c: 1 USD, 10 CMIPS");
  assert.equal(footer(items), "+ 2 more at the same spot");
});

test("a point alone has no footer", () => {
  const chart = draw();
  const { title, footer } = chart.options.plugins.tooltip.callbacks;
  const item = { raw: { of: CHEAP } };
  title([item]);
  assert.equal(footer([item]), "");
});
