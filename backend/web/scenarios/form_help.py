"""Help for the fields of the editor: meaning, unit, range, default and source."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from backend.domain.documents.values import Number, Value, WholeNumber
from backend.web.scenarios.form_layout import Entry
from backend.web.shared import figures
from backend.web.shared.language import _, lazy

FORMATS = {
    "count": lazy("Empty: as many as needed. Else a number, peak, or optimal"),
    "convention": lazy("calendar, 30d, or a number of hours"),
    "days": lazy("Mon-Fri, or Sat, Sun. Empty: every day"),
    "numbers": lazy("with spaces between"),
    "pairs": lazy("One a line, growing: up to, then the figure; rest instead of the last bound"),
    "events": lazy("One a line: time with zone, seconds, what it adds"),
    "items": lazy(
        "One a line, with commas: pieces in all, what it is, price of one, mean watts of one"
    ),
    "disks": lazy(
        "One a line, with commas: disks in all, GB of one, kind (ssd, nvme or hdd), price of one,"
        " failures a year"
    ),
    "lease": lazy("With a comma: rate of a month, months"),
    "points": lazy("One a line: time with zone or seconds since 1970, a comma, the value"),
}
# Kinds whose format shows their meaning.
FORMAT_ONLY = frozenset({"count", "points", "pairs", "events", "items", "disks", "lease"})
# Kinds whose bounds are those of their parts, or are described with their format.
WITHOUT_RANGE = frozenset({"days", "numbers", "points", "count", "convention"})


class Help(NamedTuple):
    """The line below a field, and the grey words in it while it is empty."""

    text: str
    placeholder: str


def help_for(entry: Entry) -> Help:
    """Help for a field of the layout."""
    value = entry.value
    is_repeated = "*" in entry.path
    said = [] if entry.kind in FORMAT_ONLY or is_repeated else [value.meaning]
    said += [FORMATS.get(entry.kind, ""), value.unit]
    said += [bounds(value)] if entry.kind not in WITHOUT_RANGE else []
    text = "; ".join(map(str, filter(None, said)))
    if not is_repeated:  # for all others a table states the rest once
        text = f"{text}. {value.source}".strip()
    return Help(text, entry.default)


def glossary(entries: Iterable[Entry]) -> list[tuple[Entry, str]]:
    """(entry, range) of each, for the table that explains them all."""
    return [(entry, bounds(entry.value)) for entry in entries]


def bounds(value: Value) -> str:
    """`0 to 1`, `above 0`, or nothing where there is no bound."""
    if not isinstance(value, Number | WholeNumber):
        return ""
    is_above = isinstance(value, Number) and value.is_above
    low = figures.quantity(Decimal(value.low))
    if value.high is None or Decimal(value.high) >= figures.NO_BOUND:
        return _("above {low}", low=low) if is_above else _("from {low}", low=low)
    if not is_above:
        return figures.bounds(Decimal(value.low), Decimal(value.high))
    return _("above {low}, up to {high}", low=low, high=figures.quantity(Decimal(value.high)))
