// What is closed when a page comes, or lies far below: `<noscript class="later">` holds it as text, so that no slow
// machine makes thousands of elements before the first paint; without scripts it is simply there. Where no noscript may
// stand, `<tbody class="later">` is not shown at first.

const LATEST_MS = 500;
// Whatever could see that something is not there yet: it is drawn before.
const TOUCHES = ["pointerdown", "focusin", "keydown", "click", "submit", "beforeprint", "htmx:confirm"];

// Safari has no requestIdleCallback.
const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call, 1));

const waiting = (root) => root.querySelectorAll(".later");

function draw(kept) {
  const { parentElement } = kept;
  if (kept.localName !== "noscript") {
    kept.classList.remove("later");
    return;
  }
  // In a page its content is text, in a part that htmx parsed it is elements: the markup is the same.
  kept.insertAdjacentHTML("beforebegin", kept.innerHTML);
  kept.remove();
  parentElement.dispatchEvent(new Event("rackrate:drawn", { bubbles: true }));
}

/** Draws all of `root` that is not drawn yet. */
export function drawAll(root = document) {
  waiting(root).forEach(draw);
}

function drawNext() {
  const [next] = waiting(document);
  if (!next) return;
  draw(next);
  whenIdle(drawNext, { timeout: LATEST_MS });
}

// Parts of a page that ask by themselves send no fields.
function drawTouched({ type, target }) {
  if (type !== "htmx:confirm" || target.closest("form")) drawAll();
}

/** Draws all before anybody touches the page: in its head, since a form can be sent before the page's modules are there,
 * and would be sent without the fields that are not drawn. */
export function drawBeforeTouches() {
  for (const type of TOUCHES) window.addEventListener(type, drawTouched, { capture: true });
}

/** Draws one piece after the other while the browser has time. */
export function drawLater() {
  if (waiting(document).length) whenIdle(drawNext, { timeout: LATEST_MS });
}
