// Fields that count only with some choices show only with those.

/** Parts with `data-when` (id of a select) show while one of the values in `data-is` is chosen. */
export function followChoices() {
  const showWhatCounts = () => {
    for (const part of document.querySelectorAll("[data-when]")) {
      const chosen = document.getElementById(part.dataset.when).value;
      part.hidden = !part.dataset.is.split(" ").includes(chosen);
    }
  };
  document.addEventListener("change", showWhatCounts);
  showWhatCounts();
}
