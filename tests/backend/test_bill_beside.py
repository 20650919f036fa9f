"""Disks, traffic and services of a bill at the prices of a target, against sums worked by hand."""

import datetime as dt
import io
from decimal import Decimal

import pytest

from backend.bills.services.importing import BillFile, bill_import
from backend.catalog.models import ExtraKind, ExtraPrice, PriceObservation, Provider
from tests import factories
from tests.backend.conftest import API
from tests.backend.test_bill_elsewhere import sold
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db
HEAD = (
    "BilledCost,BillingCurrency,ChargePeriodStart,ProviderName,ServiceName,ChargeDescription,"
    "PricingQuantity,PricingUnit,RegionId\n"
)
# A period of 48 hours; a month has 730 of them, so amounts of a month are those × 730 / 48.
LINES = """\
14.40,USD,2026-10-01,AWS,EC2,$0.1 per On Demand Linux m5.large Instance Hour,144,Hours,us-east-1
8,USD,2026-10-01,AWS,EC2,$0.08 per GB-month of General Purpose (gp3) provisioned storage,100,GB-Months,us-east-1
2,USD,2026-10-01,AWS,EC2,$0.05 per GB-Month of snapshot data stored,40,GB-Months,us-east-1
9,USD,2026-10-02,AWS,EC2,$0.090 per GB - first 10 TB / month data transfer out,100,GB,us-east-1
1,USD,2026-10-02,AWS,EC2,$0.02 per GB - EU (London) data transfer to EU (Ireland),50,GB,us-east-1
20,USD,2026-10-02,AWS,Amazon Relational Database Service,$0.4 per db.m5.large instance hour,48,Hrs,us-east-1
"""
MONTH = 730 / 48
QUERY = "metric=stress_ng_div16&spares=0&staff_per_server=0"


def extra(slug, kind, tiers, currency="USD"):
    provider = Provider.objects.get(slug=slug)
    ExtraPrice.objects.create(
        provider=provider,
        kind=kind,
        tiers=tiers,
        currency=currency,
        observed_on=dt.date(2026, 10, 1),
    )


@pytest.fixture
def bill():
    sold("m5-large", "0.15", 1000.0, name="m5.large", region=factories.region())
    sold("n2", "0.08", 1000.0, provider="gcp")
    sold("ax41", "400", 8000.0, provider="hetzner", kind="dedicated", unit="month", ram=64)
    # 1,000 GB are free at this hoster, and 1 a TB beyond.
    PriceObservation.objects.filter(offer__slug="ax41").update(
        included={"traffic_bytes": 1000 * 10**9, "traffic_price_per_tb": "1"}
    )
    extra("gcp", ExtraKind.DISK, [[None, "0.05"]])
    extra("gcp", ExtraKind.EGRESS, [["1000", "0.10"], [None, "0.08"]])
    return bill_import(
        workspace=factories.workspace(),
        name="Two days",
        files=[BillFile("two.csv", lambda: io.BytesIO((HEAD + LINES).encode()))],
        actor="tester",
    )


def answered(caller, more=""):
    answer = caller("write").get(f"{API}/bills/two-days?{QUERY}{more}").json()
    return answer, {one["kind"]: one for one in answer["alternatives"]}


def test_volumes_are_those_of_disks_and_of_traffic_to_the_internet(bill):
    assert bill.estate["volumes"] == [
        {"volume": "disk", "gb": "100", "cost": "8"},
        {"volume": "egress", "gb": "100", "cost": "9"},
    ]
    assert bill.total == Decimal("54.4")


def test_disks_and_traffic_cost_what_the_target_charges(bill, caller):
    """1,520.83 GB each: 0.05 for disks; 1,000 × 0.10 and 520.83 × 0.08 for traffic."""
    answer, targets = answered(caller)
    assert answer["compared"]["cost_per_month"] == pytest.approx(31.4 * MONTH, abs=0.01)
    gb = 100 * MONTH
    cloud = targets["cloud"]
    assert cloud["parts"] == {
        "machines": pytest.approx(3 * 0.08 * 730, abs=0.01),
        "disk": pytest.approx(gb * 0.05, abs=0.01),
        "egress": pytest.approx(100 + (gb - 1000) * 0.08, abs=0.01),
    }
    assert cloud["cost_per_month"] == pytest.approx(sum(cloud["parts"].values()), abs=0.02)
    assert cloud["unpriced"] == []


def test_what_a_server_includes_is_free_and_what_has_no_price_stays(bill, caller):
    """520.83 GB beyond the first 1,000 at 1 a TB; nobody says what a disk costs there: as today."""
    _, targets = answered(caller)
    dedicated = targets["dedicated"]
    assert dedicated["parts"]["egress"] == pytest.approx((100 * MONTH - 1000) / 1000, abs=0.01)
    assert dedicated["parts"]["disk"] == pytest.approx(8 * MONTH, abs=0.01)
    assert dedicated["unpriced"] == ["disk"]


def test_same_provider_charges_for_disks_and_traffic_as_it_does(bill, caller):
    _, targets = answered(caller)
    parts = targets["same_provider"]["parts"]
    assert (parts["disk"], parts["egress"]) == (
        pytest.approx(8 * MONTH, abs=0.01),
        pytest.approx(9 * MONTH, abs=0.01),
    )


def test_services_run_by_oneself_cost_no_premium_but_hours(bill, caller):
    """304.17 a month: on servers 75 % of it and 5 hours of 50; at a cloud as they are."""
    more = "&may_run_services=TRUE&managed_premium=0.25&service_hours=5&staff_hour=50"
    answer, targets = answered(caller, more)
    managed = 20 * MONTH
    assert answer["compared"]["cost_per_month"] == pytest.approx(51.4 * MONTH, abs=0.01)
    assert targets["cloud"]["parts"]["managed"] == pytest.approx(managed, abs=0.01)
    own = managed * 0.75 + 250
    assert targets["dedicated"]["parts"]["managed"] == pytest.approx(own, abs=0.01)


def test_page_says_what_moves_and_what_stays(bill, client, queued):
    client.force_login(factories.user(role="write"))
    page = shown(client.get(f"/bills/two-days/?{QUERY}"))
    assert "What moves and what stays" in page
    for words in ("disks, 1,521 GB", "traffic to the internet, 1,521 GB", "other storage"):
        assert words in page, words
    assert "run by yourself" not in page
    # 54.40 of two days, and 400 for what cost 31.40 of it.
    assert "827 USD" in page
    # 400 + 121.67 + 0.52 on the server, as nothing but the premium was paid for its services.
    free = f"{QUERY}&may_run_services=on&service_hours=0&managed_premium=1"
    assert "run by yourself" in shown(client.get(f"/bills/two-days/?{free}"))


def test_scenario_carries_disks_and_traffic_in_its_prices(bill, client, queued):
    client.force_login(factories.user(role="write"))
    editor = client.get(f"/scenarios/new/?bill=two-days&{QUERY}")
    texts = {name: str(text) for name, text in editor.context["form"].initial.items()}
    kept = client.post("/scenarios/new/", texts | {"save": "1"})
    assert kept.status_code == 302, kept.context["form"].errors
    page = shown(client.get(kept["Location"]))
    # A year of 31.40 × 730 / 48 = 477.54 a month.
    assert 'title="5730.480000">5,730<' in page
