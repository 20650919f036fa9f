import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const idle = [];
window.requestIdleCallback = (call) => idle.push(call);
const PAGE = `<form><select id="kind"><option value="a" selected></option></select>
  <details><noscript class="later"><p id="first" data-when="late" data-is="b">1</p></noscript></details>
  <details><noscript class="later"><select id="late"><option value="b" selected></option></select></noscript></details>
  <noscript class="later"><p id="third">3</p></noscript><noscript>no script</noscript></form>
  <table><tbody></tbody><tbody class="later" id="rows"></tbody></table>`;
show(PAGE);
const { drawAll, drawBeforeTouches, drawLater } = await import("../src/js/lib/later.js");

const drawn = () =>
  ["first", "late", "third"].filter(
    (id) => document.getElementById(id) && !document.getElementById(id).closest("noscript"),
  );

test("one piece after the other is drawn while the browser has time", () => {
  const parents = [];
  document.addEventListener("rackrate:drawn", ({ target }) => parents.push(target.tagName));
  drawLater();
  assert.deepEqual(drawn(), []);
  for (const expected of [["first"], ["first", "late"], ["first", "late", "third"]]) {
    idle.shift()();
    assert.deepEqual(drawn(), expected);
  }
  assert.equal(document.getElementById("rows").className, "later");
  idle.shift()();
  assert.equal(document.getElementById("rows").className, "");
  idle.shift()();
  assert.equal(idle.length, 0);
  assert.deepEqual(parents, ["DETAILS", "DETAILS", "FORM"]);
  assert.equal(document.querySelectorAll("noscript").length, 1);
});

test("whoever touches the page finds all of it, before its modules are there, too", () => {
  drawBeforeTouches();
  for (const type of ["click", "htmx:confirm"]) {
    show(PAGE);
    document.querySelector("form").dispatchEvent(new Event(type, { bubbles: true }));
    assert.deepEqual(drawn(), ["first", "late", "third"]);
  }
});

test("a part of the page can be drawn alone", () => {
  show(PAGE);
  drawAll(document.querySelector("details"));
  assert.deepEqual(drawn(), ["first"]);
});
