"""When a line of a bill begins, as the formats write it."""

import datetime as dt
import re

ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?(.*)")
SHORT = (
    re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}|\d{2})(?: .*)?"),
    re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4}|\d{2})(?: .*)?"),
    re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"),
)
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
        for pattern in SHORT:
            if match := pattern.fullmatch(text):
                named = {name: int(digits) for name, digits in match.groupdict().items()}
                # No bill is older than the clouds: years of two digits are of this century.
                year = named["year"] + (2000 if named["year"] < 100 else 0)
                return dt.datetime(year, named["month"], named["day"], tzinfo=dt.UTC)
    # Another zone's first or last hours are in no year of UTC.
    except (ValueError, OverflowError):
        return None
    return None
