"""What is too much is refused with the field that makes it so; what is large is done."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc import fleet, lives
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.scenarios.short import missing, ran, steps, total


def faults(document: Document) -> dict[str, str]:
    with pytest.raises(InvalidDocument) as refused:
        simulate(document)
    return dict(refused.value.errors)


def composed(**given: Any) -> Document:
    demand = {"unit": "u", "kind": "composed", "level": 10, **given}
    return startup(all_of("o", price("1")), demand=demand)


def test_servers_too_small_for_the_demand_are_a_fault_of_their_field() -> None:
    common = startup(all_of("o", price("1")), capacity={"units_per_server": "0.00001"})
    assert "2000000 servers" in faults(common)["/capacity/units_per_server"]
    own = startup(all_of("o", price("1")), all_of("p", price("1"), capacity="0.00001"))
    assert set(faults(own)) == {"/options/1/parts/0/capacity"}


def test_schedule_of_more_than_a_million_servers_is_refused() -> None:
    window = {"from": "10:00", "to": "11:00", "level": 1_000_001}
    document = startup(all_of("o", price("1")), policy={"kind": "scheduled", "windows": [window]})
    assert set(faults(document)) == {"/policy/windows/0/level"}


def test_servers_that_start_too_often_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    document = startup(all_of("o", price("1")))
    monkeypatch.setattr(lives, "MOST_LIVES", 3 + 30 * 17)
    assert simulate(document)["options"][0]["launches"] == 3 + 30 * 17
    monkeypatch.setattr(lives, "MOST_LIVES", 3 + 30 * 17 - 1)
    assert "513 times" in faults(document)["/policy"]


@pytest.mark.parametrize(
    ("option", "policy"),
    [
        (hybrid("two sizes", price("10", "monthly"), price("1")), {}),
        (hybrid("same", price("10", "monthly"), price("1")), {"kind": "step"}),
        (
            hybrid("plan", price("1"), price("1", "savings", commit_per_hour="1", discount="0")),
            {},
        ),
        (hybrid("reserved", price("1", "reserved"), price("1")), {}),
    ],
)
def test_best_base_is_not_looked_for_among_too_many(
    option: Document, policy: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    if option["name"] == "two sizes":
        option["parts"][0]["capacity"] = "2"
    document = startup(option, policy=policy)
    assert simulate(document)["options"][0]["base_servers"] is not None
    monkeypatch.setattr(fleet, "MOST_TRIED", 10_000)
    assert "optimal would try 21 counts" in faults(document)["/options"]


def test_best_base_of_larger_servers_is_the_cheapest_of_all_counts() -> None:
    def option(count: Any) -> Document:
        found = hybrid("h", price("150", "monthly"), price("0.4"), count)
        found["parts"][0]["capacity"] = "2"
        return found

    bills = [ran(startup(option(count))).total for count in range(12)]
    found = ran(startup(option("optimal")))
    # two servers of 2 units carry the 3 of the night and leave 16 by day: 300 + 16 × 150 × .4
    assert (found.fleet.base, found.total) == (2, min(bills))
    assert found.total == 300 + 16 * 150 * Fraction("0.4")


def test_best_base_beside_a_savings_plan_is_the_cheapest_of_all_counts() -> None:
    plan = price("1", "savings", commit_per_hour="3", discount="0.5")

    def bill(count: Any) -> Fraction:
        return total(startup(hybrid("h", price("200", "monthly"), plan, count)))

    assert bill("optimal") == min(bill(count) for count in range(21))


def test_pause_of_a_step_policy_must_lie_below_its_target() -> None:
    policy = {"kind": "step", "target": "0.5", "in_below": "0.6"}
    assert set(faults(startup(all_of("o", price("1")), policy=policy))) == {"/policy/in_below"}


def test_target_of_a_policy_defaults_to_that_of_the_capacity() -> None:
    half = {"units_per_server": "1", "target_utilisation": "0.5"}
    policy = {"kind": "target_tracking"}
    document = startup(all_of("o", price("1")), capacity=half, policy=policy)
    assert scenario_from(document).policy.target == Fraction(1, 2)
    own = document | {"policy": policy | {"target": "0.8"}}
    assert scenario_from(own).policy.target == Fraction(4, 5)


def test_composed_demand_has_cycles_growth_noise_and_events() -> None:
    def values(**given: Any) -> list[float]:
        return list(scenario_from(composed(**given)).demand.values.tolist())

    day = [1] * 12 + [2] * 12
    week = [1, 1, 1, 3, 1, 1, 1]  # the first of January 2026 is a Thursday
    found = values(daily=day, weekly=week)
    assert [found[0], found[720], found[1440], found[2160]] == [30, 60, 10, 20]
    grown = values(growth_per_month="0.1")
    assert grown[-1] == pytest.approx(10 * 1.1 ** ((30 * 1440 - 1) / (730 * 60)))
    noisy = values(noise_cv="0.3", seed=4)
    assert noisy == values(noise_cv="0.3", seed=4) != values(noise_cv="0.3", seed=5)
    assert sum(noisy) / len(noisy) == pytest.approx(10, rel=0.01)
    event = {"at": "2026-01-01T00:05:00+00:00", "duration_s": 90, "level": 7}
    assert values(events=[event])[4:8] == [10, 17, 17, 10]
    before = event | {"at": "2025-12-31T23:59:00+00:00", "duration_s": 120}
    assert values(events=[before])[:2] == [17, 10]


def test_composed_demand_that_grows_beyond_all_bounds_is_refused() -> None:
    year = {"start": "2026-01-01T00:00:00+00:00", "months": 120, "step_s": 86_400}
    document = composed(growth_per_month="10") | {"horizon": year}
    assert "grows beyond" in faults(document)["/demand/level"]
    assert "grows beyond" in faults(composed(level="999999999999", noise_cv="2"))["/demand/level"]


def test_amounts_beyond_reason_are_refused() -> None:
    assert set(faults(startup(all_of("o", price("1e12"))))) == {"/options/0/parts/0/price/amount"}
    extras = startup(all_of("o", price("1")), extras={"fixed_per_month": "1e12"})
    assert set(faults(extras)) == {"/extras/fixed_per_month"}


def test_tiers_of_many_digits_are_exact() -> None:
    fine = [["0.3333333333333333333", "1"], ["1", "0.5"]]
    given = price("1", "sustained_use", tiers=fine, month_convention="30d")
    found = total(startup(all_of("o", given, count=1)))
    share = Fraction(Decimal("0.3333333333333333333"))
    assert found == 720 * (share + (1 - share) / 2)


def test_many_sizes_of_servers_are_calculated_one_after_another() -> None:
    sizes = [str(n) for n in range(1, 8)]
    document = startup(*(all_of(size, price("1"), capacity=size) for size in sizes))
    peaks = [option["peak_servers"] for option in simulate(document)["options"]]
    assert peaks == [-(-20 // int(size)) for size in sizes]


def test_exact_capacity_leaves_nothing_unserved_in_a_month_of_minutes() -> None:
    # 4.9 = 7 × 0.7, though not in binary fractions, on more steps than one block
    level = {"unit": "u", "kind": "daily", "base": "4.9"}
    document = startup(all_of("o", price("1")), demand=level, capacity={"units_per_server": "0.7"})
    assert simulate(document)["options"][0]["unserved_minutes"] == 0
    assert missing(steps([4.9, 5.0], capacity={"units_per_server": "0.7"}, policy={"max": 7})) == [
        0, pytest.approx(0.1),
    ]  # fmt: skip


def test_number_of_a_thousand_digits_is_refused_without_being_printed() -> None:
    level = {"unit": "u", "kind": "daily", "base": 10**1000}
    document = startup(all_of("o", price("1")), demand=level, policy={"min": 10**1000})
    found = faults(document)
    assert set(found) == {"/demand/base", "/policy/min"}
    assert all("beyond 10^18" in detail for detail in found.values())
