"""Answers over the whole market that comes with the program, against a plain search through its rows."""

import random
from decimal import Decimal

import pytest

from backend.catalog.models import Offer, VcpuKind
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
GROUPS = ("", "europe", "north-america")


@pytest.fixture
def unknown_burst(market):
    """Slugs of the types with CPU credits of which nobody knows what they hold under load."""
    earning = Offer.objects.filter(vcpu_kind=VcpuKind.BURSTABLE, cpu_baseline_ratio=None)
    return set(earning.values_list("slug", flat=True))


@pytest.fixture
def buyable(unknown_burst):
    """Every priced offer but auction lots, by their note, and types of unknown speed under load."""
    lots = set(Offer.objects.filter(note__contains="server auction").values_list("slug", flat=True))
    query = RankingQuery(metric="general_performance", period="month")
    rows = ranking(query).everyone
    return [
        row
        for row in rows
        if row.price is not None and row.available and row.offer_id not in lots | unknown_burst
    ]


def needs(seed):
    chance = random.Random(seed)
    for _ in range(30):
        yield (
            chance.choice((1, 2, 4, 8, 16, 32, 64)),
            chance.choice((1, 2, 4, 8, 16, 32, 64, 128)),
            chance.choice(GROUPS),
        )


def test_cheapest_equals_a_plain_search_and_a_requirement_of_one_server(buyable, client, token):
    reader = {"authorization": f"Bearer {token('read')}"}
    found_count = 0
    for vcpu, ram, group in needs(43):
        prices = [
            row.price
            for row in buyable
            if (row.vcpu or 0) >= vcpu
            and (row.ram_gib or 0) >= ram
            and group in ("", row.region_group)
        ]
        query = f"vcpu={vcpu}&ram={ram}&region_group={group}&goal=cheapest"
        found = client.get(f"{API}/answer?{query}", headers=reader).json()
        document = {"vcpu": vcpu, "ram_gib": ram, "max_servers": 1, "limit": 1}
        document |= {"region_group": group} if group else {}
        solved = client.post(
            f"{API}/requirements/solve", document, content_type="application/json", headers=reader
        ).json()
        if not prices:
            assert found["best"] is None
            assert not solved["fleets"]
            continue
        found_count += 1
        assert Decimal(found["best"]["price"]) == min(prices), (vcpu, ram, group)
        assert Decimal(solved["fleets"][0]["cost_per_month"]) == min(prices), (vcpu, ram, group)
        assert found["cheapest"] == found["best"]
        assert found["p_best"] is None
        assert len(found["contenders"]) <= 2
    assert found_count > 20


def test_best_of_the_market_is_that_of_the_ranking_without_lots(
    buyable, unknown_burst, client, token
):
    reader = {"authorization": f"Bearer {token('read')}"}
    rows = [row for row in buyable if row.value_per_cost is not None]
    best = max(rows, key=lambda row: row.value_per_cost)
    found = client.get(f"{API}/answer", headers=reader).json()
    assert found["best"]["offer_id"] == best.offer_id
    assert found["left_out"]["auction"] > 600
    assert found["left_out"]["burstable"] == len(unknown_burst) > 0
    assert sum(one["offers"] for one in found["coverage"]) == len(buyable)
    assert sum(one["p_best"] for one in found["contenders"]) >= 0.95


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp"])
def test_disk_of_a_requirement_costs_what_the_ranking_adds(buyable, client, token, provider):
    reader = {"authorization": f"Bearer {token('read')}"}
    query = f"provider={provider}&ram=8&goal=cheapest&basis=disk&basis_disk_gb=500"
    ranked = client.get(f"{API}/answer?{query}", headers=reader).json()["best"]
    document = {"ram_gib": 8, "disk_gb": 500, "max_servers": 1, "limit": 1}
    document |= {"filters": {"provider": provider}}
    solved = client.post(
        f"{API}/requirements/solve", document, content_type="application/json", headers=reader
    ).json()
    [fleet] = solved["fleets"]
    assert Decimal(fleet["cost_per_month"]) == Decimal(ranked["price"])
    assert Decimal(fleet["disk_cost_per_month"]) > 0


def test_requirement_buys_no_burst(unknown_burst, client, token):
    reader = {"authorization": f"Bearer {token('read')}"}

    def solved(**more):
        document = {"vcpu": 1, "ram_gib": 2, "max_servers": 1, "limit": 1, **more}
        document |= {"filters": {"provider": "ovh", "kind": "vps"}}
        response = client.post(
            f"{API}/requirements/solve", document, content_type="application/json", headers=reader
        )
        [fleet] = response.json()["fleets"]
        return fleet["servers"][0]["offer"]

    # 0.0104 EUR an hour is the least of all, and 0.0457 EUR the least of those that hold their speed.
    assert "ovh-d2-2-eu" in unknown_burst
    assert solved() == "ovh-c3-4-eu"
    assert solved(burstable=True) == "ovh-d2-2-eu"
