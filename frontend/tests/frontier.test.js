import { data, show } from "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const POINT = {
  offer: "m5",
  label: "m5",
  provider: "aws",
  x: 1,
  y: 10,
  low: 9,
  high: 11,
  isCut: false,
  isFrontier: true,
};
const CHART = {
  title: "CPU: price and score",
  isHigherBetter: true,
  x: { label: "Price, USD/hour", unit: "USD/hour", min: 0.5, max: 20 },
  y: { label: "Score, CMIPS", unit: "CMIPS", min: 5, max: 50 },
  points: [
    POINT,
    { ...POINT, offer: "c5", label: "c5", x: 2, low: 4, isCut: true, isFrontier: false },
    { ...POINT, offer: "t3", label: "t3", x: 3, low: null, high: null, isFrontier: false },
  ],
  dots: [["far", "far away", "gcp", 9, 12, true]],
  providers: { aws: "AWS", gcp: "Google Cloud" },
  line: [[1, 10]],
  limits: [],
  picture: {},
};
const PAGE = `<h1>Frontier</h1><figure id="frontier"><button id="chart-save"></button><ul id="chart-legend"></ul>
  <div><canvas id="chart"></canvas></div><details id="chart-details" open></details><div id="chart-data"></div></figure>
  <form id="picks"><p id="picked"></p><p id="picked-beside"></p>
  <input type="checkbox" name="o" value="m5"></form>`;

const ticked = () => [...document.querySelectorAll("#picks input:checked")].map((box) => box.value);

before(async () => {
  show(PAGE + data("chart-json", CHART), "/frontier/");
  await import("../src/js/pages/frontier.js");
  while (!document.querySelector("#chart-data table")) await new Promise((resume) => setTimeout(resume, 1));
});

test("the table under the chart has every point and dot with what is known of it", () => {
  const rows = [...document.querySelectorAll("#chart-data tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent),
  );
  assert.deepEqual(rows, [
    ["m5", "AWS", "1", "10", "9 to 11 (95%)", "on the line"],
    ["c5", "AWS", "2", "10", "0 or less to 11 (95%)", ""],
    ["t3", "AWS", "3", "10", "no interval", ""],
    ["far away", "Google Cloud", "9", "12", "not in the chart", "beyond the limits"],
  ]);
});

test("the legend has each provider once and hides its points", async () => {
  const { Chart } = await import("../src/js/lib/chartkit.js");
  const [aws, gcp] = document.querySelectorAll("#chart-legend button");
  assert.deepEqual([aws.textContent.slice(1), gcp.textContent.slice(1)], ["AWS", "Google Cloud"]);
  const drawn = () => Chart.getChart("chart").data.datasets.flatMap((set) => set.data.filter((one) => one.of));
  assert.equal(drawn().length, 4);
  aws.click();
  assert.equal(aws.getAttribute("aria-pressed"), "false");
  assert.deepEqual(
    drawn().map((one) => one.of.offer),
    ["far"],
  );
  aws.click();
  assert.equal(drawn().length, 4);
});

test("a click on a point ticks its box, and makes one where the tables have none", async () => {
  const { Chart } = await import("../src/js/lib/chartkit.js");
  const click = (offer) => {
    const chart = Chart.getChart("chart");
    const raw = chart.data.datasets.flatMap((set) => set.data).find((one) => one.of?.offer === offer);
    chart.options.onClick({}, [{ element: { $context: { raw } } }]);
  };
  assert.equal(document.getElementById("picked").textContent, "Pick two to six offers.");
  click("m5");
  click("far");
  assert.deepEqual(ticked(), ["far", "m5"]);
  assert.equal(document.querySelector("#picked-beside label").textContent, "far away");
  assert.equal(document.getElementById("picked").textContent, "2 of at most 6 picked.");
  click("far");
  assert.deepEqual(ticked(), ["m5"]);
});
