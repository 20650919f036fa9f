"""What a rented machine costs at most and hour by hour, and whether a budget holds it."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.money import EuroRate, Money, RateTable
from backend.providers.registry import PROVIDERS
from backend.providers.rentals import (
    BY_HOUR,
    BY_SECOND,
    Budget,
    Cap,
    Increment,
    charges,
    cost_to_reserve,
    largest_cost,
    lifetime_s,
    next_zone,
    refusal,
    round_to_column,
    zones_to_try,
)

AT = dt.datetime(2026, 11, 1, 12, 20, tzinfo=dt.UTC)
RATES = RateTable({"USD": EuroRate(dt.date(2026, 11, 1), "USD", Decimal("1.25"))})


def after(seconds):
    return AT + dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("increment", "seconds", "expected"),
    [
        # by the second: 0.36 an hour is 0.0001 a second, a minute at least
        (BY_SECOND, 1, ["0.006"]),
        (BY_SECOND, 60, ["0.006"]),
        (BY_SECOND, 61, ["0.0061"]),
        (BY_SECOND, 60.5, ["0.0061"]),  # a second begun
        (BY_SECOND, 3600, ["0.36"]),
        (BY_SECOND, 3601, ["0.36", "0.0001"]),
        # by the hour begun
        (BY_HOUR, 1, ["0.36"]),
        (BY_HOUR, 3600, ["0.36"]),
        (BY_HOUR, 3601, ["0.36", "0.36"]),
        (BY_SECOND, 0, []),
        (BY_HOUR, -5, []),
    ],
)
def test_charges_are_by_the_second_or_by_the_hour_begun(increment, seconds, expected):
    found = list(charges(increment, Decimal("0.36"), AT, after(seconds)))
    assert [charge.amount for charge in found] == [Decimal(amount) for amount in expected]
    assert [charge.period_start for charge in found] == [after(3600 * n) for n in range(len(found))]
    assert sum(charge.seconds for charge in found) == max(0, Decimal(str(seconds)))


@given(
    increment=st.sampled_from([BY_SECOND, BY_HOUR]),
    hourly=st.decimals("0.0001", "100", places=6),
    lifetime=st.integers(1, 200_000),
    share=st.floats(0, 1),
)
def test_no_life_costs_more_than_what_is_reserved_for_the_longest(
    increment, hourly, lifetime, share
):
    cost = sum(c.amount for c in charges(increment, hourly, AT, after(lifetime * share)))
    assert cost <= largest_cost(increment, hourly, lifetime)
    assert largest_cost(increment, hourly, lifetime) <= cost_to_reserve(increment, hourly, lifetime)


def test_reservation_is_rounded_up_and_a_charge_to_the_nearest():
    third = Decimal(1) / 3
    assert round_to_column(third) == Decimal("0.333333333333333333")
    assert cost_to_reserve(BY_SECOND, third, 3600) == Decimal("0.333333333333333334")


@pytest.mark.parametrize(
    ("amount", "taken", "cost", "expected"),
    [
        ("1", [], Money(Decimal(1), "USD"), None),
        ("1", ["0.5"], Money(Decimal("0.5"), "USD"), None),
        (
            "1",
            ["0.5", "0.4"],
            Money(Decimal("0.100000000000000001"), "USD"),
            "0.1 USD do not fit into the budget of 1: 0.9 are spent or reserved",
        ),
        (
            "1",
            [],
            Money(Decimal("0.9"), "EUR"),  # 1.125 USD
            "1.125 USD do not fit into the budget of 1: 0 are spent or reserved",
        ),
        (
            "1",
            [],
            Money(Decimal("0.1"), "XYZ"),
            "the budget cannot be checked: no exchange rate is known for XYZ",
        ),
    ],
)
def test_cost_that_does_not_fit_into_a_budget_is_refused_with_the_figures(
    amount, taken, cost, expected
):
    cap = Cap("budget", Budget(Decimal(amount), "USD"), [Money(Decimal(t), "USD") for t in taken])
    assert refusal(cap, cost, RATES) == expected


def test_life_holds_the_boot_twice_the_measuring_and_the_rest():
    assert lifetime_s(780, 900) == 900 + 2 * 780 + 600


@pytest.mark.parametrize(
    ("zones", "tried", "expected"),
    [
        ([], [], ""), ([], [""], None),
        (["a", "b"], [], "a"), (["a", "b"], ["a"], "b"), (["a", "b"], ["b", "a"], None),
    ],
)  # fmt: skip
def test_next_zone_is_the_first_that_was_not_tried(zones, tried, expected):
    assert next_zone(zones, tried) == expected


@pytest.mark.parametrize(
    ("named", "offering", "expected"),
    [
        ([], [], []),
        (["a"], [], ["a"]),
        ([], ["a", "b"], ["a", "b"]),
        (["c", "b", "a"], ["a", "b"], ["b", "a"]),
        (["c"], ["a", "b"], None),
    ],
)
def test_zones_to_try_are_named_and_sell_the_type(named, offering, expected):
    assert zones_to_try(named, offering) == expected


# --- rules that changed on a day --------------------------------------------------------------------

DAY_BEFORE, FIRST_DAY = dt.date(2025, 12, 31), dt.date(2026, 1, 1)
CHANGED = Increment(60, 1, Money(Decimal("0.01"), "USD"), FIRST_DAY, BY_HOUR)


def cost_of(increment, hourly, life_s, day):
    began = dt.datetime.combine(day, dt.time(8), dt.UTC)
    life = charges(increment, Decimal(hourly), began, began + dt.timedelta(seconds=life_s))
    return sum((charge.amount for charge in life), Decimal(0))


@pytest.mark.parametrize(
    ("provider", "hourly", "life_s", "day", "expected"),
    [
        # 600 s × 0.0074 / 3600 = 0.00123, which is below a cent.
        ("digitalocean", "0.0074", 600, "2026-03-01", "0.01"),
        # 5 h 30 min × 0.0074 = 0.0407: the cent is no part of it any more.
        ("digitalocean", "0.0074", 19800, "2026-03-01", "0.0407"),
        # Ten minutes of 0.12 = 0.02; until 2025 an hour begun.
        ("digitalocean", "0.12", 600, "2026-01-01", "0.02"),
        ("digitalocean", "0.12", 600, "2025-12-31", "0.12"),
        # 20 s count as 60: 0.06 / 60 = 0.001; in June two hours begun of 61 minutes.
        ("ovh", "0.06", 20, "2026-07-01", "0.001"),
        ("ovh", "0.06", 3660, "2026-07-01", "0.061"),
        ("ovh", "0.06", 3660, "2026-06-30", "0.12"),
        ("hetzner", "0.0685", 3660, "2026-11-01", "0.137"),
    ],
)
def test_rental_costs_what_its_provider_charged_on_its_day(provider, hourly, life_s, day, expected):
    increment = PROVIDERS[provider].increment
    assert cost_of(increment, hourly, life_s, dt.date.fromisoformat(day)) == Decimal(expected)


@given(
    hourly=st.decimals("0.0001", "40", places=4),
    life_s=st.integers(1, 400_000),
    day=st.dates(dt.date(2024, 1, 1), dt.date(2028, 1, 1)),
)
def test_least_amount_bounds_a_life_and_is_never_added_to_it(hourly, life_s, day):
    cost = cost_of(CHANGED, hourly, life_s, day)
    if day < FIRST_DAY:
        assert cost == cost_of(BY_HOUR, hourly, life_s, day)
    else:
        plain = cost_of(BY_SECOND, hourly, life_s, day)
        assert abs(cost - max(plain, Decimal("0.01"))) < Decimal("1e-25")
        assert cost <= largest_cost(CHANGED, hourly, life_s)


@pytest.mark.parametrize("slug", sorted(PROVIDERS))
def test_rules_of_a_provider_follow_each_other_in_time(slug):
    rule = PROVIDERS[slug].increment
    while rule.before is not None:
        assert rule.valid_from is not None
        assert rule.before.valid_from is None or rule.before.valid_from < rule.valid_from
        rule = rule.before
