"""The editor of a scenario: its document as fields, and back; the domain judges every value."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django import forms

from backend.domain.errors import InvalidDocument, InvalidValue
from backend.domain.scenarios.price_document import PURCHASE
from backend.domain.scenarios.work import TooMuchWork
from backend.web.scenarios import form_layout as layout
from backend.web.scenarios.document_values import entry_text, parse_value
from backend.web.scenarios.form_help import help_for
from backend.web.scenarios.form_layout import Entry
from backend.web.shared.forms import WriteForm
from backend.web.shared.language import _, lazy

# Kinds of fields that take several lines.
LINES = frozenset({"pairs", "events", "points", "items", "disks", "numbers", "remarks"})
LIKE_HARDWARE = "price.hardware."
# Kinds of fields that have a value in an empty line, too.
SAYS_NOTHING = frozenset({"choice"})
# The amount that a template proposed: it says something of the amount alone.
EXAMPLE = "example"
PARTS = 2
CURRENCY = "currency"
# Lines of each list, so that a form stays below the thousand fields that Django lets be sent
# (DATA_UPLOAD_MAX_NUMBER_FIELDS).
MOST_LINES: Mapping[str, int] = {"options": 14, "demand.windows": 24, "policy.windows": 24}


def is_editable(document: Mapping[str, Any]) -> bool:
    """True if the editor has a line for everything in the document."""
    lists = (_at(document, of.replace(".", "/")) for of in MOST_LINES)
    most = MOST_LINES.values()
    return all(len(lines or ()) <= limit for lines, limit in zip(lists, most, strict=True))


class ScenarioForm(WriteForm):
    """A field for every pointer of the layout, with one line more of each list than is filled."""

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, document: Mapping[str, Any] | None = None
    ) -> None:
        """With what was typed, or with a document to begin from."""
        initial = _texts(document or {})
        super().__init__(data, initial=initial)
        # The fields depend on what is in the form, whether it comes from a document or from a person.
        texts = initial if data is None else data
        said = _filled_fields(texts)
        self.counts = {of: min(_rows(said, of) + 1, most) for of, most in MOST_LINES.items()}
        self.fields[CURRENCY] = _text(
            _("Currency"), _("Of every price that is typed here."), maxlength=3
        )
        for entry in layout.EVERY:
            for name in self._names(entry):
                if _is_there(name, texts):
                    self.fields[name] = _field(entry)
        for index in range(self.counts["options"]):
            self.fields[f"options.{index}.parts.0.role"] = _choice_field(_("Servers are"), _ROLES)

    def _names(self, entry: Entry) -> Iterator[str]:
        path = entry.path.replace("/", ".")
        if "*" not in path:
            yield path
            return
        for index in range(self.counts[path.partition(".*")[0]]):
            row = path.replace("*", str(index), 1)
            yield from (row.replace("*", str(n)) for n in range(PARTS if "*" in row else 1))

    # The document that was last made of it.
    stated: Mapping[str, Any] = {}
    # What was reported of it: (name of the field or empty, words).
    refused: Sequence[tuple[str, str]] = ()
    is_too_much = False
    """True if it was refused as more work than a request may take."""

    # --- as a document --------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The form as a document; lines and fields left empty are left out."""
        self.full_clean()
        self._rows: dict[str, str] = {}
        document: dict[str, Any] = {"schema": 1, **self._values(_PLAIN, ())}
        for of in ("demand", "policy"):
            rows = self._windows(of)
            if rows:
                document[of]["windows"] = rows
        document["options"] = [self._option(n) for n in self._filled_lines("options")]
        self.stated = document
        return document

    def _text(self, name: str) -> str:
        return str(self.cleaned_data.get(name) or "")

    def _filled_lines(self, of: str) -> list[int]:
        """Indexes of the lines in which something was typed; remembers which line each becomes."""
        entries = [e for e in layout.EVERY if e.path.startswith(f"{of.replace('.', '/')}/*")]
        filled: list[int] = []
        for index in range(self.counts[of]):
            names = [
                name
                for entry in entries
                if entry.kind not in SAYS_NOTHING and entry.name != EXAMPLE
                for name in self._names(entry)
                if name.startswith(f"{of}.{index}.")
            ]
            if any(map(self._text, names)):
                self._rows[f"{of}.{len(filled)}."] = f"{of}.{index}."
                filled.append(index)
        return filled

    def _values(self, entries: Iterable[Entry], indexes: tuple[int, ...]) -> dict[str, Any]:
        """The values that count, nested as their pointers are from the last star on."""
        values: dict[str, Any] = {}
        for entry in entries:
            text = self._text(field_name(entry.path, indexes))
            if not text or not self._counts(entry, indexes):
                continue
            *above, last = entry.path.rpartition("*/")[2].split("/")
            into = values
            for level in above:
                into = into.setdefault(level, {})
            into[last] = parse_value(text, entry.kind)
        return values

    def _counts(self, entry: Entry, indexes: tuple[int, ...]) -> bool:
        if not entry.when:
            return True
        chosen = self._text(field_name(entry.when, indexes))
        # Without a choice the document's default is not known here, so nothing is dropped.
        return not chosen or chosen in entry.values

    def _windows(self, of: str) -> list[dict[str, Any]]:
        entries = layout.DEMAND_WINDOWS if of == "demand" else layout.POLICY_WINDOWS
        if self._text(f"{of}.kind") not in entries[0].values:
            return []
        return [self._values(entries, (index,)) for index in self._filled_lines(f"{of}.windows")]

    def _option(self, index: int) -> dict[str, Any]:
        option = {**self._values((layout.OPTION, *layout.OWN_EXTRAS), (index,))}
        role = self._text(f"options.{index}.parts.0.role") or "all"
        # The second part exists only beside a base; what was typed in it before is left out.
        roles = ("base", "burst") if role == "base" else ("all",)
        option["parts"] = [self._part(index, n, role) for n, role in enumerate(roles)]
        return option

    def _part(self, index: int, n: int, role: str) -> dict[str, Any]:
        part = {"role": role, **self._values(layout.PART_ENTRIES, (index, n))}
        price = part.get("price", {})
        currency = self._text(CURRENCY)
        is_bought = price.get("billing") == PURCHASE
        if not is_bought and "amount" not in price:
            price.pop(EXAMPLE, None)
        if is_bought:
            named = {"name": self._text(f"options.{index}.name"), CURRENCY: currency}
            price["hardware"] = {k: v for k, v in named.items() if v} | price.get("hardware", {})
        elif price and currency:
            # One field for all prices: a document in two currencies has no result.
            price[CURRENCY] = currency
        return part

    # --- refusals -------------------------------------------------------------------------------

    def report(self, error: InvalidDocument | InvalidValue) -> list[tuple[str, str]]:
        """Puts each refusal beside its field; gives (name of the field or empty, words) of each."""
        errors = (
            error.errors if isinstance(error, InvalidDocument) else [(error.field, error.detail)]
        )
        said = []
        for pointer, detail in errors:
            name = self.field_of(pointer)
            self.add_error(name or None, detail if name else f"{pointer}: {detail}".strip(": "))
            said.append((name, f"{self._speak(name)}: {detail}" if name else detail))
        self.refused = said
        self.is_too_much = isinstance(error, TooMuchWork)
        return said

    def field_of(self, pointer: str) -> str:
        """Name of the field that a pointer of the document means, or the next one; else empty."""
        name = self.row_of(pointer.removeprefix("/").replace("/", "."))
        if name.endswith(f".price.{CURRENCY}"):
            return CURRENCY
        # Points are typed as lines of CSV, in the field of that name.
        if name == "demand.points":
            return "demand.csv"
        parts = name.split(".")
        above = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        inside = (each for each in self.fields if each.startswith(f"{name}."))
        named = next((n for n in above if n in self.fields), "") or next(inside, "")
        # Own hardware has fields where the bill says that it is bought.
        priced, is_of_hardware, _ = f"{name}.".partition(LIKE_HARDWARE)
        return named or (f"{priced}price.billing" if is_of_hardware else "")

    def row_of(self, name: str) -> str:
        """A name in the document with the line of the form in place of that of the document."""
        for prefix, own in self._rows.items():
            if f"{name}.".startswith(prefix):
                return f"{own}{name[len(prefix) :]}".rstrip(".")
        return name

    def _speak(self, name: str) -> str:
        label = str(self.fields[name].label)
        indexes = re.findall(r"(options|windows|parts)\.(\d+)", name)
        return ", ".join([*(f"{of[:-1]} {int(n) + 1}" for of, n in indexes), label])


