"""One price, one figure: what a month of an offer costs is the same wherever it is stated."""

import io
import random
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.benchmarks.services.current_data import current_stamp
from backend.bills.selectors import elsewhere
from backend.bills.services.importing import BillFile, bill_import
from backend.rankings.selectors.ranking import query_from, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.scenarios.selectors.scenarios import simulate_document
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
MONTH = {
    "metric": ["coremark_score"],
    "period": ["month"],
    "currency": ["USD"],
    "available": ["TRUE"],
}
AT_MONTH = "metric=coremark_score&period=month&currency=USD"


@pytest.fixture
def rows(market: None, settings: Any) -> list[RankingRow]:
    settings.PUBLIC_READ = True
    current_stamp()
    query, _ = query_from(MONTH)
    priced = [row for row in ranking(query).everyone if row.price is not None]
    return random.Random(43).sample(priced, 200)


def test_offers_state_the_price_of_the_ranking(client: Client, rows: list[RankingRow]) -> None:
    for row in rows:
        offer = client.get(f"{API}/offers/{row.offer_id}?{AT_MONTH}").json()
        assert Decimal(offer["price"]) == row.price, row.offer_id


def test_comparison_states_the_price_of_the_ranking(client: Client, rows: list[RankingRow]) -> None:
    for start in range(0, len(rows), 4):
        some = {row.offer_id: row for row in rows[start : start + 4]}
        answer = client.get(f"{API}/compare?o={','.join(some)}&{AT_MONTH}").json()
        stated = {
            cell["offer_id"]: cell["value"] for cell in answer["results"] if cell["item"] == "price"
        }
        assert stated.keys() == some.keys()
        for slug, row in some.items():
            assert Decimal(str(stated[slug])) == row.price, slug


def test_requirement_buys_at_the_price_of_the_ranking(
    client: Client, rows: list[RankingRow]
) -> None:
    count = 0
    for row in rows:
        if row.vcpu is None:
            continue
        filters = {"offer_id": row.offer_id, "currency": "USD"}
        document = {"vcpu": 1, "max_servers": 1, "burstable": True, "filters": filters}
        answer = client.post(f"{API}/requirements/solve", document, content_type="application/json")
        fleets = answer.json()["fleets"]
        # A lot of an auction is no answer.
        assert fleets or "auction" in row.offer, row.offer_id
        for fleet in fleets:
            count += 1
            assert Decimal(fleet["cost_per_month"]) == row.price, row.offer_id
    assert count > 100


def test_scenario_pays_the_price_of_the_ranking(rows: list[RankingRow]) -> None:
    # What a scenario states apart: the fee of the set-up, and running on without CPU credits.
    stated = {}
    for currency in ("USD", "EUR"):
        query, _ = query_from(
            {**MONTH, "currency": [currency], "load": ["burst"], "setup_months": ["0"]}
        )
        stated[currency] = {row.offer_id: row for row in ranking(query).everyone}
    for row in rows:
        simple = one_server(row.offer_id, row.price_term or "")
        outcome = simulate_document(simple)
        [option] = outcome.result["options"]
        [part] = outcome.resolved["options"][0]["parts"]
        expected = stated[part["price"]["currency"]][row.offer_id].price
        # Costs are written to the millionth.
        assert float(option["cost_per_month"]) == pytest.approx(float(expected or 0), abs=2e-6), (
            row.offer_id
        )


def one_server(slug: str, term: str) -> dict[str, Any]:
    """A scenario of one server for 30 days."""
    part = {"role": "all", "count": 1, "price": {"offer": slug, "term": term}}
    return {
        "schema": 1,
        "name": "one server",
        "horizon": {"start": "2026-11-01T00:00:00+00:00", "days": 30, "step_s": 3600},
        "demand": {"unit": "servers", "kind": "daily", "base": 1, "windows": []},
        "capacity": {"units_per_server": "1"},
        "policy": {"kind": "perfect"},
        "options": [{"name": "one", "parts": [part]}],
    }


def test_bill_moves_to_an_offer_at_its_price(rows: list[RankingRow]) -> None:
    targets = {
        one.slug: one for one in elsewhere._candidates(rows, [], supplies=None, committed={})
    }
    by_slug = {row.offer_id: row for row in rows}
    assert len(targets) > 100
    for slug, target in targets.items():
        assert target.cost_per_month == float(by_slug[slug].price or 0), slug


BILLED = (
    ("aws", "us-east-1", "t3.small"), ("aws", "us-east-1", "t3.2xlarge"),
    ("aws", "us-east-1", "t4g.nano"), ("aws", "us-east-1", "t4g.large"),
    ("aws", "us-east-1", "m6i.large"), ("aws", "us-east-1", "c7g.4xlarge"),
    ("gcp", "us-central1", "n2-standard-4"), ("gcp", "us-central1", "e2-medium"),
    ("azure", "eastus", "Standard_D4s_v5"), ("azure", "eastus", "Standard_B2s"),
)  # fmt: skip


def test_machine_of_a_bill_costs_the_same_as_a_target(
    market: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At list prices, as of burstable ones no bill shows a charge for running on without credits."""
    query, _ = query_from({**MONTH, "load": ["burst"]})
    listed = {(row.provider, row.region, row.offer): row for row in ranking(query).everyone}
    lines = [
        f"{name},1,{listed[provider, region, name].price},2026-10,USD,{provider},{region}"
        for provider, region, name in BILLED
        if (provider, region, name) in listed
    ]
    assert len(lines) >= 8
    table = "\n".join(["type,count,cost,month,currency,provider,region", *lines, ""]).encode()
    bill = bill_import(
        workspace=factories.workspace(),
        name="October",
        files=[BillFile("october.csv", lambda: io.BytesIO(table))],
        actor="tester",
    )
    seen: dict[str, Any] = {}

    def alternatives(works: Any, candidates: Any, *_: Any) -> list[Any]:
        seen.update(works=list(works), candidates=list(candidates))
        return []

    monkeypatch.setattr(elsewhere, "alternatives", alternatives)
    elsewhere.elsewhere(bill, current_stamp(), metric="stress_ng_div16")
    assert len(seen["works"]) >= 6
    for work in seen["works"]:
        mine = [
            one
            for one in seen["candidates"]
            if (one.name, one.provider) == (work.name, work.provider) and one.score == work.score
        ]
        assert any(
            one.cost_per_month == pytest.approx(work.cost_per_month, rel=1e-3) for one in mine
        ), (work, mine)
