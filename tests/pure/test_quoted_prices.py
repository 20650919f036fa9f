"""What a column keeps of an amount, and what tax and a setup fee make of it (rule 24)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing.quoted import (
    SETUP_MONTHS,
    amount_fault,
    gross,
    kept,
    kind_fault,
    net,
    setup_per_month,
)

D = Decimal


def test_rule_24_net_is_what_a_price_is_without_its_stated_tax():
    # 44.387 / 1.19 = 37.30; 37.30 · 1.19 = 44.387
    assert net(D("44.387"), "gross", D("0.19")) == D("37.30")
    assert gross(D("37.30"), "net", D("0.19")) == D("44.387")
    assert net(D("37.30"), "net", D("0.19")) == D("37.30")
    assert gross(D("44.387"), "gross", None) == D("44.387")


def test_rule_24_tax_that_is_not_known_is_not_guessed():
    assert net(D(119), "gross", None) is None
    assert net(D(119), "unknown", D("0.19")) is None
    assert gross(D(100), "net", None) is None
    assert gross(D(100), "unknown", D("0.19")) is None


def test_rule_24_setup_fee_is_spread_over_a_visible_number_of_months():
    assert SETUP_MONTHS == 12
    assert setup_per_month(D(39)) == D("3.25")  # 39 / 12
    assert setup_per_month(D(39), 24) == D("1.625")
    assert setup_per_month(D(0)) == 0
    assert setup_per_month(None) is None
    for months in (0, 121):
        with pytest.raises(InvalidValue, match="setup_months"):
            setup_per_month(D(39), months)


@given(
    st.decimals("0.01", 10**6, places=6),
    st.sampled_from([D("0"), D("0.07"), D("0.19"), D("0.255")]),
)
def test_rule_24_tax_added_and_taken_off_again_leaves_the_price(amount, rate):
    with_tax = gross(amount, "net", rate)
    assert net(with_tax, "gross", rate) == amount


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("1.5", ""),
        ("9999999999.999999999999999999", ""),
        ("1E-18", ""),
        ("0", "zero"),
        ("-1", "negative"),
        ("1E+10", "10^10"),
        ("1.0000000000000000001", "18 decimals"),
        ("NaN", "finite"),
        ("Infinity", "finite"),
    ],
)
def test_amount_is_kept_as_stated_or_refused(amount, words):
    fault = amount_fault(D(amount))
    assert words in fault
    assert bool(fault) is bool(words)


def test_amount_of_nothing_is_kept_only_where_it_says_something():
    assert amount_fault(D(0), is_zero_allowed=True) == ""
    assert amount_fault(D(-1), is_zero_allowed=True) != ""


def test_calculated_amount_is_rounded_to_its_column():
    assert kept(D(1) / D(3)) == D("0.333333333333333333")
    assert kept(D(400) / 3).as_tuple().exponent == -18


@pytest.mark.parametrize(
    ("model", "unit", "term", "field"),
    [
        ("on_demand", "hour", "", None),
        ("on_demand", "month", "", None),
        ("monthly", "month", "", None),
        ("purchase", "once", "", None),
        ("reserved", "once", "1y", None),
        ("savings", "hour", "3y", None),
        ("reserved", "hour", "", "term"),
        ("committed", "hour", "2y", "term"),
        ("monthly", "month", "1y", "term"),
        ("spot", "once", "", "unit"),
        ("purchase", "month", "", "unit"),
    ],
)
def test_unit_and_term_go_with_how_a_price_is_bought(model, unit, term, field):
    fault = kind_fault(model, unit, term)
    assert (fault and fault[0]) == field
