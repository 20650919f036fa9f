"""What stands below and in the fields of the editor: meaning, unit, range, default and source."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from backend.domain.scenarios.fields import FIELDS, Field
from backend.web.scenarios.form_layout import Entry
from backend.web.shared import figures

FORMATS = {
    "count": "Empty: as many as needed. Else a number, peak, or optimal",
    "convention": "calendar, 30d, or a number of hours",
    "days": "Mon-Fri, or Sat, Sun. Empty: every day",
    "numbers": "with spaces between",
    "pairs": "One a line, growing: up to, then the figure; rest in the place of the last bound",
    "events": "One a line: time with zone, seconds, what it adds",
    "points": "One a line: time with zone or seconds since 1970, a comma, the value",
}
FORMAT_ONLY = frozenset({"count", "points", "pairs", "events"})
"""Kinds whose format tells their meaning."""
WITHOUT_RANGE = frozenset({"days", "numbers", "points", "count", "convention"})
"""Kinds whose bounds are those of their parts, or are told with their format."""


class Help(NamedTuple):
    """The line below a field, and the grey words in it while it is empty."""

    text: str
    placeholder: str


def help_for(entry: Entry) -> Help:
    """What is said of a field of the layout."""
    field = FIELDS[f"/{entry.path}"]
    is_repeated = "*" in entry.path
    said = [] if entry.kind in FORMAT_ONLY or is_repeated else [field.meaning]
    said += [FORMATS.get(entry.kind, ""), field.unit]
    said += [bounds(field)] if entry.kind not in WITHOUT_RANGE else []
    text = "; ".join(filter(None, said))
    if not is_repeated:  # of all others a table tells the rest once
        text = f"{text}. {field.source}".strip()
    return Help(text, field.default or "")


def glossary(entries: Iterable[Entry]) -> list[tuple[Entry, Field, str]]:
    """(entry, field, range) of each, for the table that explains them all."""
    found = [(entry, FIELDS[f"/{entry.path}"]) for entry in entries]
    return [(entry, field, bounds(field)) for entry, field in found]


def bounds(field: Field) -> str:
    """`0 to 1`, `above 0`, or nothing where there is no bound."""
    low = None if field.low is None else figures.quantity(Decimal(field.low))
    high = None if field.high is None else figures.quantity(Decimal(field.high))
    if low is None:
        return ""
    if high is None:
        return f"above {low}" if field.is_above else f"from {low}"
    return f"above {low}, up to {high}" if field.is_above else f"{low} to {high}"
