"""Numbers and days as people write them; what may mean two things is never guessed.

`1.234,56`, `1,234.56`, `1 234,56` and `1'234.56` mean one number each. `1.249` is 1249 in one country and
1.249 in another, `03/04/2026` two days: those need a locale.
"""

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal

# Stated and not taken from a locale library: what a file means must not change with a version of it.
COMMA_LANGUAGES = frozenset((
    "bg", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr", "hu", "is", "it",
    "lt", "lv", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk",
))  # fmt: skip
POINT_LANGUAGES = frozenset(("en", "ga", "he", "hi", "ja", "ko", "mt", "th", "zh"))
# Regions that write a point although their language writes a comma.
POINT_LOCALES = frozenset({"de-ch", "de-li", "it-ch", "es-mx"})
# Of a quote; a spreadsheet shows an empty date as 1899-12-30.
FIRST_YEAR = 1990
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_][a-z]{2})?(?:\.utf-?8)?")
_SPACED = re.compile(r"[+-]?[0-9]{1,3}(?:[ \u00a0\u2009\u202f'’][0-9]{3})+(?:[.,][0-9]+)?")
_SPACES = re.compile(r"[ \u00a0\u2009\u202f'’]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*")
_MARKED = re.compile(r"[+-]?[0-9]+[.,][0-9]+")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[.,][0-9]{3})+")
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]00:00(?::00)?)?")
_POINTS = re.compile(r"([0-9]{1,2})\. ?([0-9]{1,2})\. ?([0-9]{4})")
_SLASHES = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_MOST_DIGITS = 40
_MOST_MONTHS = 12


class AmbiguousNumber(ValueError):
    """Digits that mean one number in some countries and another one in others."""


def normal_locale(name: str) -> str:
    """As in de-at, of de_AT.UTF-8."""
    return name.strip().lower().partition(".")[0].replace("_", "-")


def is_known_locale(name: str) -> bool:
    """True if the decimal mark of a locale is known."""
    language = _LANGUAGE.fullmatch(name.strip().lower())
    return language is not None and language[1] in COMMA_LANGUAGES | POINT_LANGUAGES


def decimal_mark(locale: str) -> str:
    """The mark that a locale writes before decimals; "" without a locale."""
    name = normal_locale(locale)
    if not name:
        return ""
    return "," if name not in POINT_LOCALES and name[:2] in COMMA_LANGUAGES else "."


def guess_locale(cells: Iterable[str]) -> str:
    """A locale whose decimal mark the figures of a whole table show; "" where none or both are seen."""
    marks = {
        next(char for char in cell if char in ".,")
        for cell in cells
        if _MARKED.fullmatch(cell) and not _GROUPED.fullmatch(cell)
    }
    return {".": "en", ",": "de"}[marks.pop()] if len(marks) == 1 else ""


def number(cell: str, locale: str = "") -> Decimal:
    """The number that a cell says. ValueError says why it says none, or may say two."""
    if len(cell) > _MOST_DIGITS:
        raise ValueError("is not a decimal number")
    if _SPACED.fullmatch(cell):
        # Spaces group, so a mark behind them stands before decimals whatever follows.
        text = _SPACES.sub("", cell)
        mark = next((char for char in ".," if char in text), "")
        return _decimal(text, mark, decimal_mark(locale))
    if not _NUMBER.fullmatch(cell):
        raise ValueError("is not a decimal number")
    return _decimal(cell, _mark(cell, decimal_mark(locale)), decimal_mark(locale))


def parse_number(text: str, language: str) -> Decimal:
    """The number that a reader of a language types. ValueError says why it is none.

    AmbiguousNumber where the language writes a comma before decimals and a single point stands
    before three digits: 1.000 is a thousand there, and one to whoever types as keyboards do.
    """
    text = text.strip()
    # .5 and ,5 lack the zero that each language writes before them.
    text = re.sub(r"^([+-]?)(?=[.,][0-9])", r"\g<1>0", text)
    try:
        return number(text)
    except AmbiguousNumber:
        mark = next(char for char in text if char in ".,")
        if mark == "." and decimal_mark(language) == ",":
            raise
        return number(text, language)


def _mark(cell: str, stated: str) -> str:
    """The decimal mark of digits and marks; "" where there are no decimals."""
    marks = [char for char in cell if char in ".,"]
    if not marks:
        return ""
    if len(set(marks)) > 1:
        # Both marks: the last one stands before decimals, the other groups.
        whole = cell[: cell.rindex(marks[-1])]
        if marks.count(marks[-1]) > 1 or not _GROUPED.fullmatch(whole):
            raise ValueError("is not a decimal number: its thousands are not in groups of three")
        return marks[-1]
    is_grouped = bool(_GROUPED.fullmatch(cell))
    if len(marks) > 1:
        if not is_grouped:
            raise ValueError("is not a decimal number: its thousands are not in groups of three")
        return "," if marks[0] == "." else "."
    if is_grouped and not stated:
        both = f"{cell.replace(marks[0], '')} or {cell.replace(marks[0], '.')}"
        raise AmbiguousNumber(f"may be {both}: state the locale, such as de or en")
    return stated if is_grouped else marks[0]


def _decimal(text: str, mark: str, stated: str) -> Decimal:
    if mark and stated and mark != stated:
        known = {".": "point", ",": "comma"}
        raise ValueError(
            f"has a {known[mark]} before its decimals, though by its locale a {known[stated]} is"
            " the decimal mark"
        )
    for group in ".,".replace(mark, ""):
        text = text.replace(group, "")
    return Decimal(text.replace(mark, ".") if mark else text)


def day(cell: str, locale: str = "") -> dt.date:
    """The day that a cell says. ValueError says why it says none, or may say two."""
    if iso := _ISO.fullmatch(cell):
        year, month, number_ = map(int, iso.groups())
    elif points := _POINTS.fullmatch(cell):
        number_, month, year = map(int, points.groups())
    elif slashes := _SLASHES.fullmatch(cell):
        first, second, year = map(int, slashes.groups())
        number_, month = _parse_slashed(first, second, locale)
    else:
        raise ValueError("is not a date (YYYY-MM-DD)")
    try:
        date = dt.date(year, month, number_)
    except ValueError:
        raise ValueError("is not a date (YYYY-MM-DD)") from None
    if date.year < FIRST_YEAR:
        raise ValueError("is what a spreadsheet shows for no date: write the day as YYYY-MM-DD")
    return date


def _parse_slashed(first: int, second: int, locale: str) -> tuple[int, int]:
    """(day, month) of a date whose order depends on who writes it."""
    name = normal_locale(locale)
    if first > _MOST_MONTHS or first == second:
        return first, second
    if second > _MOST_MONTHS or name == "en-us":
        return second, first
    if name in {"", "en"}:
        raise ValueError("may be two days: state the locale, such as en-US or en-GB, or YYYY-MM-DD")
    return first, second
