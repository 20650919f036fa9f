// Parts of a page are replaced by htmx; its settings are in the page's meta element.
import htmx from "htmx.org";

/** Calls back with the element of this id now and each time a swap brings a new one. */
export function onEach(id, callback) {
  let current = null;
  const look = () => {
    const element = document.getElementById(id);
    if (element && element !== current) {
      current = element;
      callback(element);
    }
  };
  look();
  document.body.addEventListener("htmx:afterSwap", look);
}

export default htmx;
