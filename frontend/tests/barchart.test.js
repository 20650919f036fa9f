import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { drawAxes, showBars } = await import("../src/js/lib/barchart.js");

const bar = (more) => ({
  label: "m5.large",
  provider: "aws",
  providerName: "AWS",
  value: 10,
  low: 9,
  high: 11,
  ...more,
});
const MODE = { unit: "CMIPS", median: null, medianLabel: "" };

function draw(mode, bars) {
  show('<div><canvas id="chart"></canvas></div>');
  const chart = drawAxes(document.getElementById("chart"), mode, bars);
  showBars(chart, bars);
  return chart;
}

test("a bar has its interval, or none where none is known", () => {
  const chart = draw(MODE, [bar(), bar({ label: "old", low: null, high: null })]);
  assert.deepEqual(chart.data.datasets[0].data, [
    { x: 10, y: "m5.large", xMin: 9, xMax: 11 },
    { x: 10, y: "old", xMin: undefined, xMax: undefined },
  ]);
});

test("bars have the colour of their provider, hatched where it is a second use", () => {
  for (const name of ["aws", "vultr", "other"]) {
    document.documentElement.style.setProperty(`--provider-${name}`, `colour of ${name}`);
  }
  document.documentElement.style.setProperty("--provider-vultr-hollow", "1");
  const chart = draw(MODE, [bar(), bar({ provider: "vultr" }), bar({ provider: "elsewhere" })]);
  assert.deepEqual(chart.data.datasets[0].backgroundColor, ["colour of aws", "hatched", "colour of other"]);
});

test("a long name is shortened and keeps the year of its price", () => {
  const long = "A very long name of an offer in a region far away, 2013";
  const chart = draw(MODE, [bar({ label: long })]);
  assert.equal(chart.scales.y.ticks[0].label, "A very long name of an offer in a regio…, 2013");
});

test("a tooltip gives value, interval and provider", () => {
  const chart = draw(MODE, [bar({ value: 1234.6 }), bar({ low: null, high: null })]);
  const { label, title } = chart.options.plugins.tooltip.callbacks;
  assert.equal(title([{ dataIndex: 0 }]), "m5.large");
  assert.deepEqual(label({ dataIndex: 0 }), ["1,235 CMIPS", "9 to 11 (95%)", "AWS"]);
  assert.deepEqual(label({ dataIndex: 1 }), ["10 CMIPS", "AWS"]);
});

test("the median is a line where it is known", () => {
  const { median } = draw({ ...MODE, median: 12, medianLabel: "median" }, [bar()]).options.plugins.annotation
    .annotations;
  assert.deepEqual([median.scaleID, median.value, median.label.content], ["x", 12, "median"]);
  assert.equal(draw(MODE, [bar()]).options.plugins.annotation.annotations.median, undefined);
});
