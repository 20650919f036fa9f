import { show, window } from "./page.js";
import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

const PAGE = `<main><form id="ranking-form"></form>
  <a id="copy-link" href="/ranking?metric=cmips">Copy link</a><a id="next" href="/ranking?page=2">Next</a>
  <a id="offer" href="/offers/a?x=1">Offer</a><p id="picked"></p><div id="compare"></div>
  <div class="pick"><input type="checkbox" id="a" value="aws/a"><input type="checkbox" id="b" value="gcp/b"></div>
  <table><thead><tr><th><a href="/ranking?sort=price" id="head">Price</a>
  <button class="also" value="price" id="also">also</button></th></tr></thead></table></main>`;

const href = (id) => document.getElementById(id).getAttribute("href");
const tick = (id, isTicked) => {
  const box = document.getElementById(id);
  box.checked = isTicked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
};

const address = () => window.location.pathname + window.location.search;
before(async () => {
  show(PAGE, "/ranking?metric=cmips");
  const { connectTable } = await import("../src/js/lib/rankingtable.js");
  connectTable();
});
beforeEach(() => {
  for (const id of ["a", "b"]) if (document.getElementById(id).checked) tick(id, false);
});

test("a picked offer is in the address, in every link of this page, and in words", () => {
  tick("a", true);
  tick("b", true);
  assert.equal(address(), "/ranking?metric=cmips&o=aws%2Fa,gcp%2Fb");
  assert.equal(href("next"), "/ranking?page=2&o=aws%2Fa,gcp%2Fb");
  assert.equal(href("offer"), "/offers/a?x=1");
  assert.equal(document.getElementById("picked").textContent, "Picked: aws/a, gcp/b");
  assert.equal(document.getElementById("compare").className, "filled");
});

test("an offer that is not picked any more leaves the address", () => {
  tick("a", true);
  tick("a", false);
  assert.equal(address(), "/ranking?metric=cmips");
  assert.equal(href("next"), "/ranking?page=2");
  assert.match(document.getElementById("picked").textContent, /^Tick two to six offers/);
  assert.equal(document.getElementById("compare").className, "");
});

function requested(path, parameters = {}) {
  const detail = { path, parameters };
  document.body.dispatchEvent(new CustomEvent("htmx:configRequest", { detail }));
  return detail;
}

test("requests for a part of the page carry the picks", () => {
  tick("a", true);
  assert.equal(requested("/ranking?page=2").path, "/ranking?page=2&o=aws%2Fa");
  assert.equal(requested("/ranking").path, "/ranking?o=aws%2Fa");
  assert.deepEqual(requested("/elsewhere").parameters, { o: "aws/a" });
});

test("a request after the last pick has gone carries no pick of the form", () => {
  assert.deepEqual(requested("/ranking", { o: "aws/a", metric: "cmips" }).parameters, { metric: "cmips" });
});

function sentBy(act) {
  const form = document.getElementById("ranking-form");
  const sent = [];
  const listen = (event) => {
    event.preventDefault();
    sent.push([...form.querySelectorAll("input[name=also]")].map((field) => field.value));
  };
  form.addEventListener("submit", listen);
  act();
  form.removeEventListener("submit", listen);
  for (const field of form.querySelectorAll("input")) field.remove();
  return sent;
}

test("the button beside a head, and a shifted click on it, add a sort key", () => {
  const click = (id, more) =>
    document.getElementById(id).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...more }));
  assert.deepEqual(
    sentBy(() => click("also")),
    [["price"]],
  );
  assert.deepEqual(
    sentBy(() => click("head", { shiftKey: true })),
    [["price"]],
  );
});
