"""Price lists become offers, observations and reasons, exactly as they are told."""

import datetime as dt
import gzip
import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backend.catalog.models import (
    Offer,
    PriceFeed,
    PriceObservation,
    PricePayload,
    UnpricedType,
)
from backend.catalog.selectors.published_prices import on_demand_prices
from backend.catalog.services.price_import import feed_get
from backend.catalog.services.price_list_offers import offers_record
from backend.core.slugs import offer_slug
from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, ParsedType, Result, Skipped, SkipReason
from backend.providers.aws import prices as aws
from backend.providers.aws import savings as aws_savings
from backend.providers.aws import spot as aws_spot
from backend.providers.gcp import prices as gcp
from backend.providers.hetzner import prices as hetzner
from backend.providers.linode import prices as linode
from backend.providers.spool import Payload
from tests import factories
from tests.backend.conftest import API, rows
from tests.backend.price_lists import LISTS, answer, machine, price, record
from tests.examples import FEW

pytestmark = pytest.mark.django_db


# --- what a list makes ------------------------------------------------------------------------


def test_offer_is_made_from_the_machine_type_in_a_list() -> None:
    told = machine(vcpu_count=Decimal(2), memory_bytes=2**33, arch="x86_64", cpu_model="Xeon")
    report = record([told, price("0.107")])
    offer = Offer.objects.get()
    assert (offer.slug, offer.name, offer.kind) == ("aws-m5-large-eu-west-1", "m5.large", "cloud")
    assert (offer.region and offer.region.code, offer.vcpu_count) == ("eu-west-1", 2)
    assert (offer.memory_bytes, offer.arch, offer.cpu_model) == (2**33, "x86_64", "Xeon")
    assert (offer.disk_bytes, offer.thread_count, offer.vcpu_kind) == (None, None, "")
    assert (report.priced, report.published, report.new_types) == (1, 1, 1)
    row = PriceObservation.objects.get()
    assert (row.amount, row.unit, row.source, row.is_published) == (
        Decimal("0.107"),
        "hour",
        "list",
        True,
    )
    assert row.feed is not None
    assert str(row.feed.pk) == str(PriceFeed.objects.get(kind="on_demand", region="eu-west-1").pk)


@pytest.mark.parametrize("table", ["offers_aws.csv", "offers_gcp.csv"])
def test_slugs_are_those_of_the_demo(table: str) -> None:
    import csv

    with (Path(settings.FIXTURE_DIR) / "catalog" / table).open(newline="") as file:
        listed = [
            (offer_slug(row["provider"], row["offer"], row["region"]), row["slug"])
            for row in csv.DictReader(file)
        ]
    assert listed
    assert all(made == slug for made, slug in listed)


def test_known_figures_are_not_overwritten_by_unknown_ones() -> None:
    record([machine(vcpu_count=Decimal(2), memory_bytes=2**33), price()])
    report = record([machine(vcpu_count=Decimal(4)), price()], day=1)
    offer = Offer.objects.get()
    assert (offer.vcpu_count, offer.memory_bytes) == (4, 2**33)
    assert report.is_changed
    assert record([machine(), price()], day=2).is_changed is False


def test_figures_that_do_not_fit_their_column_stay_unknown() -> None:
    record([machine(vcpu_count=Decimal("0.12345"), memory_bytes=2**64), price()])
    offer = Offer.objects.get()
    assert (offer.vcpu_count, offer.memory_bytes) == (None, None)


def test_offer_of_the_demo_is_taken_over_by_its_name() -> None:
    held = factories.offer(
        "aws-m5-large-eu-west-1", name="m5.large", region=factories.region("eu-west-1"),
        is_demo=True, memory_bytes=2**33, discontinued_on=dt.date(2026, 11, 22),
    )  # fmt: skip
    assert record([machine(), price()]).new_types == 0
    held.refresh_from_db()
    assert (held.is_demo, held.memory_bytes, held.prices.count()) == (False, 2**33, 1)
    assert held.discontinued_on is None


def test_rule_20_offers_stay_apart_when_their_names_differ_in_signs_only() -> None:
    record([price("0.1", "a.b"), price("0.2", "a-b"), price("0.3", "a_b")])
    found = dict(PriceObservation.objects.values_list("offer__name", "amount"))
    assert found == {"a.b": Decimal("0.1"), "a-b": Decimal("0.2"), "a_b": Decimal("0.3")}
    slugs = set(Offer.objects.values_list("slug", flat=True))
    assert slugs == {"aws-a-b-eu-west-1", "aws-a-b-eu-west-1-2", "aws-a-b-eu-west-1-3"}


