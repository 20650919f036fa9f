import "./page.js";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const { applyTheme, Chart, figure, referenceLine } = await import("../src/js/lib/chartkit.js");

// The Python tests read the same cases: charts and tables must write a number alike.
const cases = JSON.parse(readFileSync(new URL("figure_cases.json", import.meta.url)));

for (const [value, text] of cases) {
  test(`figure of ${value} is ${text}`, () => assert.equal(figure(value), text));
}

test("a reference line without words shows no label", () => {
  assert.equal(referenceLine("x", 5, "").label.display, false);
});

test("a reference line stands at its value with its words", () => {
  const line = referenceLine("y", 5, "budget", "end");
  assert.deepEqual([line.scaleID, line.value, line.label.content, line.label.position], ["y", 5, "budget", "end"]);
  assert.equal(line.label.display, true);
});

test("charts take type and colours from the style sheet", () => {
  document.documentElement.style.setProperty("--muted", "rgb(1, 2, 3)");
  document.body.style.fontFamily = "Example";
  applyTheme();
  assert.equal(Chart.defaults.color, "rgb(1, 2, 3)");
  assert.equal(Chart.defaults.font.family, "Example");
  assert.equal(Chart.defaults.animation, false);
});
