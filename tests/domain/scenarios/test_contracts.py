"""Contracts of projects that may end, against worked figures and a sum over all endings."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.errors import InvalidValue
from backend.domain.scenarios.contracts import exposure
from backend.domain.scenarios.simulate import simulate
from tests.domain.scenarios.documents import all_of, price, startup


@pytest.mark.parametrize(
    ("hazard", "months", "ratio"),
    [
        ("0.1", 1, 1.0),
        ("0.1", 3, 1.0315),
        ("0.1", 6, 1.1428),
        ("0.1", 12, 1.5242),
        ("0.1", 24, 2.608),
        ("0.05", 12, 1.1982),
        ("0.3", 12, 3.6143),
    ],
)
def test_contract_makes_a_month_dearer(hazard: str, months: int, ratio: float) -> None:
    found = exposure(Fraction(hazard), 24, months)
    assert float(found.ratio) == pytest.approx(ratio, abs=5e-5)


def test_project_that_may_fail_runs_nine_months_of_24() -> None:
    found = exposure(Fraction("0.1"), 24, 12)
    assert float(found.active_months) == pytest.approx(9.2023, abs=5e-5)  # (1 − .9^24) / .1
    # 12 months of contract at 100 a month, then month by month
    assert float(found.paid_months * 100) == pytest.approx(1402.66, abs=5e-3)
    # the cloud wins up to this price of a month: 100 × paid / active
    assert float(100 * found.ratio) == pytest.approx(152.42, abs=5e-3)


@given(st.fractions(0, 1, max_denominator=50), st.integers(1, 12), st.integers(0, 15))
def test_exposure_is_the_mean_over_all_endings(
    hazard: Fraction, horizon: int, minimum: int
) -> None:
    active = paid = Fraction(0)
    left = Fraction(1)
    for months in range(1, horizon + 1):
        ends = left * hazard if months < horizon else left
        active += ends * months
        paid += ends * max(months, minimum)
        left -= ends
    found = exposure(hazard, horizon, minimum)
    assert (found.active_months, found.paid_months) == (active, paid)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ((Fraction(2), 1, 1), "/hazard_per_month"),
        ((Fraction(0), 0, 1), "/horizon/months"),
        ((Fraction(0), 1, -1), "/contract/minimum_months"),
    ],
)
def test_exposure_is_refused_outside_its_range(
    given: tuple[Fraction, int, int], field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        exposure(*given)
    assert refused.value.field == field


@pytest.mark.parametrize(("contract", "told"), [({"notice_days": 30}, ["30"]), ({}, [])])
def test_notice_is_listed_as_not_calculated(contract: dict[str, int], told: list[str]) -> None:
    document = startup(all_of("one", price("1")), contract=contract)
    assumed = {one["name"]: one["value"] for one in simulate(document)["assumptions"]}
    assert [value for name, value in assumed.items() if name == "notice_days"] == told
