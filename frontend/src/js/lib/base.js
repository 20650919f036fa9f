// What every page has: the theme button, menus that close when one leaves them, the search key.
import { drawLater } from "./later.js";
import { _ } from "./words.js";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** The current theme: the one chosen here, else the system's. */
export function theme() {
  return document.documentElement.dataset.theme || (prefersDark.matches ? "dark" : "light");
}

/** Calls back whenever the current theme changes. */
export function onThemeChange(callback) {
  document.addEventListener("rackrate:theme", callback);
  prefersDark.addEventListener("change", callback);
}

function setTheme(chosen) {
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  document.dispatchEvent(new Event("rackrate:theme"));
}

/** Calls back with true before the page goes to paper, in light colours, and with false after. */
export function onPaper(callback) {
  let chosen;
  window.addEventListener("beforeprint", () => {
    chosen = document.documentElement.dataset.theme;
    if (theme() === "dark") setTheme("light");
    callback(true);
  });
  window.addEventListener("afterprint", () => {
    if (document.documentElement.dataset.theme !== chosen) setTheme(chosen);
    callback(false);
  });
}

function labelButton(button) {
  button.title = theme() === "dark" ? _("Switch to the light theme") : _("Switch to the dark theme");
  button.setAttribute("aria-label", button.title);
}

function setUpThemeButton(button) {
  labelButton(button);
  button.hidden = false;
  onThemeChange(() => labelButton(button));
  button.addEventListener("click", () => {
    const chosen = theme() === "dark" ? "light" : "dark";
    setTheme(chosen);
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // Not kept for the next page; the choice still holds on this one.
    }
  });
}

function closeMenusOutside({ type, target }) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    // Pressing the words of an option focuses what holds the menu, the main element. Closing the
    // menu then would take the option away before it is clicked.
    const isAround = type === "focusin" && target.contains(menu);
    if (!menu.contains(target) && !isAround) menu.open = false;
  }
}

function closeMenuOnEscape(event) {
  if (event.key !== "Escape") return;
  const menu = event.target.closest?.("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
}

function searchOnSlash(event) {
  const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  event.preventDefault();
  document.getElementById("site-search")?.focus();
}

const button = document.getElementById("theme-button");
if (button) setUpThemeButton(button);
document.addEventListener("click", closeMenusOutside);
document.addEventListener("focusin", closeMenusOutside);
document.addEventListener("keydown", closeMenuOnEscape);
document.addEventListener("keydown", searchOnSlash);
drawLater();
