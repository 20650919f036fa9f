"""Values of a document as lines of text that people type, and back.

What cannot be read is passed on as typed: whoever judges the document names the field.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from backend.web.shared.number_fields import document_number, number_text

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
REST = "rest"
# What fits into 64 bits; a longer text stays text, and the document's reader names its field.
MOST_DIGITS = 18


def parse_value(text: str, kind: str) -> Any:
    """The value that a text stands for; the text itself where it stands for none."""
    return _READS.get(kind, str)(text)


def entry_text(value: Any, kind: str) -> str:
    """The text that stands for a value; empty for None."""
    if value is None:
        return ""
    if kind == "decimal":
        return str(number_text(value))
    return value if isinstance(value, str) else _WRITES.get(kind, str)(value)


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


def _events(text: str) -> list[dict[str, Any]]:
    events = []
    for line in filter(None, map(str.strip, text.splitlines())):
        # What is missing stays missing: the reader of the document says which.
        at, length, level = [*line.split(), "", "", ""][:3]
        given = {"at": at, "duration_s": _whole(length), "level": level}
        events.append({name: value for name, value in given.items() if value != ""})
    return events


def _events_text(events: Any) -> str:
    names = ("at", "duration_s", "level")
    return "\n".join(" ".join(str(event.get(name, "")) for name in names) for event in events)


def _points_text(points: Any) -> str:
    return "\n".join(",".join(str(item) for item in point) for point in points)


# What a line of them states, in this order.
_ITEM = ("count", "name", "unit_price", "watts")
_DISK = ("count", "gb", "kind", "unit_price", "annual_failure_rate")
_LEASE = ("price_per_month", "term_months")
_ARE_WHOLE = frozenset({"count", "term_months"})


def _line(line: str, names: tuple[str, ...]) -> dict[str, Any]:
    stated = zip(names, map(str.strip, line.split(",")), strict=False)
    return {name: _whole(text) if name in _ARE_WHOLE else text for name, text in stated if text}


def _lines(text: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [_line(line, names) for line in filter(None, map(str.strip, text.splitlines()))]


def _line_text(value: Any, names: tuple[str, ...]) -> str:
    return ", ".join("" if value.get(name) is None else str(value[name]) for name in names)


def _lines_text(values: Any, names: tuple[str, ...]) -> str:
    return "\n".join(_line_text(value, names) for value in values)


def _flag(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


def _after_text(value: Any) -> str:
    return str(value.get("amount", "")) if isinstance(value, Mapping) else str(value)


_READS: Mapping[str, Callable[[str], Any]] = {
    "decimal": document_number,
    "whole": _whole,
    "count": _whole,
    "convention": _whole,
    "days": _days,
    "numbers": _numbers,
    "pairs": _pairs,
    "events": _events,
    "items": lambda text: _lines(text, _ITEM),
    "disks": lambda text: _lines(text, _DISK),
    "lease": lambda text: _line(text, _LEASE),
    "flag": _flag,
    "remarks": str.splitlines,
}
_WRITES: Mapping[str, Callable[[Any], str]] = {
    "days": _days_text,
    "numbers": lambda values: " ".join(map(str, values)),
    "pairs": _pairs_text,
    "events": _events_text,
    "points": _points_text,
    "items": lambda values: _lines_text(values, _ITEM),
    "disks": lambda values: _lines_text(values, _DISK),
    "lease": lambda value: _line_text(value, _LEASE),
    "flag": lambda value: str(value).lower(),
    "after": _after_text,
    "remarks": "\n".join,
}
