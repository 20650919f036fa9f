"""Exchange rates in the database: recorded in bulk, looked up by day, shown with their day."""

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client

from backend.catalog.models import ExchangeRate
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.rates import currencies, rate_table
from backend.catalog.services import rates as rates_module
from backend.catalog.services.rates import rates_record
from backend.core import clock
from backend.foundation.errors import UnknownRate
from backend.money.money import Money
from backend.providers.ecb.rates import SOURCE, ParsedRate, SkippedRate, WhyNot
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
FRIDAY = dt.date(2026, 10, 30)
SATURDAY, SUNDAY, MONDAY = (FRIDAY + dt.timedelta(days=ahead) for ahead in (1, 2, 3))


def rate(date: dt.date, units: str, currency: str = "USD") -> ParsedRate:
    return ParsedRate(date, currency, Decimal(units))


def stored() -> dict[tuple[dt.date, str], Decimal]:
    rows = ExchangeRate.objects.values_list("date", "currency", "units_per_eur")
    return {(date, currency): units for date, currency, units in rows}


def test_rates_are_recorded_once_however_often_they_come() -> None:
    told = [rate(FRIDAY, "1.1172"), rate(FRIDAY, "175.68", "JPY")]
    first = rates_record(rates=told)
    assert (first.new, first.changed, first.unchanged) == (2, 0, 0)
    assert (first.first_day, first.last_day) == (FRIDAY, FRIDAY)
    version = data_version()
    again = rates_record(rates=told)
    assert (again.new, again.changed, again.unchanged) == (0, 0, 2)
    assert data_version() == version
    assert stored() == {(FRIDAY, "USD"): Decimal("1.1172"), (FRIDAY, "JPY"): Decimal("175.68")}
    assert set(ExchangeRate.objects.values_list("source", flat=True)) == {SOURCE}


def test_corrected_rate_replaces_the_old_one_and_counts_as_a_change() -> None:
    factories.rate("USD", "1.1", FRIDAY)
    version = data_version()
    report = rates_record(rates=[rate(FRIDAY, "1.1172"), rate(MONDAY, "1.12")])
    assert (report.new, report.changed) == (1, 1)
    assert stored()[FRIDAY, "USD"] == Decimal("1.1172")
    assert data_version() == version + 1


def test_currencies_are_those_of_prices_and_of_rates() -> None:
    assert currencies() == {"EUR", "USD"}
    for number, code in enumerate(("CHF", "USD", "AUD", "CHF")):
        factories.price(factories.offer(f"offer-{number}"), currency=code)
    factories.rate("SEK", "11")
    assert currencies() == {"AUD", "CHF", "EUR", "SEK", "USD"}


def test_what_is_no_rate_is_counted_by_reason() -> None:
    ahead = clock.now().date() + dt.timedelta(days=1)
    report = rates_record(
        rates=[
            SkippedRate(FRIDAY, "BGN", WhyNot.MISSING),
            SkippedRate(FRIDAY, "ISK", WhyNot.MISSING),
            SkippedRate(FRIDAY, "XXX", WhyNot.ZERO),
            rate(ahead, "1.2"),
        ]
    )
    assert report.skipped == {"missing": 2, "zero": 1, "in_the_future": 1}
    assert (report.new, report.first_day, report.last_day) == (0, None, None)
    assert stored() == {}


def test_rates_are_recorded_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_module, "BATCH", 3)
    told = [
        rate(FRIDAY - dt.timedelta(days=back), f"1.{back}", currency)
        for back in range(1, 5)
        for currency in ("USD", "JPY")
    ]
    assert rates_record(rates=iter(told)).new == 8
    assert rates_record(rates=iter(told)).unchanged == 8


def test_twenty_seven_years_of_rates_take_few_queries(
    django_assert_max_num_queries: "object",
) -> None:
    told = [
        rate(FRIDAY - dt.timedelta(days=back), "1.5", f"{first}{second}A")
        for back in range(400)
        for first in "ABCDE"
        for second in "ABCDE"
    ]
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert rates_record(rates=told).new == 10_000


def test_rule_25_day_without_a_rate_uses_and_shows_the_last_earlier_day() -> None:
    rates_record(rates=[rate(FRIDAY, "1.1172"), rate(MONDAY, "1.2")])
    for day, units, used in (
        (FRIDAY, "1.1172", FRIDAY),
        (SATURDAY, "1.1172", FRIDAY),
        (SUNDAY, "1.1172", FRIDAY),
        (MONDAY, "1.2", MONDAY),
        (None, "1.2", MONDAY),
    ):
        assert rate_table(day).rate("EUR", "USD") == (Decimal(units), used)
    with pytest.raises(UnknownRate):
        rate_table(FRIDAY - dt.timedelta(days=1)).rate("EUR", "USD")


def test_rule_25_conversion_keeps_what_was_quoted_beside_what_it_comes_to() -> None:
    rates_record(rates=[rate(FRIDAY, "1.25"), rate(FRIDAY, "150", "JPY")])
    quoted = Money(Decimal(100), "JPY")
    # 100 yen are 100 / 150 euros, and 1.25 dollars each of them.
    converted = rate_table(SUNDAY).convert(quoted, "USD")
    assert converted.amount.quantize(Decimal("1e-12")) == Decimal("0.833333333333")
    assert quoted.amount == Decimal(100)


def test_rule_25_ranking_on_a_sunday_shows_the_rate_and_day_of_friday(
    client: Client, settings: object
) -> None:
    settings.PUBLIC_READ = True  # type: ignore[attr-defined]
    rates_record(rates=[rate(FRIDAY, "1.25"), rate(MONDAY, "2")])
    offer = factories.offer("aws-a")
    at = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
    factories.price(offer, "0.50", observed_at=at)
    factories.sample(offer, 100.0, measured_at=at)
    answer = client.get(f"{API}/rankings?currency=EUR&as_of={SUNDAY}").json()
    (row,) = answer["results"]
    assert row["fx_date"] == FRIDAY.isoformat()
    # 0.50 dollars at 1.25 dollars for a euro.
    assert Decimal(row["price"]) == Decimal("0.4")
    listed = client.get(f"{API}/fx-rates?currency=USD&as_of={SUNDAY}").json()["results"]
    assert [(one["date"], one["units_per_eur"]) for one in listed] == [("2026-10-30", "1.25")]
