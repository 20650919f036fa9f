import { data, show } from "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const bar = (n, provider = "aws") => ({
  offer: `o${n}`,
  label: `offer ${n}`,
  provider,
  providerName: provider.toUpperCase(),
  value: 100 - n,
  low: n ? 90 - n : null,
  high: n ? 110 - n : null,
});
const mode = (title, bars) => ({
  title,
  unit: "CMIPS",
  bars,
  median: null,
  medianLabel: "",
  summary: `${title}, drawn.`,
});
const BARS = Array.from({ length: 25 }, (_, n) => bar(n, n % 5 ? "aws" : "gcp"));
const CHART = { modes: { value: mode("Value", []), score: mode("Score", BARS) }, default: "score", picture: {} };
const PAGE = `<h1>Ranking</h1><form class="controls"><details class="menu"><summary>All</summary>
  <label><input type="checkbox" id="p-aws"> AWS <span class="count">20</span></label><label><input type="checkbox" id="p-gcp"> Google <span class="count">5</span></label>
  <label><input type="checkbox" name="not" id="not"> all but these</label></details></form>
  <figure id="chart-figure"><h2 id="chart-title"></h2><input type="radio" name="chart-mode" value="value">
  <input type="radio" name="chart-mode" value="score"><button id="chart-save"></button><ul id="chart-legend"></ul>
  <div id="chart-box"><canvas id="chart"></canvas></div><div id="chart-data"></div></figure>`;

const rows = () => [...document.querySelectorAll("#chart-data tbody tr")];
const tick = (id) => {
  const box = document.getElementById(id);
  box.checked = !box.checked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
};

before(async () => {
  show(PAGE + data("chart-json", CHART), "/");
  await import("../src/js/pages/ranking.js");
  while (!document.querySelector("#chart-data table")) await new Promise((resume) => setTimeout(resume, 1));
});

test("scores are drawn where nothing has a value, the best twenty with their table", () => {
  assert.equal(document.getElementById("chart-title").textContent, "Score");
  assert.equal(document.getElementById("chart").getAttribute("aria-label"), "Score, drawn.");
  assert.equal(document.querySelector("input[value=score]").checked, true);
  assert.equal(rows().length, 20);
  assert.deepEqual(
    [...rows()[0].children].map((cell) => cell.textContent),
    ["offer 0", "GCP", "100", "none", "none"],
  );
  assert.equal(document.getElementById("chart-box").style.height, `${64 + 20 * 25}px`);
});

test("hiding a provider lets the next ones in", () => {
  const aws = [...document.querySelectorAll("#chart-legend button")].find((one) => one.textContent === "AWS");
  aws.click();
  assert.equal(aws.getAttribute("aria-pressed"), "false");
  assert.deepEqual(
    rows().map((row) => row.firstChild.textContent),
    [0, 5, 10, 15, 20].map((n) => `offer ${n}`),
  );
  aws.click();
  assert.equal(rows().length, 20);
});

test("a closed menu says what is chosen in it", () => {
  const summary = document.querySelector("summary");
  tick("p-gcp");
  assert.equal(summary.textContent, "Google");
  tick("p-aws");
  assert.equal(summary.textContent, "AWS, Google");
  tick("not");
  assert.equal(summary.textContent, "not AWS, Google");
  for (const id of ["p-aws", "p-gcp", "not"]) tick(id);
  assert.equal(summary.textContent, "All");
});
