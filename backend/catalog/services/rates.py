"""Writes of exchange rates in bulk. A rate of another day stays; the same day's is replaced."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from django.db import transaction

from backend.catalog.models import ExchangeRate, PriceFeed
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.providers.ecb.rates import SOURCE, ParsedRate, Result, SkippedRate

BATCH = 5_000
FUTURE = "in_the_future"


@dataclass(frozen=True)
class RatesReport:
    """The outcome of the rates of one answer."""

    new: int
    changed: int
    unchanged: int
    skipped: dict[str, int]
    """Counts by reason (providers.ecb.rates.WhyNot)."""
    first_day: dt.date | None
    last_day: dt.date | None


def rates_noted(*, feed: PriceFeed, report: RatesReport) -> None:
    """Write on the feed what its last answer held."""
    feed.summary = {
        "new": report.new,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "skipped": report.skipped,
        "last_day": report.last_day.isoformat() if report.last_day else None,
    }
    if report.new or report.changed:
        feed.changed_at = clock.now()
    feed.save(update_fields=("summary", "changed_at"))


@transaction.atomic
def rates_record(*, rates: Iterable[Result]) -> RatesReport:
    """Keep the rates, in batches; recording them again changes nothing."""
    skipped: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    days: set[dt.date] = set()
    today = clock.now().date()
    fitting = _fitting(rates, today, skipped)
    while batch := list(islice(fitting, BATCH)):
        days.update(rate.date for rate in batch)
        counts.update(_record_rates(batch))
    if counts["new"] or counts["changed"]:
        data_version_bump()
    return RatesReport(
        new=counts["new"],
        changed=counts["changed"],
        unchanged=counts["unchanged"],
        skipped=dict(skipped),
        first_day=min(days, default=None),
        last_day=max(days, default=None),
    )


def _fitting(
    rates: Iterable[Result], today: dt.date, skipped: Counter[str]
) -> Iterator[ParsedRate]:
    for rate in rates:
        if isinstance(rate, SkippedRate):
            skipped[rate.reason] += 1
        elif rate.date > today:
            skipped[FUTURE] += 1
        else:
            yield rate


def _record_rates(batch: Sequence[ParsedRate]) -> Counter[str]:
    """Write what is new or differs; says how many of each there were."""
    stored = _existing_rates(batch)
    counts: Counter[str] = Counter()
    rows = []
    for rate in batch:
        before = stored.get((rate.date, rate.currency))
        if before == rate.units_per_eur:
            counts["unchanged"] += 1
            continue
        counts["new" if before is None else "changed"] += 1
        rows.append(
            ExchangeRate(
                date=rate.date,
                currency=rate.currency,
                units_per_eur=rate.units_per_eur,
                source=SOURCE,
            )
        )
    # One statement, as somebody may record the same days meanwhile: the second insert would be
    # refused.
    ExchangeRate.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=("date", "currency"),
        update_fields=("units_per_eur", "source"),
    )
    return counts


def _existing_rates(batch: Sequence[ParsedRate]) -> dict[tuple[dt.date, str], Decimal]:
    days = {rate.date for rate in batch}
    rows = ExchangeRate.objects.filter(date__in=days)
    return {
        (day, currency): units
        for day, currency, units in rows.values_list("date", "currency", "units_per_eur")
    }
