"""When a line of a bill begins, as the formats write it."""

import datetime as dt
import re
from collections.abc import Iterable

ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?(.*)")
CLOCK = (
    r"(?:,? (?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<s>\d{2})(?:\.\d+)?)?"
    r"(?: ?(?P<half>[AaPp])[Mm])?(?: UTC|Z)?)?"
)
YEAR = r"(?P<year>\d{4}|\d{2})"
SLASHES = re.compile(rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{YEAR}{CLOCK}")
SHORT = (
    SLASHES,
    re.compile(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{YEAR}{CLOCK}"),
    re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"),
    # A month alone, as spreadsheets show it: 10/2026, 10.2026, Oct-26, October 2026.
    re.compile(r"(?P<month>\d{1,2})[/.](?P<year>\d{4})"),
    re.compile(rf"(?P<name>[A-Za-z]{{3}})[a-z]*\.?[ -]{YEAR}"),
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Google's export writes ` UTC`, which `fromisoformat` does not read.
ZONES = frozenset({"", "Z", " UTC", "+00:00", "+0000", "+00"})


def moment(text: str, *, is_day_first: bool = False) -> dt.datetime | None:
    """UTC; None for what is no date. With slashes the month comes first, as Azure and FOCUS write it in
    every language, unless its file shows that the day does; with points the day does."""
    text = text.strip()
    try:
        if match := ISO.fullmatch(text):
            *parts, zone = match.groups()
            if zone not in ZONES:
                return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
            year, month, day, hour, minute, second = (int(part or 0) for part in parts)
            return dt.datetime(year, month, day or 1, hour, minute, second, tzinfo=dt.UTC)
        for pattern in SHORT:
            if match := pattern.fullmatch(text):
                return _short(match.groupdict(), is_day_first=is_day_first)
    # Another zone's first or last hours are in no year of UTC.
    except (ValueError, OverflowError):
        return None
    return None


def _short(named: dict[str, str | None], *, is_day_first: bool) -> dt.datetime:
    """Raises ValueError for a day or an hour that there is not."""
    if name := named.get("name"):
        named["month"] = str(MONTHS.index(name.lower()) + 1)
    if "first" in named:
        order = ("day", "month") if is_day_first else ("month", "day")
        named |= dict(zip(order, (named["first"], named["second"]), strict=True))
    year, hour = int(named["year"] or 0), int(named.get("hour") or 0)
    if half := named.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half in "Pp" else 0)
    return dt.datetime(
        # No bill is older than the clouds: years of two digits are of this century.
        year + (2000 if year < 100 else 0),
        int(named["month"] or 0),
        int(named.get("day") or 1),
        hour,
        int(named.get("minute") or 0),
        int(named.get("s") or 0),
        tzinfo=dt.UTC,
    )


def shows_day_first(texts: Iterable[str]) -> bool | None:
    """True if dates with slashes have the day first; None where none of them is of one order only."""
    dates = [match for text in texts if (match := SLASHES.fullmatch(text.strip()))]
    if any(int(date["second"]) > 12 for date in dates):
        return False
    return True if any(int(date["first"]) > 12 for date in dates) else None
