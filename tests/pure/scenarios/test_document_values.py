"""Values of a scenario's document that are read by rules of their own."""

from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.documents import scenario_from
from tests.pure.scenarios.documents import Document, all_of, price, startup

PRICE = "/options/0/parts/0/price"
TRACE = {"unit": "x", "kind": "trace", "points": [["2026-01-01T00:00:00+00:00", 1]]}


def faults(document: Document) -> dict[str, str]:
    with pytest.raises(InvalidDocument) as refused:
        scenario_from(document)
    return dict(refused.value.errors)


def after(given: Any, **changes: Any) -> Document:
    """A scenario whose price has another one after its only term."""
    fields = {"term_months": 12, "renews": False, "after": given} | changes
    return startup(all_of("o", price("0.25", "reserved", **fields), count=1))


@pytest.mark.parametrize("remarks", ["a page is missing", ["x"] * 51, 5])
def test_remarks_are_a_list_of_at_most_fifty(remarks: object) -> None:
    document = startup(all_of("o", price("1")), demand=TRACE | {"remarks": remarks})
    assert faults(document) == {"/demand/remarks": "a list of at most 50 texts is needed"}
    fifty = startup(all_of("o", price("1")), demand=TRACE | {"remarks": ["x"] * 50})
    assert scenario_from(fifty).options


@pytest.mark.parametrize("given", ["0.4", {"amount": "0.4"}, {"amount": "292", "unit": "month"}])
def test_price_after_a_term_is_an_amount_or_has_a_unit(given: Any) -> None:
    # 0.4 × 730 = 292
    (option,) = scenario_from(after(given)).options
    assert option.parts[0].price.after_per_hour == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("given", "field", "detail"),
    [
        ("much", "", "not a decimal number"),
        ("0", "", "0 is not above 0"),
        ({"amount": "0"}, "/amount", "0 is not above 0"),
        ({}, "/amount", "needed"),
        ({"amount": "1", "unit": "day"}, "/unit", "day"),
        ({"amount": "1", "colour": "red"}, "/colour", "unknown field"),
        ({"amount": "1", "currency": "EUR"}, "/currency", "EUR beside USD"),
        ({"amount": "1", "billing": "monthly"}, "/billing", "is billed per_second"),
        (
            {"amount": "1", "unit": "month", "billing": "per_second"},
            "/billing",
            "a price by the month is billed monthly",
        ),
    ],
)
def test_price_after_a_term_is_refused_by_its_field(given: Any, field: str, detail: str) -> None:
    found = faults(after(given))
    assert list(found) == [f"{PRICE}/after{field}"]
    assert detail in found[f"{PRICE}/after{field}"]