def test_list_of_many_regions_is_split_when_no_region_is_given() -> None:
    there = price("0.2", region="us-east-1")
    report = record([price(), there], region=None)
    assert report.feeds == ["aws/on_demand/eu-west-1", "aws/on_demand/us-east-1"]
    feeds = dict(PriceObservation.objects.values_list("feed__region", "amount"))
    assert feeds == {"eu-west-1": Decimal("0.1"), "us-east-1": Decimal("0.2")}
    # The list of one region says nothing of the other's.
    assert record([there], day=1, region=None).missing == 0


def test_list_of_all_regions_is_one_feed() -> None:
    record([price(), price("0.2", region="us-east-1")], region="")
    assert PriceFeed.objects.get().region == ""
    gone = record([price()], day=1, region="")
    assert (gone.missing, gone.incomplete) == (1, ["us-east-1"])


def test_type_sold_alike_everywhere_has_no_region() -> None:
    results = linode.parse([answer("linode-types-synthetic.json")])
    record(results, provider="linode", region="")
    offer = Offer.objects.get(slug="linode-g6-nanode-1")
    assert (offer.region, offer.kind) == (None, "vps")
    assert Offer.objects.get(slug="linode-g6-nanode-1-br-gru").region is not None


def test_rule_23_addresses_are_kept_apart_from_the_machines_price() -> None:
    lists = answer("hetzner-pricing-synthetic.json"), answer("hetzner-server-types-synthetic.json")
    report = record(hetzner.parse(lists[0], [lists[1]]), provider="hetzner", region="")
    [address] = PriceFeed.objects.get().summary["extras"]
    assert (address["name"], address["amount"], address["currency"]) == (
        "ipv4",
        "0.0008000000",
        "EUR",
    )
    assert report.extras == 1
    # The machine's own price holds none of it.
    row = PriceObservation.objects.get(offer__name="aa11", offer__region__code="fsn1")
    assert (row.amount, row.included["traffic_bytes"]) == (Decimal("0.0052"), 21990232555520)
    assert row.included["traffic_price_per_tb"] == "1.0000000000"


def test_rule_14_every_type_offered_has_a_price_or_a_reason() -> None:
    record(
        gcp.parse(
            [answer("gcp-skus-synthetic.json")],
            gcp.shapes([answer("gcp-machine-types-synthetic.json")]),
        ),
        provider="gcp",
        region="",
    )
    bare = set(Offer.objects.filter(prices=None).values_list("name", "region__code"))
    reasons = UnpricedType.objects.all()
    assert bare == {(row.name, row.region) for row in reasons}
    assert {row.reason for row in reasons} == {"no_component"}


def test_type_without_any_row_has_a_reason_too() -> None:
    assert record([machine("odd"), price()]).unpriced == 1
    [odd] = UnpricedType.objects.all()
    assert (odd.name, odd.reason, odd.detail) == (
        "odd",
        "no_price",
        "the list has no row of its price",
    )
    record([machine("odd"), price(), price("0.2", "odd")], day=1)
    assert not UnpricedType.objects.exists()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"amount": Decimal("0.1234567890123456789")}, "too_precise"),
        ({"setup_amount": Decimal("1e-19")}, "too_precise"),
        ({"monthly_cap": Decimal("0.1234567890123456789")}, "too_precise"),
        ({"tax_rate": Decimal("0.12345")}, "too_precise"),
        ({"monthly_cap": Decimal(10) ** 10}, "too_large"),
        ({"offer": "x" * 151}, "unexpected_shape"),
        ({"zone": "a\0b"}, "unexpected_shape"),
    ],
)
def test_price_is_refused_with_its_reason_when_a_column_would_change_it(
    fields: dict[str, Any], reason: str
) -> None:
    odd = ParsedPrice(**{**_fields(price()), **fields})
    report = record([odd, price("0.2", "m5.xlarge")])
    assert (report.priced, report.skipped) == (1, {reason: 1})
    assert PriceObservation.objects.get().offer.name == "m5.xlarge"


def _fields(of: ParsedPrice) -> dict[str, Any]:
    return {name: getattr(of, name) for name in ParsedPrice.__dataclass_fields__}


def test_eighteen_decimals_are_kept_and_closing_zeros_are_none() -> None:
    record([price("0.123456789012345678"), price("0.1000000000000000000000", "b")])
    amounts = set(PriceObservation.objects.values_list("amount", flat=True))
    assert amounts == {Decimal("0.123456789012345678"), Decimal("0.1")}


def test_nothing_is_stored_when_the_list_ends_in_an_error() -> None:
    def broken() -> Iterable[Result]:
        yield machine()
        yield price()
        raise InvalidValue("page 2 line 1", "not JSON")

    with pytest.raises(InvalidValue):
        record(broken())
    assert not Offer.objects.exists()
    assert not PriceFeed.objects.exists()


