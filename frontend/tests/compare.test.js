import { data, show } from "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const bar = (label, value) => ({ label, provider: "aws", providerName: "AWS", value, low: null, high: null });
const chart = (id, ...bars) => ({ id, title: id, unit: "CMIPS", bars, median: 5, medianLabel: "" });
const CHARTS = [chart("cpu", bar("a", 5), bar("b", 9)), chart("disk", bar("a", 1), bar("b", 2), bar("c", 3))];

let drawn = null;
before(async () => {
  const figures = CHARTS.map(
    (one) => `<button data-save="${one.id}"></button><div><canvas id="${one.id}"></canvas></div>`,
  );
  show(figures.join("") + data("small-charts", { charts: CHARTS, picture: { name: "compare" } }), "/compare/");
  await import("../src/js/pages/compare.js");
  const { Chart } = await import("../src/js/lib/chartkit.js");
  drawn = (id) => Chart.getChart(id);
  while (!drawn("disk")?.data.datasets.length) await new Promise((resume) => setTimeout(resume, 1));
});

test("each figure has a chart as high as its bars need, with the baseline as a line", () => {
  assert.deepEqual(
    CHARTS.map(({ id }) => document.getElementById(id).parentElement.style.height),
    ["132px", "158px"],
  );
  assert.deepEqual(
    drawn("disk").data.datasets[0].data.map(({ x, y }) => [y, x]),
    [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ],
  );
  assert.equal(drawn("cpu").options.plugins.annotation.annotations.median.value, 5);
});

test("charts are drawn anew in another theme, without leaving the old ones behind", async () => {
  const before = drawn("disk");
  document.dispatchEvent(new Event("rackrate:theme"));
  while (drawn("disk") === before || !drawn("disk")?.data.datasets.length)
    await new Promise((resume) => setTimeout(resume, 1));
  assert.equal(before.ctx, null);
});
