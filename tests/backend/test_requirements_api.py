"""POST /requirements/solve and GET /requirements: fleets in whole servers, and why others fail."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from backend.catalog.models import ExtraPrice, OfferKind
from backend.rankings.calc.requirement_document import RequirementDocument
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
SOLVE = f"{API}/requirements/solve"
GIB, GB = 2**30, 10**9


@pytest.fixture
def reader(caller: Callable[..., Client]) -> Client:
    return caller("read")


def solved(client: Client, document: dict[str, Any]) -> dict[str, Any]:
    response = client.post(SOLVE, document, content_type="application/json")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def refused(client: Client, document: Any) -> list[str]:
    response = client.post(SOLVE, document, content_type="application/json")
    assert response.status_code == 400, response.content
    return fields(response)


def members(fleet: dict[str, Any]) -> dict[str, int]:
    return {part["offer"]: part["count"] for part in fleet["servers"]}


def box(slug: str, price: str, score: float, **given: Any) -> Any:
    quoted = given.pop("quoted", {})
    offer = factories.offer(slug, **given)
    factories.price(offer, price, **quoted)
    factories.sample(offer, score)
    return offer


# --- the published figures --------------------------------------------------------------------


def test_four_c1_beat_one_cc2_although_the_cc2_has_the_lower_cup(
    reader: Client, demo: None
) -> None:
    amazon = {"provider": "aws"}
    found = solved(reader, {"targets": {"cmips_score": "10000"}, "filters": amazon, "limit": 2})
    assert [members(fleet) for fleet in found["fleets"]] == [
        {"aws-c1-xlarge-2013": 4},
        {"aws-cc2-2013": 1},
    ]
    first, second = found["fleets"]
    assert (Decimal(first["cost_per_hour"]), Decimal(second["cost_per_hour"])) == (
        Decimal("2.32"),
        Decimal("2.40"),
    )
    # 2.32 × 730
    assert Decimal(first["cost_per_month"]) == Decimal("1693.60")
    assert (first["score"], first["headroom"]) == (12404, {"cmips_score": 1.2404})
    assert found["fleet_count"] == 10
    ranked = reader.get(f"{API}/rankings?provider=aws").json()["results"]
    cups = {row["offer_id"]: Decimal(row["cup"]) for row in ranked}
    assert cups["aws-cc2-2013"] < cups["aws-c1-xlarge-2013"]


def test_one_cc2_wins_at_its_own_score_and_small_servers_exceed_twenty(
    reader: Client, demo: None
) -> None:
    document = {
        "targets": {"cmips_score": "16608"}, "ram_gib": 0, "disk_gb": None,
        "egress_gb_per_month": 0, "hours_per_month": 730, "max_servers": 20,
        "kinds": ["cloud", "dedicated"], "currency": "USD", "mixed": False,
        "filters": {"provider": ["aws"]}, "limit": 25,
    }  # fmt: skip
    found = solved(reader, document)
    assert members(found["fleets"][0]) == {"aws-cc2-2013": 1}
    reasons = {failure["offer"]: failure["reason"] for failure in found["infeasible"]}
    assert reasons["aws-m1-small-2013"] == "82 servers are needed, 20 are allowed"
    assert reasons["aws-t1-micro-2013"] == "339 servers are needed, 20 are allowed"
    assert reasons["aws-c6a-large-us-east-1"] == "cmips_score is not known"
    offers = reader.get(f"{API}/offers?provider=aws&per_page=1").json()["count"]
    assert len(found["fleets"]) + len(found["infeasible"]) == offers
    fewer = solved(reader, document | {"infeasible_limit": 2})
    assert fewer["infeasible"] == found["infeasible"][:2]
    assert fewer["infeasible_count"] == len(found["infeasible"])


def test_mixed_fleet_is_cheaper_than_any_of_one_type(reader: Client, demo: None) -> None:
    document = {"targets": {"cmips_score": "10000"}, "filters": {"provider": "aws"}, "mixed": True}
    found = solved(reader, document)
    # 3 × 3,101 + 3 × 203 + 2 × 49 = 10,010 at 1.74 + 0.18 + 0.04 = 1.96
    assert members(found["fleets"][0]) == {
        "aws-c1-xlarge-2013": 3, "aws-m1-small-2013": 3, "aws-t1-micro-2013": 2,
    }  # fmt: skip
    assert Decimal(found["fleets"][0]["cost_per_hour"]) == Decimal("1.96")
    assert found["cost_floor_per_month"] is None


# --- prices -----------------------------------------------------------------------------------


def test_month_of_a_fleet_follows_billing_and_currency(reader: Client, db: None) -> None:
    factories.rate("USD", "1.25")
    capped = {"monthly_cap": Decimal(40), "currency": "EUR"}
    monthly = {"unit": "month", "purchase_model": "monthly", "currency": "EUR"}
    box("hourly", "0.10", 10)
    box("capped", "0.10", 10, quoted=capped)
    box("by-the-month", "50", 10, quoted=monthly)
    found = solved(reader, {"targets": {"cmips_score": 20}, "hours_per_month": 500})
    costs = {next(iter(members(f))): f["cost_per_month"] for f in found["fleets"]}
    # 2 × 500 × 0.10; 2 × min(500 × 0.10, 40) EUR; 2 × 50 EUR
    assert {slug: Decimal(cost) for slug, cost in costs.items()} == {
        "hourly": 100, "capped": 100, "by-the-month": 125,
    }  # fmt: skip
    assert [fleet["rank"] for fleet in found["fleets"]] == [1, 1, 3]
    assert Decimal(found["fleets"][0]["cost_per_hour"]) == Decimal("0.2")
    in_euros = solved(reader, {"targets": {"cmips_score": 20}, "currency": "EUR"})
    assert in_euros["basis"]["currency"] == "EUR"
    # 730 hours: 73 USD and the cap
    assert [Decimal(f["cost_per_month"]) for f in in_euros["fleets"]] == [80, 100, Decimal("116.8")]


def test_fleet_holds_at_the_lower_end_or_says_how_many_would(reader: Client, db: None) -> None:
    spread = box("spread", "0.1", 40)
    for value in (30, 50, 40, 45, 35):
        factories.sample(spread, value, host=factories.host(spread))
    document = {"targets": {"cmips_score": 100}}
    [fleet] = solved(reader, document)["fleets"]
    [row] = reader.get(f"{API}/rankings").json()["results"]
    needed = -(-Decimal(100) // Decimal(repr(row["score_ci95_low"])))
    assert members(fleet) == {"spread": 3}
    assert fleet["holds_at_interval_ends"] is False
    assert fleet["count_at_interval_ends"] > 3
    assert fleet["count_at_interval_ends"] >= abs(needed)


def test_disturbed_and_unpriced_offers_fail_with_their_reason(reader: Client, db: None) -> None:
    box("good", "0.1", 10)
    disturbed = factories.offer("disturbed")
    factories.price(disturbed)
    factories.sample(disturbed, 99, flags=["disturbed"])
    factories.sample(factories.offer("unpriced"), 99)
    bought = factories.offer("bought", kind=OfferKind.ONPREM)
    factories.sample(bought, 99)
    found = solved(reader, {"targets": {"cmips_score": 10}, "kinds": ["cloud"]})
    assert [members(fleet) for fleet in found["fleets"]] == [{"good": 1}]
    assert {f["offer"]: f["reason"] for f in found["infeasible"]} == {
        "bought": "its kind is onprem",
        "disturbed": "its cmips_score was measured disturbed or from a cache",
        "unpriced": "price is not known",
    }


def test_unknown_size_fails_a_demand_and_a_disk_of_the_basis_meets_it(
    reader: Client, db: None
) -> None:
    box("diskless", "0.1", 10, memory_bytes=8 * GIB, region=factories.region())
    full = box("full", "0.2", 10, memory_bytes=4 * GIB, disk_bytes=50 * GB)
    document: dict[str, Any] = {"ram_gib": 16, "disk_gb": "150.5"}
    found = solved(reader, document)
    assert [members(fleet) for fleet in found["fleets"]] == [{"full": 4}]
    assert (found["fleets"][0]["ram_gib"], found["fleets"][0]["disk_gb"]) == (16, 200)
    assert found["fleets"][0]["score"] is None
    assert found["infeasible"][0]["reason"] == "disk_gb is not known"
    ExtraPrice.objects.create(
        provider=full.provider, kind="disk", tiers=[[None, "0.1"]], currency="USD",
        observed_on=dt.date(2026, 11, 1), source="test",
    )  # fmt: skip
    factories.price(full, "0.2", observed_at=factories.AT + dt.timedelta(days=1))
    basis = {"filters": {"basis": "disk", "basis_disk_gb": 100}}
    filled = solved(reader, document | basis)
    # two servers of 100 GB of disk at 10 USD each, beside 0.1 × 730
    assert members(filled["fleets"][0]) == {"diskless": 2}
    assert Decimal(filled["fleets"][0]["cost_per_month"]) == 166


# --- traffic ----------------------------------------------------------------------------------


def traffic_world() -> None:
    """One type that pays for traffic from the first GB, one that includes 20 TB, one unknown."""
    region = factories.region("eu", provider_slug="aws")
    ExtraPrice.objects.create(
        provider=region.provider, region=region, kind="egress", currency="USD",
        tiers=[["1000", "0.09"], [None, "0.05"]], observed_on=dt.date(2026, 11, 1), source="test",
    )  # fmt: skip
    box("metered", "0.1", 10, region=region)
    included = {"included": {"traffic_bytes": 20_000 * GB, "traffic_price_per_tb": "1"}}
    box("generous", "0.2", 10, provider_slug="hetzner", quoted=included)
    box("silent", "0.1", 10, provider_slug="vultr")


def test_traffic_of_the_fleet_is_priced_after_what_its_servers_include(
    reader: Client, db: None
) -> None:
    traffic_world()
    document = {"targets": {"cmips_score": 20}, "egress_gb_per_month": 5000}
    found = solved(reader, document)
    by_slug = {next(iter(members(f))): f for f in found["fleets"]}
    # 1,000 × 0.09 + 4,000 × 0.05 = 290 beside 2 × 73; 2 × 146 with 40 TB included
    assert Decimal(by_slug["metered"]["cost_per_month"]) == 436
    assert Decimal(by_slug["metered"]["traffic_cost_per_month"]) == 290
    assert Decimal(by_slug["generous"]["cost_per_month"]) == 292
    assert [f["reason"] for f in found["infeasible"]] == ["the price of its traffic is not known"]
    # 45 TB: 5 TB beyond at 1 USD are cheaper than a third server
    more = solved(reader, document | {"egress_gb_per_month": 45_000, "limit": 1})
    assert members(more["fleets"][0]) == {"generous": 2}
    assert Decimal(more["fleets"][0]["traffic_cost_per_month"]) == 5


def test_traffic_of_the_fleet_replaces_that_of_the_basis(reader: Client, db: None) -> None:
    traffic_world()
    document = {
        "targets": {"cmips_score": 20},
        "egress_gb_per_month": 5000,
        "filters": {"basis": "egress", "tax_rate": "0.2", "provider": "aws"},
    }
    found = solved(reader, document)
    assert Decimal(found["fleets"][0]["cost_per_month"]) == Decimal("1.2") * 436
    assert found["basis"]["basis"] == "machine"
    assert found["warnings"] == [
        "traffic is that of the whole fleet, so the basis is without egress"
    ]


# --- documents --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "places"),
    [
        ({}, ["/targets"]),
        ({"targets": {"cmips_score": 0}, "ram_gib": None}, ["/targets"]),
        ({"targets": {"cmips_score": "a lot"}}, ["/targets/cmips_score"]),
        ({"targets": {"cmips_score": True}}, ["/targets/cmips_score"]),
        ({"targets": {"cmips_score": -1}}, ["/targets/cmips_score"]),
        ({"targets": {"cmips_score": 1e300}}, ["/targets/cmips_score"]),
        ({"targets": {"bogo/mips": 1}}, ["/targets/bogo~1mips"]),
        ({"targets": {"dd_bytes_per_s": 1}}, ["/targets/dd_bytes_per_s"]),
        ({"targets": []}, ["/targets"]),
        ({"targets": {"cmips_score": 1}, "cpus": 4}, ["/cpus"]),
        ({"ram_gib": "0.0000000000000000001"}, ["/ram_gib"]),
        ({"ram_gib": 1, "max_servers": 2.5}, ["/max_servers"]),
        ({"ram_gib": 1, "max_servers": 100_001}, ["/max_servers"]),
        ({"ram_gib": 1, "max_servers": "20"}, ["/max_servers"]),
        ({"ram_gib": 1, "hours_per_month": True}, ["/hours_per_month"]),
        ({"ram_gib": 1, "currency": ""}, ["/currency"]),
        ({"ram_gib": 1, "currency": 5}, ["/currency"]),
        ({"ram_gib": 1, "kinds": ["cloud", "ship"]}, ["/kinds/1"]),
        ({"ram_gib": 1, "kinds": "cloud"}, ["/kinds"]),
        ({"ram_gib": 1, "mixed": "yes"}, ["/mixed"]),
        ({"ram_gib": 1, "limit": 251}, ["/limit"]),
        ({"ram_gib": 1, "hours_per_month": 745}, ["/hours_per_month"]),
        ({"ram_gib": 1, "hours_per_month": []}, ["/hours_per_month"]),
        ({"ram_gib": 1, "currency": "XXX"}, ["/currency"]),
        ({"ram_gib": 1, "filters": {"vcpu__gte": "many"}}, ["/filters/vcpu__gte"]),
        ({"ram_gib": 1, "filters": {"provider": {}}}, ["/filters/provider"]),
        ({"ram_gib": 1, "filters": {"currency": "XXX"}}, ["/filters/currency"]),
        ({"ram_gib": 1, "filters": "aws"}, ["/filters"]),
        ([], [""]),
        ({"ram_gib": "x", "disk_gb": "y"}, ["/disk_gb", "/ram_gib"]),
    ],
)
def test_document_is_refused_at_the_field_that_is_wrong(
    reader: Client, document: Any, places: list[str]
) -> None:
    assert refused(reader, document) == places


def test_too_many_targets_are_refused(reader: Client, demo: None) -> None:
    metrics = [row["metric"] for row in reader.get(f"{API}/metrics?per_page=250").json()["results"]
               if row["variant"]][:13]  # fmt: skip
    assert refused(reader, {"targets": dict.fromkeys(metrics, 1)}) == ["/targets"]


def test_filters_are_parameters_of_a_ranking(reader: Client, demo: None) -> None:
    filters = {"vcpu__gte": 16, "provider": ["gcp", "aws"], "measured": False, "sort": "price",
               "wings": "2", "ram_gib__lte": "64.5", "q": None}  # fmt: skip
    document = {"targets": {"coremark_score": 300_000}, "filters": filters, "limit": 250}
    found = solved(reader, document)
    shown = reader.get(
        f"{API}/rankings?metric=coremark_score&vcpu__gte=16&provider=gcp,aws&measured=0"
        "&ram_gib__lte=64.5&per_page=250&price__gte=0"
    ).json()
    alone = {next(iter(members(fleet))) for fleet in found["fleets"]}
    assert alone == {row["offer_id"] for row in shown["results"]}
    assert found["warnings"] == [
        "unknown parameter wings was ignored",
        "parameter sort means nothing to a requirement and was ignored",
    ]


def test_further_target_is_joined_to_the_first(reader: Client, db: None) -> None:
    both = box("both", "0.1", 10)
    factories.sample(both, 95.0, metric="memory_latency_ns", variant="single", unit="ns")
    box("cpu-only", "0.1", 10)
    document = {"targets": {"cmips_score": 10, "memory_latency_ns": "100"}}
    found = solved(reader, document)
    assert [members(fleet) for fleet in found["fleets"]] == [{"both": 1}]
    assert found["fleets"][0]["given"] == {"cmips_score": 10, "memory_latency_ns": 95}
    assert found["infeasible"][0]["reason"] == "memory_latency_ns is not known"
    slower = solved(reader, {"targets": {"memory_latency_ns": "90", "cmips_score": 10}})
    assert {f["offer"]: f["fault"] for f in slower["infeasible"]} == {
        "both": "bound", "cpu-only": "unknown",
    }  # fmt: skip


def test_body_that_is_too_large_or_no_json_is_refused(reader: Client) -> None:
    large = reader.post(SOLVE, " " * 100_001, content_type="application/json")
    broken = reader.post(SOLVE, "{", content_type="application/json")
    assert (large.status_code, broken.status_code) == (413, 400)


def test_schema_is_published(reader: Client) -> None:
    schema = reader.get(f"{API}/schemas/requirement.json").json()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {
        "targets", "vcpu", "ram_gib", "disk_gb", "egress_gb_per_month", "hours_per_month",
        "max_servers", "kinds", "region", "region_group", "burstable",
        "currency", "mixed", "filters", "limit", "infeasible_limit",
    }  # fmt: skip


def test_solving_is_reading(client: Client, settings: LazySettings, db: None) -> None:
    box("good", "0.1", 10)
    document = {"targets": {"cmips_score": 10}}
    settings.PUBLIC_READ = True
    assert members(solved(client, document)["fleets"][0]) == {"good": 1}
    settings.PUBLIC_READ = False
    assert client.post(SOLVE, document, content_type="application/json").status_code == 401


def test_solving_needs_few_queries(
    reader: Client, demo: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    document = {"targets": {"cmips_score": 9, "coremark_score": 9}, "egress_gb_per_month": 1}
    with django_assert_max_num_queries(12):
        solved(reader, document)


# --- the list ---------------------------------------------------------------------------------


def test_list_has_the_fleets_of_the_document(reader: Client, demo: None) -> None:
    query = "target=cmips_score:10000&provider=aws&max_servers=20&kinds=cloud,vps&mixed=1&limit=3"
    listed = rows(reader.get(f"{API}/requirements.csv?{query}"))
    document = {"targets": {"cmips_score": 10000}, "filters": {"provider": "aws"},
                "max_servers": 20, "kinds": ["cloud", "vps"], "mixed": True, "limit": 3}  # fmt: skip
    fleets = solved(reader, document)["fleets"]
    assert [row["fleet"] for row in listed] == [
        ", ".join(f"{count} x {offer}" for offer, count in members(fleet).items())
        for fleet in fleets
    ]
    assert [row["cost_per_month"] for row in listed] == [f["cost_per_month"] for f in fleets]
    assert [row["cost_per_hour"] for row in listed] == [f["cost_per_hour"] for f in fleets]
    assert listed[0]["least_headroom"] == "1.001"
    page = reader.get(f"{API}/requirements?{query}&per_page=2").json()
    assert (page["count"], len(page["results"])) == (3, 2)
    assert page["basis"]["term"] == "on_demand"


def test_list_names_the_parameter_that_is_wrong(reader: Client, demo: None) -> None:
    for query, names in (
        ("", ["target"]),
        ("target=cmips_score:x&ram_gib=y&vcpu__gte=z", ["ram_gib", "target"]),
        ("target=cmips_score:1&vcpu__gte=z", ["vcpu__gte"]),
        ("target=cmips_score:1&mixed=maybe", ["mixed"]),
        ("target=bogomips:1", ["target"]),
    ):
        response = reader.get(f"{API}/requirements?{query}")
        assert response.status_code == 400
        assert fields(response) == names


# --- no silent field ----------------------------------------------------------------------------

STATED = {"targets": {"cmips_score": "10000"}, "filters": {"provider": "aws"}}
OTHERS: dict[str, Any] = {
    "targets": {"cmips_score": "20000"},
    "vcpu": 500,
    "ram_gib": 64,
    "disk_gb": 10_000,
    "region": "us-east-1",
    "region_group": ["europe"],
    "burstable": True,
    "egress_gb_per_month": 100,
    "hours_per_month": 100,
    "max_servers": 3,
    "kinds": ["dedicated"],
    "currency": "EUR",
    "mixed": True,
    "filters": {},
    "limit": 1,
    "infeasible_limit": 1,
}


def test_every_field_of_a_requirement_changes_the_answer(reader: Client, demo: None) -> None:
    assert set(OTHERS) == set(RequirementDocument.model_fields)
    first = solved(reader, STATED)
    same = [
        name for name, value in OTHERS.items() if solved(reader, STATED | {name: value}) == first
    ]
    # No burstable type has CMIPS; test_answer_market has a requirement that it changes.
    assert same == ["burstable"]
