"""Types with CPU credits under load: what they hold, or what running on costs (N1 to N3)."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import Offer
from backend.scenarios.selectors.resolving import resolve
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
MODEL = "Neoverse-N1"


@pytest.fixture(autouse=True)
def public(settings: Any) -> None:
    settings.PUBLIC_READ = True


def machine(
    name: str,
    score: float,
    price: str,
    *,
    vcpu: int = 2,
    baseline: str | None = None,
    credit_price: str | None = "0.04",
    model: str = MODEL,
    **given: Any,
) -> Offer:
    earned = {}
    if baseline is not None:
        earned = {
            "vcpu_kind": "burstable",
            "cpu_baseline_ratio": Decimal(baseline),
            "cpu_credit_price_usd_per_vcpu_hour": credit_price and Decimal(credit_price),
        }
    made = factories.offer(name, vcpu_count=vcpu, **{"vcpu_kind": "dedicated", **earned, **given})
    factories.price(made, price)
    published = {"source": "published", "parameters": {"cpu_models": {model: 3}}}
    factories.sample(made, score, **published)
    return made


def ranked(client: Client, query: str = "period=month") -> dict[str, dict[str, Any]]:
    response = client.get(f"{API}/rankings?per_page=250&{query}")
    assert response.status_code == 200, response.content
    return {row["offer_id"]: row for row in response.json()["results"]}


def test_nano_counts_with_its_charge_where_that_is_better(
    client: Client,
) -> None:
    """N1: t4g.nano ranked first with 3,000.57 ops for 3.07 USD a month."""
    machine("t4g.nano", 3000.57, "0.0042", baseline="0.05")
    machine("m6g.large", 3000.0, "0.077")
    row = ranked(client)["t4g.nano"]
    # standard: 0.05 · 2 · 1,500 = 150 ops for 3.066, 48.9 per USD; unlimited: the price gains
    # 2 · 0.95 · 0.04 · 730 = 55.48, 3,000.57 / 58.546 = 51.3 per USD.
    assert (row["credit_mode"], row["score"], row["price"]) == ("unlimited", 3000.57, "58.546")
    assert float(row["value_per_cost"]) == pytest.approx(3000.57 / 58.546)
    assert (row["load"], row["cpu_baseline_ratio"], row["burst_score"]) == (
        "sustained",
        "0.05",
        3000.57,
    )
    other = ranked(client)["m6g.large"]
    assert (other["credit_mode"], other["cpu_baseline_ratio"], other["burst_score"]) == (None,) * 3


def test_hour_and_hours_run_scale_the_charge_with_the_hours(client: Client) -> None:
    machine("t4g.nano", 3000.57, "0.0042", baseline="0.05")
    machine("m6g.large", 3000.0, "0.077")
    # 0.0042 + 2 · 0.95 · 0.04; 200 h of it; and twelve months of 730 h
    for query, price in (
        ("period=hour", "0.0802"),
        ("period=month&hours_run=200", "16.04"),
        ("period=year", "702.552"),
    ):
        row = ranked(client, query)["t4g.nano"]
        assert (row["price"], row["price_usd_hour"]) == (price, "0.0802")


def test_type_without_the_charge_holds_its_baseline(client: Client) -> None:
    machine("B1s", 1000.0, "0.0104", vcpu=1, baseline="0.1", credit_price=None)
    machine("D2", 1800.0, "0.096")
    row = ranked(client)["B1s"]
    # 0.1 · 1 vCPU · 900 a vCPU
    assert (row["credit_mode"], row["score"], row["price"]) == ("standard", 90.0, "7.592")
    assert row["score_ci95_high"] / row["score_ci95_low"] == pytest.approx(
        ranked(client, "period=month&load=burst")["B1s"]["score_ci95_high"]
        / ranked(client, "period=month&load=burst")["B1s"]["score_ci95_low"]
    )


def test_load_of_bursts_shows_the_measured_score_at_the_list_price(client: Client) -> None:
    machine("t4g.nano", 3000.57, "0.0042", baseline="0.05")
    row = ranked(client, "period=month&load=burst")["t4g.nano"]
    assert (row["load"], row["credit_mode"], row["score"]) == ("burst", None, 3000.57)
    assert (row["price"], row["burst_score"]) == ("3.066", 3000.57)


def test_type_without_peers_holds_its_share_of_the_measured_score(client: Client) -> None:
    machine("alone", 2000.0, "0.01", baseline="0.2", credit_price=None, model="Only here")
    # Neither another provider's types nor those on another model say how fast its CPU is.
    machine("elsewhere", 9000.0, "0.1", provider_slug="gcp", model="Only here")
    machine("other", 9000.0, "0.1")
    assert ranked(client)["alone"]["score"] == 400.0


def test_figure_that_was_slowed_already_is_not_slowed_twice(client: Client) -> None:
    # Measured at 600 when its credits were spent, as its larger sister (3,000 on 2 vCPU) says.
    machine("nano", 600.0, "0.005", baseline="0.25", credit_price=None)
    machine("small", 3000.0, "0.02", baseline="0.4", credit_price=None)
    rows = ranked(client)
    # min(600, 0.25 · 2 · 1,500) and 0.4 · 2 · 1,500
    assert (rows["nano"]["score"], rows["small"]["score"]) == (600.0, 1200.0)


def test_metrics_that_credits_do_not_slow_stay_as_measured(client: Client) -> None:
    offer = machine("t4g.nano", 3000.57, "0.0042", baseline="0.05")
    factories.sample(offer, 80.0, metric="memory_latency_ns", variant="single")
    row = ranked(client, "period=month&metric=memory_latency_ns")["t4g.nano"]
    assert (row["credit_mode"], row["score"], row["price"]) == ("standard", 80.0, "3.066")


def test_parts_of_a_mix_are_capped_before_the_mean(client: Client) -> None:
    credit = machine("nano", 1000.0, "0.0042", baseline="0.1", credit_price=None)
    plain = machine("plain", 1000.0, "0.05")
    for offer in (credit, plain):
        factories.sample(offer, 80.0, metric="memory_latency_ns", variant="single")
    rows = ranked(client, "period=month&weights=cmips_score:1,memory_latency_ns:1&base=plain")
    # CPU is held at a tenth, memory whole: √(0.1 · 1) of the other's mix.
    assert rows["nano"]["score"] == pytest.approx(0.1**0.5)
    assert rows["plain"]["score"] == pytest.approx(1.0)


def test_sustained_value_is_never_above_that_of_bursts(client: Client) -> None:
    shares = ("0.05", "0.1", "0.2", "0.4", "0.675", "1")
    for n, share in enumerate(shares):
        machine(f"t-{n}", 1000.0 + 100 * n, f"0.0{n + 1}", baseline=share)
    machine("m", 3000.0, "0.08")
    sustained, burst = ranked(client), ranked(client, "period=month&load=burst")
    for n, share in enumerate(shares):
        one, other = sustained[f"t-{n}"], burst[f"t-{n}"]
        assert float(one["value_per_cost"]) <= float(other["value_per_cost"]) * (1 + 1e-11)
        if share == "1":
            assert (one["score"], one["price"]) == (other["score"], other["price"])
    assert sustained["m"]["value_per_cost"] == burst["m"]["value_per_cost"]


def solve(client: Client, **asked: Any) -> Any:
    response = client.post(
        f"{API}/requirements/solve",
        {"targets": {"cmips_score": "9000"}, **asked},
        content_type="application/json",
    )
    assert response.status_code == 200, response.content
    return response.json()


def test_requirement_buys_what_holds_the_load(client: Client) -> None:
    """N2: 17 nanos were bought, which sustain a twentieth of what was asked for."""
    machine("t4g.nano", 3000.57, "0.0042", baseline="0.05")
    machine("m6g.large", 3000.0, "0.05")
    fleets = solve(client)["fleets"]
    # 3 × 36.50 against 3 × 58.55 with the charge, or 60 × 3.07 = 183.96 at the baseline
    assert [float(fleet["cost_per_month"]) for fleet in fleets][:2] == pytest.approx(
        [109.5, 175.638]
    )


def test_requirement_leaves_out_types_of_unknown_baseline(client: Client) -> None:
    machine("unknown", 9000.0, "0.001", vcpu_kind="burstable")
    machine("plain", 9000.0, "0.1")
    assert [fleet["cost_per_month"] for fleet in solve(client)["fleets"]] == ["73"]
    every = solve(client, filters={"burstable": "TRUE"})["fleets"]
    assert [fleet["cost_per_month"] for fleet in every] == ["0.73", "73"]
    wrong = client.post(
        f"{API}/requirements/solve",
        {"targets": {"cmips_score": "1"}, "filters": {"burstable": "perhaps"}},
        content_type="application/json",
    )
    assert wrong.json()["errors"][0]["field"] == "/filters/burstable"


def test_scenario_counts_on_what_a_machine_with_credits_holds() -> None:
    machine("t4g-nano", 3000.57, "0.0042", baseline="0.05")
    machine("m6g-large", 3000.0, "0.05")
    current_stamp()
    parts = [{"role": "all", "price": {"offer": slug}} for slug in ("t4g-nano", "m6g-large")]
    document = {
        "capacity": {"metric": "cmips_score", "units_per_score": "1"},
        "options": [{"name": str(n), "parts": [part]} for n, part in enumerate(parts)],
    }
    read = resolve(document, today=factories.AT.date())
    options = read.document["options"]
    # 0.05 · 2 · 1,500 at the list price
    assert [option["parts"][0]["capacity"] for option in options] == ["150", "3000"]
    assert any("credit_standard" in one["source"] for one in read.assumptions)
