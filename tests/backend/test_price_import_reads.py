"""What rankings make of imported prices: terms, caps, discounts, zones, doubts and age."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.catalog.models import Offer, PriceFeed
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.price_choice import PriceBasis
from backend.catalog.services.price_import import feed_get
from backend.core import clock
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
TODAY = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: TODAY)


@pytest.fixture
def offer() -> Offer:
    made = factories.offer("machine")
    # Before every day that a test looks back to.
    factories.sample(made, 100.0, measured_at=dt.datetime(2025, 12, 1, tzinfo=dt.UTC))
    return made


def row(client: Client, query: str = "") -> dict[str, Any]:
    """The one ranked row; the amounts of interest as numbers."""
    [found] = client.get(f"{API}/rankings?{query}").json()["results"]
    amounts = ("price", "price_usd_hour", "cup")
    return found | {name: found[name] and Decimal(found[name]) for name in amounts}


def test_rule_06_reservation_paid_at_the_start_is_an_hourly_price(
    client: Client, offer: Offer
) -> None:
    # 876 / 8760 = 0.1; a month of 730 h is a twelfth of the year
    factories.price(offer, "876", unit="once", purchase_model="reserved", term="1y", upfront="all")
    found = row(client, "term=reserved_1y")
    assert found["price"] == found["price_usd_hour"] == Decimal("0.1")
    assert found["rank"] == 1
    assert (found["period"], found["cup"]) == ("hour", Decimal("0.001"))
    assert row(client, "term=reserved_1y&period=month")["price"] == Decimal(73)


def test_rule_06_upfront_part_is_spread_over_the_hours_of_the_term(
    client: Client, offer: Offer
) -> None:
    # 0.03 + 1314 / 26280 = 0.03 + 0.05
    factories.price(
        offer, "0.03", purchase_model="reserved", term="3y", upfront="partial",
        setup_amount=Decimal(1314),
    )  # fmt: skip
    assert row(client, "term=reserved_3y")["price"] == Decimal("0.08")


def test_reservation_prefers_no_upfront_and_then_the_cheapest_plan(
    client: Client, offer: Offer
) -> None:
    common = {"purchase_model": "reserved", "term": "1y"}
    factories.price(offer, "438", unit="once", upfront="all", plan="standard", **common)
    factories.price(offer, "0.07", upfront="none", plan="convertible", **common)
    factories.price(offer, "0.06", upfront="none", plan="standard", **common)
    assert row(client, "term=reserved_1y")["price"] == Decimal("0.06")


def test_setup_fee_without_a_term_can_be_left_out(client: Client, offer: Offer) -> None:
    factories.price(offer, "73", unit="month", purchase_model="monthly", setup_amount=Decimal(500))
    assert row(client, "setup_months=0")["price"] == Decimal("0.1")


def test_rule_22_a_month_costs_no_more_than_its_cap(client: Client, offer: Offer) -> None:
    # 730 × 0.00744 = 5.4312; twelve months of at most 5
    factories.price(offer, "0.00744", monthly_cap=Decimal(5))
    assert row(client)["price"] == Decimal("0.00744")
    assert row(client, "period=month")["price"] == Decimal(5)
    assert row(client, "period=year")["price"] == Decimal(60)
    # 600 × 0.00744 = 4.464 stays below it
    assert row(client, "period=month&hours_per_month=600")["price"] == Decimal("4.464")


def test_rule_22_cap_is_converted_with_its_price(client: Client, offer: Offer) -> None:
    factories.rate("USD", "2")
    factories.price(offer, "0.01", currency="EUR", monthly_cap=Decimal(5))
    assert row(client, "period=month")["price"] == Decimal(10)


@pytest.mark.parametrize(("table", "month"), [("n1", "51.1"), ("n2", "58.4146"), ("", "73")])
def test_rule_13_sustained_use_counts_for_months_and_never_for_an_hour(
    client: Client, offer: Offer, table: str, month: str
) -> None:
    # 730 × 0.1 × 0.7 and × 0.8002 (a quarter each at 1, 0.8678, 0.733 and 0.6)
    factories.price(offer, "0.1", sustained_use=table)
    assert row(client, "basis=sustained_use")["price"] == Decimal("0.1")
    assert row(client, "basis=list&period=month")["price"] == Decimal(73)
    assert row(client, "basis=sustained_use&period=month")["price"] == Decimal(month)
    found = row(client, "period=month")
    assert found["price"] == Decimal(month)
    assert row(client, "period=year")["price"] == 12 * Decimal(month)
    # What an hour of that month comes to, and of a score of 100.
    hour = Decimal(month) / 730
    assert (found["price_usd_hour"], found["cup"]) == (hour, hour / 100)
    assert found["price_basis"] == ("sustained_use" if table else "machine")


def test_rule_07_spot_is_the_cheapest_zone_and_names_it(client: Client, offer: Offer) -> None:
    spot = {"purchase_model": "spot"}
    later = factories.AT + dt.timedelta(hours=1)
    factories.price(offer, "0.05", zone="az2", **spot)
    factories.price(offer, "0.03", zone="az1", **spot)
    factories.price(offer, "0.04", zone="az1", observed_at=later, **spot)
    found = row(client, "term=spot")
    assert (found["price"], found["price_zone"]) == (Decimal("0.04"), "az1")
    factories.price(offer, "0.1")
    assert row(client)["price_zone"] is None


def test_rule_08_price_without_an_exchange_rate_is_listed_unconverted(
    client: Client, offer: Offer
) -> None:
    factories.price(offer, "0.7", currency="CNY")
    found = row(client)
    assert (found["price"], found["missing"]) == (None, "price fx_rate")
    assert row(client, "currency=CNY")["price"] == Decimal("0.7")
    [told] = client.get(f"{API}/prices").json()["results"]
    assert (told["amount"], told["currency"]) == ("0.7", "CNY")
    factories.rate("USD", "1.1")
    factories.rate("CNY", "7.7")
    # 0.7 × 1.1 / 7.7, and not 0.7 dollars
    assert round(row(client, "q=")["price"], 10) == Decimal("0.1")


def test_rule_27_a_price_in_quarantine_counts_nowhere(client: Client, offer: Offer) -> None:
    factories.price(offer, "0.1")
    later = factories.AT + dt.timedelta(days=1)
    factories.price(offer, "0.9", is_published=False, observed_at=later, anomaly="changed")
    assert row(client)["price"] == Decimal("0.1")
    [told] = client.get(f"{API}/prices").json()["results"]
    assert (told["amount"], told["state"]) == ("0.1", "current")
    [waiting] = client.get(f"{API}/prices?state=quarantined").json()["results"]
    assert (waiting["amount"], waiting["state"]) == ("0.9", "quarantined")


def read_at(day: int) -> PriceFeed:
    feed = feed_get(provider="aws", kind="on_demand")
    feed.checked_at = dt.datetime(2026, 11, day, tzinfo=dt.UTC)
    feed.save()
    return feed


def test_rule_19_an_unchanged_price_is_as_old_as_its_list(client: Client, offer: Offer) -> None:
    long_ago = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    price = factories.price(offer, "0.1", observed_at=long_ago, feed=read_at(19))
    found = row(client)
    assert (found["price_observed_on"], "stale_price" in found["flags"]) == ("2026-11-19", False)
    then = row(client, "as_of=2026-02-01")
    assert (then["price_observed_on"], "stale_price" in then["flags"]) == ("2026-02-01", False)
    price.missing_since = TODAY
    price.save()
    found = row(client, "q=")
    assert (found["price_observed_on"], "stale_price" in found["flags"]) == ("2026-01-01", True)
    assert "stale_price" not in row(client, "q=&as_of=2026-02-01")["flags"]


def test_price_that_is_still_in_its_list_is_preferred(offer: Offer) -> None:
    common = {"purchase_model": "spot", "feed": read_at(19)}
    factories.price(offer, "0.03", zone="az1", missing_since=TODAY, **common)
    factories.price(offer, "0.05", zone="az2", **common)
    chosen = best_prices(PriceBasis(term="spot"))[offer.pk]
    assert (chosen.charge.amount, chosen.zone, chosen.is_missing) == (Decimal("0.05"), "az2", False)


def test_price_is_no_newer_by_a_list_with_a_different_price(offer: Offer) -> None:
    feed = read_at(19)
    factories.price(offer, "0.1", observed_at=factories.AT, feed=feed)
    waiting = factories.price(offer, "0.2", observed_at=TODAY, feed=feed, is_published=False)
    chosen = best_prices(PriceBasis())[offer.pk]
    assert (chosen.charge.amount, chosen.observed_on) == (Decimal("0.1"), factories.AT.date())
    before = best_prices(PriceBasis(as_of=dt.date(2026, 11, 19)))[offer.pk]
    assert before.observed_on == dt.date(2026, 11, 19)
    waiting.reviewed_at = TODAY
    waiting.save()
    assert best_prices(PriceBasis())[offer.pk].observed_on == dt.date(2026, 11, 19)


def test_stated_price_in_another_currency_lasts_until_a_list_changes(
    offer: Offer,
) -> None:
    feed, hour = read_at(20), dt.timedelta(hours=1)
    factories.price(offer, "0.1", observed_at=factories.AT, feed=feed)
    factories.price(offer, "0.05", currency="EUR", observed_at=factories.AT + hour)
    chosen = best_prices(PriceBasis(currency="USD"))[offer.pk]
    assert (chosen.charge.amount, chosen.currency) == (Decimal("0.05"), "EUR")
    factories.price(offer, "0.11", observed_at=factories.AT + 2 * hour, feed=feed)
    assert best_prices(PriceBasis())[offer.pk].charge.amount == Decimal("0.11")


def test_last_word_of_a_person_counts_whatever_the_currency(offer: Offer) -> None:
    minute = dt.timedelta(minutes=1)
    factories.price(offer, "0.1", currency="USD", observed_at=factories.AT)
    factories.price(offer, "0.2", currency="EUR", observed_at=factories.AT + minute)
    factories.price(offer, "0.01", purchase_model="spot", observed_at=factories.AT + 2 * minute)
    chosen = best_prices(PriceBasis(currency="USD"))[offer.pk]
    assert (chosen.charge.amount, chosen.currency) == (Decimal("0.2"), "EUR")


def test_a_list_read_again_makes_its_prices_no_older_than_that(offer: Offer) -> None:
    factories.price(offer, "0.1", feed=read_at(18))
    assert best_prices(PriceBasis())[offer.pk].observed_on == dt.date(2026, 11, 18)
    read_at(20)
    assert best_prices(PriceBasis())[offer.pk].observed_on == dt.date(2026, 11, 20)
