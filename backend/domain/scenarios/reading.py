"""A document read strictly: every fault is kept under its JSON pointer, and reading goes on."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from backend.domain.errors import InvalidDocument
from backend.domain.parsing.texts import NOT_TEXT
from backend.domain.pricing.billing.lifetimes import DAY_S

MOST_DIGITS = 40
MOST = 10**18
MOST_TEXT = 200
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_CLOCK = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9]))?")


class Node:
    """One object of a document; what is missing or wrong reads as the default given."""

    def __init__(self, value: object, place: str = "", faults: dict[str, str] | None = None):
        self.place = place
        self.faults: dict[str, str] = {} if faults is None else faults
        if not isinstance(value, Mapping):
            self.fault("", "an object is needed")
        self.values: Mapping[str, Any] = value if isinstance(value, Mapping) else {}

    def fault(self, name: str, detail: str) -> None:
        """Keeps what is wrong with a field of this object, or with the object itself."""
        place = f"{self.place}/{name}" if name else self.place
        self.faults.setdefault(place, detail)

    def end(self) -> None:
        """Raises InvalidDocument with all that was wrong."""
        if self.faults:
            raise InvalidDocument(sorted(self.faults.items()))

    def knows(self, *names: str) -> None:
        """Every other field is a fault."""
        for name in self.values:
            if name not in names:
                self.fault(str(name)[:60].replace("~", "~0").replace("/", "~1"), "unknown field")

    def has(self, name: str) -> bool:
        """Whether the field says something."""
        return self.values.get(name) is not None

    # --- kinds of values ------------------------------------------------------------------------

    def number(
        self,
        name: str,
        default: str | None = None,
        *,
        low: str | None = "0",
        above: str | None = None,
        high: str | None = None,
    ) -> Fraction:
        """A decimal string or number within its range; without a default one is needed."""
        value = self.values.get(name)
        if value is None:
            if default is None:
                self.fault(name, "a value is needed")
            return Fraction(default or 1)
        found = exact(value)
        if found is None:
            self.fault(name, f"{_shown(value)} is not a decimal number below 10^18")
        elif low is not None and found < Fraction(low):
            self.fault(name, f"{value} is below {low}")
        elif above is not None and found <= Fraction(above):
            self.fault(name, f"{value} is not above {above}")
        elif high is not None and found > Fraction(high):
            self.fault(name, f"{value} is above {high}")
        else:
            return found
        return Fraction(default or 1)

    def whole(self, name: str, default: int | None, low: int, high: int) -> int:
        """A whole number within its range."""
        value = self.values.get(name)
        if value is None:
            if default is None:
                self.fault(name, "a value is needed")
            return low if default is None else default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(name, f"{_shown(value)} is not a whole number from {low} to {high}")
            return low
        return value

    def maybe_whole(self, name: str, low: int, high: int) -> int | None:
        """A whole number, or None where the field is null or left out."""
        return self.whole(name, None, low, high) if self.has(name) else None

    def text(self, name: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """Text of at most 200 characters, perhaps one of some words."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip() or len(value) > MOST_TEXT:
            self.fault(name, f"text of 1 to {MOST_TEXT} characters is needed")
        elif NOT_TEXT.search(value):
            self.fault(name, "a NUL character or half a character is not text")
        elif choices and value not in choices:
            self.fault(name, f"{value!r} is not one of {', '.join(choices)}")
        else:
            return value.strip()
        return default or (choices[0] if choices else "?")

    def node(self, name: str) -> "Node":
        """The object under a name; one left out reads as empty."""
        return Node(self.values.get(name, {}), f"{self.place}/{name}", self.faults)

    def nodes(self, name: str, low: int = 0, high: int = 1000) -> Iterator["Node"]:
        """The objects of a list."""
        values = self.list(name, low, high)
        for place, value in enumerate(values):
            yield Node(value, f"{self.place}/{name}/{place}", self.faults)

    def list(self, name: str, low: int = 0, high: int = 1000) -> Sequence[Any]:
        """The values of a list; one left out is empty."""
        values = self.values.get(name)
        if values is None:
            values = []
        if not isinstance(values, list | tuple) or not low <= len(values) <= high:
            self.fault(name, f"a list of {low} to {high} is needed")
            return []
        return values

    def time_zone(self, name: str = "time_zone", default: str = "UTC") -> str:
        """Name of a time zone."""
        zone = self.text(name, default)
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.fault(name, f"{zone!r} is not a time zone")
            return default
        return zone

    def clock_s(self, name: str) -> int:
        """A time of day (HH:MM, up to 24:00) as seconds since midnight."""
        value = self.values.get(name)
        match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
        seconds = 0
        if match:
            hours, minutes, rest = (int(part or 0) for part in match.groups())
            seconds = hours * 3600 + minutes * 60 + rest
        if match is None or seconds > DAY_S:
            self.fault(name, f"{value!r} is not a time of day such as 22:00")
        return min(seconds, DAY_S)

    def time_s(self, name: str) -> int:
        """An ISO 8601 time with zone as seconds since 1970; whole seconds."""
        value = self.values.get(name)
        found = instant_s(value)
        if found is None:
            self.fault(name, f"{value!r} is not an ISO 8601 time with zone, of whole seconds")
        return found or 0


def _shown(value: object) -> str:
    """The value in a message; a number of thousands of digits is not printed."""
    if isinstance(value, int) and abs(value) >= MOST:
        return "a number beyond 10^18"
    return repr(str(value)[:40])


def exact(value: object) -> Fraction | None:
    """The exact value of a JSON number or decimal string below 10^18; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, int) and abs(value) >= MOST:
        return None  # its digits need not be printed to be counted
    text = value if isinstance(value, str) else str(value)
    if len(text) > MOST_DIGITS or not _NUMBER.fullmatch(text):
        return None
    found = Fraction(text)
    return found if abs(found) < MOST else None


def instant_s(value: object) -> int | None:
    """Seconds since 1970 of an ISO 8601 time with zone before 2200; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        at = dt.datetime.fromisoformat(value)
    except ValueError:
        return None
    if at.tzinfo is None or at.microsecond or not 1971 <= at.year < 2200:
        return None
    return int(at.timestamp())
