// A document for the scripts under test; import it first: some of them read the page as they load.
import { Window } from "happy-dom";

const NAMES = [
  "document",
  "location",
  "history",
  "localStorage",
  "sessionStorage",
  "getSelection",
  "matchMedia",
  "getComputedStyle",
  "CSS",
  "Event",
  "CustomEvent",
  "KeyboardEvent",
  "MouseEvent",
  "Node",
  "Element",
  "HTMLElement",
  "HTMLCanvasElement",
  "ResizeObserver",
  "MutationObserver",
  "requestAnimationFrame",
  "cancelAnimationFrame",
  "DOMParser",
  "XMLHttpRequest",
  "FormData",
  "ShadowRoot",
  "DocumentFragment",
];

export const window = new Window({ url: "http://localhost/ranking", width: 1280, height: 900 });
for (const name of NAMES) {
  const value = window[name];
  const isPlain = typeof value === "function" && !/^[A-Z]/.test(name);
  Object.defineProperty(globalThis, name, { value: isPlain ? value.bind(window) : value, configurable: true });
}
Object.defineProperty(globalThis, "window", { value: window });

// htmx looks for attributes hx-on: by XPath, which this document lacks; no page has any (the content policy forbids them).
globalThis.XPathEvaluator = class {
  createExpression() {
    return { evaluate: () => ({ iterateNext: () => null }) };
  }
};

// Chart.js measures and draws on this: every letter is six pixels wide, and nothing is painted.
function pen(canvas) {
  const known = { canvas, measureText: (text) => ({ width: 6 * (text?.length ?? 0) }), createPattern: () => "hatched" };
  return new Proxy(known, {
    get: (target, name) => (name in target ? target[name] : () => {}),
  });
}
window.HTMLCanvasElement.prototype.getContext = function getContext() {
  this.pen ??= pen(this);
  return this.pen;
};

// Nothing is laid out, so every element has the size of a usual chart.
const SIZE = { x: 0, y: 0, left: 0, top: 0, right: 900, bottom: 400, width: 900, height: 400 };
window.HTMLElement.prototype.getBoundingClientRect = () => SIZE;

/** Replaces the page's body, at an address. */
export function show(html, address = "/ranking") {
  window.happyDOM.setURL(`http://localhost${address}`);
  document.body.innerHTML = html;
}

/** A `<script>` element with data, as the templates write it. */
export function data(id, content) {
  return `<script type="application/json" id="${id}">${JSON.stringify(content)}</script>`;
}
