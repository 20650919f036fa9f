import { show } from "./page.js";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const PAGE = `<button id="theme-button" hidden></button>
  <details class="menu" id="first" open><summary>Data</summary><a href="#" id="inside">Offers</a></details>
  <details class="menu" id="second" open><summary>More</summary></details>
  <p id="outside">text</p>`;
show(PAGE);
const { onPaper, onThemeChange, theme } = await import("../src/js/lib/base.js");

const isOpen = (id) => document.getElementById(id).open;

beforeEach(() => {
  for (const menu of document.querySelectorAll("details")) menu.open = true;
});

test("the theme button shows where scripts run and switches there and back", () => {
  const button = document.getElementById("theme-button");
  let changes = 0;
  onThemeChange(() => {
    changes += 1;
  });
  assert.equal(button.hidden, false);
  assert.equal(theme(), "light");
  assert.equal(button.getAttribute("aria-label"), "Switch to the dark theme");
  button.click();
  assert.deepEqual([theme(), localStorage.getItem("theme"), changes], ["dark", "dark", 1]);
  assert.equal(button.getAttribute("aria-label"), "Switch to the light theme");
  button.click();
  assert.deepEqual([theme(), localStorage.getItem("theme"), changes], ["light", "light", 2]);
});

test("a click beside the menus closes them all", () => {
  document.getElementById("outside").click();
  assert.deepEqual([isOpen("first"), isOpen("second")], [false, false]);
});

test("a click in a menu closes only the others", () => {
  document.getElementById("inside").click();
  assert.deepEqual([isOpen("first"), isOpen("second")], [true, false]);
});

test("Escape closes the menu that has the focus and puts the focus on its summary", () => {
  document.getElementById("inside").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  assert.equal(isOpen("first"), false);
  assert.equal(document.activeElement, document.querySelector("#first summary"));
});

test("paper is light, and the screen is as it was afterwards", () => {
  const seen = [];
  document.documentElement.dataset.theme = "dark";
  onPaper((isPrinted) => seen.push([isPrinted, theme()]));
  window.dispatchEvent(new Event("beforeprint"));
  window.dispatchEvent(new Event("afterprint"));
  assert.deepEqual(seen, [
    [true, "light"],
    [false, "dark"],
  ]);
});
