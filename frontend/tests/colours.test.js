import "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const { isHollow, providerColour, providerFill, providerShape, token } = await import("../src/js/lib/colours.js");

before(() => {
  const { style } = document.documentElement;
  style.setProperty("--provider-aws", " #ff9900 ");
  style.setProperty("--provider-aws-shape", "square");
  style.setProperty("--provider-vultr", "#0000ff");
  style.setProperty("--provider-vultr-hollow", "1");
  style.setProperty("--provider-other", "#888888");
});

test("a token is read from the style sheet without blanks", () => {
  assert.equal(token("--provider-aws"), "#ff9900");
  assert.equal(token("--absent"), "");
});

test("a provider has its colour and shape, others those of all others", () => {
  assert.equal(providerColour("aws"), "#ff9900");
  assert.equal(providerShape("aws"), "square");
  assert.equal(providerColour("unknown"), "#888888");
  assert.equal(providerShape("unknown"), "circle");
});

test("points are hollow where a colour is used twice, or is no colour of the provider's own", () => {
  assert.deepEqual(["aws", "vultr", "unknown"].map(isHollow), [false, true, true]);
});

test("bars are hatched only where the colour is a second use", () => {
  const context = document.createElement("canvas").getContext("2d");
  assert.equal(providerFill("aws", context), "#ff9900");
  assert.equal(providerFill("vultr", context), "hatched");
  assert.equal(providerFill("unknown", context), "#888888");
});
