"""The conditions box: `vcpu>=4 ram_gib 8..64 price<300` read as parameters of the URL."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from backend.core.rest.parameters import boolean, number, time
from backend.core.rest.table import ColumnType
from backend.rankings.selectors.columns import COLUMN
from backend.site.language import _

SIGNS = {
    ">=": "__gte",
    "≥": "__gte",
    "<=": "__lte",
    "≤": "__lte",
    ">": "__gt",
    "<": "__lt",
    "!=": "!",
    "≠": "!",
    "==": "",
    "=": "",
}
# People write `and`, commas or nothing at all between conditions; all of it means the same.
SEPARATORS = re.compile(r"(?:[\s,;]|&&?|\band\b)+", re.IGNORECASE)
# A value ends at a space, or at a comma that another condition follows.
CONDITION = re.compile(
    r"""(?P<column>[a-z]\w*)
        (?: \s*(?P<sign>[<>]=?|[=!]=|=|[≤≥≠])\s* | \s+(?=[\d.+-]\S*\.\.|\.\.) )
        (?P<value>[^\s;&<>=!≤≥≠]+?)
        (?= ,?(?:[\s;&]|$) | ,[a-z]\w*\s*[<>=!≤≥≠] )""",
    re.IGNORECASE | re.VERBOSE,
)
RANGE = ".."
# The pattern below is tried at each place of the text; a form sends no more than a line.
LONGEST = 1_000


def conditions(text: str) -> dict[str, str]:
    """Names of parameters with their values, in the order in which the text states them.

    `a..b` states both bounds, `a..` and `..b` one; a comma stands between alternatives. Raises
    ValueError with a sentence that quotes what was not understood.
    """
    if len(text) > LONGEST:
        raise ValueError(_("more than {longest} characters", longest=LONGEST))
    values: dict[str, str] = {}
    position = _start(text, 0)
    while position < len(text):
        match = CONDITION.match(text, position)
        if match is None:
            raise ValueError(_complaint(text[position:]))
        for name, value in _parameters(match["column"], match["sign"] or "=", match["value"]):
            # The address can hold one value of a name: one of both would silently be dropped.
            if values.setdefault(name, value) != value:
                raise ValueError(
                    _(
                        "two conditions say different things: {first} and {second}",
                        first=values[name],
                        second=value,
                    )
                )
        position = _start(text, match.end())
    return values


def _start(text: str, position: int) -> int:
    separator = SEPARATORS.match(text, position)
    return separator.end() if separator else position


def _complaint(rest: str) -> str:
    piece = rest[:40]
    word = re.match(r"[a-z]\w*", rest, re.IGNORECASE)
    if word and word[0].lower() not in COLUMN:
        return _no_column(word[0])
    return _("{piece!r} is not a condition such as vcpu>=4 or ram_gib 8..64", piece=piece)


def _no_column(name: str) -> str:
    near = get_close_matches(name.lower(), COLUMN, n=1, cutoff=0.5)
    hint = _("; did you mean {near}?", near=near[0]) if near else ""
    return _("{name!r} is not a column{hint}", name=name[:40], hint=hint)


def _parameters(name: str, sign: str, value: str) -> list[tuple[str, str]]:
    column = COLUMN.get(name.lower())
    if column is None:
        raise ValueError(_no_column(name))
    is_ordered = column.kind.is_ordered
    # Only for what has an order: the name of a machine may have two dots.
    if is_ordered and RANGE in value and sign in {"=", "=="}:
        return _bounds(column.name, column.kind, value)
    suffix = SIGNS[sign]
    if suffix.startswith("__") and not is_ordered:
        raise ValueError(_("{name} has no order: say {name}= or {name}!=", name=column.name))
    for part in [value] if suffix.startswith("__") else value.split(","):
        _check_value(column.kind, part)
    return [(column.name + suffix, value)]


def _bounds(name: str, kind: ColumnType, value: str) -> list[tuple[str, str]]:
    low, _dots, high = value.partition(RANGE)
    if not low and not high:
        raise ValueError(_("{name} .. has no bound", name=name))
    ends = [_check_value(kind, end) for end in (low, high) if end]
    if len(ends) == 2 and ends[0] > ends[1]:
        raise ValueError(
            _(
                "{name} {value} holds nothing: its first bound is the larger one",
                name=name,
                value=value,
            )
        )
    return [(name + suffix, end) for suffix, end in (("__gte", low), ("__lte", high)) if end]


def _check_value(kind: ColumnType, value: str) -> Any:
    """The value as its column compares it."""
    if kind.is_numeric:
        return number(value)
    readers: dict[ColumnType, Callable[[str], Any]] = {
        ColumnType.DATE: time,
        ColumnType.TIME: time,
        ColumnType.BOOLEAN: boolean,
    }
    return readers.get(kind, str)(value)
