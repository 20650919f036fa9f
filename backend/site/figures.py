"""Numbers as people read them, in their language; the full value always stands in the element's title."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import floor, log10

import numpy as np

from backend.foundation import figures
from backend.foundation.figures import Number
from backend.money.amounts import Floats
from backend.site.language import _, count_words, localize

# A figure that much smaller than the middle one gets no decimals of its own in all others.
FAR_BELOW = 100
# From here on a bound only keeps numbers from overflowing: the longest step has 2,592,000 s.
NO_BOUND = 10_000_000


@dataclass(frozen=True)
class UnitScale:
    """How figures of one unit are shown: divided by `factor`, in `unit`."""

    factor: float
    unit: str
    # Decimals of the column, up to which shorter figures are filled with zeros; None: none are.
    digits: int | None = None

    def shown(self, value: Number | None) -> float | None:
        """The value in this scale's unit; None stays None."""
        return None if value is None else float(value) / self.factor

    def text(self, value: Number | None) -> str:
        """The value in this scale's unit as people read it; empty for None."""
        shown = self.shown(value)
        if shown is None or self.digits is None:
            return figure(shown)
        # What is far below the others would read as nothing.
        if shown != 0 and abs(shown) < 10.0**-self.digits:
            return figure(shown)
        decimals = min(self.digits, figures.decimals_of(abs(shown)))
        return localize(f"{figures.significant(shown):,.{decimals}f}")


def scale(unit: str, values: Iterable[Number] | Floats) -> UnitScale:
    """A scale under which the middle of the values reads as 1 to 999 (bytes, bits, ns only)."""
    known = _ascending(values)
    # Not the largest: a single extreme would turn all other figures into thousandths.
    middle = float(known[known.size // 2]) if known.size else 0.0
    factor, shown = figures.prefix(unit, middle)
    return UnitScale(factor, shown, _digits(known / factor))


def _ascending(values: Iterable[Number] | Floats) -> Floats:
    # Those of a ranking come as an array, a hundred thousand of them.
    if isinstance(values, np.ndarray):
        return np.sort(values)
    return np.sort(np.array([float(value) for value in values]))


def _digits(known: Floats) -> int | None:
    """Decimals for values in rising order: four digits of the middle one, and three of the least
    that is not far below it."""
    sizes = np.abs(known[known != 0])
    if not sizes.size:
        return None
    middle = float(sizes[sizes.size // 2])
    least = float(sizes[sizes >= middle / FAR_BELOW].min())
    # log10 gives the place of the first digit, so 2 less it are the decimals for three digits.
    digits = max(figures.decimals_of(middle), 2 - floor(log10(least)))
    # More than four would be more digits than anybody reads: each figure then has its own.
    return digits if digits <= figures.MAX_DIGITS else None


def value_scale(
    score: UnitScale, better: str, cost: str, values: Iterable[Number | None] = ()
) -> UnitScale:
    """Scale of the `values` per cost where scores are shown in `score`, `better` higher or lower,
    and costs in `cost`."""
    # A lower score stands below the line, so its factor multiplies.
    is_high = better == "higher"
    factor = score.factor if is_high else 1 / score.factor
    unit = f"{score.unit} per {cost}" if is_high else f"1 / ({score.unit} × {cost})"
    known = _ascending(value for value in values if value is not None)
    return UnitScale(factor, unit, _digits(known / factor))


def figure(value: Number | None) -> str:
    """At most four significant digits with thousands separators; empty for None."""
    return localize(figures.figure(value))


def measure(value: Number, unit: str) -> str:
    """A value with its unit scaled, as 1.64 GB/s or 388 µs."""
    return localize(figures.measure(value, unit))


def money(amount: Number | None, period: str = "") -> str:
    """An amount of a column that names its currency; empty for None."""
    return "" if amount is None else localize(figures.money(amount, period))


def price(amount: Number | None, currency: str, period: str = "") -> str:
    """An amount with its currency and period, as $3.07/mo or 3,07 €/Monat; empty for None."""
    return "" if amount is None else localize(figures.price(amount, currency, period))


def quote(amount: Decimal, currency: str, period: str = "") -> str:
    """A price exactly as its seller states it."""
    return localize(figures.quote(amount, currency, period))


def column_period(periods: Iterable[str]) -> str:
    """The period whose decimals all amounts of one column take, so that their points align."""
    # The finest: an hourly price among monthly ones would read as 0.00 with theirs.
    return "hour" if "hour" in periods else "month"


def plain(value: Number | None) -> str:
    """The whole value without exponent or trailing zeros, for titles."""
    if value is None:
        return ""
    # repr has the fewest digits that still read as the same float; a Decimal has its own.
    text = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
    # Only behind a point: the zeros of 100 are digits.
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(ratio: float, digits: int = 1) -> str:
    return localize(figures.percent(ratio, digits))


def percent_change(ratio: Number | None) -> str:
    """A difference in percent with its sign; empty for None."""
    return "" if ratio is None else localize(figures.percent_change(ratio))


def ends(scale: UnitScale, low: Number | None, high: Number | None) -> str:
    """An interval in the scale's unit; empty where an end is not known."""
    if low is None or high is None:
        return ""
    return f"{scale.text(low)} – {scale.text(high)}"


def bounds(low: Number, high: Number) -> str:
    """A range; an upper end that only keeps numbers from overflowing is left out."""
    if high >= NO_BOUND:
        return _("{low} or more", low=quantity(low))
    return _("{low} to {high}", low=quantity(low), high=quantity(high))


def quantity(value: Number | None) -> str:
    """A count or size as stated; empty for None."""
    return localize(figures.quantity(value))


def duration(seconds: float | None) -> str:
    """Minutes and seconds, as `1 min 05 s`; from an hour on hours and minutes."""
    if seconds is None:
        return ""
    # Rounded before it is split, or 59.6 s would read as 60 s.
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def interval(seconds: int) -> str:
    """A whole number of the largest unit that fits: 2 hours, 1 week, 90 s."""
    if seconds % 604_800 == 0:
        return count_words("{n} week", "{n} weeks", seconds // 604_800)
    if seconds % 86_400 == 0:
        return count_words("{n} day", "{n} days", seconds // 86_400)
    if seconds % 3600 == 0:
        return count_words("{n} hour", "{n} hours", seconds // 3600)
    if seconds % 60 == 0:
        return count_words("{n} minute", "{n} minutes", seconds // 60)
    return f"{seconds} s"


def size(count: int) -> str:
    """Bytes in decimal units."""
    return measure(count, "bytes")
