"""Prices that people state and that cannot be meant."""

from decimal import Decimal

import pytest

from backend.money.pricing.plausible import implausible, per_month


def why(amount, unit="month", *, usd_per_unit="1", vcpu_count=None, beside=()):
    return implausible(
        Decimal(amount),
        unit,
        usd_per_unit=None if usd_per_unit is None else Decimal(usd_per_unit),
        vcpu_count=None if vcpu_count is None else Decimal(vcpu_count),
        beside=[Decimal(one) for one in beside],
    )


def test_amounts_are_compared_per_month_of_730_hours():
    assert per_month(Decimal("0.1"), "hour") == Decimal(73)
    assert per_month(Decimal(120), "year") == Decimal(10)
    assert per_month(Decimal(49), "month") == Decimal(49)
    assert per_month(Decimal(49), "once") is None


@pytest.mark.parametrize(
    ("amount", "given"),
    [
        ("49", {}),
        ("0.0042", {"unit": "hour", "vcpu_count": "2"}),
        ("40000000", {"unit": "once"}),
        ("1000000", {"beside": ["900000"]}),
        ("500000000", {"usd_per_unit": None}),  # of a currency that buys little
    ],
)
def test_prices_that_somebody_asks_are_plausible(amount, given):
    assert why(amount, **given) == []


@pytest.mark.parametrize(
    ("amount", "given", "said"),
    [
        ("9000000000", {"unit": "hour"}, "is more than any machine costs"),
        ("60000000", {"unit": "once"}, "is more than any machine costs"),
        ("1100000", {"usd_per_unit": "1.1"}, "is more than any machine costs"),
        ("2000000000", {"usd_per_unit": None}, "is more than any machine costs"),
        ("1.249", {"vcpu_count": "32"}, "for each vCPU is less than any machine costs"),
        ("1249", {"beside": ["120", "124.9", "130"]}, "beside 124.9 of its other prices"),
        ("12.49", {"beside": ["124.9"]}, "beside 124.9 of its other prices"),
    ],
)
def test_what_cannot_be_meant_says_why(amount, given, said):
    (reason,) = why(amount, **given)
    assert said in reason
