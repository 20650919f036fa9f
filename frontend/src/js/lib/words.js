// Texts that only scripts show, in the page's language: base.html loads its catalogue first.

/** The message with its {names} filled in. */
export function _(message, values = {}) {
  const text = globalThis.catalogue?.[message] ?? message;
  return text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
}

/** What numbers are written for. */
export const language = () => document.documentElement.lang || "en";

const formats = new Map(); // to make one takes longer than to use it a hundred times

/** The number as people of the page's language write it, by options of Intl.NumberFormat. */
export function number(value, options) {
  const key = language() + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(language(), options));
  return formats.get(key).format(value);
}
