"""The European Central Bank, which publishes exchange rates."""

import datetime as dt

from backend.foundation.texts import text as _
from backend.providers.base import ProviderRecord
from backend.providers.price_feeds import HOUR_S, DailyAt, FeedKind

RECORD = ProviderRecord(
    slug="ecb",
    name="European Central Bank (exchange rates)",
    short_name="European Central Bank",
    homepage="https://www.ecb.europa.eu/",
    feeds=(
        FeedKind(
            kind="fx",
            meaning=_("exchange rates of the last 90 days"),
            are_rates=True,
            # Published about 16:00 on working days. Ninety days at once: a missed day is made up for.
            at=DailyAt(dt.time(16, 15), "Europe/Berlin", within_s=HOUR_S),
        ),
    ),
)
