"""What prices of the shipped offers hold beside the machine, and what a whole server counts as vCPUs."""

from decimal import Decimal

import pytest
from django.test import Client

from backend.catalog.models import ExtraPrice, Offer
from backend.catalog.selectors.processors import processor_figures
from backend.money.pricing.extras import ExtraAmounts, Included, Tariff, extras_of_month
from tests.backend.conftest import API, rows
from tests.backend.price_lists import machine, record

pytestmark = pytest.mark.django_db
ALL = "basis=disk,ip,egress"


@pytest.mark.parametrize(
    ("wanted", "held", "month"),
    [(1, 1, "0"), (3, 1, "7.3"), (0, 1, "0"), (2, 0, "7.3")],
)
def test_included_addresses_are_not_bought_again(wanted: int, held: int, month: str) -> None:
    """730 h · 0.005 = 3.65 for each address beyond those included."""
    tariffs = {"ip": Tariff(((None, Decimal("0.005")),), "USD")}
    included = Included(ipv4_count=held)
    [extra] = extras_of_month(ExtraAmounts(ipv4_count=wanted), included, tariffs, Decimal(730))
    assert extra.amount == Decimal(month)


def test_servers_that_include_traffic_keep_their_rank_with_extras(
    client: Client, market: None
) -> None:
    """N6: all 49 dedicated and 44 OVH rows, and 404 of Azure's westeurope, lost price and rank."""
    query = f"metric=stress_ng_div16&period=month&basis_disk_gb=100&{ALL}"
    found = rows(client.get(f"{API}/rankings.csv?{query}"))
    assert len(found) > 1500
    dedicated = [row for row in found if row["kind"] == "dedicated"]
    assert len(dedicated) >= 49
    clouds = [row for row in found if row["provider"] in {"azure", "aws", "gcp"}]
    assert {row["missing"] for row in dedicated + clouds} == {""}
    assert all(row["rank"] for row in dedicated + clouds)
    # One of OVHcloud's with its disk, address and traffic costs what the machine costs.
    whole = [row for row in dedicated if row["provider"] == "ovh"]
    for row in whole:
        alone = client.get(f"{API}/offers/{row['offer_id']}?period=month&basis=machine").json()
        assert row["price"] == alone["price"]


def test_ovh_cloud_pays_for_disk_alone_with_extras(client: Client, market: None) -> None:
    row = client.get(f"{API}/offers/ovh-b3-8-eu?period=month&basis=ip,egress").json()
    alone = client.get(f"{API}/offers/ovh-b3-8-eu?period=month&basis=machine").json()
    assert (row["missing"], row["price"]) == ("score", alone["price"])


def test_azure_disk_is_one_product_in_all_regions(market: None) -> None:
    """N7: eastus had the price of a P4 of 32 GiB, which no disk of 1 TB costs."""
    disks = ExtraPrice.objects.filter(provider__slug="azure", kind="disk")
    products = {disk.source.partition(":")[0] for disk in disks}
    assert products == {"Premium SSD v2"}
    amounts = {disk.region.code: Decimal(disk.tiers[0][1]) for disk in disks if disk.region}
    assert amounts == {"eastus": Decimal("0.081"), "westeurope": Decimal("0.0949")}


def test_month_of_hours_is_marked_where_a_month_is_sold(client: Client, market: None) -> None:
    """N9: b2 and Scaleway's fr-par-1 cost up to half by the month."""
    for slug in ("ovh-b2-7-eu", "ovh-i1-45-eu"):
        month = client.get(f"{API}/offers/{slug}?period=month").json()
        assert "lacks_month_price" in month["flags"].split()
        hour = client.get(f"{API}/offers/{slug}?period=hour").json()
        assert "lacks_month_price" not in hour["flags"].split()
    newer = client.get(f"{API}/offers/ovh-b3-8-eu?period=month").json()
    assert "lacks_month_price" not in newer["flags"].split()
    scaleway = Offer.objects.filter(provider__slug="scaleway", kind="dedicated")
    for code, is_marked in (("fr-par-1", True), ("fr-par-2", False)):
        [first, *_] = scaleway.filter(region__code=code)
        assert all(
            bool(p.included.get("lacks_month_price")) is is_marked for p in first.prices.all()
        )


# --- vCPUs of whole servers ---------------------------------------------------------------------


def test_every_dedicated_offer_has_a_count_of_vcpus(market: None) -> None:
    """N14: 434 of 954 had none, so that "at least 8 vCPU" dropped them in silence."""
    dedicated = Offer.objects.filter(kind="dedicated", discontinued_on=None)
    assert not dedicated.filter(vcpu_count=None).exists()
    derived = dedicated.filter(is_vcpu_derived=True)
    assert derived.count() == 434
    for offer in derived:
        assert offer.vcpu_count == offer.thread_count


@pytest.mark.parametrize(
    ("model", "threads"),
    [
        ("AMD EPYC 7502", 64),
        ("Intel(R) Xeon(R) W-2145 CPU @ 3.70GHz", 16),
        ("2 x AMD EPYC 7502 32-Core Processor", 128),
        ("Intel Core i9-12900K", 24),
    ],
)
def test_threads_follow_from_the_name_of_a_processor(model: str, threads: int) -> None:
    assert processor_figures(model)["thread_count"] == threads


def test_unknown_processor_has_no_count() -> None:
    assert processor_figures("") == processor_figures("Xeon W-9999") == {}


def test_list_of_servers_without_counts_gets_them_and_a_stated_count_wins() -> None:
    record([machine("sb-1", kind="dedicated", cpu_model="Intel Xeon W-2145")])
    offer = Offer.objects.get()
    assert (offer.vcpu_count, offer.thread_count, offer.is_vcpu_derived) == (16, 16, True)
    record(
        [machine("sb-1", kind="dedicated", cpu_model="Intel Xeon W-2145", vcpu_count=Decimal(8))]
    )
    offer.refresh_from_db()
    assert (offer.vcpu_count, offer.is_vcpu_derived) == (8, False)


def test_filter_by_vcpus_keeps_servers_whose_seller_states_none(
    client: Client, market: None
) -> None:
    query = "metric=specrate2017_int_base&vcpu__gte=32"
    slugs = {row["offer_id"] for row in rows(client.get(f"{API}/rankings.csv?{query}"))}
    epyc = Offer.objects.filter(cpu_model="AMD EPYC 7502", samples__metric="specrate2017_int_base")
    assert set(epyc.values_list("slug", flat=True)) <= slugs
