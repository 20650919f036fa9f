"""All offers for the load of a scenario: the same figures as an option of it has."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from backend.catalog.models import OfferKind
from backend.scenarios.calc.results import money
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.screening import ScreeningQuery, market_mix, market_of
from backend.scenarios.services.scenarios import scenario_create, scenario_freeze
from tests import factories
from tests.backend.conftest import API
from tests.pure.scenarios.documents import Document, all_of, price, startup

pytestmark = pytest.mark.django_db
SIZED = {"metric": "cmips_score", "units_per_score": "0.01", "target_utilisation": "0.8"}


def document(*options: Document, **given: Any) -> Document:
    own = all_of("own", price("0.4"), capacity="1")
    return startup(*(options or (own,)), **{"capacity": SIZED, **given})


def kept(*options: Document, **given: Any) -> Scenario:
    return scenario_create(
        workspace=factories.workspace(), document=document(*options, **given), actor="test"
    )


def sold(slug: str, score: float, amount: str, **given: Any) -> None:
    kind = {"kind": given.pop("kind")} if "kind" in given else {}
    offer = factories.offer(slug, provider_slug=given.pop("provider_slug", "aws"), **kind)
    factories.sample(offer, score)
    factories.price(offer, amount, **given)


@pytest.fixture
def sales(db: None) -> None:
    """Offers of several rules; what each costs alone is in the tests."""
    sold("small", 100, "0.05")
    sold("large", 800, "0.30", provider_slug="gcp", sustained_use="n1")
    sold("capped", 150, "0.09", provider_slug="hetzner", monthly_cap=Decimal(20))
    sold(
        "rented",
        1000,
        "150",
        provider_slug="ovh",
        kind=OfferKind.DEDICATED,
        unit="month",
        purchase_model="monthly",
        setup_amount=Decimal(30),
    )
    sold("bare", 500, "0.2", purchase_model="reserved", term="1y")


@pytest.fixture
def reader(caller: Callable[..., Client]) -> Client:
    return caller("read")


def listed(client: Client, address: str) -> list[dict[str, Any]]:
    response = client.get(address)
    assert response.status_code == 200, response.content
    return list(response.json()["results"])


def screening(scenario: Scenario) -> str:
    return f"{API}/scenarios/{scenario.slug}/screening"


def test_each_offer_costs_what_it_costs_as_an_option(sales: None, reader: Client) -> None:
    scenario = kept(extras={"fixed_per_month": "5"})
    answer = reader.get(screening(scenario)).json()
    offers = answer["results"]
    assert {row["offer_id"] for row in offers} == {"small", "large", "capped", "rented"}
    named = [all_of(row["offer_id"], {"offer": row["offer_id"]}) for row in offers]
    given = document(*named, extras={"fixed_per_month": "5"})
    simulate = f"{API}/scenarios/simulate"
    result = reader.post(simulate, given, content_type="application/json").json()
    for row, option in zip(offers, result["options"], strict=True):
        assert (row["cost"], row["cost_per_month"]) == (
            option["cost_total"],
            option["cost_per_month"],
        )
        assert row["peak_servers"] == option["peak_servers"]
        assert row["server_hours"] == option["server_hours"]
    costs = [Decimal(row["cost"]) for row in offers]
    assert costs == sorted(costs)
    assert [row["rank"] for row in offers] == [1, 2, 3, 4]
    # The reserved one has no price on demand.
    assert (answer["offers"], answer["left_out"], answer["unit"]) == (4, {"no_price": 1}, "servers")


def test_rows_say_where_price_and_score_come_from(sales: None, reader: Client) -> None:
    scenario = kept()
    by_slug = {row["offer_id"]: row for row in reader.get(screening(scenario)).json()["results"]}
    row = by_slug["rented"]
    assert (row["billing"], row["units_per_server"], row["score"]) == ("dedicated", 10.0, 1000)
    assert (row["score_source"], row["metric"]) == ("measured", "cmips_score")
    assert row["always_on"] is False
    assert row["cost_one_off"] == "90.000000"  # 3 servers × 30 at the peak of 20 / 8
    assert reader.get(f"{API}/prices/{row['price_id']}").json()["offer"] == "rented"
    assert by_slug["capped"]["billing"] == "hour_ceil_cap"


def test_committed_offers_run_all_the_time(sales: None, reader: Client) -> None:
    scenario = kept()
    answer = reader.get(f"{screening(scenario)}?term=reserved_1y").json()
    [row] = answer["results"]
    # 20 units at 0.8 × 5 a server are 5 servers for 720 h at 0.2
    assert (row["offer_id"], row["always_on"], row["cost"]) == ("bare", True, "720.000000")
    assert Decimal(row["committed_after_horizon"]) == 5 * (8760 - 720) * Decimal("0.2")
    assert answer["left_out"] == {"no_price": 4}


def test_list_takes_filters_limit_cursor_and_formats(sales: None, reader: Client) -> None:
    scenario = kept()
    address = screening(scenario)
    assert [r["offer_id"] for r in listed(reader, f"{address}?provider=ovh")] == ["rented"]
    assert listed(reader, f"{address}?region=nowhere") == []
    every = listed(reader, address)
    assert listed(reader, f"{address}?limit=2") == every[:2]
    first = reader.get(f"{address}?per_page=3&cursor=*").json()
    second = reader.get(first["next"]).json()
    assert [*first["results"], *second["results"]] == every
    lines = reader.get(f"{address}.csv?limit=2").content.decode().splitlines()
    assert lines[0].split(",")[:2] == ["rank", "offer_id"]
    assert len(lines) == 3
    for wrong in ("term=savings_1y", "limit=0", "limit=501"):
        response = reader.get(f"{address}?{wrong}")
        assert response.status_code == 400
        assert response.json()["errors"][0]["field"] == wrong.split("=", maxsplit=1)[0]


def test_offers_that_may_mislead_are_left_out_and_counted(sales: None, reader: Client) -> None:
    sold("dropped", 100, "0.001", missing_since=timezone.now())
    sold("taxed", 100, "0.001", tax_basis="gross")
    disturbed = factories.offer("disturbed")
    factories.sample(disturbed, 9000, flags=["disturbed"])
    factories.price(disturbed, "0.001")
    sold("tiny", 0.0001, "0.001")
    slowed = factories.offer("slowed", vcpu_kind="burstable")
    factories.sample(slowed, 9000)
    factories.price(slowed, "0.001")
    shared = factories.offer("micro", provider_slug="gcp", name="e2-micro", vcpu_kind="shared")
    factories.sample(shared, 100)
    factories.price(shared, "0.001")
    gone = factories.offer("gone", discontinued_on=factories.AT.date())
    factories.sample(gone, 100)
    factories.price(gone, "0.001")
    scenario = kept()
    answer = reader.get(screening(scenario)).json()
    assert answer["left_out"] == {
        "burstable": 2,
        "no_price": 1,
        "not_listed": 1,
        "tax_unknown": 1,
        "unfit": 1,
        "too_small": 1,
    }
    assert len(answer["results"]) == 4
    first = listed(reader, f"{screening(scenario)}?burstable=1")[0]
    assert (first["offer_id"], first["flags"]) == ("slowed", "burstable")


@pytest.mark.parametrize(
    ("capacity", "field"),
    [
        ({"units_per_server": "1"}, "/capacity/metric"),
        ({}, "/capacity/metric"),
    ],
)
def test_scenario_without_a_metric_is_refused_by_field(
    capacity: Any, field: str, reader: Client
) -> None:
    scenario = kept(capacity=capacity)
    for address in (screening(scenario), f"{API}/scenarios/{scenario.slug}/mix"):
        response = reader.get(address)
        assert (response.status_code, response.json()["code"]) == (422, "unprocessable")
        assert [error["field"] for error in response.json()["errors"]] == [field]


def test_too_much_work_is_refused_with_what_helps(
    sales: None, client: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_READ = True
    address = screening(kept())
    # The load of 43,200 steps and four offers with a score and a price, then their trajectories.
    for most in (10_000, 40_000):
        settings.WORK_ANONYMOUS_STEPS = most
        response = client.get(address)
        assert response.status_code == 422
        assert "take longer steps" in response.json()["errors"][0]["detail"]


def test_frozen_scenario_is_compared_with_offers_of_today(sales: None, reader: Client) -> None:
    scenario = kept(all_of("small", {"offer": "small"}))
    scenario_freeze(scenario=scenario, note="", actor="test")
    sold("new", 5000, "0.01")
    assert listed(reader, screening(scenario))[0]["offer_id"] == "new"


# --- the mix --------------------------------------------------------------------------------------


def test_mix_carries_the_peak_at_the_least_cost(sales: None, reader: Client) -> None:
    scenario = kept()
    mix = reader.get(f"{API}/scenarios/{scenario.slug}/mix").json()
    # 30 days: small 36, capped 20 (its cap) and carries 1.5, large 0.30 × 720 × 0.7 = 151.20 and 8;
    # 20 / 0.8 = 25 units: of capped ones 17 at 20
    assert mix["servers"][0]["offer"] == "capped"
    assert (mix["cost"], mix["cost_floor"], mix["peak"]) == ("340.000000", None, 20)
    assert mix["carried"] == pytest.approx(17 * 1.5 * 0.8)
    assert mix["offers"] == 4
    market = market_of(scenario, ScreeningQuery())
    assert money(market_mix(market).cost) == mix["cost"]


def test_mix_of_spot_servers_or_of_none_is_empty(sales: None, reader: Client) -> None:
    scenario = kept()
    for asked in ("term=spot", "provider=nobody"):
        mix = reader.get(f"{API}/scenarios/{scenario.slug}/mix?{asked}").json()
        assert (mix["servers"], mix["cost"], mix["carried"]) == ([], None, None)
