"""Kinds of values of a document: how each is typed, read and explained in a form.

What cannot be read is passed on as typed: whoever judges the document names the field.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from backend.catalog.calc.hardware_document import HardwareDiskDocument, ItemDocument, LeaseDocument
from backend.foundation.documents.model import Described, Document, fields_of
from backend.foundation.documents.values import WholeNumber
from backend.scenarios.calc.demand_document import EventDocument
from backend.site.language import lazy
from backend.site.number_fields import document_number, number_text

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
REST = "rest"
# What fits into 64 bits; a longer text stays text, and the document's reader names its field.
MOST_DIGITS = 18


@dataclass(frozen=True)
class ValueKind:
    """A way to type a value."""

    read: Callable[[str], Any] = str
    """The value that a text stands for; the text itself where it stands for none."""
    write: Callable[[Any], str] = str
    format: str = ""
    """How it is typed, for the line below its field."""
    is_explained: bool = False
    """True if the format says what the field means."""
    rows: int = 0
    """Lines of the field; 0 for one that is typed in a single line."""
    keyboard: str = ""
    placeholder: str = ""

    def text(self, value: Any) -> str:
        """The text that stands for a value; empty for None."""
        if value is None:
            return ""
        # Decimals are text in a document, and the page's language writes them otherwise.
        is_written = isinstance(value, str) and self.write is not number_text
        return value if is_written else self.write(value)


def kind_of(field: Described) -> ValueKind:
    """The kind of a field; a list or an object that is typed as text has one of its own."""
    return KINDS[field.name if field.element or field.model else field.value.editor]


def _whole(text: str) -> Any:
    # isascii, since isdecimal is true of digits of every script.
    text = document_number(text)
    is_whole = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_whole else text


# --- weekdays -----------------------------------------------------------------------------------


def _days(text: str) -> Any:
    days: set[int] = set()
    # Spreadsheets and phones make a dash of a hyphen.
    for part in filter(None, re.split(r"[,;\s]+", text.replace("–", "-"))):
        ends = [_day(end) for end in part.split("-")]
        if len(ends) > 2 or None in ends:
            return text
        first, last = ends[0] or 0, ends[-1] or 0
        # Modulo, so that Sat-Mon goes over the end of the week.
        days |= {(first + n) % 7 for n in range((last - first) % 7 + 1)}
    return sorted(days)


def _day(text: str) -> int | None:
    if text.isdecimal() and len(text) == 1:
        return int(text)
    names = [day.lower() for day in DAYS]
    return names.index(text[:3].lower()) if text[:3].lower() in names else None


def _days_text(days: Any) -> str:
    if not all(isinstance(day, int) and 0 <= day < 7 for day in days):
        # Days that are none are shown as they are stored, for whoever has to mend them.
        return json.dumps(days)
    # Every day is what an empty field means.
    if sorted(days) == list(range(7)):
        return ""
    if days == list(range(5)):
        return "Mon-Fri"
    return ", ".join(DAYS[day] for day in days)


# --- lists --------------------------------------------------------------------------------------


def _numbers(text: str) -> list[str]:
    return [word for word in re.split(r"[,;\s]+", text) if word]


def _pairs(text: str) -> list[list[str | None]]:
    lines = (_numbers(line) for line in text.splitlines())
    return [[None if item == REST else item for item in line] for line in lines if line]


def _pairs_text(pairs: Any) -> str:
    return "\n".join(
        " ".join(REST if item is None else str(item) for item in pair) for pair in pairs
    )


def _points_text(points: Any) -> str:
    return "\n".join(",".join(str(item) for item in point) for point in points)


def _after_text(value: Any) -> str:
    return str(value.get("amount", "")) if isinstance(value, Mapping) else str(value)


def _object(model: type[Document], form: str, *, between: str = ", ", **more: Any) -> ValueKind:
    """A line with the fields of an object in their order."""
    columns = fields_of(model).values()

    def read(line: str) -> dict[str, Any]:
        # What is missing stays missing: the reader of the document says which.
        typed = zip(columns, map(str.strip, line.split(between.strip() or None)), strict=False)
        return {
            field.name: _whole(text) if isinstance(field.value, WholeNumber) else text
            for field, text in typed
            if text
        }

    def write(value: Any) -> str:
        stated = (value.get(field.name) for field in columns)
        return between.join("" if each is None else str(each) for each in stated)

    return ValueKind(read, write, form, is_explained=True, **more)


def _objects(model: type[Document], form: str, **more: Any) -> ValueKind:
    """Such a line for each object of a list."""
    line = _object(model, form, **more)
    return ValueKind(
        lambda text: [line.read(each) for each in filter(None, map(str.strip, text.splitlines()))],
        lambda values: "\n".join(map(line.write, values)),
        form,
        is_explained=True,
        rows=3,
    )


KINDS: Mapping[str, ValueKind] = {
    "text": ValueKind(),
    "choice": ValueKind(),
    "decimal": ValueKind(document_number, number_text, keyboard="decimal"),
    "whole": ValueKind(_whole, keyboard="numeric"),
    "count": ValueKind(
        _whole,
        format=lazy("Leave blank for as many as needed, or enter a number, peak, or optimal"),
        is_explained=True,
        placeholder=lazy("as needed"),
    ),
    "convention": ValueKind(_whole, format=lazy("calendar, 30d, or a number of hours")),
    "days": ValueKind(_days, _days_text, lazy("Mon-Fri, or Sat, Sun. Leave blank for every day")),
    "numbers": ValueKind(
        _numbers,
        lambda values: " ".join(map(str, values)),
        lazy("with spaces between"),
        rows=2,
    ),
    "pairs": ValueKind(
        _pairs,
        _pairs_text,
        lazy("One a line, growing: up to, then the figure; rest instead of the last bound"),
        is_explained=True,
        rows=3,
    ),
    "points": ValueKind(
        write=_points_text,
        format=lazy("One a line: time with zone or seconds since 1970, a comma, the value"),
        is_explained=True,
        rows=6,
    ),
    "flag": ValueKind(
        lambda text: {"true": True, "false": False}.get(text, text),
        lambda value: str(value).lower(),
    ),
    "after": ValueKind(write=_after_text),
    "remarks": ValueKind(str.splitlines, "\n".join, rows=3),
    "events": _objects(
        EventDocument, lazy("One a line: time with zone, seconds, what it adds"), between=" "
    ),
    "items": _objects(
        ItemDocument,
        lazy("One per line, with commas: quantity, what it is, unit price, average watts each"),
    ),
    "disks": _objects(
        HardwareDiskDocument,
        lazy(
            "One per line, with commas: number of disks, GB each, kind (ssd, nvme or hdd), "
            "unit price, failures per year"
        ),
    ),
    "lease": _object(LeaseDocument, lazy("With a comma: rate of a month, months")),
}