def test_payload_is_kept_once_and_named_by_each_price() -> None:
    raw = b"{}"
    kept = Payload(hashlib.sha256(raw).hexdigest(), len(raw), gzip.compress(raw))
    record([price()], payload=kept)
    record([price("0.11")], day=1, payload=kept)
    payload = PricePayload.objects.get()
    assert gzip.decompress(bytes(payload.raw_gzip)) == raw
    assert payload.fetched_at == factories.AT
    assert set(PriceObservation.objects.values_list("payload_sha256", flat=True)) == {kept.sha256}
    record([price("0.12")], day=2, payload=replace(kept, sha256="f" * 64, raw_gzip=None))
    assert PricePayload.objects.count() == 1


# --- savings plans, exactness ----------------------------------------------------------------------


def test_rule_06_savings_plans_are_joined_on_the_stored_on_demand_prices() -> None:
    record(LISTS["aws"]())
    joined = aws.skus(on_demand_prices(provider="aws", region="eu-west-1"))
    plans = aws_savings.parse(io.StringIO(answer("aws-savings-plans-synthetic.json")), joined)
    report = record(plans, feed_kind="savings", day=1)
    assert (report.published, report.new_types) == (3, 0)
    assert on_demand_prices(provider="aws", region="nowhere") == []


def test_rule_07_spot_prices_of_each_zone_are_kept() -> None:
    record(LISTS["aws"]())
    spot = aws_spot.parse([answer("aws-spot-synthetic.json")], region="eu-west-1")
    record(spot, feed_kind="spot", day=1)
    zones = PriceObservation.objects.filter(purchase_model="spot").values_list("zone", flat=True)
    assert len(set(zones)) == len(zones) == 3


def test_list_that_is_made_by_an_import_is_not_fetched_by_itself() -> None:
    feed = feed_get(provider="aws", kind="on_demand", region="eu-west-1")
    assert (feed.is_enabled, feed_get(provider="aws", kind="on_demand", region="eu-west-1")) == (
        False,
        feed,
    )


AMOUNTS = st.decimals("0.000000000000000001", "9999999999", places=18).map(lambda one: f"{one:f}")


@given(amount=AMOUNTS.filter(lambda text: Decimal(text) > 0))
@hypothesis_settings(max_examples=FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_amount_is_the_same_text_from_the_file_to_the_api(client: Client, amount: str) -> None:
    PriceObservation.objects.all().delete()
    page = json.loads(answer("linode-types-synthetic.json"))
    item = page["data"][0] | {"price": {"hourly": 0.5}, "region_prices": []}
    # A number in the text of the file, whatever its digits.
    text = json.dumps({"data": [item]}).replace('"hourly": 0.5', f'"hourly": {amount}')
    record(linode.parse([text]), provider="linode", region="")
    [row] = rows(client.get(f"{API}/prices.csv"))
    short = amount.rstrip("0").rstrip(".")
    assert row["amount"] == short
    [told] = client.get(f"{API}/prices").json()["results"]
    assert told["amount"] == short


def test_skipped_rows_are_counted_by_their_reason() -> None:
    zero = Skipped(
        reason=SkipReason.ZERO, provider="aws", raw_id="x", offer="t2a", region="eu-west-1"
    )
    report = record([zero, price()])
    assert (report.skipped, report.unpriced) == ({"zero": 1}, 1)
    assert PriceFeed.objects.get().summary["skipped"] == {"zero": 1}
    assert not PriceObservation.objects.filter(offer__name="t2a").exists()


def test_rule_01_each_type_has_its_one_right_price_in_the_database() -> None:
    record(aws.parse([answer("aws-get-products-synthetic.json")]), feed_kind="products")
    rows = PriceObservation.objects.filter(purchase_model="on_demand")
    found = list(rows.values_list("offer__name", "amount"))
    assert len(dict(found)) == len(found)
    assert dict(found)["m5.large"] == Decimal("0.107")
    assert not rows.filter(amount__lte=0).exists()


def test_azure_list_gives_the_memory_that_is_sold() -> None:
    """N11: a list without sizes left memory empty, and one with a guest's view kept that."""
    told = ParsedType(
        provider="azure", region="eastus", name="Standard_D4s_v5", memory_bytes=int(15.6 * 2**30)
    )
    listed = price("0.19", "Standard_E8-4ds_v5", provider="azure", region="eastus")
    offers_record(
        provider=factories.provider("azure"),
        region=factories.region("eastus", provider_slug="azure"),
        names=[listed.offer],
        types=[told],
        source="list",
        stated_on=dt.date(2026, 11, 28),
    )
    found = Offer.objects.order_by("name").values_list("name", "vcpu_count", "memory_bytes")
    assert list(found) == [
        ("Standard_D4s_v5", 4, 16 * 2**30),
        ("Standard_E8-4ds_v5", 4, 64 * 2**30),
    ]
