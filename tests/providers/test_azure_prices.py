"""Azure: the one meter of many that a plain Linux machine is billed by."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, Skipped, SkipReason
from backend.money.pricing.purchase import PriceUnit
from backend.providers.azure import prices as azure

D2S = "Standard_D2s_v3"
TERMS = ["1 Year", "3 Years", "5 Years"]


@pytest.fixture(scope="module")
def results(answer):
    return list(azure.parse([answer("azure-retail")]))


def _prices(results, size=D2S):
    return {
        (row.purchase_model.value, row.term): row
        for row in results
        if isinstance(row, ParsedPrice) and row.offer == size
    }


def _item(**fields):
    return {
        "currencyCode": "USD",
        "retailPrice": 0.112,
        "armRegionName": "francecentral",
        "meterName": "D2s v3",
        "productName": "Virtual Machines DSv3 Series",
        "skuName": "D2s v3",
        "skuId": "A",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "armSkuName": D2S,
        **fields,
    }


def _parsed(*items):
    return list(azure.parse([json.dumps(items)]))


def test_rule_15_one_meter_is_the_price_when_a_size_has_ten(results):
    found = _prices(results)
    assert found["on_demand", ""].amount == Decimal("0.112")
    assert {key: str(price.amount) for key, price in found.items()} == {
        ("on_demand", ""): "0.112",
        ("spot", ""): "0.024696",
        ("reserved", "1y"): "644.0",
        ("reserved", "3y"): "1309.0",
        ("savings", "1y"): "0.0829",
        ("savings", "3y"): "0.0571",
    }
    assert not _prices(results, "DSv3_Type1")


def test_rule_16_a_meter_counts_also_when_it_is_not_the_primary_one(answer, results):
    (item,) = [
        item
        for item in json.loads(answer("azure-retail"))["Items"]
        if item["retailPrice"] == 0.112 and item["type"] == "Consumption"
    ]
    assert item["isPrimaryMeterRegion"] is False
    assert ("on_demand", "") in _prices(results)


def test_rule_17_free_and_expired_meters_are_no_price(results):
    found = _prices(results, "Standard_B1s")
    assert {key: str(price.amount) for key, price in found.items()} == {("on_demand", ""): "0.0118"}


def test_rule_18_reservation_is_the_price_of_the_whole_term(results):
    price = _prices(results, "Standard_B2s")["reserved", "1y"]
    assert (str(price.amount), price.unit, price.upfront) == ("243.0", PriceUnit.ONCE, "all")
    # 243 / 8760 = 0.02774
    assert round(price.hourly_effective(Decimal(730)), 5) == Decimal("0.02774")


def test_rule_18_savings_plans_are_per_hour_without_development_prices(results):
    assert _prices(results)["savings", "1y"].unit is PriceUnit.HOUR
    kinds = [row.detail for row in results if isinstance(row, Skipped)]
    assert "DevTestConsumption" in kinds


def test_rule_19_a_size_is_matched_by_its_whole_name_or_skipped():
    found = _parsed(_item(armSkuName=""), _item(armSkuName="Standard_P10"))
    assert [row.reason for row in found if isinstance(row, Skipped)] == [SkipReason.NO_TYPE]
    assert not _prices(found, "Standard_P1")


def test_rule_19_spot_is_labelled_indicative(results):
    assert _prices(results)["spot", ""].note.startswith("indicative")


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(TERMS)), unique=True, max_size=6))
def test_rule_20_distinct_source_keys_give_distinct_target_keys(keys):
    rows = [
        _item(
            retailPrice=place + 1,
            armSkuName=f"Standard_D{size}",
            type="Reservation",
            reservationTerm=term,
        )
        for place, (size, term) in enumerate(keys)
    ]
    plans = {"savingsPlan": [{"retailPrice": 1, "term": term} for term in TERMS]}
    found = _parsed(*rows, _item(**plans))
    prices = [row for row in found if isinstance(row, ParsedPrice)]
    assert len({price.key for price in prices}) == len(prices) == len(keys) + 4


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"productName": "Virtual Machines DSv3 Series Windows"}, SkipReason.OTHER_SYSTEM),
        ({"productName": "DSv3 Series Cloud Services"}, SkipReason.NOT_A_MACHINE),
        ({"productName": "DSv3 Series CloudServices"}, SkipReason.NOT_A_MACHINE),
        ({"productName": "DSv3 Series Dedicated Host"}, SkipReason.NOT_A_MACHINE),
        ({"serviceName": "Storage"}, SkipReason.NOT_A_MACHINE),
        ({"meterName": "B1s - Free"}, SkipReason.FREE_OR_EXPIRED),
        ({"meterName": "B1s Expired"}, SkipReason.FREE_OR_EXPIRED),
        ({"skuName": "D2s v3 Low Priority"}, SkipReason.OTHER_MARKET),
        ({"type": "DevTestConsumption"}, SkipReason.OTHER_MARKET),
        ({"type": "Reservation", "reservationTerm": "2 Years"}, SkipReason.OTHER_TERMS),
        ({"unitOfMeasure": "1 GB/Month"}, SkipReason.OTHER_UNIT),
        ({"tierMinimumUnits": 5}, SkipReason.TIERED),
        ({"armRegionName": ""}, SkipReason.NO_REGION),
        ({"retailPrice": 0}, SkipReason.ZERO),
        ({"retailPrice": None}, SkipReason.NO_PRICE),
        ({"currencyCode": None}, SkipReason.NO_CURRENCY),
        ({"savingsPlan": [{"retailPrice": 1, "term": "2 Years"}]}, SkipReason.OTHER_TERMS),
        ({"savingsPlan": [{"term": "1 Year"}]}, SkipReason.NO_PRICE),
    ],
)
def test_item_is_skipped_with_its_reason_when_it_is_no_price(fields, reason):
    skipped = [row for row in _parsed(_item(**fields)) if isinstance(row, Skipped)]
    assert [row.reason for row in skipped] == [reason]
    assert skipped[0].offer == ("" if reason is SkipReason.NOT_A_MACHINE else D2S)


def test_number_is_as_written_when_it_is_no_binary_fraction():
    page = json.dumps({"Items": [_item()]}).replace("0.112", "0.1120000000000000001")
    (price,) = azure.parse([page])
    assert str(price.amount) == "0.1120000000000000001"


@pytest.mark.parametrize("page", ["{}", "3", '{"Items": [1]}'])
def test_page_is_refused_when_it_has_another_shape(page):
    with pytest.raises(InvalidValue, match="page 1 Items"):
        list(azure.parse([page]))
