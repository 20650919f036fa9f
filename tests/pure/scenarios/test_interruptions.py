"""Servers that the provider takes back: expected values by hand, and drawn numbers of them."""

from decimal import Decimal
from typing import Any

import pytest

from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, price, startup

STEADY = {"unit": "servers", "kind": "daily", "base": 5, "windows": []}
OUT = {"kind": "perfect", "warmup_s": 300, "lag_s": 60}


def steady(often: str, count: int | None = None, **given: Any) -> Document:
    """Five servers all the time for 30 days: 3,600 server-hours."""
    spot = price("1", "spot", interruptions_per_month=often)
    return startup(all_of("spot", spot, count=count), demand=STEADY, policy=OUT, **given)


def first(document: Document) -> dict[str, Any]:
    return dict(simulate(document)["options"][0])


@pytest.mark.parametrize(("count", "launches"), [(None, 5), (5, 0)])
def test_interruptions_cost_launches_minimum_and_service(count: int | None, launches: int) -> None:
    """W6, rule 29a: they were accepted and changed nothing."""
    option = first(steady("73", count))
    assert option["interruptions"] == pytest.approx(360)  # 73 / 730 × 3,600 server-hours
    assert option["launches"] == pytest.approx(launches + 360)
    assert Decimal(option["cost_total"]) == 3600 + 6  # 360 times the least minute at 1 an hour
    # each leaves one server's demand unserved for six minutes: 36 of 3,600 server-hours
    assert option["unserved_share"] == pytest.approx(0.01)
    assert option["unserved_minutes"] == pytest.approx(360 * 6)
    assert option["worst_minute_unserved"] == 0
    assert option["utilisation"] == pytest.approx(0.99)


def test_without_interruptions_spot_is_billed_by_the_second() -> None:
    option = first(steady("0"))
    assert Decimal(option["cost_total"]) == 3600
    assert (option["interruptions"], option["launches"], option["unserved_share"]) == (0, 5, 0)


def test_servers_that_are_always_gone_serve_nothing() -> None:
    option = first(steady("100000"))
    assert option["unserved_share"] == pytest.approx(1)


def test_series_shows_the_demand_that_interruptions_lose() -> None:
    shown = series(steady("73"))
    months = [month["options"][0]["unserved_share"] for month in shown["months"]]
    assert months == [pytest.approx(0.01)]


def test_draws_have_the_spread_of_a_poisson_number() -> None:
    spreads = {"draws": 4000, "seed": 3, "score_cv": "0"}
    option = first(steady("73", uncertainty=spreads))
    low, middle, high = (float(value) for value in option["interval"].values())
    # 360 ± 1.645 √360 interruptions, a minute of a server each
    assert (low, middle, high) == pytest.approx((3605.48, 3606, 3606.52), abs=0.03)
    low, middle, high = option["unserved_interval"].values()
    assert (low, middle, high) == pytest.approx((0.00913, 0.01, 0.01087), abs=5e-5)


def test_options_at_one_spot_price_see_the_same_interruptions() -> None:
    document = steady("73", uncertainty={"draws": 500, "score_cv": "0"})
    document["options"].append({**document["options"][0], "name": "same"})
    one, same = simulate(document)["options"]
    assert one["interval"] == same["interval"]
    assert (one["p_cheapest"], one["regret"]) == (0, None)  # neither serves 99.9 %


def test_assumptions_say_what_an_interruption_costs() -> None:
    assumed = {one["name"]: one for one in simulate(steady("73"))["assumptions"]}
    assert assumed["interruptions, spot"]["value"] == "73"
