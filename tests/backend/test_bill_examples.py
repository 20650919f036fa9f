"""The examples of docs/bills.md, from file to verdict, each within 0.1 % of the sum worked by hand.

The third one, with disks and traffic, is that of test_bill_beside.py.
"""

import datetime as dt
import io
import json

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.services.workspaces import default_workspace
from backend.bills.services.importing import BillFile, bill_import
from backend.money.pricing.purchase import PurchaseModel
from tests import factories
from tests.backend.test_bill_elsewhere import sold

pytestmark = pytest.mark.django_db
HEAD = (
    "BilledCost,BillingCurrency,ChargePeriodStart,ProviderName,ServiceName,ChargeDescription,"
    "PricingQuantity,PricingUnit,RegionId\n"
)
WITHIN = 1e-3


def imported(text):
    return bill_import(
        workspace=default_workspace(),
        name="Example",
        files=[BillFile("example.csv", lambda: io.BytesIO(text.encode()))],
        actor="tester",
    )


def compared(*options):
    out = io.StringIO()
    call_command(
        "compare_bill", "example", "--metric", "stress_ng_div16", "--json", *options, stdout=out
    )
    said = json.loads(out.getvalue())
    return said, {one["kind"]: one for one in said["alternatives"]}


def hour_line(moment, machines):
    return (
        f"{machines * 0.4:.1f},USD,{moment:%Y-%m-%d %H:%M:%S},AWS,EC2,$0.4 per On Demand Linux "
        f"m5.large Instance Hour,{machines},Hours,us-east-1\n"
    )


def test_three_servers_and_seventeen_more_from_ten_to_three():
    """3 × 24 + 17 × 5 = 157 of 480 server hours a day: 4,710 in 30 days are 1,884 at 0.40 an hour,
    against 20 × 100 for servers that stand; a month of 730 hours has 30.4167 days."""
    sold("m5-large", "0.40", 1000.0, name="m5.large", region=factories.region())
    sold("n2", "0.40", 1000.0, provider="gcp")
    box = {"provider": "hetzner", "kind": "dedicated", "unit": "month"}
    sold("box", "100", 1000.0, **box)
    sold("rack", "55", 1000.0, provider="own", kind="onprem", unit="month")
    of = sold("m7", "0.40", 1000.0, name="m7.large")
    factories.price(of, "0.24", purchase_model=PurchaseModel.COMMITTED, term="1y")
    start = dt.datetime(2026, 11, 1)
    hours = [start + dt.timedelta(hours=at) for at in range(30 * 24)]
    lines = [hour_line(hour, 20 if 10 <= hour.hour < 15 else 3) for hour in hours]
    bill = imported(HEAD + "".join(lines))
    assert bill.estate["total"] == "1884"
    (machine,) = bill.estate["machines"]
    assert (machine["hours"], machine["peak"], min(machine["week"])) == ("4710", 20, 3)

    said, costs = compared("--spares", "0", "--staff-per-server", "0")
    assert said["compared"]["cost_per_month"] == pytest.approx(1884 * 730 / 720, rel=WITHIN)
    for kind in ("same_provider", "cloud"):
        assert costs[kind]["cost_per_month"] == pytest.approx(1910.17, rel=WITHIN)
    assert costs["dedicated"]["cost_per_month"] == pytest.approx(2000, rel=WITHIN)
    assert costs["dedicated"]["servers"][0]["count"] == 20
    assert costs["own"]["cost_per_month"] == pytest.approx(20 * 55, rel=WITHIN)
    assert costs["dedicated"]["idle_cost"] == pytest.approx(2000 * (1 - 157 / 480), rel=WITHIN)
    # 3 × 0.24 all month, and 157 / 24 − 3 machines more on average at 0.40.
    by_commitment = (3 * 0.24 + (157 / 24 - 3) * 0.40) * 730
    assert costs["committed"]["cost_per_month"] == pytest.approx(by_commitment, rel=WITHIN)
    assert by_commitment == pytest.approx(1559.77, abs=0.01)


def test_small_machines_on_large_servers_beside_small_ones():
    """22 machines of 100: four servers of 500 at 90 and one of 200 at 45, a spare large one, and 10
    of staff for each: 5 × 100 + 55. With a fifth kept free 2,750 are needed: 6 × 100 + 55."""
    for slug, region, amount, score, ram in (
        ("m5-large", factories.region(), "0.1", 100.0, 8),
        ("ax102", None, "90", 500.0, 64),
        ("ax41", None, "45", 200.0, 32),
    ):
        cloud = {"name": "m5.large", "region": region}
        box = {"provider": "hetzner", "kind": "dedicated", "unit": "month"}
        sold(slug, amount, score, ram=ram, **(cloud if region else box))
    # There is one such server only, however cheap.
    sold("auction-1", "1", 500.0, name="auction-1", ram=64, **box)
    imported(
        "type,hours,cost,month,currency,provider,region\n"
        "m5.large,16060,1606,2026-10,USD,AWS,us-east-1\n"
    )
    given = ("--staff-per-server", "10", "--moving-cost", "2000")
    said, costs = compared(*given)
    assert said["compared"]["cost_per_month"] == pytest.approx(1606, rel=WITHIN)
    best = costs["dedicated"]
    assert best["cost_per_month"] == pytest.approx(555, rel=WITHIN)
    assert [(one["name"], one["count"]) for one in best["servers"]] == [("ax102", 5), ("ax41", 1)]
    assert best["payback_months"] == pytest.approx(2000 / (1606 - 555), abs=0.01)
    _, costs = compared(*given, "--headroom-percent", "20")
    assert costs["dedicated"]["cost_per_month"] == pytest.approx(655, rel=WITHIN)
    assert costs["same_provider"]["cost_per_month"] == pytest.approx(1606, rel=WITHIN)


def test_command_lists_the_cheapest_first_and_names_what_is_wrong():
    sold("m5-large", "0.1", 100.0, name="m5.large", region=factories.region())
    sold("n2", "0.05", 100.0, provider="gcp")
    imported(
        "type,hours,cost,month,currency,provider,region\n"
        "m5.large,365,36.50,2026-10,USD,AWS,us-east-1\n"
    )
    out = io.StringIO()
    call_command("compare_bill", "example", "--metric", "stress_ng_div16", stdout=out)
    today, first, second = out.getvalue().splitlines()
    # Half a month of one machine, by the hour at the other prices.
    assert today.split() == ["today", "$36.50"]
    assert first.split()[:2] == ["cloud", "$18.25"]
    assert second.split()[:2] == ["same_provider", "$36.50"]
    assert first.endswith("1 × n2")
    with pytest.raises(CommandError, match="there is no bill 'none'"):
        call_command("compare_bill", "none")
    with pytest.raises(CommandError, match=r"headroom_percent: .* from 0 to 90"):
        call_command("compare_bill", "example", "--headroom-percent", "95")
