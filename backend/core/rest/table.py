"""A table as every format sees it: named, typed columns, and one function that prints each cell."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

# The signs that OWASP lists for CSV injection, the full-width ones among them.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")


class ColumnType(StrEnum):
    """Type of a column's cells; NUMBER is a measured or counted figure, DECIMAL an exact amount."""

    TEXT = "text"
    WORDS = "words"
    LIST = "list"
    """Words as a JSON array; in tables separated by blanks."""
    INTEGER = "integer"
    NUMBER = "number"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"

    @property
    def is_numeric(self) -> bool:
        return self in {ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.DECIMAL}

    @property
    def is_ordered(self) -> bool:
        """True if `__gte` and `__lte` make sense."""
        return self.is_numeric or self in {ColumnType.DATE, ColumnType.TIME}


@dataclass(frozen=True)
class Column:
    """A column: its fixed name, kind, and what it says. `unit` is empty where there is none."""

    name: str
    kind: ColumnType
    description: str
    unit: str = ""


# Of the names of columns and what prints a cell, the printed cells of each row.
Texts = Callable[[Sequence[str], Callable[[Any], str]], Iterable[Sequence[str]]]


@dataclass(frozen=True)
class Table:
    """Rows under columns, for the formats that carry no envelope; `about` names its origin."""

    columns: tuple[Column, ...]
    rows: Iterable[Mapping[str, Any]]
    name: str
    about: Mapping[str, str]
    texts: Texts | None = None
    """Source of these columns' cells as texts, sooner than the rows are."""


def plain(value: Decimal) -> str:
    """A Decimal without an exponent, every digit kept."""
    return format(value, "f")


def iso_time(value: dt.datetime) -> str:
    """UTC, ISO 8601, `Z`."""
    return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


# Types of most cells, which JSON has as they are.
AS_IS = frozenset({bool, float, int, str, type(None)})


def json_cell(value: Any) -> Any:
    """A cell as JSON: amounts are decimal strings, measured figures numbers, unknown is null."""
    if type(value) in AS_IS:
        return value
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, dt.datetime):
        return iso_time(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value


def escape_formula(text: str) -> str:
    """Text that no spreadsheet takes for a formula; numbers never come here."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def text_cell(value: Any) -> str:
    """A cell as CSV text: the digits of JSON, TRUE or FALSE, empty for unknown."""
    if value is None:
        return ""
    # Before numbers: to Python a bool is one, and a cell would show 1.
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        # The shortest digits that read back as the same float; str.format would round or pad.
        return repr(value)
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, (int, dt.date)):
        return str(json_cell(value))
    return escape_formula(" ".join(value) if isinstance(value, list) else str(value))


def json_rows(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as JSON objects with the columns in order."""
    names = [column.name for column in columns]
    return [{name: json_cell(row[name]) for name in names} for row in rows]
