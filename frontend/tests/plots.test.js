import { data, show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { Chart } = await import("../src/js/lib/chartkit.js");
const { drawPlots } = await import("../src/js/lib/plots.js");

const DAY = 86_400_000;
const MIDNIGHT = Date.UTC(2026, 2, 1);

const mark = (more) => ({ label: "Cost", kind: "line", axis: "y", tone: 0, isStepped: false, ...more });
const axis = (more) => ({ label: "USD", isLog: false, isFromZero: true, most: null, ...more });

function plot(x, marks, more = {}) {
  return { x, y: axis(), y2: null, marks, lines: [], isFlat: false, isStacked: false, ...more };
}

function page(content) {
  return `<h1>Scenario</h1><figure data-plot="plot-json" data-footer="as of today">
    <figcaption><h3>Cost over time</h3></figcaption><ul class="legends"></ul><div><canvas id="plot"></canvas></div>
    </figure>${data("plot-json", content)}`;
}

function draw(content) {
  show(page(content));
  const redraw = drawPlots();
  return { redraw, chart: Chart.getChart("plot") };
}

const HOURS = { kind: "number", label: "Hours", values: [0, 1, 2] };

test("a line has a point for each value, and a gap where there is none", () => {
  const { chart } = draw(plot(HOURS, [mark({ values: [1.5, null, 3] })]));
  assert.deepEqual(chart.data.datasets[0].data, [
    { x: 0, y: 1.5 },
    { x: 1, y: null },
    { x: 2, y: 3 },
  ]);
  assert.equal(chart.data.datasets[0].spanGaps, true);
});

test("a stepped line keeps its gaps", () => {
  const { chart } = draw(plot(HOURS, [mark({ values: [1, null, 3], isStepped: true })]));
  assert.deepEqual([chart.data.datasets[0].stepped, chart.data.datasets[0].spanGaps], [true, false]);
});

test("a line of more than 40 values has no dot at each of them", () => {
  const values = Array.from({ length: 41 }, (_, n) => n);
  const long = draw(plot({ ...HOURS, values }, [mark({ values })])).chart;
  const short = draw(plot({ ...HOURS, values }, [mark({ values: [null, ...values.slice(1)] })])).chart;
  assert.deepEqual([long.data.datasets[0].pointRadius, short.data.datasets[0].pointRadius], [0, 3]);
});

test("a line with a range has a band below it that answers no pointer", () => {
  const ranged = mark({ values: [2, 3, 4], lows: [1, 2, 3], highs: [3, 4, 5] });
  const { chart } = draw(plot(HOURS, [ranged]));
  const [low, high, line] = chart.data.datasets;
  assert.deepEqual([low.isBand, high.isBand, line.isBand], [true, true, undefined]);
  assert.deepEqual([low.data[0].y, high.data[0].y, high.fill], [1, 3, "-1"]);
  const { filter } = chart.options.plugins.tooltip;
  assert.deepEqual([filter({ dataset: low }), filter({ dataset: line })], [false, true]);
});

test("bars carry their interval where there is a value", () => {
  const x = { kind: "category", label: "Offer", values: ["a", "b"] };
  const bar = mark({ kind: "bar", values: [5, null], lows: [4, null], highs: [6, null] });
  const { chart } = draw(plot(x, [bar]));
  assert.deepEqual(chart.data.datasets[0].data, [
    { x: "a", y: 5, yMin: 4, yMax: 6 },
    { x: "b", y: null },
  ]);
});

test("bars that lie have their interval along x and no title beside them", () => {
  const x = { kind: "category", label: "Offer", values: ["a"] };
  const bar = mark({ kind: "bar", values: [5], lows: [4], highs: [6] });
  const { chart } = draw(plot(x, [bar], { isFlat: true }));
  assert.deepEqual(chart.data.datasets[0].data, [{ x: 5, y: "a", xMin: 4, xMax: 6 }]);
  assert.equal(chart.options.indexAxis, "y");
  assert.equal(chart.options.scales.y.title.display, false);
});

test("a span reaches from its low to its high value", () => {
  const x = { kind: "category", label: "Assumption", values: ["a", "b"] };
  const { chart } = draw(plot(x, [mark({ kind: "span", lows: [1, 2], highs: [3, 5], values: [3, 5] })]));
  assert.deepEqual(chart.data.datasets[0].data, [
    [1, 3],
    [2, 5],
  ]);
});

test("a category breaks at its commas, and where bars lie also where it is long", () => {
  const name = "m5.large, eu-central-1 on demand";
  const x = { kind: "category", label: "Offer", values: [name] };
  const bars = [mark({ kind: "bar", values: [5] })];
  const upright = draw(plot(x, bars)).chart.scales.x.ticks[0].label;
  const lying = draw(plot(x, bars, { isFlat: true })).chart.scales.y.ticks[0].label;
  assert.deepEqual(upright, ["m5.large", "eu-central-1 on demand"]);
  assert.deepEqual(lying, ["m5.large", "eu-central-1 on", "demand"]);
});

test("a time axis of one day ends at midnights and has a tick every three hours", () => {
  const values = [MIDNIGHT + 3_600_000, MIDNIGHT + 7_200_000];
  const { chart } = draw(plot({ kind: "time", label: "Time", values }, [mark({ values: [1, 2] })]));
  const { min, max, ticks } = chart.scales.x;
  assert.deepEqual([min, max], [MIDNIGHT, MIDNIGHT + DAY]);
  assert.deepEqual(
    ticks.map((tick) => tick.label),
    ["00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "00:00"],
  );
});

test("a time axis of months has its ticks at whole days", () => {
  const values = [MIDNIGHT, MIDNIGHT + 59 * DAY];
  const { chart } = draw(plot({ kind: "time", label: "Time", values }, [mark({ values: [1, 2] })]));
  assert.deepEqual(
    chart.scales.x.ticks.map((tick) => tick.label),
    ["2026-03-01", "2026-03-11", "2026-03-21", "2026-03-31", "2026-04-10", "2026-04-20", "2026-04-30"],
  );
});

function tooltipOf(content, dataIndex) {
  const { chart } = draw(content);
  const item = { dataset: chart.data.datasets[0], dataIndex, parsed: { x: content.x.values[dataIndex] } };
  const { title, label } = chart.options.plugins.tooltip.callbacks;
  return [title([item]), label(item)];
}

test("a tooltip names the place, the value and its unit", () => {
  const second = mark({ values: [1, 1234.6, 3], axis: "y2" });
  const content = plot(HOURS, [second], { y2: axis({ label: "servers" }) });
  assert.deepEqual(tooltipOf(content, 1), ["Hours 1", "Cost: 1,235 servers"]);
});

test("a tooltip says the hour where there are few days", () => {
  const at = MIDNIGHT + 3_600_000;
  const time = (last) => ({ kind: "time", label: "Time", values: [at, last] });
  const marks = [mark({ values: [1, 2] })];
  assert.equal(tooltipOf(plot(time(at + 8 * DAY), marks), 0)[0], "2026-03-01 01:00");
  assert.equal(tooltipOf(plot(time(at + 9 * DAY), marks), 0)[0], "2026-03-01");
});

test("large figures of an axis are short", () => {
  const { chart } = draw(plot(HOURS, [mark({ values: [0, 1, 2] })]));
  const callback = chart.options.scales.y.ticks.callback;
  assert.deepEqual([callback(0.123456), callback(99_999), callback(1_250_000)], ["0.123", "100,000", "1.25M"]);
});

test("a legend button hides its mark and shows it again", () => {
  const marks = [mark({ values: [1, 2, 3] }), mark({ label: "Budget", kind: "area", tone: 1, values: [4, 4, 4] })];
  draw(plot(HOURS, marks));
  const [first, second] = document.querySelectorAll("button.legend");
  const labels = () => Chart.getChart("plot").data.datasets.map((set) => set.label);
  assert.deepEqual([first.textContent, second.textContent], ["●Cost", "Budget"]);
  first.click();
  assert.deepEqual([first.getAttribute("aria-pressed"), labels()], ["false", ["Budget"]]);
  first.click();
  assert.deepEqual([first.getAttribute("aria-pressed"), labels()], ["true", ["Cost", "Budget"]]);
});

test("a single mark needs no legend", () => {
  draw(plot(HOURS, [mark({ values: [1, 2, 3] })]));
  assert.equal(document.querySelectorAll("button.legend").length, 0);
});

test("a plot is drawn once, and anew when asked unless it has left the page", () => {
  const { chart, redraw } = draw(plot(HOURS, [mark({ values: [1, 2, 3] })]));
  drawPlots();
  assert.equal(Chart.getChart("plot"), chart);
  redraw();
  const second = Chart.getChart("plot");
  assert.notEqual(second, chart);
  const canvas = document.querySelector("canvas");
  document.querySelector("figure").remove();
  redraw();
  assert.equal(Chart.getChart(canvas), undefined);
});

test("reference lines stand on the axis of the values", () => {
  const lines = [
    { value: 5, label: "median" },
    { value: 9, label: "budget" },
  ];
  const content = plot(HOURS, [mark({ values: [1, 2, 3] })], { lines });
  const { level0, level1 } = draw(content).chart.options.plugins.annotation.annotations;
  assert.deepEqual([level0.scaleID, level0.value, level0.label.position], ["y", 5, "end"]);
  assert.deepEqual([level1.value, level1.label.position], [9, "start"]);
});
