import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { default: htmx, keepDetailsOpen, onEach } = await import("../src/js/lib/partial.js");

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

/** An answer came to what the element asked; `retryAfter` as in its header. */
function answer(elt, retryAfter) {
  const xhr = { getResponseHeader: (name) => (name === "Retry-After" ? retryAfter : null) };
  const requestConfig = { verb: "get", path: "/scenarios/web/map/" };
  document.body.dispatchEvent(new CustomEvent("htmx:afterRequest", { detail: { elt, xhr, requestConfig } }));
}

/** The part of a page that asks, and what it asks again. */
function asking(context) {
  show('<section id="map"></section>');
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const repeated = context.mock.method(htmx, "ajax", () => {}).mock;
  return { elt: document.getElementById("map"), repeated };
}

test("what others delay is asked for again when the answer says so", (context) => {
  const { elt, repeated } = asking(context);
  answer(elt, "5");
  context.mock.timers.tick(4999);
  assert.equal(repeated.callCount(), 0);
  context.mock.timers.tick(1);
  assert.deepEqual(repeated.calls[0].arguments, ["get", "/scenarios/web/map/", { source: elt }]);
  answer(elt, null);
  context.mock.timers.tick(60_000);
  assert.equal(repeated.callCount(), 1);
});

test("a newer request takes the place of a repetition", (context) => {
  const { elt, repeated } = asking(context);
  answer(elt, "5");
  document.body.dispatchEvent(new CustomEvent("htmx:beforeRequest", { detail: { elt } }));
  context.mock.timers.tick(60_000);
  assert.equal(repeated.callCount(), 0);
});

test("what is always sent away is asked for twelve times more", (context) => {
  const { elt, repeated } = asking(context);
  let before;
  do {
    before = repeated.callCount();
    answer(elt, "5");
    context.mock.timers.tick(5000);
  } while (repeated.callCount() > before);
  assert.equal(before, 12);
});
