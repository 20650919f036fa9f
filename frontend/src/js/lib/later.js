// What is closed when a page comes: `<noscript class="later">` holds it as text, so that no slow machine makes
// hundreds of elements before the first paint; without scripts it is simply there.
import htmx from "./partial.js";

const LATEST_MS = 500;

function draw(kept) {
  const { parentElement } = kept;
  kept.insertAdjacentHTML("beforebegin", kept.textContent);
  kept.remove();
  htmx.process(parentElement);
}

/** Draws all that is kept inside `root` once the browser has time, and before anybody touches or sends it. */
export function drawLater(root) {
  const types = ["pointerdown", "focusin", "keydown", "click", "toggle", "htmx:configRequest"];
  const all = () => {
    for (const type of types) document.removeEventListener(type, all, true);
    root.querySelectorAll("noscript.later").forEach(draw);
  };
  for (const type of types) document.addEventListener(type, all, true);
  // Safari has no requestIdleCallback.
  const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call, LATEST_MS));
  whenIdle(all, { timeout: LATEST_MS });
}
