"""Documents with faults: each is told by the JSON pointer of its field, all at once."""

import copy
from decimal import Decimal
from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.documents import scenario_from
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup


def document() -> Document:
    return copy.deepcopy(
        startup(
            all_of("cloud", price("0.4")),
            hybrid("hybrid", price("100", "monthly"), price("0.4")),
        )
    )


def faults(given: object) -> dict[str, str]:
    with pytest.raises(InvalidDocument) as refused:
        scenario_from(given)
    return dict(refused.value.errors)


def put(given: Document, pointer: str, value: Any) -> Document:
    """The document with one value replaced, or taken out where it is Ellipsis."""
    *places, last = pointer.strip("/").split("/")
    at: Any = given
    for place in places:
        at = at[int(place)] if isinstance(at, list) else at.setdefault(place, {})
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return given


ONE = "/options/0/parts/0"
CASES = [
    ("/schema", 2, "/schema", "1 is needed"),
    ("/nonsense", 1, "/nonsense", "unknown field"),
    ("/a~b", 1, "/a~0b", "unknown field"),
    ("/name", "", "/name", "text of 1"),
    ("/name", "a\0b", "/name", "NUL"),
    ("/horizon/start", "2026-01-01", "/horizon/start", "ISO 8601 time with zone"),
    ("/horizon/start", "0001-01-01T00:00:00+23:00", "/horizon/start", "ISO 8601"),
    ("/horizon/start", 5, "/horizon/start", "ISO 8601"),
    ("/horizon/start", "rubbish", "/horizon/start", "ISO 8601"),
    ("/horizon/days", ..., "/horizon/days", "exactly one of days and months"),
    ("/horizon/months", 1, "/horizon/days", "exactly one of days and months"),
    ("/horizon/days", "0", "/horizon/days", "not above 0"),
    ("/horizon/days", "1/0", "/horizon/days", "not a decimal number"),
    ("/horizon/step_s", 7, "/horizon/step_s", "not a whole number of steps"),
    ("/horizon/step_s", True, "/horizon/step_s", "not a whole number from"),
    ("/horizon/step_s", 1, "/horizon/step_s", "2592000 steps; from 1 to 2000000"),
    ("/horizon", [], "/horizon", "an object is needed"),
    ("/demand/kind", "wavy", "/demand/kind", "not one of"),
    ("/demand/base", -1, "/demand/base", "-1 is below 0"),
    ("/demand/base", True, "/demand/base", "not a decimal number"),
    ("/demand/base", Decimal("NaN"), "/demand/base", "not a decimal number"),
    ("/demand/time_zone", "Moon/Crater", "/demand/time_zone", "neither a region"),
    ("/demand/windows", {}, "/demand/windows", "a list of"),
    ("/demand/windows/0/from", "25:00", "/demand/windows/0/from", "time of day"),
    ("/demand/windows/0/to", "24:30", "/demand/windows/0/to", "time of day"),
    ("/demand/windows/0/from", "24:00", "/demand/windows/0/from", "the end of a day"),
    ("/horizon/step_s", 10**30, "/horizon/step_s", "beyond 10^18"),
    ("/extras", {"egress_tiers": 5}, "/extras/egress_tiers", "a list of 0"),
    (
        "/policy",
        {"kind": "step", "target": "0.3", "in_below": "0.5"},
        "/policy/in_below",
        "above target",
    ),
    ("/demand/windows/0/to", 15, "/demand/windows/0/to", "time of day"),
    ("/demand/windows/0/weekdays", [7], "/demand/windows/0/weekdays", "0 (Monday) to 6"),
    ("/demand/windows/0/level", ..., "/demand/windows/0/level", "a value is needed"),
    ("/capacity/units_per_server", "0", "/capacity/units_per_server", "not above 0"),
    ("/capacity/units_per_server", ..., f"{ONE}/capacity", "neither here nor for all"),
    ("/capacity/target_utilisation", "1.5", "/capacity/target_utilisation", "above 1"),
    ("/policy/kind", "magic", "/policy/kind", "not one of"),
    ("/policy/count", 3, "/policy/count", "unknown field"),
    ("/policy", {"kind": "fixed"}, "/policy/count", "a value is needed"),
    ("/policy", {"min": 5, "max": 4}, "/policy/min", "5 is above max, 4"),
    ("/policy", {"quota": -1}, "/policy/quota", "not a whole number"),
    ("/options", [], "/options", "a list of 1"),
    ("/options/1/name", "cloud", "/options/1/name", "another option"),
    ("/options/0/parts", [], "/options/0/parts", "a list of 1"),
    (f"{ONE}/role", "base", "/options/0/parts", "one part all"),
    (f"{ONE}/count", "optimal", f"{ONE}/count", "a base beside a burst"),
    (f"{ONE}/count", 1.5, f"{ONE}/count", "not a whole number"),
    (f"{ONE}/price", ..., f"{ONE}/price", "a value is needed"),
    (f"{ONE}/price/billing", "barter", f"{ONE}/price/billing", "not one of"),
    (f"{ONE}/price/billing", ..., f"{ONE}/price/billing", "a value is needed"),
    (f"{ONE}/price/billing", "monthly", f"{ONE}/price/unit", "for a month"),
    (f"{ONE}/price/billing", "reserved", f"{ONE}/price/billing", "need a count"),
    (f"{ONE}/price/amount", "0", f"{ONE}/price/amount", "not above 0"),
    (f"{ONE}/price/currency", "dollar", f"{ONE}/price/currency", "three-letter"),
    (f"{ONE}/price/currency", "EUR", "/options/1/parts/0/price/currency", "one currency"),
    ("/options/1/parts/0/count", None, "/options/1/parts/0/count", "optimal, peak or a number"),
    ("/options/1/parts/1/count", 3, "/options/1/parts/1/count", "a burst takes no count"),
    ("/extras", {"egress_gb_per_month": "5"}, "/extras/egress_tiers", "egress needs tiers"),
    ("/extras", {"egress_tiers": [["5", "1"]]}, "/extras/egress_tiers/0", "the last bound null"),
    ("/extras", {"egress_tiers": [5]}, "/extras/egress_tiers/0", "the last bound null"),
    ("/extras", {"month_convention": 0}, "/extras/month_convention", "number of hours"),
    (
        "/options/0/extras",
        {"egress_gb_per_month": "5"},
        "/options/0/extras/egress_tiers",
        "egress needs tiers",
    ),
    ("/hazard_per_month", "2", "/hazard_per_month", "2 is above 1"),
    ("/uncertainty", {"draws": 0}, "/uncertainty/draws", "from 1"),
    ("/capacity/metric", "cmips_score", "/capacity/metric", "catalog of offers"),
    ("/capacity/units_per_score", "2", "/capacity/units_per_score", "catalog of offers"),
    (f"{ONE}/price/offer", "aws-m5", f"{ONE}/price/offer", "catalog of offers"),
]


