"""What a price comes to over an hour, a month or a year."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing.effective import Charge, price_over

MONTH = Decimal(730)
HOURLY = Charge(Decimal("0.1"), "hour")


@pytest.mark.parametrize(
    ("charge", "hour", "month", "year"),
    [
        (HOURLY, "0.1", "73", "876"),
        (Charge(Decimal(73), "month"), "0.1", "73", "876"),
        # 876 / 8760 = 0.1
        (Charge(Decimal(876), "once", term="1y"), "0.1", "73", "876"),
        # 0.03 + 1314 / 26280 = 0.08
        (Charge(Decimal("0.03"), "hour", "3y", Decimal(1314)), "0.08", "58.4", "700.8"),
        # 10 a month and 87.6 / 12 = 7.3
        (Charge(Decimal(10), "month", "1y", Decimal("87.6")), None, "17.3", "207.6"),
        # 60 is less than 73
        (Charge(Decimal("0.1"), "hour", monthly_cap=Decimal(60)), "0.1", "60", "720"),
        (Charge(Decimal("0.1"), "hour", monthly_cap=Decimal(80)), "0.1", "73", "876"),
        # The cap is one of hours.
        (Charge(Decimal(73), "month", monthly_cap=Decimal(60)), "0.1", "73", "876"),
        # Without a term nobody says over how long.
        (Charge(Decimal("0.1"), "hour", setup_amount=Decimal(99)), "0.1", "73", "876"),
    ],
)
def test_price_over_a_period_is_what_is_paid_in_it(charge, hour, month, year):
    if hour is not None:
        assert price_over(charge, "hour", MONTH) == Decimal(hour)
    assert price_over(charge, "month", MONTH) == Decimal(month)
    assert price_over(charge, "year", MONTH) == Decimal(year)


def test_purchase_has_no_price_of_an_hour():
    assert price_over(Charge(Decimal(900), "once"), "hour", MONTH) is None


@pytest.mark.parametrize(("table", "factor"), [("n1", "0.7"), ("n2", "0.8002"), ("", "1")])
def test_rule_13_a_whole_month_has_the_discount_and_an_hour_has_not(table, factor):
    charge = Charge(Decimal("0.1"), "hour", sustained_use=table)
    assert price_over(charge, "hour", MONTH, is_sustained=True) == Decimal("0.1")
    assert price_over(charge, "month", MONTH) == 73
    assert price_over(charge, "month", MONTH, is_sustained=True) == 73 * Decimal(factor)
    assert price_over(charge, "year", MONTH, is_sustained=True) == 876 * Decimal(factor)


@pytest.mark.parametrize(
    ("charge", "month"),
    [
        # 500 / 12, and 0.05 × 8,760 / 12
        (Charge(Decimal(500), "once", "1y"), "41.67"),
        (Charge(Decimal("0.05"), "hour", "1y"), "36.50"),
        (Charge(Decimal("0.05"), "hour", "3y", Decimal(360)), "46.50"),
        (Charge(Decimal("89.30"), "month", "1y"), "89.30"),
        (Charge(Decimal(73), "month"), "73.00"),
        # 100 × 0.1, of the machine that is paid while it runs
        (HOURLY, "10.00"),
        (Charge(Decimal("0.1"), "hour", monthly_cap=Decimal(6)), "6.00"),
    ],
)
def test_only_what_is_paid_by_the_hour_follows_the_hours_run(charge, month):
    """W8: a commitment cost 5.71 a month for a machine that runs 100 hours of it."""
    assert round(price_over(charge, "month", MONTH, hours_run=Decimal(100)), 2) == Decimal(month)


@pytest.mark.parametrize("hours", ["100", "720", "744"])
def test_month_of_a_commitment_is_a_twelfth_of_its_year(hours):
    """W8: nor does it shrink with the length of the reader's month."""
    charge = Charge(Decimal("0.05"), "hour", "1y", Decimal(120))
    assert price_over(charge, "month", Decimal(hours)) == Decimal("46.5")
    assert price_over(charge, "year", Decimal(hours)) == 558


def test_sustained_use_of_a_part_of_a_month_has_its_part_of_the_discount():
    charge = Charge(Decimal("0.1"), "hour", sustained_use="n1")
    # a quarter in full and a quarter at 0.8: 730 × 0.1 × 0.45
    half = price_over(charge, "month", MONTH, hours_run=Decimal(365), is_sustained=True)
    assert half == Decimal("32.85")


def test_setup_fee_is_spread_over_the_months_that_are_stated():
    """S3: 100 a month with 1,000 to set up tied with 100 a month."""
    charge = Charge(Decimal(100), "month", setup_amount=Decimal(1000))
    # 100 + 1,000 / 12 and 1,000 / 40
    assert round(price_over(charge, "month", MONTH, setup_months=12), 2) == Decimal("183.33")
    assert price_over(charge, "month", MONTH, setup_months=40) == 125
    assert price_over(charge, "year", MONTH, setup_months=40) == 1500
    assert round(price_over(charge, "hour", MONTH, setup_months=40), 6) == Decimal("0.171233")
    assert price_over(charge, "month", MONTH, setup_months=0) == 100


def test_charge_in_another_currency_has_all_its_amounts_there():
    charge = Charge(Decimal(1), "hour", "1y", Decimal(2), Decimal(3)).times(Decimal("1.5"))
    assert charge == Charge(Decimal("1.5"), "hour", "1y", Decimal("3.0"), Decimal("4.5"))
    assert HOURLY.times(Decimal(2)) == Charge(Decimal("0.2"), "hour")


def test_unknown_period_is_refused():
    with pytest.raises(InvalidValue):
        price_over(HOURLY, "week", MONTH)


@given(
    st.decimals("0.0001", "100", places=4),
    st.decimals("0.01", "5000", places=2),
    st.decimals("1", "744", places=1),
)
def test_rule_22_cap_never_makes_a_month_dearer(amount, cap, hours):
    free = price_over(Charge(amount, "hour"), "month", hours)
    capped = price_over(Charge(amount, "hour", monthly_cap=cap), "month", hours)
    assert capped == min(free, cap)
