import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { keepDetailsOpen, onEach } = await import("../src/js/lib/partial.js");

const swap = (html) => {
  document.body.dispatchEvent(new Event("htmx:beforeSwap"));
  document.getElementById("results").innerHTML = html;
  document.body.dispatchEvent(new Event("htmx:afterSwap"));
};

test("onEach calls back for the element now and once for each successor", () => {
  show('<div id="results"><figure id="chart-figure" title="first"></figure></div>');
  const seen = [];
  onEach("chart-figure", (figure) => seen.push(figure.title));
  document.body.dispatchEvent(new Event("htmx:afterSwap"));
  swap('<figure id="chart-figure" title="second"></figure>');
  swap("<p>no result</p>");
  swap('<figure id="chart-figure" title="third"></figure>');
  assert.deepEqual(seen, ["first", "second", "third"]);
});

test("details stay as a person left them when their successors come", () => {
  show('<div id="results"></div>');
  keepDetailsOpen();
  const parts = '<details id="a" open></details><details id="b"></details>';
  swap(parts);
  document.getElementById("a").open = false;
  document.getElementById("b").open = true;
  swap(`${parts}<details id="new" open></details>`);
  const open = [...document.querySelectorAll("details")].map((one) => [one.id, one.open]);
  assert.deepEqual(open, [
    ["a", false],
    ["b", true],
    ["new", true],
  ]);
});
