"""What the machines of a bill cost elsewhere, with the prices and scores of the catalogue."""

import io

import pytest
from pypdf import PdfReader

from backend.bills.services.importing import BillFile, bill_import
from backend.catalog.models import Offer
from tests import factories
from tests.backend.conftest import API, fields
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db
# A month of three machines: 2,190 hours, of which one kind is in no catalogue.
TABLE = b"""type,hours,cost,month,currency,provider,region
m5.large,2190,300,2026-10,USD,AWS,us-east-1
x9.unknown,730,50,2026-10,USD,AWS,us-east-1
"""


def sold(
    slug, amount, score, *, provider="aws", unit="hour", ram=8, kind="cloud", region=None, **given
):
    of = factories.offer(
        slug,
        name=given.pop("name", slug),
        provider_slug=provider,
        kind=kind,
        region=region,
        memory_bytes=ram * 2**30,
    )
    model = "monthly" if unit == "month" else "on_demand"
    factories.price(of, amount, unit=unit, purchase_model=model)
    factories.sample(of, score, metric="stress_ng_div16")
    return of


@pytest.fixture
def bill():
    sold("m5-large", "0.15", 1000.0, name="m5.large", region=factories.region())
    sold("m7-large", "0.10", 1100.0)
    sold("n2-standard", "0.08", 1000.0, provider="gcp")
    sold("ax41", "40", 8000.0, provider="hetzner", kind="dedicated", unit="month", ram=64)
    return bill_import(
        workspace=factories.workspace(),
        name="October",
        files=[BillFile("october.csv", lambda: io.BytesIO(TABLE))],
        actor="tester",
    )


def test_equal_capacity_is_priced_as_worked_by_hand(bill, caller):
    """3 machines of 1,000: 3 × 0.10 × 730, 3 × 0.08 × 730, and 1 + 1 spare × (40 + 60)."""
    query = "metric=stress_ng_div16&moving_cost=1000"
    answer = caller("write").get(f"{API}/bills/october?{query}").json()
    assert answer["compared"] == {
        "metric": "stress_ng_div16",
        "cost_per_month": 300.0,
        "uncompared": ["x9.unknown"],
        "left_out": [{"name": "x9.unknown", "cost": "50", "why": "no_score"}],
        "region_groups": ["north-america"],
        "region_group": "",
        "moving_cost": 1000.0,
        "staff_per_server": 60,
        "spares": 1,
        "headroom_percent": 0,
        "spread_commitments": True,
        "may_change_arch": False,
        "may_run_services": False,
        "managed_premium": 0.4,
        "service_hours": 10,
        "staff_hour": 60,
    }
    costs = {one["kind"]: one["cost_per_month"] for one in answer["alternatives"]}
    assert costs == pytest.approx(
        {"same_provider": 219, "cloud": 175.2, "dedicated": 200}, rel=1e-3
    )
    cloud = next(one for one in answer["alternatives"] if one["kind"] == "cloud")
    assert cloud["servers"] == [{"offer": "n2-standard", "name": "n2-standard", "count": 3}]
    assert cloud["p5"] <= cloud["cost_per_month"] <= cloud["p95"]
    assert cloud["payback_months"] == pytest.approx(1000 / (300 - 175.2), rel=1e-3)


def test_page_says_where_it_is_cheaper_and_takes_other_assumptions(bill, client, queued):
    client.force_login(factories.user(role="write"))
    page = shown(client.get("/bills/october/?metric=stress_ng_div16"))
    # One measured machine of each type is not enough to be sure of 42 %.
    assert (
        "Probably cheaper, but not certain: another cloud would save 125 USD per month "
        "(1,500 USD per year), 175 USD instead of 300 USD."
    ) in page
    assert "Cheaper in 92.8% of the simulations." in page
    assert "Machines billed at 50.00 USD could not be matched" in page
    assert "x9.unknown (50.00 USD)" in page
    page = shown(client.get("/bills/october/?metric=stress_ng_div16&spares=0&staff_per_server=0"))
    assert (
        "You could save 260 USD per month (3,120 USD per year) with dedicated servers: 40.0 USD "
        "instead of 300 USD for equal capacity."
    ) in page
    # 3,000 of 8,000 are needed.
    assert "25.00 USD per month of dedicated servers is headroom" in page