@pytest.mark.parametrize(("pointer", "value", "field", "detail"), CASES)
def test_fault_names_its_field(pointer: str, value: Any, field: str, detail: str) -> None:
    found = faults(put(document(), pointer, value))
    assert detail in found[field]


@pytest.mark.parametrize(
    ("given", "field", "detail"),
    [
        ({"billing": "hour_ceil_cap"}, "cap", "a value is needed"),
        ({"billing": "savings", "commit_per_hour": "1", "discount": "1"}, "discount", "free"),
        ({"billing": "sustained_use", "tiers": [["2", "1"]]}, "tiers/0", "growing shares"),
        ({"billing": "sustained_use", "tiers": ["x"]}, "tiers/0", "growing shares"),
        ({"billing": "sustained_use", "tiers": [["0.5", "1"]]}, "tiers", "last share must be 1"),
        ({"billing": "sustained_use", "tiers": []}, "tiers", "a list of 1"),
        ({"billing": "per_second", "cap": "1"}, "cap", "unknown field"),
        ({"billing": "purchase"}, "hardware", "document of own hardware"),
        ({"billing": "purchase", "hardware": {}}, "hardware/items", "a value is needed"),
    ],
)
def test_fault_of_a_price_names_its_field(given: Document, field: str, detail: str) -> None:
    own = {"amount": "1", "currency": "USD", "unit": "hour"}
    found = faults(put(document(), f"{ONE}/price", own | given))
    assert detail in found[f"{ONE}/price/{field}"]


