// Small builders for what only scripts show.
import { number } from "./words.js";

/** Element with attributes and children (nodes or text). */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** The parsed content of a `<script type="application/json">` element. */
export function json(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/** Entry of a legend: its button puts `name` among what is hidden, or takes it out, and draws anew. */
export function legendEntry(key, words, name, hidden, redraw) {
  const isShown = () => String(!hidden.has(name));
  const button = element("button", { type: "button", class: "legend", "aria-pressed": isShown() }, key, words);
  button.addEventListener("click", () => {
    hidden.has(name) ? hidden.delete(name) : hidden.add(name);
    button.setAttribute("aria-pressed", isShown());
    redraw();
  });
  return element("li", {}, button);
}

/** Data table from column heads [{label, isNumber}] and rows of text. */
export function dataTable(caption, heads, rows) {
  const cell = (tag, head, text, scope) => element(tag, { class: head.isNumber ? "number" : null, scope }, text);
  return element(
    "table",
    { class: "figures" },
    element("caption", { class: "visually-hidden" }, caption),
    element("thead", {}, element("tr", {}, ...heads.map((h) => cell("th", h, h.label, "col")))),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element("tr", {}, ...row.map((text, i) => cell(i ? "td" : "th", heads[i], text, i ? null : "row"))),
      ),
    ),
  );
}

/** Lets the browser paint and answer its user between two parts of long work. */
export const pause = () => new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));

/** Between the code of charts and the first of them: what a browser loads for its first number takes as long as the
 *  axes of a chart. */
export async function beforeCharts() {
  await pause();
  number(0);
  await pause();
}
