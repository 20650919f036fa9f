"""What a parsed price is, and what no parsed price may be."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import (
    NoPrice,
    ParsedExtra,
    ParsedPrice,
    ParsedType,
    PriceState,
    Skipped,
    SkipReason,
    answers,
)
from backend.money.price_lists.collected import Collected, Coverage, storable, unique
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

MONTH = Decimal(730)


def _price(**fields):
    return ParsedPrice(
        **{
            "provider": "aws",
            "offer": "m5.large",
            "region": "eu-west-1",
            "purchase_model": PurchaseModel.ON_DEMAND,
            "amount": Decimal("0.107"),
            "currency": "USD",
            "unit": PriceUnit.HOUR,
            "source": "test",
            "raw_id": "SKU00",
            **fields,
        }
    )


def _skipped(reason, **fields):
    named = {"provider": "aws", "raw_id": "SKU01", "offer": "m5.large", "region": "eu-west-1"}
    return Skipped(reason=reason, **{**named, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"amount": 0.107},
        {"amount": Decimal(0)},
        {"amount": Decimal("-0.107")},
        {"amount": Decimal("NaN")},
        {"amount": Decimal(10) ** 10},
        {"currency": ""},
        {"currency": "usd"},
        {"setup_amount": Decimal(0)},
        {"setup_amount": 280.0},
        {"monthly_cap": Decimal(-1)},
        {"term": "1yr"},
    ],
)
def test_price_refuses_when_no_amount_can_be_owed(fields):
    with pytest.raises(InvalidValue):
        _price(**fields)


def test_rule_06_reserved_rate_is_hourly_with_upfront_over_the_term():
    # 0.032 + 280 / 8760 = 0.032 + 0.0319635 = 0.0639635; 549 / 8760 = 0.0626712
    partial = _price(term="1y", amount=Decimal("0.032"), setup_amount=Decimal(280))
    whole = _price(term="1y", amount=Decimal(549), unit=PriceUnit.ONCE)
    longer = _price(term="3y", amount=Decimal(26280), unit=PriceUnit.ONCE)
    assert round(partial.hourly_effective(MONTH), 7) == Decimal("0.0639635")
    assert round(whole.hourly_effective(MONTH), 7) == Decimal("0.0626712")
    assert longer.hourly_effective(MONTH) == 1


def test_rule_24_setup_fee_stays_separate_when_the_term_is_unknown():
    # 73 / 730 = 0.1; how many months a setup fee is spread over is the reader's choice.
    price = _price(amount=Decimal(73), unit=PriceUnit.MONTH, setup_amount=Decimal(100))
    assert price.hourly_effective(MONTH) == Decimal("0.1")
    assert (price.tax_basis, price.setup_amount) == ("net", Decimal(100))
    assert _price(unit=PriceUnit.ONCE).hourly_effective(MONTH) is None


def test_rule_22_cap_is_a_tier_when_a_month_costs_no_more():
    # 5.00 / 0.00744 = 672.04 hours, and nothing beyond them.
    (hours, rate), (bound, beyond) = _price(
        amount=Decimal("0.00744"), monthly_cap=Decimal("5.00")
    ).tiers
    assert (round(hours, 2), rate) == (Decimal("672.04"), Decimal("0.00744"))
    assert (bound, beyond) == (None, 0)
    assert _price().tiers == ((None, Decimal("0.107")),)
    capped = _price(unit=PriceUnit.MONTH, monthly_cap=Decimal(5))
    assert capped.tiers == ((None, Decimal("0.107")),)


def test_state_separates_unknown_from_not_offered():
    assert _price().state is PriceState.KNOWN
    assert _skipped(SkipReason.ZERO).state is PriceState.UNKNOWN
    assert _skipped(SkipReason.NOT_OFFERED).state is PriceState.NOT_OFFERED


def test_unique_keeps_one_row_when_rows_agree():
    machine = ParsedType(provider="aws", region="eu-west-1", name="m5.large")
    found = list(unique([_price(), machine, _price(raw_id="SKU02"), machine]))
    assert found[:2] == [machine, _price()]
    assert [(row.reason, row.raw_id) for row in found[2:]] == [(SkipReason.DUPLICATE, "SKU02")]


def test_unique_keeps_none_when_rows_differ():
    found = list(unique([_price(), _price(amount=Decimal("0.114"), raw_id="SKU03")]))
    assert [row.reason for row in found] == [SkipReason.AMBIGUOUS] * 2
    assert {row.detail for row in found} == {"0.107, 0.114"}


def test_coverage_has_the_nearest_reason_for_each_type_without_a_price():
    rows = [
        _price(),
        _skipped(SkipReason.ZERO),
        _skipped(SkipReason.ZERO, offer="t2a"),
        _skipped(SkipReason.OTHER_SYSTEM, offer="t2a"),
        _skipped(SkipReason.OTHER_SYSTEM, offer="c5"),
        _skipped(SkipReason.OTHER_TENANCY, offer="c5"),
        _skipped(SkipReason.NOT_A_MACHINE, offer=""),
    ]
    coverage = Coverage()
    assert list(coverage.seen(rows)) == rows
    told = [(row.offer, row.reason) for row in coverage.unpriced()]
    assert told == [("c5", SkipReason.OTHER_TENANCY), ("t2a", SkipReason.ZERO)]


@given(st.decimals(min_value="0.0000000001", max_value="9999999999", places=10))
def test_amount_is_exact_whatever_its_digits(value):
    assert answers.amount(f"{value:f}") == value
    assert answers.document(f"[{value:f}]", where="page") == [value]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, SkipReason.NO_PRICE),
        ("", SkipReason.NO_PRICE),
        (" NA ", SkipReason.NO_PRICE),
        ("0.0000000000", SkipReason.ZERO),
        (0, SkipReason.ZERO),
        (Decimal("-0.5"), SkipReason.NEGATIVE),
        ("free", SkipReason.NOT_A_NUMBER),
        ("1,5", SkipReason.NOT_A_NUMBER),
        ("NaN", SkipReason.NOT_A_NUMBER),
        ("١", SkipReason.NOT_A_NUMBER),
        (True, SkipReason.NOT_A_NUMBER),
        ("1e99", SkipReason.TOO_LARGE),
    ],
)
def test_amount_is_never_zero_when_there_is_none(value, reason):
    with pytest.raises(NoPrice) as raised:
        answers.amount(value)
    assert raised.value.reason is reason


def test_amount_refuses_a_float():
    with pytest.raises(InvalidValue, match="is a float"):
        answers.amount(0.1)


def test_document_reads_fractions_as_decimals():
    found = answers.document('{"a": 0.1, "b": 1E-5, "c": 3}', where="page")
    assert found == {"a": Decimal("0.1"), "b": Decimal("0.00001"), "c": 3}
    assert isinstance(found["b"], Decimal)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "page 1 line 1: not JSON"),
        ("{\n\n]", "page 1 line 3: not JSON"),
        ("[NaN]", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("[" * 100_000, "page 1: not JSON"),
    ],
)
def test_document_names_the_position_when_it_cannot_be_read(text, said):
    with pytest.raises(InvalidValue, match=said):
        answers.document(text, where="page 1")


def test_values_of_another_kind_are_as_if_missing():
    item = {"a": 1, "b": True, "c": " x ", "d": ["y", 1], "e": {"f": 1}}
    assert [answers.word(item, key) for key in "abcd"] == ["1", "", "x", ""]
    assert (answers.words(item, "d"), answers.words(item, "a")) == (["y"], [])
    assert (answers.inner(item, "e"), answers.inner(item, "a")) == ({"f": 1}, {})
    assert answers.day("2026-01-02T03:04:05Z") == dt.date(2026, 1, 2)
    assert answers.day("soon") is None
    assert (answers.size("1.5", 1024), answers.size(0, 1024)) == (1536, None)
    assert answers.above_zero(Decimal(-1)) is None


@pytest.mark.parametrize("value", [None, [], "x"])
def test_shapes_are_named_when_they_are_not_those_expected(value):
    with pytest.raises(InvalidValue, match="page 1: is missing, or no object"):
        answers.mapping(value, where="page 1")
    with pytest.raises(InvalidValue, match="page 1"):
        answers.objects([value] if value == [] else value, where="page 1")


def test_text_of_an_answer_is_fit_to_be_shown():
    assert answers.shown("a\x00b" + "c" * 200) == "a?b" + "c" * 97


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"amount": Decimal("1e-19")}, SkipReason.TOO_PRECISE),
        ({"monthly_cap": Decimal("0.1234567890123456789")}, SkipReason.TOO_PRECISE),
        ({"tax_rate": Decimal("0.12345")}, SkipReason.TOO_PRECISE),
        ({"setup_amount": Decimal(10) ** 10}, SkipReason.TOO_LARGE),
        ({"region": "r" * 51}, SkipReason.UNEXPECTED_SHAPE),
        ({"zone": "a\nb"}, SkipReason.UNEXPECTED_SHAPE),
    ],
)
def test_storable_refuses_what_a_column_would_round_or_cut(fields, reason):
    refused = storable(_price(**fields))
    assert isinstance(refused, Skipped)
    assert refused.reason is reason


@given(st.decimals("0.000000000000000001", "9999999999", places=18).filter(bool))
def test_storable_passes_eighteen_decimals(amount):
    price = _price(amount=amount, tax_rate=Decimal("0.1925"))
    assert storable(price) is price


def test_terms_hold_what_is_included():
    price = _price(included={"b": Decimal("1.0"), "a": 1})
    assert price.terms == _price(included={"a": 1, "b": "1.0"}).terms
    assert price.terms != _price(included={"a": 2, "b": "1.0"}).terms


def test_collected_sorts_an_answer_by_regions_and_counts_the_rest():
    extra = ParsedExtra(
        provider="aws", region="", name="ipv4", amount=Decimal(1), currency="USD", unit="hour",
        source="test",
    )  # fmt: skip
    machine = ParsedType(provider="aws", region="eu-west-1", name="m5.large")
    bare = ParsedType(provider="aws", region="us-east-1", name="t2a")
    nameless = ParsedType(provider="aws", region="us-east-1", name="x" * 151)
    found = Collected.of(
        [
            _price(),
            machine,
            bare,
            nameless,
            extra,
            _skipped(SkipReason.ZERO),
            _skipped(SkipReason.ZERO),
        ]
    )
    assert (found.prices, found.extras) == ({"eu-west-1": [_price()]}, [extra])
    assert found.types == {"eu-west-1": [machine], "us-east-1": [bare]}
    assert found.skipped == {SkipReason.ZERO: 2, SkipReason.UNEXPECTED_SHAPE: 1}
    assert found.regions == ["eu-west-1", "us-east-1"]
    [row] = found.unpriced
    assert (row.offer, row.region, row.reason) == ("t2a", "us-east-1", SkipReason.NO_PRICE)


def test_words_are_printable():
    assert answers.word({"a": " x\0y\n"}, "a") == "x?y"
