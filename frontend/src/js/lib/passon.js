// The buttons that pass a page on: on paper, or by its address.
import { setUpCopyButtons } from "./copy.js";

/** Shows the buttons of `parts/_pass_on.html`; without a script they stay hidden. */
export function setUpPassOn() {
  setUpCopyButtons();
  for (const button of document.querySelectorAll("button[data-print]")) {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
  }
}
