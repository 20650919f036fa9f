"""The document of own hardware: read strictly, every fault by JSON pointer, written back whole."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.calc.hardware import cost_document, monthly_cost, years_document
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, EURO_RATES, IN_EUROS
from backend.catalog.calc.hardware_document import (
    FIELDS,
    hardware_document,
    hardware_from,
    shortest_document,
)
from backend.foundation.errors import InvalidDocument

D = Decimal
GOOD = {
    "name": "rack",
    "currency": "EUR",
    "servers": 2,
    "items": [{"name": "server", "count": 2, "unit_price": "8000", "watts": "350"}],
}


def faults(**changes):
    document = {name: value for name, value in (GOOD | changes).items() if value is not ...}
    with pytest.raises(InvalidDocument) as caught:
        hardware_from(document)
    return dict(caught.value.errors)


def test_document_is_read_with_defaults_for_what_it_leaves_out():
    read = hardware_from(GOOD | {"pue": None, "discount_rate_per_year": D("0.08")})
    assert (read.name, read.currency, read.servers) == ("rack", "EUR", 2)
    item = {"name": "server", "count": 2, "unit_price": D(8000), "watts": D(350)}
    assert [each.model_dump() for each in read.items] == [item]
    # Two servers take twice the space and the work of one.
    expected = {name: assumption.default for name, assumption in ASSUMPTIONS.items()} | {
        "discount_rate_per_year": D("0.08"), "rack_units": D(2), "staff_hours_per_month": D(4),
    }  # fmt: skip
    assert {name: getattr(read, name) for name in ASSUMPTIONS} == expected
    assert [getattr(read, name) for name in ("cpu", "cores", "disks", "lease")] == [
        None, None, (), None,
    ]  # fmt: skip


@pytest.mark.parametrize("currency", ["EUR", "USD", "JPY", "CNY"])
def test_default_amounts_are_euros_in_any_currency(currency):
    """W11: 0.20 a kWh, 30 a rack unit and 60 an hour were taken in whatever currency it was."""
    rate = EURO_RATES[currency]
    bought = {"name": "server", "count": 2, "unit_price": str(3000 * rate), "watts": "350"}
    found, euros = (
        monthly_cost(hardware_from(GOOD | {"currency": each, "items": [item]}))
        for each, item in ((currency, bought), ("EUR", bought | {"unit_price": "3000"}))
    )
    assert found.price_per_month / rate == pytest.approx(euros.price_per_month)


def test_server_for_half_a_million_yen_costs_its_euros():
    """W11: it was 12,360 yen a month, 120 of them for two hours of work."""
    server = {"name": "server", "count": 1, "unit_price": "527040"}
    found = monthly_cost(hardware_from(GOOD | {"currency": "JPY", "servers": 1, "items": [server]}))
    assert found.breakdown.staff == 2 * 60 * D("175.68")
    assert found.breakdown.space == 30 * D("175.68")


def test_currency_without_a_rate_needs_its_amounts_stated():
    amounts = dict.fromkeys(IN_EUROS, "1")
    assert set(faults(currency="XAU")) == {f"/{name}" for name in IN_EUROS}
    assert hardware_from(GOOD | {"currency": "XAU"} | amounts).staff_price_per_hour == 1


def test_space_and_work_follow_the_number_of_servers():
    one, ten = (monthly_cost(hardware_from(GOOD | {"servers": n})) for n in (1, 10))
    for part in ("space", "staff"):
        assert getattr(one.breakdown, part) == getattr(ten.breakdown, part)


def test_document_takes_strings_and_exact_numbers():
    for value in ("0.2", D("0.2"), D("2E-1")):
        assert hardware_from(GOOD | {"energy_price_per_kwh": value}).energy_price_per_kwh == D(
            "0.2"
        )
    assert hardware_from(GOOD | {"rack_units": 4}).rack_units == 4
    assert hardware_from(GOOD | {"name": "  rack  "}).name == "rack"
    free = GOOD["items"][0].copy()
    del free["watts"]
    assert hardware_from(GOOD | {"items": (free,)}).items[0].watts == 0


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"colour": "red"}, "/colour", "unknown field"),
        ({"a/b~c": 1}, "/a~1b~0c", "unknown field"),
        ({"name": ...}, "/name", "a value is needed"),
        ({"name": None}, "/name", "a value is needed"),
        ({"name": "   "}, "/name", "text of 1 to 100"),
        ({"name": 7}, "/name", "text of 1 to 100"),
        ({"name": "x" * 101}, "/name", "100 characters"),
        ({"name": "a\0b"}, "/name", "NUL"),
        ({"name": "\ud800"}, "/name", "half a character"),
        ({"currency": "euro"}, "/currency", "three-letter"),
        ({"currency": "eur"}, "/currency", "three-letter"),
        ({"servers": 0}, "/servers", "from 1 to"),
        ({"servers": "2"}, "/servers", "whole number"),
        ({"servers": True}, "/servers", "whole number"),
        ({"servers": D("2.5")}, "/servers", "whole number"),
        ({"items": []}, "/items", "1 to 1000"),
        ({"items": {}}, "/items", "a list of 1 to 1000"),
        ({"items": ...}, "/items", "a value is needed"),
        ({"items": ["x"]}, "/items/0", "an object is needed"),
        ({"items": [{"name": "a", "count": 1}]}, "/items/0/unit_price", "needed"),
        ({"items": [GOOD["items"][0] | {"count": 0}]}, "/items/0/count", "from 1 to"),
        ({"items": [GOOD["items"][0] | {"colour": 1}]}, "/items/0/colour", "unknown field"),
        ({"items": [GOOD["items"][0] | {"unit_price": "-1"}]}, "/items/0/unit_price", "from 0"),
        ({"pue": "0.9"}, "/pue", "from 1 to 5"),
        ({"pue": 5.5}, "/pue", "from 1 to 5"),
        ({"pue": True}, "/pue", "not a decimal"),
        ({"pue": "1,5"}, "/pue", "not a decimal"),
        ({"pue": D("NaN")}, "/pue", "not a decimal"),
        ({"pue": D("1E+999999")}, "/pue", "not a decimal"),
        ({"pue": D("1E-19")}, "/pue", "18 decimals"),
        ({"pue": "1" * 41}, "/pue", "not a decimal"),
        ({"residual_ratio": "1.01"}, "/residual_ratio", "from 0 to 1"),
        ({"life_months": 0}, "/life_months", "from 1 to 240"),
        ({"life_months": "60"}, "/life_months", "whole number"),
        (
            {"transit_mbit_per_s": 500},
            "/transit_price_per_mbit_month",
            "needed with transit_mbit_per_s",
        ),
    ],
)
def test_document_is_refused_by_pointer(changes, pointer, words):
    found = faults(**changes)
    assert list(found) == [pointer]
    assert words in found[pointer]


def test_document_lists_every_fault_at_once():
    found = faults(
        servers=0,
        pue="9",
        repair_days="x",
        colour=1,
        items=[{"name": "", "count": 1, "unit_price": 1}],
    )
    assert set(found) == {"/servers", "/pue", "/repair_days", "/colour", "/items/0/name"}


@pytest.mark.parametrize("document", [None, [], "text", 7])
def test_document_that_is_no_object_is_refused(document):
    with pytest.raises(InvalidDocument) as caught:
        hardware_from(document)
    assert caught.value.errors == [("", "an object is needed")]


def test_document_written_is_whole_and_reads_back():
    hardware = hardware_from(GOOD)
    written = hardware_document(hardware)
    assert set(written) == set(FIELDS)
    assert (written["pue"], written["life_months"]) == ("1.56", 60)
    assert written["items"][0]["unit_price"] == "8000"
    assert hardware_from(json.loads(json.dumps(written))) == hardware


@pytest.mark.parametrize("currency", ["EUR", "JPY"])
def test_new_version_follows_its_own_servers(currency):
    whole = hardware_document(hardware_from(GOOD | {"currency": currency, "pue": "1.5"}))
    again = hardware_from(shortest_document(whole) | {"servers": 20})
    assert again == hardware_from(GOOD | {"currency": currency, "pue": "1.5", "servers": 20})
    stated = whole | {"rack_units": "7"}
    assert hardware_from(shortest_document(stated) | {"servers": 20}).rack_units == 7


def test_cost_written_keeps_its_digits():
    cost = monthly_cost(hardware_from(GOOD))
    written = json.loads(json.dumps(cost_document(cost)))
    assert D(written["price_per_month"]) == cost.price_per_month
    assert {name: D(text) for name, text in written["breakdown"].items()} == cost.breakdown.amounts
    assert written["spares"] == cost.spares


def test_value_at_the_start_is_never_below_that_at_the_end():
    assert faults(resale_ratio_at_start="0.1", residual_ratio="0.3") == {
        "/resale_ratio_at_start": "0.1 is below residual_ratio, 0.3"
    }
    # Left out it is at least as high.
    high = hardware_from(GOOD | {"residual_ratio": "0.95"})
    assert high.resale_ratio_at_start == D("0.95")


def test_years_written_are_amounts_as_text():
    nothing = dict.fromkeys(
        (
            "discount_rate_per_year", "energy_price_per_kwh", "rack_price_per_unit_month",
            "support_ratio_per_year", "network_price_per_month", "annual_failure_rate",
        ),
        "0",
    )  # fmt: skip
    bought = hardware_from(
        GOOD | nothing | {"life_months": 24, "staff_hours_per_month": 1, "staff_price_per_hour": 50}
    )
    years = json.loads(json.dumps(years_document(bought)))
    # Two servers of 8,000, and 50 a month
    assert [(year["year"], D(year["cash"]), D(year["straight_line"])) for year in years] == [
        (1, 16_600, 8_600),
        (2, 600, 8_600),
    ]


value = st.none() | st.booleans() | st.integers(-5, 10**6) | st.decimals() | st.text(max_size=5)


@given(st.dictionaries(st.sampled_from([*FIELDS, "else"]), value))
def test_any_document_is_read_or_refused(changes):
    errors = []
    try:
        hardware = hardware_from(GOOD | changes)
    except InvalidDocument as error:
        errors = error.errors
    else:
        assert monthly_cost(hardware).price_per_month >= 0
    assert all(field.startswith("/") for field, _ in errors)