def test_base_of_reservations_needs_a_burst_by_the_second() -> None:
    wrong = hybrid("x", price("1", "reserved"), price("1", "hour_ceil"), 2)
    found = faults(startup(wrong))
    assert "per_second" in found["/options/0/parts/1/price/billing"]


@pytest.mark.parametrize(
    ("given", "field", "detail"),
    [
        ({}, "points", "exactly one of points and csv"),
        ({"points": [], "csv": ""}, "points", "exactly one"),
        ({"points": []}, "points", "a list of 1"),
        ({"points": 5}, "points", "a list of 1"),
        ({"csv": 5}, "csv", "text is needed"),
        ({"csv": "time,value\n"}, "csv", "at least one point"),
        ({"points": [["2026-01-01T00:00:00", 1]]}, "points/0", "with zone"),
        ({"points": [[1767225600, 1]]}, "points/0", "with zone"),
        ({"points": [["2026-01-01T00:00:00Z", -1]]}, "points/0", "from 0 on"),
        ({"points": [["2026-01-01T00:00:00Z", Decimal("NaN")]]}, "points/0", "from 0 on"),
        ({"points": ["x"]}, "points/0", "with zone"),
        ({"csv": "time,value\n1767225600,1\n1767225600,2\n"}, "csv", "line 3: is not later"),
        ({"csv": "1767225660,1\n1767225600,2\n"}, "csv", "line 2: is not later"),
        ({"csv": "1767225600,1\n\n1767225660\n"}, "csv", "line 3: 1 columns"),
        ({"csv": "1767225600,1\n\n,2\n"}, "csv", "line 3: '' is not an ISO"),
        (
            {"csv": "1767225600,1\n1767225660,nan\n"},
            "csv",
            "line 2: 'nan' is not a number from 0 on",
        ),
        ({"csv": "1767225600.5.1,1\n"}, "csv", "line 1: '1767225600.5.1' is not an ISO"),
    ],
)
def test_fault_of_a_trace_names_its_line(given: Document, field: str, detail: str) -> None:
    demand = {"unit": "x", "kind": "trace", **given}
    found = faults(document() | {"demand": demand})
    assert detail in found[f"/demand/{field}"]


@pytest.mark.parametrize(
    ("given", "field", "detail"),
    [
        ({}, "level", "a value is needed"),
        ({"daily": [1] * 23}, "daily", "a list of 24"),
        ({"weekly": [1, 1, 1, 1, 1, 1, -1]}, "weekly", "7 numbers"),
        ({"growth_per_month": "-2"}, "growth_per_month", "below -1"),
        ({"events": [{"at": "x", "duration_s": 1, "level": 1}]}, "events/0/at", "ISO 8601"),
    ],
)
def test_fault_of_a_composed_demand_is_listed(given: Document, field: str, detail: str) -> None:
    found = faults(document() | {"demand": {"unit": "x", "kind": "composed", **given}})
    assert detail in found[f"/demand/{field}"]


def test_every_fault_is_listed_at_once() -> None:
    given = put(put(document(), "/schema", 3), "/policy/kind", "magic")
    assert set(faults(given)) == {"/schema", "/policy/kind"}


@pytest.mark.parametrize("given", [None, [], "x", 5])
def test_what_is_no_object_is_a_fault(given: object) -> None:
    assert faults(given)[""] == "an object is needed"


def test_months_begin_with_a_month() -> None:
    horizon = {"start": "2026-01-02T00:00:00+00:00", "months": 1, "step_s": 60}
    assert "first of a month" in faults(document() | {"horizon": horizon})["/horizon/start"]
