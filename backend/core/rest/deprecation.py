"""Deprecation headers, in every answer long before the end (docs/api.md, "What stays")."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.http import http_date

LEAST_NOTICE = dt.timedelta(days=180)


@dataclass(frozen=True)
class Deprecation:
    """An operation that is to go: since when that is known, when it may be gone, and what to read."""

    since: dt.datetime
    sunset: dt.datetime
    instead_url: str

    def __post_init__(self) -> None:
        if self.sunset - self.since < LEAST_NOTICE:
            raise ValueError(f"what is to go stays for at least {LEAST_NOTICE.days} days")

    def headers(self, link: str = "") -> Mapping[str, str]:
        """RFC 9745 and RFC 8594; `link` is what the answer links to already."""
        relation = f'<{self.instead_url}>; rel="deprecation"'
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": http_date(self.sunset.timestamp()),
            "Link": f"{link}, {relation}" if link else relation,
        }
