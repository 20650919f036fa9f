import { data, show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { dataTable, element, json, legendEntry } = await import("../src/js/lib/dom.js");

test("element leaves out attributes without a value", () => {
  const made = element("p", { class: "note", title: null, lang: undefined, hidden: "" }, "words");
  assert.equal(made.outerHTML, '<p class="note" hidden="">words</p>');
});

test("element takes nodes and text as children, and text is never markup", () => {
  const made = element("p", {}, element("b", {}, "1 < 2"), "<i>");
  assert.equal(made.innerHTML, "<b>1 &lt; 2</b>&lt;i&gt;");
});

test("json reads the data of a script element", () => {
  show(data("strips-json", [{ id: "a", low: null }]));
  assert.deepEqual(json("strips-json"), [{ id: "a", low: null }]);
});

test("a data table names its columns, its rows and what is a number", () => {
  const heads = [{ label: "Offer" }, { label: "Score", isNumber: true }];
  const table = dataTable("Scores", heads, [
    ["m5.large", "16.5"],
    ["c5.large", "none"],
  ]);
  assert.equal(table.querySelector("caption").textContent, "Scores");
  assert.deepEqual(
    [...table.querySelectorAll("thead th")].map((cell) => [cell.scope, cell.className]),
    [
      ["col", ""],
      ["col", "number"],
    ],
  );
  const [row] = table.querySelectorAll("tbody tr");
  assert.deepEqual(
    [...row.children].map((cell) => [cell.tagName, cell.getAttribute("scope"), cell.className, cell.textContent]),
    [
      ["TH", "row", "", "m5.large"],
      ["TD", null, "number", "16.5"],
    ],
  );
  assert.equal(table.querySelectorAll("tbody tr").length, 2);
});

test("an entry of a legend hides and shows what bears its name", () => {
  const hidden = new Set(["gcp"]);
  const drawn = [];
  const redraw = () => drawn.push([...hidden]);
  const aws = legendEntry(element("i"), "AWS", "aws", hidden, redraw).querySelector("button");
  const gcp = legendEntry(element("i"), "Google", "gcp", hidden, redraw).querySelector("button");
  assert.deepEqual(
    [aws, gcp].map((button) => [button.textContent, button.getAttribute("aria-pressed")]),
    [
      ["AWS", "true"],
      ["Google", "false"],
    ],
  );
  aws.click();
  gcp.click();
  assert.deepEqual(drawn, [["gcp", "aws"], ["aws"]]);
  assert.equal(aws.getAttribute("aria-pressed"), "false");
  assert.equal(gcp.getAttribute("aria-pressed"), "true");
});