_ROLES = (("all", lazy("of one kind")), ("base", lazy("a base, and more beside it")))
_PLAIN = (
    *layout.HORIZON,
    *layout.DEMAND,
    *layout.CAPACITY,
    *layout.POLICY,
    *layout.EXTRAS,
    *layout.RISKS,
    *layout.UNCERTAINTY,
)


def _is_there(name: str, texts: Mapping[str, Any]) -> bool:
    """True if a form of these texts has the field: own hardware has some where it is bought."""
    part, is_of_hardware, _ = name.partition(LIKE_HARDWARE)
    return not is_of_hardware or texts.get(f"{part}price.billing") == PURCHASE


def field_name(path: str, indexes: tuple[int, ...]) -> str:
    """Name of a field: the pointer with numbers instead of its stars."""
    for index in indexes:
        path = path.replace("*", str(index), 1)
    return path.replace("/", ".")


def _filled_fields(texts: Mapping[str, Any]) -> list[str]:
    """Names of the fields that say something; a line that is as it was offered does not."""
    return [name for name, text in texts.items() if text and (name[-5:], text) != (".role", "all")]


def _rows(names: Iterable[str], of: str) -> int:
    """Lines of a list that the names speak of."""
    pattern = re.compile(rf"{re.escape(of)}\.(\d{{1,4}})\.")
    return max((int(m[1]) + 1 for m in map(pattern.match, names) if m), default=0)


