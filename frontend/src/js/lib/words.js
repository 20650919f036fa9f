// Texts that only scripts show, in the page's language: base.html loads its catalogue first.

/** The message with its {names} filled in. */
export function _(message, values = {}) {
  const text = globalThis.catalogue?.[message] ?? message;
  return text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
}

/** What numbers are written for. */
export const language = () => document.documentElement.lang || "en";
