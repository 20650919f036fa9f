"""When a line of a bill begins, as the formats write it."""

import datetime as dt
import re

ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?(.*)")
MONTH_FIRST = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?: .*)?")
DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})(?: .*)?")
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
# Google's export writes ` UTC`, which `fromisoformat` does not read.
ZONES = frozenset({"", "Z", " UTC", "+00:00", "+0000", "+00"})


def moment(text: str) -> dt.datetime | None:
    """UTC; None for what is no date. With slashes the month comes first, as Azure and FOCUS write it in
    every language; with points the day does."""
    text = text.strip()
    try:
        if match := ISO.fullmatch(text):
            *parts, zone = match.groups()
            if zone not in ZONES:
                return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
            year, month, day, hour, minute, second = (int(part or 0) for part in parts)
            return dt.datetime(year, month, day or 1, hour, minute, second, tzinfo=dt.UTC)
        if match := MONTH_FIRST.fullmatch(text):
            month, day, year = map(int, match.groups())
            return dt.datetime(_full(year), month, day, tzinfo=dt.UTC)
        if match := DAY_FIRST.fullmatch(text):
            day, month, year = map(int, match.groups())
            return dt.datetime(_full(year), month, day, tzinfo=dt.UTC)
        if match := COMPACT.fullmatch(text):
            year, month, day = map(int, match.groups())
            return dt.datetime(year, month, day, tzinfo=dt.UTC)
    # Another zone's first or last hours are in no year of UTC.
    except (ValueError, OverflowError):
        return None
    return None


def _full(year: int) -> int:
    # No bill is older than the clouds.
    return 2000 + year if year < 100 else year
