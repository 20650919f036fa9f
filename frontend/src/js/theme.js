// Before the first paint: mark that scripts run, draw what waits before anything is pressed, and apply the theme a
// person chose here earlier. The page that describes the API has styles of its own, whose dark ones go by a class.
import { drawBeforeTouches } from "./lib/later.js";

drawBeforeTouches();
const root = document.documentElement;
root.classList.add("js");
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's preference then decides.
}
const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
root.classList.toggle("dark-mode", (root.dataset.theme ?? system) === "dark");
