"""The periods of a bill's lines: hours, days or months, and how long the bill is."""

import datetime as dt
from collections.abc import Iterable

from backend.foundation.units import HOURS_PER_MONTH

HOUR = dt.timedelta(hours=1)
DAY = 24 * HOUR
MONTH = dt.timedelta(hours=float(HOURS_PER_MONTH))
# A day of a zone with summer time has 25 hours; what is beyond is rounding.
LONGEST_H = {HOUR: 1.05, DAY: 25.2}


def period_start(moment: dt.datetime, step: dt.timedelta) -> dt.datetime:
    """When the period of a moment begins."""
    whole = moment.replace(minute=0, second=0, microsecond=0)
    if step >= MONTH:
        return whole.replace(day=1, hour=0)
    return whole.replace(hour=0) if step >= DAY else whole


def period_end(start: dt.datetime, step: dt.timedelta) -> dt.datetime:
    """When a period ends; months are those of the calendar."""
    if step >= MONTH:
        return (start.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    return start + step


def month_hours(start: dt.datetime) -> int:
    """Hours of the calendar month of a moment."""
    first = period_start(start, MONTH)
    return round((period_end(first, MONTH) - first) / HOUR)


def step_of(starts: Iterable[dt.datetime]) -> dt.timedelta:
    """By when lines begin, where no column says when they end."""
    moments = list(starts)
    # Only a bill by the hour has lines that begin at another hour than midnight.
    if any(start.hour for start in moments):
        return HOUR
    return DAY if any(start.day != 1 for start in moments) else MONTH


def step_that_holds(hours: float) -> dt.timedelta:
    """The shortest period in which one machine can run so long."""
    return next((step for step, most in LONGEST_H.items() if hours <= most), MONTH)


def is_even_months(hours: float) -> bool:
    """True for a multiple of 730 hours."""
    return _is_multiple(hours, HOURS_PER_MONTH)


def is_calendar_months(hours: float, start: dt.datetime) -> bool:
    """True for a multiple of the hours of a moment's month."""
    return _is_multiple(hours, month_hours(start))


def _is_multiple(hours: float, of: int) -> bool:
    return hours >= of - 1 and abs(hours - of * round(hours / of)) < 0.5


def is_whole_months(hours: float, start: dt.datetime) -> bool:
    """True for a multiple of a month, of 730 hours or of the calendar."""
    return is_even_months(hours) or is_calendar_months(hours, start)
