"""Providers, regions, prices and exchange rates; and the catalog's services."""

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client

from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors import current_prices, data_version, rates
from backend.catalog.services import offers as services
from backend.catalog.services.prices import PriceInput
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
PRICES_HEADER = (
    "price_id,provider,offer,region,zone,os,tenancy,purchase_model,term,upfront,amount,currency,"
    "unit,setup,tax_basis,effective_from,observed_at,source,state,"
    "plan,basis,offer_id,tax_rate,minimum_months,valid_until,note,valid_from,applies_to"
)


def test_prices_have_the_columns_of_version_one(client: Client) -> None:
    assert client.get(f"{API}/prices.csv").content == f"{PRICES_HEADER}\r\n".encode()


def test_prices_default_to_the_one_current_price_of_each_offer(client: Client, demo: None) -> None:
    listed = rows(client.get(f"{API}/prices.csv"))
    assert len(listed) == Offer.objects.count()
    # OVHcloud sells some machines in one region in euros and, by its American company, in dollars.
    names = ("provider", "offer", "region", "currency")
    assert len({tuple(row[name] for name in names) for row in listed}) == len(listed)
    gcp = [row for row in listed if row["provider"] == "gcp"]
    assert {row["purchase_model"] for row in gcp} == {"on_demand"}
    assert {row["unit"] for row in gcp} == {"hour"}
    assert {row["state"] for row in listed} == {"current"}


def test_prices_can_be_asked_by_model_offer_and_region(client: Client, market: None) -> None:
    query = "offer=n2-standard-4&region=us-central1"
    [spot] = rows(client.get(f"{API}/prices.csv?{query}&purchase_model=spot"))
    assert spot["purchase_model"] == "spot"
    terms = rows(client.get(f"{API}/prices.csv?{query}&purchase_model=committed"))
    assert {row["term"] for row in terms} == {"1y", "3y"}
    slug = "gcp-n2-standard-4-us-central1"
    assert len(rows(client.get(f"{API}/prices.csv?offer={slug}"))) == 1
    assert fields(client.get(f"{API}/prices?purchase_model=gift")) == ["purchase_model"]


def test_superseded_prices_show_only_when_asked_for(client: Client) -> None:
    offer = factories.offer("moved")
    old = factories.price(offer, "1")
    new = factories.price(offer, "2", observed_at=factories.AT + dt.timedelta(days=5))
    factories.price(offer, "9", zone="zone-b")
    factories.price(offer, "9", operating_system="windows")
    [row] = rows(client.get(f"{API}/prices.csv"))
    assert (row["price_id"], row["amount"]) == (str(new.pk), "2")
    states = {
        row["price_id"]: row["state"] for row in rows(client.get(f"{API}/prices.csv?state=all"))
    }
    assert len(states) == 4
    assert (states[str(old.pk)], states[str(new.pk)]) == ("superseded", "current")
    [then] = rows(client.get(f"{API}/prices.csv?as_of=2026-11-02"))
    assert (then["price_id"], then["state"]) == (str(old.pk), "current")


def test_regions_and_rates_are_listed_with_their_filters(client: Client, demo: None) -> None:
    providers = {row["provider"]: row for row in rows(client.get(f"{API}/providers.csv"))}
    assert {"aws", "gcp", "own", "hetzner"} <= providers.keys()
    assert providers["linode"]["incidents"].startswith("2013-04-12: break-in. ")
    assert providers["aws"]["incidents"] == ""
    regions = rows(client.get(f"{API}/regions.csv?provider=gcp"))
    assert {row["region"] for row in regions} == {"us-central1", "europe-west1"}
    [rate] = rows(client.get(f"{API}/fx-rates.csv?currency=usd"))
    assert (rate["date"], rate["units_per_eur"]) == ("2026-10-30", "1.1172")
    assert rows(client.get(f"{API}/fx-rates.csv?as_of=2026-10-29")) == []
    assert "colour" in client.get(f"{API}/regions?colour=red").json()["warnings"][0]


def test_rate_table_takes_the_newest_rate_of_each_currency_up_to_the_day() -> None:
    factories.rate("USD", "1.10", dt.date(2026, 1, 1))
    factories.rate("USD", "1.20", dt.date(2026, 2, 1))
    factories.rate("GBP", "0.80", dt.date(2026, 1, 15))
    assert rates.rate_table().rate("EUR", "USD") == (Decimal("1.20"), dt.date(2026, 2, 1))
    then = rates.rate_table(dt.date(2026, 1, 31))
    assert then.rate("EUR", "USD") == (Decimal("1.10"), dt.date(2026, 1, 1))
    # 1 GBP = 1.10 / 0.80 USD; the older of the two days counts
    assert then.rate("GBP", "USD") == (Decimal("1.375"), dt.date(2026, 1, 1))


def test_own_offer_takes_its_name_and_a_monthly_price() -> None:
    version = data_version.data_version()
    offer = services.own_offer_create(
        workspace=factories.workspace(),
        name="Rack 7 (left)",
        kind="onprem",
        price=PriceInput(Decimal("49.00"), "EUR", "month", Decimal(10)),
    )
    assert (offer.slug, offer.name, offer.kind) == ("own-rack-7-left", "Rack 7 (left)", "onprem")
    price = PriceObservation.objects.get()
    assert (price.purchase_model, price.unit, price.amount) == (
        "monthly",
        "month",
        Decimal(49),
    )
    assert current_prices.current_price(offer) == price
    assert data_version.data_version() > version


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "---"}, "/name"),
        ({"name": "taken"}, "/name"),
        ({"kind": "toaster"}, "/kind"),
        ({"price": PriceInput(Decimal(0), "EUR", "month")}, "/price/amount"),
        ({"price": PriceInput(Decimal(1), "EUR", "week")}, "/price/unit"),
        ({"price": PriceInput(Decimal(1), "EUR", "month", Decimal(-1))}, "/price/setup"),
    ],
)
def test_own_offer_is_refused_naming_the_field(changes: dict[str, object], field: str) -> None:
    factories.offer("own-taken")
    given: dict[str, object] = {"name": "new", "kind": "onprem", "price": None} | changes
    with pytest.raises(InvalidValue) as caught:
        services.own_offer_create(workspace=factories.workspace(), **given)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_current_price_falls_from_on_demand_to_month_to_purchase() -> None:
    offer = factories.offer("priced")
    assert current_prices.current_price(offer) is None
    purchase = factories.price(offer, "900", purchase_model="purchase", unit="once")
    assert current_prices.current_price(offer) == purchase
    monthly = factories.price(offer, "50", purchase_model="monthly", unit="month")
    assert current_prices.current_price(offer) == monthly
    hourly = factories.price(offer, "0.1")
    assert current_prices.current_price(offer) == hourly


def test_provider_and_region_are_made_once() -> None:
    provider = services.provider_get(slug="vultr")
    assert provider.name == "Vultr"
    assert services.provider_get(slug="vultr") == provider
    region = services.region_get(provider=provider, code="ewr")
    assert services.region_get(provider=provider, code="ewr") == region
