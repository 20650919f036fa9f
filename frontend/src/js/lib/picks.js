// A search field whose picks are listed in a larger one.

/** Moves a suggestion of the field that was chosen to a line of its own in the list, once. */
export function listWhatIsPicked(field, list) {
  if (!field || !list) return;
  field.addEventListener("change", () => {
    const picked = field.value;
    if (![...(field.list?.options ?? [])].some((option) => option.value === picked)) return;
    const listed = list.value.split(/[\s,]+/).filter(Boolean);
    list.value = [...new Set([...listed, picked])].join("\n");
    field.value = "";
    field.list.replaceChildren(); // the next search begins anew
  });
}
