// Before the first paint: mark that scripts run, and apply the theme a person chose here earlier.
const root = document.documentElement;
root.classList.add("js");
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's preference then decides.
}
