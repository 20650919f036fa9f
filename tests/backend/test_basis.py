"""What a ranked price holds beside the machine: disk, addresses, traffic, and the reader's tax."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from backend.catalog.models import ExtraPrice, Offer, PriceObservation
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.backend.test_rankings_api import results

pytestmark = pytest.mark.django_db
GB = 10**9
ALL = "basis=disk,ip,egress"


def machine(slug: str, amount: str = "0.1", score: float = 100, **given: Any) -> Offer:
    """A scored offer at 0.1 $/h in us-east-1."""
    told = {name: given.pop(name) for name in tuple(given) if name in {"included", "currency"}}
    offer = factories.offer(slug, **{"region": factories.region(), **given})
    factories.price(offer, amount, **told)
    factories.sample(offer, score)
    return offer


def row(client: Client, query: str) -> dict[str, Any]:
    [found] = results(client, query)
    return found


def amount(client: Client, query: str) -> Decimal:
    return Decimal(row(client, query)["price"])


def amounts(client: Client, query: str) -> dict[str, Decimal]:
    return {found["offer_id"]: Decimal(found["price"]) for found in results(client, query)}


def test_demo_ranks_with_disk_address_and_traffic(client: Client, market: None) -> None:
    query = f"metric=coremark_score&provider=gcp&{ALL}&period=month"
    found = rows(client.get(f"{API}/rankings.csv?{query}"))
    assert len(found) == 455
    assert {one["missing"] for one in found} == {""}
    # N2 standard of 4 in Belgium: the machine's 730 h at 0.8002 (sustained use), with a pd-balanced disk of 100 GB, an
    # address, and 1,000 GB of the first tier.
    [one] = [one for one in found if one["offer_id"] == "gcp-n2-standard-4-europe-west1"]
    alone = PriceObservation.objects.get(
        offer__slug="gcp-n2-standard-4-europe-west1", purchase_model="on_demand"
    )
    added = 100 * Decimal("0.1") + 730 * Decimal("0.005") + 1000 * Decimal("0.12")
    assert Decimal(one["price"]) == alone.amount * 730 * Decimal("0.8002") + added


# --- the figures ------------------------------------------------------------------------------


def test_price_holds_what_the_basis_says(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.08")
    factories.extra("ipv4", "0.005")
    factories.extra("egress", "0.09")
    # a month of 730 h: 73 + 100 · 0.08 + 730 · 0.005 + 1,000 · 0.09 = 174.65
    month = row(client, f"{ALL}&period=month")
    assert Decimal(month["price"]) == Decimal("174.65")
    assert month["price_basis"] == "machine+disk+ip+egress"
    hour = row(client, ALL)
    # 0.1 + 101.65 / 730
    assert Decimal(hour["price"]) == pytest.approx(Decimal("174.65") / 730, rel=Decimal("1e-11"))
    assert hour["price_usd_hour"] == hour["price"]
    assert Decimal(hour["cup"]) == pytest.approx(Decimal(hour["price"]) / 100, rel=Decimal("1e-11"))
    assert Decimal(row(client, f"{ALL}&period=year")["price"]) == Decimal("174.65") * 12


def test_amounts_of_the_basis_are_the_readers(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.08")
    factories.extra("ipv4", "0.005")
    factories.extra("egress", "0.09")
    # 73 + 10 · 0.08 + 3 · 730 · 0.005 + 0 = 84.75
    query = f"{ALL}&period=month&basis_disk_gb=10&basis_ipv4=3&basis_egress_gb=0"
    assert amount(client, query) == Decimal("84.75")
    basis = client.get(f"{API}/rankings?{query}").json()["basis"]
    assert basis["basis"] == "machine,disk,ip,egress"
    told = (basis["basis_disk_gb"], basis["basis_ipv4"], basis["basis_egress_gb"])
    assert told == ("10", 3, "0")


def test_included_traffic_and_disk_are_not_paid_again(client: Client) -> None:
    machine("bare")
    machine("full", disk_bytes=80 * GB, included={"traffic_bytes": 600 * GB})
    machine("port", disk_bytes=500 * GB, included={"is_traffic_unlimited": True})
    factories.extra("disk", "0.1")
    factories.extra("egress", "0.1")
    # 73 + 100 · 0.1 + 1,000 · 0.1; 73 + 20 · 0.1 + 400 · 0.1; 73
    assert amounts(client, "basis=disk,egress&period=month") == {
        "bare": 183,
        "full": 115,
        "port": 73,
    }


def test_traffic_at_the_machines_own_price_wins_over_the_list(client: Client) -> None:
    machine("a", included={"traffic_bytes": 500 * GB, "traffic_price_per_tb": "1.2"})
    factories.extra("egress", "0.09")
    # 73 + 0.5 TB · 1.2
    assert amount(client, "basis=egress&period=month") == Decimal("73.6")


def test_extras_are_those_of_the_region_and_never_the_cheapest_of_any(client: Client) -> None:
    dear = factories.region("sa-east-1")
    machine("home")
    machine("there", region=dear)
    machine("elsewhere", region=factories.region("ap-south-1"))
    factories.extra("egress", "0.09")
    factories.extra("egress", "0.15", region=dear)
    factories.extra("egress", "0.01", region=factories.region("us-east-2"))
    factories.extra("egress", "0.02", provider_slug="gcp")
    found = amounts(client, "basis=egress&period=month&basis_egress_gb=100")
    # 73 + 100 · 0.09, 73 + 100 · 0.15, 73 + 100 · 0.09
    assert found == {"home": 82, "there": 88, "elsewhere": 82}


def test_region_without_its_own_price_is_unknown_in_a_partial_list(
    client: Client,
) -> None:
    machine("a")
    factories.extra("egress", "0.01", region=factories.region("us-east-2"))
    assert row(client, "basis=egress")["price"] is None


def test_extra_of_unknown_price_leaves_no_price_and_comes_last(client: Client) -> None:
    machine("known", amount="9")
    machine("unknown", amount="0.01", provider_slug="gcp", region=None)
    factories.extra("disk", "0.1")
    factories.extra("ipv4", "0.005")
    factories.extra("egress", "0.1")
    first, last = results(client, ALL)
    assert (first["offer_id"], last["offer_id"]) == ("known", "unknown")
    assert (last["price"], last["price_usd_hour"], last["rank"]) == (None, None, None)
    assert last["value_per_cost"] is None
    assert last["missing"] == "disk_price ipv4_price egress_price price"
    assert last["price_basis"] == "machine+disk+ip+egress"
    basis = client.get(f"{API}/rankings?{ALL}").json()["basis"]
    assert basis["unpriced_count"] == 1
    # what includes all that is wanted needs no price
    Offer.objects.filter(slug="unknown").update(disk_bytes=100 * GB)
    assert row(client, "basis=disk&offer_id=unknown")["price"] == "0.01"


def test_extra_in_a_currency_without_a_rate_is_unknown(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.1", currency="CHF")
    found = row(client, "basis=disk")
    assert (found["price"], found["missing"]) == (None, "price fx_rate")


def test_extras_are_converted_at_the_stored_rate(client: Client) -> None:
    machine("a")
    factories.rate("USD", "1.25")
    factories.extra("disk", "0.1", currency="EUR")
    # 73 + 100 · 0.1 · 1.25 in dollars; in euros 73 / 1.25 + 10
    assert amount(client, "basis=disk&period=month") == Decimal("85.5")
    assert amount(client, "basis=disk&period=month&currency=EUR") == Decimal("68.4")


def test_monthly_amounts_are_no_part_of_a_purchase(client: Client) -> None:
    offer = factories.offer("box", disk_bytes=GB)
    factories.price(offer, "900", unit="once", purchase_model="purchase")
    factories.sample(offer, 100)
    factories.extra("disk", "0.1")
    found = row(client, "term=purchase&basis=disk")
    assert (found["price"], found["missing"]) == (None, "disk_price price")
    assert row(client, "term=purchase&basis=disk&basis_disk_gb=1")["price"] == "900"


def test_extras_of_a_day_are_those_known_then(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.1")
    factories.extra("disk", "0.2", observed_on=dt.date(2026, 11, 10))
    query = "basis=disk&period=month"
    assert amount(client, query) == 93
    assert amount(client, f"{query}&as_of=2026-11-09") == 83
    assert amount(client, f"{query}&as_of=2026-11-09&basis_disk_gb=0") == 73


def test_discount_of_a_whole_month_goes_with_extras(client: Client) -> None:
    offer = factories.offer("a", region=factories.region())
    factories.price(offer, "0.1", sustained_use="n1")
    factories.sample(offer, 100)
    factories.extra("disk", "0.1")
    # 73 · 0.7 + 10
    for query in ("basis=disk&period=month", "basis=disk,sustained_use&period=month"):
        found = row(client, query)
        assert (found["price"], found["price_basis"]) == ("61.1", "sustained_use+disk")
    found = row(client, "basis=list,disk&period=month")
    assert (found["price"], found["price_basis"]) == ("83", "machine+disk")


def test_basis_of_list_prices_refuses_the_discount_beside_it(client: Client) -> None:
    response = client.get(f"{API}/rankings?basis=list,sustained_use")
    assert response.status_code == 400
    assert "name one" in response.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("table", "hours_run", "month"),
    # n1: 365 h are half of a month: a quarter at 1 and one at 0.8, 730 · 0.1 · 0.45. 200 h: 182.5 h at
    # 1 and 17.5 h at 0.8. n2: a quarter at 1 and one at 0.8678.
    [("n1", "365", "32.85"), ("n1", "200", "19.65"), ("n2", "365", "34.08735")],
)
def test_discount_follows_the_hours_that_a_machine_runs(
    client: Client, table: str, hours_run: str, month: str
) -> None:
    """N4: the default month left out what the provider takes off by itself."""
    offer = factories.offer("a")
    factories.price(offer, "0.1", sustained_use=table)
    factories.sample(offer, 100)
    found = row(client, f"period=month&hours_run={hours_run}")
    assert (found["price"], found["price_basis"]) == (month, "sustained_use")
    # What an hour that it runs comes to.
    assert float(found["price_usd_hour"]) == pytest.approx(float(month) / int(hours_run))
    assert float(found["cup"]) == pytest.approx(float(month) / int(hours_run) / 100)


def test_month_is_one_figure_in_ranking_offer_compare_and_requirements(client: Client) -> None:
    """N5: pages that ask for a month and those that ask for a cost by the month agree."""
    offer = factories.offer("a", vcpu_count=4)
    factories.price(offer, "0.1", sustained_use="n2")
    factories.sample(offer, 100)
    other = factories.offer("b", vcpu_count=4)
    factories.price(other, "0.09")
    factories.sample(other, 90)
    month = "58.4146"  # 73 · 0.8002
    assert row(client, "period=month&offer_id=a")["price"] == month
    compared = client.get(f"{API}/compare?o=a,b&period=month").json()["results"]
    assert month in {one["value"] for one in compared if one["item"] == "price"}
    solved = client.post(
        f"{API}/requirements/solve",
        {"targets": {"cmips_score": "50"}},
        content_type="application/json",
    ).json()
    assert month in str(solved)


# --- hours, set-up fees and rates ---------------------------------------------------------------


def test_commitment_is_owed_in_full_however_long_the_machine_runs(client: Client) -> None:
    """W8: 0.05 an hour for a year cost 5.00 a month at 100 hours, not 36.50."""
    offer = machine("a")
    factories.price(offer, "0.05", purchase_model="reserved", term="1y")
    query = "period=month&hours_run=100"
    assert amount(client, f"{query}&term=reserved_1y") == Decimal("36.5")
    on_demand = row(client, query)
    assert Decimal(on_demand["price"]) == 10
    assert (on_demand["hours_run"], on_demand["hours_per_month"]) == (100, 730)
    # CUP is that of an hour, however many there are.
    assert Decimal(on_demand["cup"]) == Decimal("0.001")


def test_hours_run_fit_into_the_month(client: Client) -> None:
    answer = client.get(f"{API}/rankings?hours_run=731")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "hours_run")


def test_setup_fee_counts_over_the_stated_months(client: Client) -> None:
    """S3: 100 a month with 1,000 to set up ranked as 100 a month without."""
    monthly: dict[str, Any] = {"purchase_model": "monthly", "unit": "month"}
    for slug, fee in (("with", Decimal(1000)), ("without", None)):
        offer = factories.offer(slug)
        factories.price(offer, "100", setup_amount=fee, **monthly)
        factories.sample(offer, 100)
    first, second = results(client, "term=monthly&period=month")
    assert [first["offer_id"], second["offer_id"]] == ["without", "with"]
    # 100 + 1,000 / 12
    assert round(Decimal(second["price"]), 2) == Decimal("183.33")
    assert (second["price_basis"], first["price_basis"]) == ("machine+setup", "machine")
    assert second["setup_months"] == 12
    left_out = results(client, "term=monthly&period=month&setup_months=0")
    assert {row["price"] for row in left_out} == {"100"}
    longer = results(client, "term=monthly&period=month&setup_months=100")
    assert {Decimal(row["price"]) for row in longer} == {Decimal(100), Decimal(110)}


def test_month_is_priced_by_its_plan_where_that_is_cheaper_than_its_hours(client: Client) -> None:
    """S2, S11: a server of 36.99 a month cost 73.73, the price of its 730 hours."""
    offer = factories.offer("both")
    factories.sample(offer, 100.0)
    factories.price(offer, "0.101")
    factories.price(offer, "36.99", purchase_model="monthly", unit="month")
    factories.price(
        offer, "9", purchase_model="monthly", unit="month", minimum_months=12, plan="year"
    )
    asked = {
        "period=month": ("monthly", "36.99"),
        "period=month&hours_run=100": ("on_demand", "10.1"),
        "period=hour": ("on_demand", "0.101"),
    }
    for query, expected in asked.items():
        (row,) = results(client, query)
        assert (row["price_term"], row["price"]) == expected


def test_exchange_rate_grows_stale_as_prices_do(client: Client) -> None:
    """S7: rates of October converted prices for ever, without a mark."""
    machine("a", currency="EUR")
    PriceObservation.objects.update(observed_at=clock.now())
    today = clock.now().date()
    factories.rate("USD", "1.1", date=today - dt.timedelta(days=31))
    data_version_bump()
    assert row(client, "")["flags"] == "stale_fx"
    assert row(client, "currency=EUR")["flags"] == ""
    factories.rate("USD", "1.2", date=today - dt.timedelta(days=30))
    data_version_bump()
    assert row(client, "")["flags"] == ""


# --- tax --------------------------------------------------------------------------------------


def test_tax_is_added_to_the_machine_and_to_extras(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.1")
    found = row(client, "basis=disk&period=month&tax_rate=0.19")
    # (73 + 10) · 1.19
    assert (Decimal(found["price"]), found["price_basis"]) == (Decimal("98.77"), "machine+disk+tax")
    assert row(client, "period=month&tax_rate=")["price_basis"] == "machine"
    assert client.get(f"{API}/rankings?tax_rate=0.19").json()["basis"]["tax_rate"] == "0.19"


def test_gross_price_is_not_taxed_twice(client: Client) -> None:
    offer = factories.offer("gross")
    factories.price(offer, "1.19", tax_basis="gross", tax_rate=Decimal("0.19"))
    factories.sample(offer, 100)
    unknown = factories.offer("unknown-rate")
    factories.price(unknown, "1.5", tax_basis="gross")
    factories.sample(unknown, 100)
    assert Decimal(row(client, "offer_id=gross")["price"]) == 1
    # the reader's own rate, on what is net
    assert Decimal(row(client, "offer_id=gross&tax_rate=0.2")["price"]) == Decimal("1.2")
    assert row(client, "offer_id=unknown-rate&tax_rate=0.2")["price"] == "1.5"


@pytest.mark.parametrize("tax_basis", ["gross", "unknown"])
def test_price_of_unknown_tax_takes_no_rank_beside_net_ones(client: Client, tax_basis: str) -> None:
    """W16: gross 100 and net 100 shared a rank, without a mark."""
    machine("net")
    faulty = factories.offer("faulty")
    factories.price(faulty, "0.1", tax_basis=tax_basis)
    factories.sample(faulty, 100)
    first, last = results(client, "")
    assert (first["offer_id"], first["rank"], first["flags"]) == ("net", 1, "")
    assert (last["rank"], last["value_per_cost"], last["cup"]) == (None, None, None)
    assert (last["flags"], Decimal(last["price"])) == ("tax_unknown", Decimal("0.1"))
    assert {row["rank"] for row in results(client, "tax_unknown=ranked")} == {1}
    # Nothing is added to what may include the tax already.
    taxed = {row["offer_id"]: row for row in results(client, "tax_rate=0.21")}
    assert Decimal(taxed["net"]["price"]) == Decimal("0.121")
    assert Decimal(taxed["faulty"]["price"]) == Decimal("0.1")


def test_prices_of_unknown_tax_rank_among_themselves(client: Client) -> None:
    """W16: where there is no net price beside them they can be compared."""
    for slug, cost in (("a", "55"), ("b", "74")):
        offer = factories.offer(slug)
        factories.price(offer, cost, purchase_model="purchase", unit="once", tax_basis="gross")
        factories.sample(offer, 100)
    rows_of = results(client, "term=purchase")
    assert [(row["rank"], row["flags"]) for row in rows_of] == [
        (1, "tax_unknown"),
        (2, "tax_unknown"),
    ]


# --- invariants -------------------------------------------------------------------------------


def _market() -> None:
    factories.rate("USD", "1.1")
    factories.rate("GBP", "0.87")
    for number in range(12):
        machine(
            f"m{number}",
            f"0.{number % 5 + 1}",
            score=100 * (number % 4 + 1),
            currency=("USD", "EUR", "GBP")[number % 3],
            disk_bytes=(None, 50 * GB)[number % 2],
            included={"traffic_bytes": number * 200 * GB},
            region=factories.region(("us-east-1", "sa-east-1")[number % 2]),
        )
    factories.extra("disk", "0.08", currency="GBP")
    factories.extra("ipv4", "0.005")
    factories.extra("egress", "0.09", currency="EUR")
    factories.extra("egress", "0.15", region=factories.region("sa-east-1"))


@pytest.mark.parametrize("period", ["hour", "month", "year"])
def test_order_does_not_depend_on_the_currency_or_the_tax(client: Client, period: str) -> None:
    _market()
    first = [
        (found["offer_id"], found["rank"], found["tie_group"])
        for found in results(client, f"{ALL}&period={period}")
    ]
    assert len({rank for _, rank, _ in first}) > 4
    for other in ("currency=EUR", "currency=GBP", "tax_rate=0.19", "tax_rate=1&currency=EUR"):
        found = results(client, f"{ALL}&period={period}&{other}")
        assert [(one["offer_id"], one["rank"], one["tie_group"]) for one in found] == first


def test_order_does_not_depend_on_the_scale_of_all_prices(client: Client) -> None:
    _market()
    first = [(found["offer_id"], found["rank"]) for found in results(client, ALL)]
    PriceObservation.objects.update(amount=F("amount") * 7)
    for extra in ExtraPrice.objects.all():
        extra.tiers = [[bound, str(Decimal(amount) * 7)] for bound, amount in extra.tiers]
        extra.save()
    data_version_bump()
    assert [(found["offer_id"], found["rank"]) for found in results(client, ALL)] == first


def test_figures_follow_from_the_printed_columns_in_every_basis(client: Client) -> None:
    _market()
    for query in ("", "basis=disk", "basis=ip,egress&period=month&currency=EUR", "tax_rate=0.07"):
        listed = rows(client.get(f"{API}/rankings.csv?{query}&{ALL}"))
        assert len(listed) == 12
        for found in listed:
            price, score = Decimal(found["price"]), Decimal(found["score"])
            assert abs(Decimal(found["value_per_cost"]) * price / score - 1) < Decimal("1e-11")


@pytest.mark.parametrize(
    ("model", "term"),
    [("spot", {}), ("reserved", {"term": "1y"}), ("savings", {"term": "1y"})],
)
def test_price_of_another_term_never_sets_the_rank_on_demand(
    client: Client, model: str, term: dict[str, str]
) -> None:
    cheap = machine("cheap", "0.2")
    machine("other", "0.1")
    before = results(client, ALL)
    factories.price(cheap, "0.0001", purchase_model=model, **term)
    after = results(client, ALL)
    assert [(one["offer_id"], one["price"]) for one in after] == [
        (one["offer_id"], one["price"]) for one in before
    ]
    only = factories.offer("only-cheap")
    factories.price(only, "0.0001", purchase_model=model, **term)
    factories.sample(only, 1000)
    last = results(client, "")[-1]
    assert (last["offer_id"], last["price"], last["rank"]) == ("only-cheap", None, None)


# --- the vocabulary ---------------------------------------------------------------------------


def test_basis_may_be_sent_as_a_list_or_as_a_form_does(client: Client) -> None:
    machine("a")
    factories.extra("disk", "0.1")
    factories.extra("ipv4", "0.005")
    answers = [
        row(client, query)["price_basis"]
        for query in ("basis=disk,ip", "basis=ip&basis=disk", "basis=machine,ip,disk,disk")
    ]
    assert answers == ["machine+disk+ip"] * 3


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("basis=storage", "basis"),
        ("basis_disk_gb=-1", "basis_disk_gb"),
        ("basis_disk_gb=1e12", "basis_disk_gb"),
        ("basis_ipv4=1.5", "basis_ipv4"),
        ("basis_egress_gb=lots", "basis_egress_gb"),
        ("tax_rate=19", "tax_rate"),
        ("tax_rate=-0.1", "tax_rate"),
        ("tax_rate=NaN", "tax_rate"),
    ],
)
def test_bad_value_names_its_parameter(client: Client, query: str, field: str) -> None:
    response = client.get(f"{API}/rankings?{query}")
    assert (response.status_code, fields(response)) == (400, [field])


def test_page_with_every_extra_takes_few_queries(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    _market()
    data_version_bump()
    client.get(f"{API}/rankings")
    with django_assert_max_num_queries(12):
        assert client.get(f"{API}/rankings?{ALL}&tax_rate=0.19&currency=EUR").status_code == 200
