"""Numbers as people read them; the full value always stands in the element's title."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import floor, log10

import numpy as np

from backend.domain.amounts import Floats
from backend.web.shared.language import counted, localized

Number = Decimal | float | int

# Largest prefix first; a page uses one prefix for all figures of a unit, so columns compare.
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# From here on figures have an exponent.
HUGE = 1e12
# A figure that much smaller than the middle one gets no decimals of its own in all others.
FAR_BELOW = 100
MOST_DIGITS = 7
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


@dataclass(frozen=True)
class UnitScale:
    """How figures of one unit are shown: divided by `factor`, in `unit`."""

    factor: float
    unit: str
    # Decimals of all figures, so that a column is aligned on its point; None: those of each.
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
        is_lost = shown != 0 and abs(shown) < 10.0**-self.digits
        if is_lost or abs(shown) >= HUGE:
            return figure(shown)
        return localized(f"{shown:,.{self.digits}f}")


def scale(unit: str, values: Iterable[Number] | Floats) -> UnitScale:
    """A scale under which the middle of the values reads as 1 to 999 (bytes, bits, ns only)."""
    known = _ascending(values)
    # Not the largest: a single extreme would turn all other figures into thousandths.
    middle = float(known[known.size // 2]) if known.size else 0.0
    factor, shown = _prefixed(unit, middle)
    return UnitScale(factor, shown, _digits(known / factor))


def _ascending(values: Iterable[Number] | Floats) -> Floats:
    # Those of a ranking come as an array, a hundred thousand of them.
    if isinstance(values, np.ndarray):
        return np.sort(values)
    return np.sort(np.array([float(value) for value in values]))


def _prefixed(unit: str, middle: float) -> tuple[float, str]:
    """Factor and name of the unit in which the middle reads as 1 to 999."""
    if unit in {"bytes/s", "bits/s"}:
        short = unit.replace("bytes", "B").replace("bits", "bit")
        for factor, prefix in _PREFIXES:
            if middle >= factor:
                return factor, prefix + short
        return 1, short
    if unit == "ns":
        for factor, name in _TIMES:
            if middle >= factor:
                return factor, name
    return 1, unit


def _digits(known: Floats) -> int | None:
    """Decimals for values in rising order: four digits of the middle one, and three of the least
    that is not far below it."""
    sizes = np.abs(known[known != 0])
    if not sizes.size:
        return None
    middle = float(sizes[sizes.size // 2])
    least = float(sizes[sizes >= middle / FAR_BELOW].min())
    # log10 gives the place of the first digit, so 2 less it are the decimals for three digits.
    digits = max(_decimals(middle), 2 - floor(log10(least)))
    # More would make every figure of the column longer than it is worth: each then has its own.
    return digits if digits <= MOST_DIGITS else None


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
    """About four significant digits with thousands separators; empty for None."""
    if value is None:
        return ""
    size = abs(float(value))
    if size >= HUGE or 0 < size < 1e-4:
        return localized(f"{float(value):.3e}")
    return localized(f"{value:,.{_decimals(size)}f}")


def _decimals(size: float) -> int:
    """Decimals that give a size about four digits."""
    return next((d for limit, d in ((1000, 0), (100, 1), (10, 2), (1, 3)) if size >= limit), 4)


def money(amount: Decimal | None, period: str) -> str:
    """An amount with the decimals customary for its period: four an hour, two otherwise."""
    if amount is None:
        return ""
    # Prices of an hour are parts of a cent for small machines, and two decimals would make them 0.00.
    return localized(f"{amount:,.{4 if period == 'hour' else 2}f}")


def column_period(periods: Iterable[str]) -> str:
    """The period whose decimals all amounts of one column take, so that their points align."""
    # The finest: an hourly price among monthly ones would read as 0.00 with theirs.
    return "hour" if "hour" in periods else "month"


def unit_cost(value: Decimal) -> str:
    """Seven decimals as the first tables of CUP had, more where these leave under four digits."""
    # adjusted() is the exponent of the first digit: 3 less it are the decimals for four digits.
    return localized(f"{value:.{max(7, 3 - value.adjusted())}f}")


def plain(value: Number | None) -> str:
    """The whole value without exponent or trailing zeros, for titles."""
    if value is None:
        return ""
    # repr has the fewest digits that still read as the same float; a Decimal has its own.
    text = format(value, "f") if isinstance(value, Decimal) else repr(value)
    # Only behind a point: the zeros of 100 are digits.
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(ratio: float, digits: int = 1) -> str:
    return localized(f"{ratio:.{digits}%}").replace("%", " %")


def signed_percent(ratio: Decimal | None) -> str:
    """A difference in percent with its sign; empty for None."""
    if not ratio:
        return "" if ratio is None else "±0 %"
    return localized(f"{float(ratio):+,.1%}").replace("%", " %").replace("-", "−")


def ends(scale: UnitScale, low: Number | None, high: Number | None) -> str:
    """An interval in the scale's unit; empty where an end is not known."""
    if low is None or high is None:
        return ""
    return f"{scale.text(low)} – {scale.text(high)}"


def quantity(value: Number | None) -> str:
    """A count or size as stated: no padding, two decimals or two significant digits, so that a
    small price or share never reads as 0."""
    if value is None:
        return ""
    size = abs(float(value))
    if 0 < size < 1e-4:
        return localized(f"{value:.1e}")
    digits = 2 if size >= 0.1 or not size else 1 - floor(log10(size))
    return localized(f"{value:,.{digits}f}".rstrip("0").rstrip("."))


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
        return counted("{n} week", "{n} weeks", seconds // 604_800)
    if seconds % 86_400 == 0:
        return counted("{n} day", "{n} days", seconds // 86_400)
    if seconds % 3600 == 0:
        return counted("{n} hour", "{n} hours", seconds // 3600)
    if seconds % 60 == 0:
        return counted("{n} minute", "{n} minutes", seconds // 60)
    return f"{seconds} s"


def size(count: int) -> str:
    """Bytes in decimal units."""
    for factor, prefix in _PREFIXES:
        if count >= factor:
            return localized(f"{count / factor:,.1f} {prefix}B")
    return f"{count} B"
