"""Contract discounts: one row a service, the most specific wins, none on spot prices."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.pricing.discounts import DISCOUNTED, Discount, apply_discount, discount_of
from backend.money.pricing.purchase import PurchaseModel

DAY = dt.date(2026, 11, 27)
ALL = Discount("aws", "all", Decimal(5))
COMPUTE = Discount("aws", "compute", Decimal(12), DAY, DAY + dt.timedelta(days=9))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, COMPUTE),
        ({"service": "storage"}, ALL),
        ({"provider": "gcp"}, None),
        ({"purchase_model": PurchaseModel.SPOT}, None),
        ({"day": DAY + dt.timedelta(days=9)}, COMPUTE),
        ({"day": DAY + dt.timedelta(days=10)}, ALL),
        ({"day": DAY - dt.timedelta(days=1)}, ALL),
    ],
)
def test_most_specific_row_of_the_day_counts(known, expected):
    asked = {"provider": "aws", "service": "compute", "purchase_model": "on_demand", "day": DAY}
    for rows in ([ALL, COMPUTE], [COMPUTE, ALL]):
        assert discount_of(rows, **{**asked, **known}) == expected


def test_discount_comes_off_the_price_after_automatic_ones():
    # 70.08 a month, 30 % of sustained use: 49.056; 12 % of contract: 43.16928
    assert apply_discount(Decimal("49.056"), COMPUTE) == Decimal("43.16928")
    assert apply_discount(Decimal("49.056"), None) == Decimal("49.056")


@given(st.sampled_from(sorted(PurchaseModel)), st.decimals("0.001", "99.999", places=3))
def test_discount_lowers_commitments_and_on_demand_prices_only(model, percent):
    rows = [Discount("aws", "all", percent)]
    found = discount_of(rows, provider="aws", service="compute", purchase_model=model, day=DAY)
    assert (found is not None) == (model in DISCOUNTED)
    assert (apply_discount(Decimal(1), found) < 1) == (model in DISCOUNTED)
