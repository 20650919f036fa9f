"""The editor of a scenario: its document as fields, and back; the domain judges every value."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms

from backend.foundation.documents.model import Document, fields_of
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.document_values import OwnHardware
from backend.scenarios.calc.price_document import PURCHASE
from backend.scenarios.calc.work import TooMuchWork
from backend.scenarios.pages.fields import (
    ALWAYS,
    EXAMPLE,
    Condition,
    DocumentField,
    inner_model,
)
from backend.scenarios.pages.kinds import KINDS, kind_of
from backend.site.forms import WriteForm, text
from backend.site.language import _, lazy

LIKE_HARDWARE = "price.hardware."
PARTS = 2
CURRENCY = "currency"
# Lines of each list, so that a form stays below the thousand fields that Django lets be sent
# (DATA_UPLOAD_MAX_NUMBER_FIELDS).
MOST_LINES: Mapping[str, int] = {"options": 14, "demand.windows": 24, "policy.windows": 24}
_ROLES = (("all", lazy("one type")), ("base", lazy("a base, plus more on demand")))


def is_editable(document: Mapping[str, Any]) -> bool:
    """True if the editor has a line for everything in the document."""
    texts = _texts(document)
    return all(_rows(texts, of) <= most for of, most in MOST_LINES.items())


class ScenarioForm(WriteForm):
    """A field for everything in the document that has a label, with one line more of each list than
    is filled. A dot in a field's name is a slash in the pointer of the document."""

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, document: Mapping[str, Any] | None = None
    ) -> None:
        """With what was typed, or with a document to begin from."""
        initial = _texts(document or {})
        super().__init__(data, initial=initial)
        # The fields depend on what is in the form, whether it comes from a document or from a person.
        self._begun = initial if data is None else data
        filled = _filled_fields(self._begun)
        self.counts = {of: min(_rows(filled, of) + 1, most) for of, most in MOST_LINES.items()}
        # Fields of the document by name.
        self.entries: dict[str, DocumentField] = {}
        self._add_fields(ScenarioDocument)
        said = _("For every price that you enter here.")
        self.fields[CURRENCY] = text(_("Currency"), required=False, help_text=said, maxlength=3)
        self.fields.update(self.entries)
        for index in range(self.counts["options"]):
            self.fields[f"options.{index}.parts.0.role"] = forms.CharField(
                label=_("Servers are"), required=False, widget=forms.Select(choices=_ROLES)
            )

    def _add_fields(
        self,
        model: type[Document],
        at: str = "",
        inherited: Condition = ALWAYS,
        *,
        is_repeated: bool = False,
    ) -> None:
        """Fields of an object whose names begin so."""
        for field in fields_of(model).values():
            name, when = f"{at}{field.name}", field.value.when
            condition = Condition(f"{at}{model.switch}", when) if when else inherited
            if field.value.label:
                self.entries[name] = DocumentField(field, condition, is_repeated=is_repeated)
            # Own hardware has many fields, so they are only there where it is bought.
            elif isinstance(field.value, OwnHardware) and not self._is_bought(at):
                continue
            elif inner := inner_model(field):
                self._add_fields(inner, f"{name}.", condition, is_repeated=is_repeated)
            elif field.element:
                for n in range(self.counts.get(name, PARTS)):
                    self._add_fields(field.element, f"{name}.{n}.", condition, is_repeated=True)

    def _is_bought(self, price: str) -> bool:
        return bool(self._begun.get(f"{price}billing") == PURCHASE)

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
        # The line of the form that each line of the document was typed in.
        self._lines: dict[str, str] = {}
        document = {"schema": 1, "options": [], **self._read(ScenarioDocument)}
        for option in document["options"]:
            roles = ("base", "burst") if len(option["parts"]) == PARTS else ("all",)
            for role, part in zip(roles, option["parts"], strict=True):
                part["role"] = role
                self._complete(part.get("price", {}), option)
        self.stated = document
        return document

    def _read(self, model: type[Document], at: str = "") -> dict[str, Any]:
        """Values typed of an object whose names begin so, as far as they count for what is chosen."""
        # Without a choice the document's default is not known here, so nothing is dropped.
        chosen = self._text(f"{at}{model.switch}") if model.switch else ""
        values: dict[str, Any] = {}
        for field in fields_of(model).values():
            name = f"{at}{field.name}"
            if chosen and field.value.when and chosen not in field.value.when:
                continue
            if field.value.label:
                if text := self._text(name):
                    values[field.name] = kind_of(field).read(text)
            elif inner := inner_model(field):
                if stated := self._read(inner, f"{name}."):
                    values[field.name] = stated
            elif field.element and (lines := self._filled_lines(name)):
                values[field.name] = [self._read(field.element, line) for line in lines]
        return values

    def _text(self, name: str) -> str:
        return str(self.cleaned_data.get(name) or "")

    def _filled_lines(self, of: str) -> list[str]:
        """Beginnings of the names in the lines in which something was typed; remembers which line
        each becomes."""
        if of not in MOST_LINES:
            # The second part exists only beside a base; what was typed in it before is left out.
            parts = PARTS if self._text(f"{of}.0.role") == "base" else 1
            return [f"{of}.{n}." for n in range(parts)]
        said = [name for name, field in self.entries.items() if field.says_something]
        typed = [name for name in said if name.startswith(f"{of}.") and self._text(name)]
        lines = [f"{of}.{n}." for n in range(self.counts[of])]
        filled = [line for line in lines if any(name.startswith(line) for name in typed)]
        self._lines |= {f"{of}.{n}.": line for n, line in enumerate(filled)}
        return filled

    def _complete(self, price: dict[str, Any], option: Mapping[str, Any]) -> None:
        """Adds to a price what is typed once for all."""
        # One field for all prices: a document in two currencies has no result.
        currency = self._text(CURRENCY)
        if price.get("billing") == PURCHASE:
            named = {"name": option.get("name"), CURRENCY: currency}
            price["hardware"] = {k: v for k, v in named.items() if v} | price.get("hardware", {})
            return
        if "amount" not in price:
            price.pop(EXAMPLE, None)
        if price and currency:
            price[CURRENCY] = currency

    # --- refusals -------------------------------------------------------------------------------

    def report(self, error: InvalidDocument | InvalidValue) -> list[tuple[str, str]]:
        """Puts each refusal beside its field; gives (name of the field or empty, words) of each."""
        said = []
        for pointer, detail in error.errors:
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
        for prefix, own in self._lines.items():
            if f"{name}.".startswith(prefix):
                return f"{own}{name[len(prefix) :]}".rstrip(".")
        return name

    def _speak(self, name: str) -> str:
        label = str(self.fields[name].label)
        indexes = re.findall(r"(options|windows|parts)\.(\d+)", name)
        return ", ".join([*(f"{of[:-1]} {int(n) + 1}" for of, n in indexes), label])