# --- a document's texts -------------------------------------------------------------------------


def _texts(document: Mapping[str, Any]) -> dict[str, str]:
    """The text of each field of a document that is stored, and so has no faults."""
    texts: dict[str, str] = {}
    for entry in layout.EVERY:
        if "*" not in entry.path:
            texts[field_name(entry.path, ())] = entry_text(_at(document, entry.path), entry.kind)
    demand = document.get("demand", {})
    if demand.get("points") is not None:
        texts["demand.csv"] = entry_text(demand["points"], "points")
    for of, entries in (("demand", layout.DEMAND_WINDOWS), ("policy", layout.POLICY_WINDOWS)):
        for index, window in enumerate(document.get(of, {}).get("windows") or ()):
            texts |= _row(entries, window, index)
    for index, option in enumerate(document.get("options", ())):
        texts |= _row((layout.OPTION, *layout.OWN_EXTRAS), option, index)
        # A document may have the two parts in either order; the form has the base first.
        ordered = sorted(option["parts"], key=lambda part: part.get("role") == "burst")
        for n, part in enumerate(ordered):
            texts |= _row(layout.PART_ENTRIES, part, index, n)
            price = part.get("price", {})
            currency = price.get(CURRENCY) or price.get("hardware", {}).get(CURRENCY)
            if currency:
                texts.setdefault(CURRENCY, currency)
        texts[f"options.{index}.parts.0.role"] = ordered[0].get("role", "all")
    return {name: text for name, text in texts.items() if text}


def _row(entries: Iterable[Entry], values: Mapping[str, Any], *indexes: int) -> dict[str, str]:
    return {
        field_name(e.path, indexes): entry_text(_at(values, e.path.rpartition("*/")[2]), e.kind)
        for e in entries
    }


def _at(values: Any, path: str) -> Any:
    for name in path.split("/"):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


# --- fields -------------------------------------------------------------------------------------


def _field(entry: Entry) -> forms.Field:
    said = help_for(entry)
    if entry.kind == "choice":
        return _choice_field(entry.label, entry.choices, said.text)
    if entry.kind == "flag":
        return _choice_field(entry.label, (("", _("yes")), ("false", _("no"))), said.text)
    if entry.kind in LINES:
        rows = {"points": 6, "numbers": 2}.get(entry.kind, 3)
        widget = forms.Textarea(attrs={"rows": rows, "placeholder": said.placeholder})
        return forms.CharField(
            label=entry.label, required=False, help_text=said.text, widget=widget
        )
    more = {"placeholder": said.placeholder} if said.placeholder else {}
    if entry.kind in {"decimal", "whole"}:
        more["inputmode"] = "decimal" if entry.kind == "decimal" else "numeric"
    if entry.kind == "count":
        more["placeholder"] = _("as needed")
    if entry.name == "offer":
        more["placeholder"] = _("Search by type, provider or region")
    return _text(entry.label, said.text, **more)


def _text(label: str, help_text: str = "", **attributes: Any) -> forms.Field:
    widget = forms.TextInput(attrs={"autocomplete": "off", **attributes})
    return forms.CharField(label=label, required=False, help_text=help_text, widget=widget)


def _choice_field(
    label: str, choices: Sequence[tuple[str, str]], help_text: str = ""
) -> forms.Field:
    widget = forms.Select(choices=choices)
    return forms.CharField(label=label, required=False, help_text=help_text, widget=widget)
