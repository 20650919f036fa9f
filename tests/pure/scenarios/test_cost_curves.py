"""Costs over the load and the hours a day, and which option is the cheapest where."""

from fractions import Fraction

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.cost_curves import CheapestStretch, CostCurve, cost_curves
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.work import check_curve_work
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup

CLOUD = all_of("cloud", price("0.4"))
MONTHLY = all_of("monthly", price("100", "monthly"), count="peak")
HYBRID = hybrid("hybrid", price("100", "monthly"), price("0.4"))


def curves(document: Document) -> tuple[CostCurve, CostCurve]:
    load, hours = cost_curves(document)
    return load, hours


def won(curve: CostCurve) -> list[tuple[str | None, Fraction]]:
    return [(one.option, one.low) for one in curve.stretches]


def test_curves_pass_through_the_result_of_the_document() -> None:
    document = startup(CLOUD, MONTHLY, HYBRID)
    load, hours = curves(document)
    stated = [Fraction(one["cost_total"]) for one in simulate(document)["options"]]
    assert stated == [1884, 2000, 1320]
    for curve, at in ((load, 1), (hours, 5)):
        index = curve.at.index(Fraction(at))
        assert [line.costs[index] for line in curve.lines] == stated
        assert curve.peak == 20


def test_hours_curve_changes_at_the_minute_where_bills_cross() -> None:
    # 30 days: .4 × 30 × (3 × 24 + 17 h) = 864 + 204 h against 20 × 100: from 5 h 34.1 min on.
    _, hours = curves(startup(CLOUD, MONTHLY))
    minute = Fraction(1, 60)
    assert hours.resolution == minute
    assert hours.stretches == (
        CheapestStretch("cloud", Fraction(1), 335 * minute),
        CheapestStretch("monthly", 335 * minute, Fraction(24)),
    )
    assert [line.never for line in hours.lines] == [None, None]


def test_load_curve_sees_whole_servers_and_stretches_between_points() -> None:
    # .4 × 30 × (19 ⌈3f⌉ + 5 ⌈20f⌉) against 100 ⌈20f⌉, so 40 ⌈20f⌉ against 228 ⌈3f⌉ decides.
    load, _ = curves(startup(CLOUD, MONTHLY))
    for low, high in ((Fraction(1), Fraction(5, 4)), (Fraction(2), Fraction(5, 2))):
        changes = [at for _, at in won(load) if low < at < high]
        factors = [Fraction(n, 1000) for n in range(int(low * 1000), int(high * 1000))]
        cheaper = [40 * -(-20 * f // 1) <= 228 * -(-3 * f // 1) for f in factors]
        expected = [
            f
            for f, now, before in zip(factors[1:], cheaper[1:], cheaper, strict=False)
            if now != before
        ]
        assert changes == expected


def test_curve_names_nobody_and_says_never_where_demand_is_not_served() -> None:
    small = all_of("one server", price("100", "monthly"), count=1)
    few = all_of("twenty", price("0.1"), count=20)
    load, hours = curves(startup(small, few, all_of("dear", price("9"), count=20)))
    # Of 157 f unit-hours a day 100 (f − 1) are unserved: more than .1 % from f = 1.00157 on.
    assert won(load) == [("twenty", Fraction(1, 10)), (None, Fraction(1002, 1000))]
    assert hours.lines[0].never == "never: it leaves more demand unserved than is tolerated"
    dear = "never: wherever it serves the demand, another option costs the same or less"
    assert hours.lines[2].never == dear


def test_curves_are_refused_where_they_take_too_long() -> None:
    with pytest.raises(InvalidDocument, match="200 points"):
        check_curve_work(startup(CLOUD), 1000)
    assert check_curve_work(startup(CLOUD)) == 43_200 * 200
