// Fields that count only with some choices show only with those.

/** Parts with `data-when` (id of a select) show while one of the values in `data-is` is chosen. */
export function followChoices() {
  const showWhatCounts = () => {
    for (const part of document.querySelectorAll("[data-when]")) {
      const select = document.getElementById(part.dataset.when);
      // One that is not drawn yet is followed once it is.
      if (select) part.hidden = !part.dataset.is.split(" ").includes(select.value);
    }
  };
  document.addEventListener("change", showWhatCounts);
  document.addEventListener("rackrate:drawn", showWhatCounts);
  showWhatCounts();
}