def _filled_fields(texts: Mapping[str, Any]) -> list[str]:
    """Names of the fields that say something; a line that is as it was offered does not."""
    return [name for name, text in texts.items() if text and (name[-5:], text) != (".role", "all")]


def _rows(names: Iterable[str], of: str) -> int:
    """Lines of a list that the names speak of."""
    pattern = re.compile(rf"{re.escape(of)}\.(\d{{1,4}})\.")
    return max((int(m[1]) + 1 for m in map(pattern.match, names) if m), default=0)


# --- a document's texts -------------------------------------------------------------------------


def _texts(document: Mapping[str, Any]) -> dict[str, str]:
    """The text of each field of a document."""
    # A document may have the two parts in either order; the form has the base first.
    options = [
        {**option, "parts": sorted(option["parts"], key=lambda part: part.get("role") == "burst")}
        for option in document.get("options", ())
    ]
    texts = _texts_of(ScenarioDocument, {**document, "options": options})
    points = document.get("demand", {}).get("points")
    if points is not None:
        texts["demand.csv"] = KINDS["points"].text(points)
    for index, option in enumerate(options):
        texts[f"options.{index}.parts.0.role"] = option["parts"][0].get("role", "all")
        for part in option["parts"]:
            price = part.get("price", {})
            currency = price.get(CURRENCY) or price.get("hardware", {}).get(CURRENCY)
            if currency:
                texts.setdefault(CURRENCY, currency)
    return {name: text for name, text in texts.items() if text}


def _texts_of(model: type[Document], values: Mapping[str, Any], at: str = "") -> dict[str, str]:
    """Texts of an object whose names begin so."""
    texts: dict[str, str] = {}
    for field in fields_of(model).values():
        name, value = f"{at}{field.name}", values.get(field.name)
        if value is None:
            continue
        if field.value.label:
            texts[name] = kind_of(field).text(value)
        elif inner := inner_model(field):
            texts |= _texts_of(inner, value, f"{name}.")
        elif field.element:
            for index, each in enumerate(value):
                texts |= _texts_of(field.element, each, f"{name}.{index}.")
    return texts
