import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { followProfile } = await import("../src/js/lib/defaults.js");

test("placeholders follow the profile that is chosen", () => {
  show(`<select id="profile"><option>quick</option><option>thorough</option><option>custom</option></select>
    <input data-quick="3" data-thorough="10">`);
  const [select, input] = [document.querySelector("select"), document.querySelector("input")];
  followProfile();
  assert.equal(input.placeholder, "3");
  for (const [profile, placeholder] of [
    ["thorough", "10"],
    ["custom", ""],
  ]) {
    select.value = profile;
    select.dispatchEvent(new Event("change"));
    assert.equal(input.placeholder, placeholder);
  }
});

test("a form without profiles stays as it is", () => {
  show('<input data-quick="3" placeholder="as before">');
  followProfile();
  assert.equal(document.querySelector("input").placeholder, "as before");
});
