"""Rankings by a weighted mix of metrics."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.catalog.models import Offer
from backend.catalog.services.data_version import data_version_bump
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.backend.test_rankings_api import results

pytestmark = pytest.mark.django_db
CPU, MEMORY, LATENCY = "cmips_score", "memory_bandwidth_bytes_per_s", "memory_latency_ns"
MIX = f"weights={CPU}:2,{MEMORY}:1"


def measured(slug: str, price: str | None = "0.1", **given: float) -> Offer:
    """An offer with one result of each metric named cpu, memory or latency."""
    offer = factories.offer(slug)
    if price is not None:
        factories.price(offer, price)
    for name, value in given.items():
        key, variant = {"cpu": (CPU, "all"), "memory": (MEMORY, "all")}.get(
            name, (LATENCY, "single")
        )
        factories.sample(offer, value, metric=key, variant=variant)
    return offer


def by_id(client: Client, query: str) -> dict[str, dict[str, Any]]:
    return {row["offer_id"]: row for row in results(client, query)}


# --- the figures ------------------------------------------------------------------------------


def test_mix_ranks_by_the_weighted_mean_of_the_ratios(client: Client) -> None:
    measured("a", cpu=100, memory=10)
    measured("b", cpu=400, memory=20)
    measured("c", "0.5", cpu=800, memory=10)
    found = by_id(client, MIX)
    # against a: (4² · 2)^(1/3) and (8² · 1)^(1/3) = 4
    assert found["a"]["score"] == 1
    assert found["b"]["score"] == pytest.approx(32 ** (1 / 3), rel=1e-14)
    assert found["c"]["score"] == pytest.approx(4, rel=1e-14)
    # per 0.1, 0.1 and 0.5 $/h: 10, 31.7, 8
    assert list(found) == ["b", "a", "c"]
    assert {row["metric"] for row in found.values()} == {"mix"}
    assert {row["cup"] for row in found.values()} == {None}
    basis = client.get(f"{API}/rankings?{MIX}").json()["basis"]
    assert (basis["metric"], basis["unit"], basis["base"]) == ("mix", "ratio", "a")
    assert basis["weights"] == {CPU: "2", MEMORY: "1"}


def test_mix_turns_round_what_is_better_lower(client: Client) -> None:
    measured("a", cpu=100, latency=100)
    measured("b", cpu=100, latency=50)
    found = by_id(client, f"weights={CPU},{LATENCY}")
    # (1 · 2)^(1/2)
    assert found["b"]["score"] == pytest.approx(2**0.5, rel=1e-14)
    assert [row["rank"] for row in found.values()] == [1, 2]


def test_weights_override_the_metric(client: Client) -> None:
    measured("a", cpu=100, memory=10)
    [row] = results(client, f"metric={LATENCY}&weights={CPU}")
    assert (row["metric"], row["score"]) == ("mix", 1)


def test_order_does_not_depend_on_the_base(client: Client) -> None:
    for number in range(9):
        measured(
            f"m{number}",
            f"0.{number % 3 + 1}",
            cpu=100.0 * (number % 4 + 1),
            latency=90.0 + 10 * (number % 5),
        )
    query = f"weights={CPU}:3,{LATENCY}:2"
    shown = ("offer_id", "rank", "rank_low", "rank_high", "tie_group", "pareto")
    first = [[row[name] for name in shown] for row in results(client, query)]
    for base in ("m0", "m4", "m8"):
        listed = results(client, f"{query}&base={base}")
        assert [[row[name] for name in shown] for row in listed] == first
        assert next(row["score"] for row in listed if row["offer_id"] == base) == 1


def test_order_does_not_depend_on_currency_or_on_the_scale_of_weights(client: Client) -> None:
    factories.rate("USD", "1.1172")
    for number in range(6):
        measured(f"m{number}", f"0.{number + 1}", cpu=100.0 * (number % 4 + 1), memory=9 - number)
    first = [(row["offer_id"], row["rank"]) for row in results(client, MIX)]
    for query in (f"{MIX}&currency=EUR", f"weights={MEMORY}:100,{CPU}:200", f"{MIX}&period=year"):
        assert [(row["offer_id"], row["rank"]) for row in results(client, query)] == first


def test_one_metric_alone_orders_as_that_metric(client: Client, demo: None) -> None:
    plain = results(client, "metric=coremark_score")
    mixed = results(client, "weights=coremark_score:7")
    shown = ("offer_id", "rank", "price", "flags", "pareto", "score_n_repeats")
    assert [[row[name] for name in shown] for row in mixed] == [
        [row[name] for name in shown] for row in plain
    ]


def test_value_follows_from_the_printed_columns(client: Client) -> None:
    measured("a", "0.3", cpu=100, memory=7)
    measured("b", "0.7", cpu=333, memory=11)
    for row in rows(client.get(f"{API}/rankings.csv?{MIX}&base=b")):
        value = Decimal(row["value_per_cost"])
        assert abs(value * Decimal(row["price"]) / Decimal(row["score"]) - 1) < Decimal("1e-11")


# --- what a mix rests on ----------------------------------------------------------------------


def test_offer_without_a_metric_has_no_score_and_names_the_metric(
    client: Client,
) -> None:
    measured("whole", cpu=100, memory=10)
    measured("half", cpu=900)
    assert list(by_id(client, MIX)) == ["whole"]
    response = client.get(f"{API}/offers?{MIX}").json()
    last = response["results"][-1]
    assert (last["offer_id"], last["score"], last["rank"]) == ("half", None, None)
    assert last["missing"] == f"score {MEMORY}"
    assert response["basis"]["without_score_count"] == 1


def test_nothing_has_all_metrics(client: Client) -> None:
    measured("a", cpu=100)
    measured("b", memory=10)
    answer = client.get(f"{API}/rankings?{MIX}").json()
    assert (answer["results"], answer["basis"]["base"]) == ([], None)
    assert answer["basis"]["without_score_count"] == 2


def test_interval_of_a_mix_combines_those_of_its_metrics(client: Client) -> None:
    for slug, cpu in (("a", 100), ("b", 200)):
        offer = measured(slug)
        for number in range(3):
            host = factories.host(offer)
            for repeat in range(3):
                factories.sample(offer, cpu + 2 * number + repeat, host=host)
                factories.sample(offer, 10 + number + repeat / 9, host=host, metric=MEMORY)
    row = by_id(client, MIX)["b"]
    assert row["score_ci95_low"] < row["score"] < row["score_ci95_high"]
    assert (row["interval_basis"], row["score_n_instances"], row["score_n_repeats"]) == (
        "combined",
        3,
        9,
    )


def test_mix_is_as_weak_as_its_weakest_result(client: Client) -> None:
    offer = measured("a")
    later = factories.AT + dt.timedelta(days=3)
    factories.sample(offer, 100, method_version="k1", measured_at=later)
    factories.sample(
        offer, 10, metric=MEMORY, source="imported", method_version="m2", flags=["disturbed"]
    )
    measured("b", cpu=100, memory=10)
    [first, row] = results(client, MIX)
    assert (first["offer_id"], first["source"]) == ("b", "measured")
    assert (row["offer_id"], row["source"], row["rank"]) == ("a", "imported", None)
    assert row["flags"].split() == ["disturbed", "imported"]
    assert (row["measured_at"], row["method_version"]) == ("2026-11-04T12:00:00Z", "k1 m2")
    assert [one["offer_id"] for one in results(client, f"{MIX}&measured=1")] == ["b"]


def test_mix_works_for_one_value_and_one_offer(client: Client) -> None:
    measured("a", cpu=100, memory=10)
    measured("b", cpu=400, memory=20)
    assert client.get(f"{API}/value?offer=b&{MIX}&base=b").content == b"1.0"
    assert client.get(f"{API}/offers/b?{MIX}").json()["rank"] == 1


# --- the vocabulary ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("weights=speed:1", "weights"),
        (f"weights={CPU}:0", "weights"),
        (f"weights={CPU}:-1", "weights"),
        (f"weights={CPU}:much", "weights"),
        (f"weights={CPU}:2,{CPU}:1", "weights"),
        (f"weights={CPU}:1001", "weights"),
        ("weights=net_udp_loss_ratio:1", "weights"),
        (f"{MIX}&base=nobody", "base"),
        (f"{MIX}&base=half", "base"),
    ],
)
def test_bad_value_names_its_parameter(client: Client, query: str, field: str) -> None:
    measured("whole", cpu=100, memory=10)
    measured("half", cpu=900)
    response = client.get(f"{API}/rankings?{query}")
    assert (response.status_code, fields(response)) == (400, [field])


def test_base_of_another_workspace_is_not_named(client: Client) -> None:
    other = factories.workspace().__class__.objects.create(slug="other", name="Other")
    secret = measured("secret", cpu=100, memory=10)
    Offer.objects.filter(pk=secret.pk).update(workspace=other)
    measured("a", cpu=100, memory=10)
    response = client.get(f"{API}/rankings?{MIX}&base=secret")
    assert response.status_code == 400
    assert "is not the slug of an offer" in response.content.decode()


def test_page_of_a_mix_takes_few_queries(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    measured("a", cpu=100, memory=10, latency=90)
    data_version_bump()
    client.get(f"{API}/rankings")
    with django_assert_max_num_queries(12):
        assert client.get(f"{API}/rankings?{MIX},{LATENCY}&base=a").status_code == 200
