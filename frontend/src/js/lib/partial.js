// Parts of a page are replaced by htmx; its settings are in the page's meta element.
import htmx from "htmx.org";

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

export default htmx;
