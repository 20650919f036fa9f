import { show, window } from "./page.js";
import assert from "node:assert/strict";
import { before, test } from "node:test";

const { savePicture } = await import("../src/js/lib/picture.js");

const HEADER = new Uint8Array(33); // signature and IHDR, as a browser writes them
const links = [];
const written = [];
let blob = null;

before(() => {
  window.HTMLCanvasElement.prototype.toBlob = (done) => done(new Blob([HEADER, new Uint8Array([9])]));
  URL.createObjectURL = (made) => {
    blob = made;
    return "blob:picture";
  };
  URL.revokeObjectURL = () => {};
  window.HTMLAnchorElement.prototype.click = function click() {
    links.push([this.download, this.getAttribute("href")]);
  };
  const original = window.HTMLCanvasElement.prototype.getContext;
  window.HTMLCanvasElement.prototype.getContext = function getContext() {
    const pen = original.call(this);
    return new Proxy(pen, {
      get: (target, name) => (name === "fillText" ? (text) => written.push(text) : target[name]),
      set: () => true,
    });
  };
});

function chart() {
  show(
    `<figure><ul><li><button class="legend" aria-pressed="true"><i>●</i>AWS</button></li>
     <li><button class="legend" aria-pressed="false"><i>▲</i>Google</button></li></ul><canvas id="c"></canvas></figure>`,
    "/ranking?metric=cmips",
  );
  const canvas = document.getElementById("c");
  return { canvas, options: { devicePixelRatio: 1 }, resize() {} };
}

const TEXTS = { name: "rackrate-cpu", title: "CPU", subtitle: "price ≤ 3", footer: "Rackrate, data version 7" };

test("a saved chart carries its words, in the picture and in the file", async () => {
  const saved = chart();
  await savePicture(saved, TEXTS);
  assert.deepEqual(links, [["rackrate-cpu.png", "blob:picture"]]);
  assert.deepEqual(written, ["CPU", "price ≤ 3", "●", "AWS", "Rackrate, data version 7"]);
  const text = new TextDecoder("latin1").decode(new Uint8Array(await blob.arrayBuffer()));
  assert.match(text, /Title\0CPU/);
  assert.match(text, /Description\0price <= 3\. Rackrate, data version 7/);
  assert.match(text, /Source\0http:\/\/localhost\/ranking\?metric=cmips/);
  assert.equal(saved.options.devicePixelRatio, 1); // the chart on the page is as before
});
