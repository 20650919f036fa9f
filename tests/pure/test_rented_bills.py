"""The ledger beside a provider's bill: what differs comes first, and nothing is converted."""

from decimal import Decimal

from backend.money.money import Money
from backend.rentals.calc.rented_bills import match_machines


def _usd(amount):
    return Money(Decimal(amount), "USD")


def test_billed_machines_name_what_only_one_side_has():
    rows = match_machines(
        {"a": _usd("1.00"), "b": _usd("2.00"), "lost": _usd("0.30")},
        {"a": _usd("1.25"), "b": _usd("2.00"), "leaked": _usd("7.50")},
    )
    assert [(row.token, row.difference) for row in rows] == [
        ("leaked", Decimal("7.50")),
        ("lost", Decimal("-0.30")),
        ("a", Decimal("0.25")),
        ("b", Decimal("0.00")),
    ]
    assert rows[0].ledger is None
    assert rows[1].bill is None


def test_difference_is_unknown_when_the_currencies_differ():
    (row,) = match_machines({"a": _usd("1")}, {"a": Money(Decimal("0.9"), "EUR")})
    assert row.difference is None