def test_default_metric_knows_most_of_the_cost(bill, client, caller):
    client.force_login(factories.user(role="write"))
    reader = caller("write")

    def metrics():
        page = client.get("/bills/october/")
        assert page.context["targets"]
        said = reader.get(f"{API}/bills/october").json()["compared"]
        return page.context["elsewhere"].metric, said["metric"]

    # CPU speed ranks other clouds, and no machine of the bill.
    factories.sample(
        Offer.objects.get(slug="n2-standard"),
        5000.0,
        metric="general_performance",
        variant="standard",
    )
    assert metrics() == ("stress_ng_div16", "stress_ng_div16")
    # It knows as much of the bill as any other, and is that of the pages.
    factories.sample(
        Offer.objects.get(slug="m5-large"), 4000.0, metric="general_performance", variant="standard"
    )
    assert metrics() == ("general_performance", "general_performance")


def test_page_says_when_nothing_is_cheaper(bill, client, queued):
    content = TABLE.replace(b",300,", b",3,")
    bill_import(
        workspace=factories.workspace(),
        name="Cheap",
        files=[BillFile("c.csv", lambda: io.BytesIO(content))],
        actor="tester",
    )
    client.force_login(factories.user(role="write"))
    page = shown(client.get("/bills/cheap/?metric=stress_ng_div16"))
    assert "Nothing is cheaper: you pay 3.00 USD per month today." in page
    assert 'data-label="Payback">never</td>' in page


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("metric=fsync_p99_ns", "metric"),
        ("metric=nothing", "metric"),
        ("spares=many", "spares"),
        ("managed_premium=2", "managed_premium"),
        ("headroom_percent=91", "headroom_percent"),
        ("staff_per_server=-1", "staff_per_server"),
    ],
)
def test_what_cannot_be_assumed_is_refused_by_its_name(bill, caller, client, query, field):
    response = caller("write").get(f"{API}/bills/october?{query}")
    assert (response.status_code, fields(response)) == (400, [field])
    client.force_login(factories.user(role="write"))
    assert client.get(f"/bills/october/?{query}").status_code == 200


def test_hours_that_were_credited_back_are_no_machine(caller):
    sold("m5-large", "0.15", 1000.0, name="m5.large", region=factories.region())
    content = TABLE.replace(b",2190,300,", b",-2190,-300,")
    bill_import(
        workspace=factories.workspace(),
        name="Back",
        files=[BillFile("b.csv", lambda: io.BytesIO(content))],
        actor="tester",
    )
    answer = caller("write").get(f"{API}/bills/back?metric=stress_ng_div16").json()
    assert answer["compared"]["uncompared"] == ["x9.unknown", "m5.large"]
    assert answer["alternatives"] == []


def test_bill_without_machines_says_that_nothing_is_compared(client, queued):
    bill_import(
        workspace=factories.workspace(),
        name="Disks",
        files=[
            BillFile(
                "d.csv",
                lambda: io.BytesIO(b"type,hours,cost,month,currency\nnas,1,9,2026-10,USD\n"),
            )
        ],
        actor="tester",
    )
    client.force_login(factories.user(role="write"))
    page = shown(client.get("/bills/disks/"))
    assert "The bill does not say the provider of its machines." in page


def test_fees_of_commitments_belong_to_the_machines_that_used_them(caller):
    sold("m5-large", "0.15", 1000.0, name="m5.large", region=factories.region())
    head = (
        "lineItem/UsageStartDate,lineItem/UnblendedCost,lineItem/CurrencyCode,lineItem/LineItemType,"
        "product/instanceType,lineItem/UsageAmount,pricing/unit,product/region,reservation/EffectiveCost\n"
    )
    rows = (
        "2026-10-01,0,USD,DiscountedUsage,m5.large,24,Hrs,us-east-1,1.20\n"
        "2026-10-02,0,USD,DiscountedUsage,m5.large,24,Hrs,us-east-1,1.20\n"
        "2026-10-01,4.80,USD,RIFee,m5.large,,Hrs,us-east-1,\n"
    )
    bill_import(
        workspace=factories.workspace(),
        name="Reserved",
        files=[BillFile("r.csv", lambda: io.BytesIO((head + rows).encode()))],
        actor="tester",
    )
    write = caller("write")
    answer = write.get(f"{API}/bills/reserved?metric=stress_ng_div16").json()
    assert answer["compared"]["cost_per_month"] == pytest.approx(2.40 * 730 / 48, abs=0.01)
    query = "metric=stress_ng_div16&spread_commitments=FALSE"
    answer = write.get(f"{API}/bills/reserved?{query}").json()
    assert answer["compared"]["cost_per_month"] == pytest.approx(4.80 * 730 / 48, abs=0.01)


