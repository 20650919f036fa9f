"""How old the prices of a list are: one banner for all, a badge where a row is older than the rest."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from backend.common import clock
from backend.rankings.selectors.listing import counted
from backend.rankings.selectors.prices import STALE_AFTER
from backend.rankings.selectors.rows import RankingRow
from backend.web.shared.language import _

STALE_PRICE = "stale_price"


@dataclass(frozen=True)
class PriceAge:
    """The days on which the prices of a list were checked last; `typical` is their median."""

    first: dt.date
    last: dt.date
    typical: dt.date
    today: dt.date

    @property
    def banner(self) -> str:
        """A sentence where the typical price is old; empty where it is fresh."""
        if not self._are_old:
            return ""
        if self.first == self.last:
            return _("Prices were last checked on {day}.", day=self.first)
        return _(
            "Prices were last checked between {first} and {last}.", first=self.first, last=self.last
        )

    @property
    def _are_old(self) -> bool:
        return self.today - self.typical > STALE_AFTER

    def flags(self, row: RankingRow) -> list[str]:
        """The flags of a row, without that of an old price where the row is as old as the rest."""
        is_older = row.price_observed_on and self.typical - row.price_observed_on > STALE_AFTER
        is_shown = is_older or not self._are_old
        return [flag for flag in row.flags.split() if is_shown or flag != STALE_PRICE]


def price_age(rows: Sequence[RankingRow]) -> PriceAge:
    """The age of the prices of a list; fresh where it has none."""
    today = clock.now().date()
    counts = counted(rows, "price_observed_on")
    days = sorted((day, count) for day, count in counts.items() if day is not None)
    if not days:
        return PriceAge(today, today, today, today)
    middle, passed = sum(count for _day, count in days) / 2, 0
    typical = days[-1][0]
    for day, count in days:
        passed += count
        if passed >= middle:
            typical = day
            break
    return PriceAge(days[0][0], days[-1][0], typical, today)
