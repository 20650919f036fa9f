// Parts of a page are replaced by htmx; its settings are in the page's meta element.
import htmx from "htmx.org";
import { drawAll } from "./later.js";

const MOST_REPEATS = 12;

/** Calls back with the element of this id now and each time a swap inserts a new one. */
export function onEach(id, callback) {
  let current = null;
  const look = () => {
    const element = document.getElementById(id);
    // Swaps elsewhere on the page leave it as it is.
    if (element && element !== current) {
      current = element;
      callback(element);
    }
  };
  look();
  document.body.addEventListener("htmx:afterSwap", look);
}

/** Lets `<details id>` stay as a person left them when a swap inserts their successors. */
export function keepDetailsOpen() {
  const open = new Map();
  document.body.addEventListener("htmx:beforeSwap", () => {
    for (const one of document.querySelectorAll("details[id]")) open.set(one.id, one.open);
  });
  document.body.addEventListener("htmx:afterSwap", () => {
    for (const one of document.querySelectorAll("details[id]")) one.open = open.get(one.id) ?? one.open;
  });
}

/** Repeats a request whose answer says when to ask again (others are calculating), until what asked
 *  for it asks for something else or has been sent away often enough. */
function repeatLater() {
  const waiting = new WeakMap();
  document.body.addEventListener("htmx:beforeRequest", ({ detail }) => clearTimeout(waiting.get(detail.elt)?.timer));
  document.body.addEventListener("htmx:afterRequest", ({ detail: { elt, xhr, requestConfig } }) => {
    const wait = Number(xhr.getResponseHeader("Retry-After"));
    const repeats = waiting.get(elt)?.repeats ?? 0;
    if (!wait || repeats === MOST_REPEATS) {
      waiting.delete(elt);
      return;
    }
    // By its path alone: htmx adds again what the form says by then.
    const repeat = () => htmx.ajax(requestConfig.verb, requestConfig.path, { source: elt });
    waiting.set(elt, { repeats: repeats + 1, timer: setTimeout(repeat, 1000 * wait) });
  });
}

repeatLater();
document.addEventListener("rackrate:drawn", ({ target }) => htmx.process(target));
// What came later is drawn with all that it holds; the page itself is "loaded" at first.
document.addEventListener("htmx:load", ({ target }) => target !== document.body && drawAll(target));

export default htmx;
