import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { drawStrip } = await import("../src/js/lib/strip.js");

const POINTS = [
  { x: 90, y: 0, label: "repeat 0", isDisturbed: false },
  { x: 110, y: 1, label: "repeat 1", isDisturbed: true },
];
const STRIP = { points: POINTS, rows: 2, unit: "CMIPS", provider: "aws", median: 100, low: 95, high: 105 };

function draw(more = {}) {
  show('<div><canvas id="strip"></canvas></div>');
  document.documentElement.style.setProperty("--provider-aws", "#123456");
  document.documentElement.style.setProperty("--card", "#ffffff");
  return drawStrip(document.getElementById("strip"), { ...STRIP, ...more });
}

test("every repeat is a dot in the row of its run, the newest on top", () => {
  const chart = draw();
  const [set] = chart.data.datasets;
  assert.deepEqual(
    set.data.map(({ x, y }) => [x, y]),
    [
      [90, 0],
      [110, 1],
    ],
  );
  assert.deepEqual([chart.options.scales.y.min, chart.options.scales.y.max], [-0.6, 1.6]);
  assert.equal(chart.options.scales.y.reverse, true);
});

test("a disturbed repeat is hollow", () => {
  assert.deepEqual(draw().data.datasets[0].backgroundColor, ["#123456", "#ffffff"]);
});

test("the median is a line and its interval a band, where they are known", () => {
  const { median, interval } = draw().options.plugins.annotation.annotations;
  assert.equal(median.value, 100);
  assert.deepEqual([interval.xMin, interval.xMax], [95, 105]);
  const bare = draw({ low: null, high: null, median: null });
  assert.deepEqual(Object.keys(bare.options.plugins.annotation.annotations), []);
});

test("the axis leaves an eighth of the range beside the dots and never goes below zero", () => {
  const { x } = draw().options.scales;
  assert.ok(Math.abs(x.suggestedMin - 87.6) < 1e-9); // 90 − 0.12 × 20
  assert.ok(Math.abs(x.suggestedMax - 112.4) < 1e-9);
  const near = draw({ points: [{ ...POINTS[0], x: 1 }, POINTS[1]] }).options.scales.x;
  assert.equal(near.suggestedMin, 0);
});

test("repeats that agree still have an axis around them", () => {
  const same = POINTS.map((point) => ({ ...point, x: 50 }));
  const { x } = draw({ points: same, low: null, high: null, median: 50 }).options.scales;
  assert.ok(x.suggestedMin < 50 && 50 < x.suggestedMax);
  const none = draw({ points: same.map((p) => ({ ...p, x: 0 })), low: null, high: null }).options.scales.x;
  assert.ok(none.suggestedMax > 0);
});

test("a tooltip gives the value with its unit and the repeat", () => {
  const { label } = draw().options.plugins.tooltip.callbacks;
  assert.deepEqual(label({ dataIndex: 1 }), ["110 CMIPS", "repeat 1"]);
});
