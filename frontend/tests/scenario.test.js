import { show } from "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const PAGE = `<h1>Scenario</h1><form id="scenario-form" data-offers="/offers/">
  <select id="policy.kind"><option value="fixed" selected></option><option value="hpa"></option></select>
  <div id="servers" data-when="policy.kind" data-is="fixed scheduled"></div>
  <div id="target" data-when="policy.kind" data-is="hpa"></div></form>`;

const shown = () => ["servers", "target"].filter((id) => !document.getElementById(id).hidden);

before(async () => {
  show(PAGE, "/scenarios/new/");
  await import("../src/js/pages/scenario.js");
});

test("only the fields of what is chosen show", () => {
  assert.deepEqual(shown(), ["servers"]);
  const select = document.getElementById("policy.kind");
  select.value = "hpa";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(shown(), ["target"]);
});
