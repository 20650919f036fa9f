"""Query parameters: typed readers, warnings for unknown names, one error for all bad values."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from backend.foundation.decimals import read_decimal
from backend.foundation.errors import DomainError

# Who needs all rows takes CSV or XLSX, which have no pages.
PER_PAGE = 50
MAX_PER_PAGE = 250
# Decimal("1e999999999") is valid and short, and printing it without an exponent fills the memory.

LONGEST_SHOWN = 60
# Of the header: servers and proxies refuse fields of more than some kilobytes.
SHOWN_WARNINGS = 10

Reader = Callable[[str], Any]
Params = Mapping[str, Sequence[str]]


class InvalidParameters(DomainError):
    """Parameters with a bad value: pairs of parameter name and what is wrong with it."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {detail}" for field, detail in errors))
        self.errors = list(errors)


def given(params: Params) -> dict[str, list[str]]:
    """The parameters that hold something: a form may send all its fields, also the empty ones."""
    stripped = {name: [v.strip() for v in values if v.strip()] for name, values in params.items()}
    return {name: values for name, values in stripped.items() if values}


def printable(words: str) -> str:
    """As much of somebody's words as a header and a page can show."""
    shown = words if len(words) <= LONGEST_SHOWN else f"{words[:LONGEST_SHOWN]}…"
    return "".join(letter if letter.isprintable() else "?" for letter in shown)


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` with the known name that is most like this one; empty for none."""
    # What is longer is no slip of the pen, and to compare it takes long.
    if len(name) > LONGEST_SHOWN:
        return ""
    by_fold = {name.casefold(): name for name in known}
    alike = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.7)
    return f" (did you mean {by_fold[alike[0]]}?)" if alike else ""


def warning_of_unknown(name: str, known: Iterable[str] = ()) -> str:
    """The visible warning for a parameter that was ignored, with the one it may have meant."""
    return f"unknown parameter {printable(name)} was ignored{nearest(name, known)}"


def read(params: Params, readers: Mapping[str, Reader]) -> tuple[dict[str, Any], list[str]]:
    """The values of the known parameters, and a warning for each unknown one.

    Raises InvalidParameters with every bad value.
    """
    values: dict[str, Any] = {}
    warnings: list[str] = []
    errors: list[tuple[str, str]] = []
    for name, texts in given(params).items():
        if name not in readers:
            # Of the first ones alone: an address may have thousands, and each is compared with all.
            known = readers if len(warnings) < SHOWN_WARNINGS else ()
            warnings.append(warning_of_unknown(name, known))
            continue
        try:
            # The last counts, as where Django reads a parameter that is given twice.
            values[name] = readers[name](texts[-1])
        except ValueError as error:
            errors.append((name, str(error)))
    if errors:
        raise InvalidParameters(errors)
    return values, warnings


# --- readers: each raises ValueError with a sentence ------------------------------------------


@dataclass(frozen=True)
class WordChoice:
    """Reads one of some words."""

    words: tuple[str, ...]

    def __call__(self, value: str) -> str:
        if value not in self.words:
            raise ValueError(f"{value!r} is not one of {', '.join(self.words)}")
        return value


def one_of(choices: Sequence[str]) -> WordChoice:
    return WordChoice(tuple(choices))


@dataclass(frozen=True)
class Whole:
    """Reads a whole number between two bounds."""

    low: int
    high: int

    def __call__(self, value: str) -> int:
        # The length first: int() refuses thousands of digits with words of its own.
        is_whole = value.isascii() and value.isdigit() and len(value) <= len(str(self.high))
        if not is_whole or not self.low <= int(value) <= self.high:
            raise ValueError(f"{value!r} is not a whole number from {self.low} to {self.high}")
        return int(value)


def whole(low: int, high: int) -> Whole:
    """A whole number between two bounds."""
    return Whole(low, high)


def text(value: str) -> str:
    """Any text that a database can hold."""
    if "\0" in value:
        raise ValueError("a NUL character is not text")
    return value


def number(value: str) -> Decimal:
    """A finite decimal number of sensible size."""
    parsed = read_decimal(value)
    if parsed is None:
        raise ValueError(f"{value!r} is not a number")
    return parsed


def time(value: str) -> dt.datetime:
    """An ISO 8601 time or day; without a zone it is UTC."""
    try:
        parsed = parse_datetime(value) or dt.datetime.combine(
            dt.date.fromisoformat(value), dt.time()
        )
        return parsed.astimezone(dt.UTC) if parsed.tzinfo else parsed.replace(tzinfo=dt.UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a date (YYYY-MM-DD) or an ISO 8601 time") from None


def day(value: str) -> dt.date:
    """The day of an ISO 8601 date or time; the last day of the calendar is no day to bound by."""
    parsed = time(value).date()
    # Bounds are turned to the start of the next day, which would not exist.
    if parsed == dt.date.max:
        raise ValueError(f"{value!r} is too far ahead")
    return parsed


def boolean(value: str) -> bool:
    """1/true/yes or 0/false/no."""
    if value.lower() in {"1", "true", "yes"}:
        return True
    if value.lower() in {"0", "false", "no"}:
        return False
    raise ValueError(f"{value!r} is not one of 1, 0, true, false, yes, no")


def identifier(value: str) -> UUID:
    """A UUID."""
    try:
        return UUID(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a UUID") from None


def schema_of(reader: Reader) -> dict[str, Any]:
    """The JSON Schema of what a reader accepts; an empty value is no value, so it is allowed."""
    if isinstance(reader, WordChoice):
        return {"type": "string", "enum": list(reader.words)}
    if isinstance(reader, Whole):
        return {"type": "integer", "minimum": reader.low, "maximum": reader.high}
    return dict(_SCHEMAS.get(reader, {"type": "string"}))


_SCHEMAS: Mapping[Reader, Mapping[str, Any]] = {
    number: {"type": "number"},
    time: {"type": "string", "format": "date-time"},
    day: {"type": "string", "format": "date"},
    boolean: {"type": "boolean"},
    identifier: {"type": "string", "format": "uuid"},
}
PAGING: Mapping[str, Reader] = {
    "page": whole(1, 999_999_999),
    "per_page": whole(1, MAX_PER_PAGE),
}
