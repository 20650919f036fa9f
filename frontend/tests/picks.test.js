import { show } from "./page.js";
import assert from "node:assert/strict";
import test from "node:test";

const { listWhatIsPicked } = await import("../src/js/lib/picks.js");

/** The field and the list of a form, and a way to fill the field as a person does. */
function form(listed = "") {
  show(`<input id="offer" list="names"><textarea id="offers">${listed}</textarea>
    <datalist id="names"></datalist>`);
  const [field, list, names] = ["offer", "offers", "names"].map((id) => document.getElementById(id));
  Object.defineProperty(field, "list", { value: names, configurable: true });
  listWhatIsPicked(field, list);
  const fill = (value) => {
    names.innerHTML = '<option value="aws-m5">m5</option><option value="gcp-n2">n2</option>';
    field.value = value;
    field.dispatchEvent(new Event("change"));
  };
  return { field, list, names, fill };
}

test("what is picked goes to a line of the list, each once", () => {
  const { field, list, names, fill } = form("gcp-n2, own");
  fill("aws-m5");
  fill("gcp-n2");
  assert.equal(list.value, "gcp-n2\nown\naws-m5");
  assert.equal(field.value, "");
  assert.equal(names.options.length, 0);
});

test("words that are no suggestion stay to be completed", () => {
  const { field, list, fill } = form();
  fill("aws");
  assert.equal(list.value, "");
  assert.equal(field.value, "aws");
});

test("forms without such a field have nothing to follow", () => {
  show('<textarea id="offers"></textarea>');
  assert.doesNotThrow(() => listWhatIsPicked(null, document.getElementById("offers")));
});
