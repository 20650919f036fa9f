import { show } from "./page.js";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

const { setUpCopyButtons } = await import("../src/js/lib/copy.js");

const PAGE = `<code id="command">./rackrate up</code>
  <button data-copy="command" hidden>Copy</button> <span id="copied" role="status"></span>`;

function withClipboard(writeText) {
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText } }, configurable: true });
}

async function copy(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  show(PAGE);
  setUpCopyButtons();
  const button = document.querySelector("button");
  button.click();
  await new Promise(setImmediate);
  return button;
}

afterEach(() => getSelection().removeAllRanges());

test("a copy button copies the text, says so, and then is as before", async (t) => {
  const written = [];
  withClipboard(async (text) => written.push(text));
  const button = await copy(t);
  assert.deepEqual(written, ["./rackrate up"]);
  assert.deepEqual([button.hidden, button.textContent], [false, "Copied"]);
  assert.equal(document.getElementById("copied").textContent, "Copied");
  t.mock.timers.tick(2_000);
  assert.equal(button.textContent, "Copy");
  assert.equal(document.getElementById("copied").textContent, "");
});

test("a copy button selects the text where the clipboard is not allowed", async (t) => {
  withClipboard(() => Promise.reject(new Error("not allowed")));
  const button = await copy(t);
  assert.equal(button.textContent, "Selected: press Ctrl+C");
  assert.equal(getSelection().toString(), "./rackrate up");
});
