// Buttons that copy the text of another element; without a script they stay hidden.
import { _ } from "./words.js";

const TOLD_MS = 2_000;

/** Shows each `<button data-copy="id">` and lets it copy the element's text. */
export function setUpCopyButtons() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const isCopied = await written(source);
  const words = isCopied ? _("Copied") : _("Selected: press Ctrl+C");
  const before = button.textContent;
  button.textContent = words;
  const status = document.getElementById("copied");
  if (status) status.textContent = words;
  setTimeout(() => {
    button.textContent = before;
    if (status) status.textContent = "";
  }, TOLD_MS);
}

/** Whether the text is in the clipboard; where that is not allowed it is selected. */
async function written(source) {
  try {
    // The clipboard exists on https and on this machine only.
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}
