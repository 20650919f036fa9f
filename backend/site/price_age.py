"""How old the prices of a list are: one banner for all, a badge where a row is older than the rest."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import date_format

from backend.catalog.selectors.price_refresh import failed_provider_count
from backend.core import clock
from backend.rankings.selectors.listing import value_counts as counts_of
from backend.rankings.selectors.prices import STALE_AFTER
from backend.rankings.selectors.rows import RankingRow
from backend.site.language import _, count_words

STALE_PRICE = "stale_price"


@dataclass(frozen=True)
class PriceAge:
    """The days on which the prices of a list were read; `typical` is their median.

    `first` is the earliest of those that are as old as the rest, `older_count` the number of others.
    """

    first: dt.date
    last: dt.date
    typical: dt.date
    today: dt.date
    older_count: int = 0

    def banner(self, unread_provider_count: int) -> str:
        """How old prices are, where they are old, and how many providers could not be read."""
        return " ".join(filter(None, (self._age(), _failed_providers(unread_provider_count))))

    def _age(self) -> str:
        if not self._are_old:
            return ""
        first, last = _month(self.first), _month(self.last)
        if first == last:
            months = last
        elif self.first.year == self.last.year:
            name = date_format(self.first, "F")
            months = _("{first} to {last}", first=name, last=last)
        else:
            months = _("{first} to {last}", first=first, last=last)
        if not self.older_count:
            return _("Prices are of {months}.", months=months)
        return count_words(
            "Prices are of {months}; {n} older one is marked.",
            "Prices are of {months}; {n} older ones are marked.",
            self.older_count,
            months=months,
        )

    @property
    def _are_old(self) -> bool:
        return self.today - self.typical > STALE_AFTER

    def flags(self, row: RankingRow) -> list[str]:
        """The flags of a row, without that of an old price where the row is as old as the rest."""
        is_older = row.price_observed_on and _is_older(row.price_observed_on, self.typical)
        is_shown = is_older or not self._are_old
        return [flag for flag in row.flags.split() if is_shown or flag != STALE_PRICE]


def price_age(rows: Sequence[RankingRow]) -> PriceAge:
    """The age of the prices of a list; fresh where it has none."""
    today = clock.now().date()
    counts = counts_of(rows, "price_observed_on")
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
    usual = [day for day, _count in days if not _is_older(day, typical)]
    older_count = sum(count for day, count in days if _is_older(day, typical))
    return PriceAge(usual[0], usual[-1], typical, today, older_count)


def price_banner(rows: Sequence[RankingRow]) -> str:
    """How old the prices of a list are and what could not be read; empty where nothing is to say."""
    return price_age(rows).banner(failed_provider_count())


def _is_older(day: dt.date, typical: dt.date) -> bool:
    return typical - day > STALE_AFTER


def _month(day: dt.date) -> str:
    return date_format(day, "F Y")


def _failed_providers(provider_count: int) -> str:
    if not provider_count:
        return ""
    return count_words(
        "{n} provider could not be read.", "{n} providers could not be read.", provider_count
    )