def test_page_names_what_is_paid_for_and_not_used(client, queued):
    text = (
        "BilledCost,BillingCurrency,ChargePeriodStart,ChargeDescription,CommitmentDiscountStatus,"
        "ChargeCategory,EffectiveCost\n"
        "0,USD,2026-10-01,plan,Unused,Usage,2.40\n"
        "3.60,USD,2026-10-01,$0.005 per Idle public IPv4 address per hour,,Usage,3.60\n"
    )
    bill_import(
        workspace=factories.workspace(),
        name="Waste",
        files=[BillFile("w.csv", lambda: io.BytesIO(text.encode()))],
        actor="tester",
    )
    client.force_login(factories.user(role="write"))
    page = shown(client.get("/bills/waste/"))
    said = "2.40 USD for commitments that nothing used; 3.60 USD for addresses, disks and capacity"
    assert f"Paid for and not used: {said}" in page


def test_page_draws_today_the_targets_and_what_they_depend_on(bill, client, queued):
    client.force_login(factories.user(role="write"))
    page = shown(client.get("/bills/october/?metric=stress_ng_div16"))
    assert "Bars of the cost a month: today 300; another cloud 175" in page
    assert "What it depends on: another cloud" in page
    # 3 × 0.08 × 730 = 175.2, ten percent down and up.
    assert "price of n2-standard 158 – 193" in page


def test_answer_says_what_its_cost_depends_on(bill, caller):
    answer = caller("write").get(f"{API}/bills/october?metric=stress_ng_div16").json()
    (cloud,) = (one for one in answer["alternatives"] if one["kind"] == "cloud")
    (price,) = (one for one in cloud["swings"] if one["input"] == "price")
    assert (price["name"], price["cost_low"], price["cost_high"]) == ("n2-standard", 157.68, 192.72)


def test_report_of_a_bill_is_frozen_and_seen_by_who_sees_bills(bill, client, queued, settings):
    settings.PUBLIC_READ = True
    client.force_login(factories.user(role="write"))
    address = "/reports/new/bill/october/?metric=stress_ng_div16&spares=0&staff_per_server=0"
    assert "October elsewhere" in shown(client.get(address))
    made = client.post(address, {"title": "Leaving", "note": "Board of May"})
    assert made["Location"] == "/reports/leaving/"
    bill.delete()  # what was frozen stays
    page = shown(client.get("/reports/leaving/"))
    assert "You could save 260 USD per month" in page
    assert "Not compared" in page
    assert "Paid for and not used" in page
    assert "/bills/october/?metric=stress_ng_div16&amp;spares=0&amp;staff_per_server=0" in page
    paper = client.get("/reports/leaving.pdf").content
    assert "dedicated servers" in PdfReader(io.BytesIO(paper)).pages[0].extract_text()
    assert len(PdfReader(io.BytesIO(paper)).pages) == 1
    assert "Leaving" in shown(client.get("/reports/"))
    client.logout()
    for hidden in ("/reports/leaving/", "/reports/leaving.pdf", "/reports/leaving/delete/"):
        assert client.get(hidden).status_code in {403, 404}
    assert "Leaving" not in shown(client.get("/reports/"))
    assert "Leaving" not in shown(client.get("/search/?q=leaving"))


def test_scenario_of_a_bill_is_opened_calculated_and_kept(bill, client, queued):
    client.force_login(factories.user(role="write"))
    assert "?bill=october" in shown(client.get("/bills/october/"))
    editor = client.get("/scenarios/new/?bill=october&metric=stress_ng_div16")
    texts = {name: str(text) for name, text in editor.context["form"].initial.items()}
    assert texts["name"] == "October elsewhere"
    data = texts | {"save": "1"}
    kept = client.post("/scenarios/new/", data)
    assert kept.status_code == 302, kept.context["form"].errors
    page = shown(client.get(kept["Location"]))
    # A year of today's 300 a month, of 1 + 1 servers of 40 + 60, and 8,760 hours of 3 × 0.08.
    assert 'title="3600.000000">3,600<' in page
    assert 'title="2400.000000">2,400<' in page
    assert 'title="2102.400000">2,102<' in page
    client.force_login(factories.user(role="read"))
    assert client.get("/scenarios/new/?bill=october").status_code == 403


def test_saving_of_less_than_a_hundredth_is_none(bill, client, queued):
    """3 × 0.10 × 730 is 219."""
    client.force_login(factories.user(role="write"))
    bill_import(
        workspace=factories.workspace(),
        name="November",
        files=[BillFile("november.csv", lambda: io.BytesIO(TABLE.replace(b",300,", b",176,")))],
        actor="tester",
    )
    page = shown(client.get("/bills/november/?metric=stress_ng_div16&spares=9"))
    assert (
        "Moving saves almost nothing: another cloud would cost 175 USD per month instead of 176 USD."
        in page
    )
