"""Prices with their days: today's is today's, and a later one waits for its day."""

import datetime as dt
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.price_lists import ParsedPrice, SkipReason
from backend.money.price_lists.collected import Collected
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.aws import prices as aws
from backend.providers.azure import prices as azure
from backend.providers.gcp import prices as gcp

TODAY = dt.date(2026, 11, 27)


def azure_item(amount, begin, end=None, meter="m-1"):
    item = {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": amount,
        "armRegionName": "westus",
        "armSkuName": "Standard_D4s_v5",
        "effectiveStartDate": begin,
        "meterId": meter,
        "skuId": "P7/0001",
        "meterName": "D4s v5",
        "skuName": "D4s v5",
        "productName": "Virtual Machines Dsv5 Series",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
    }
    return item | ({"effectiveEndDate": end} if end else {})


def listed(*items, day=TODAY):
    return Collected.of(azure.parse([json.dumps({"Items": items})]), day)


def amounts(answer):
    """The amounts of today, and (day, amount) of those to come."""
    today = [price.amount for prices in answer.prices.values() for price in prices]
    coming = [one for prices in answer.announced.values() for one in prices]
    return today, [(str(price.valid_from), price.amount) for price in coming]


PAST = azure_item(0.2, "2024-01-01T00:00:00Z", "2024-12-31T23:59:59Z")
PRESENT = azure_item(0.19, "2025-01-01T00:00:00Z")
COMING = azure_item(0.22, "2027-03-01T00:00:00Z")


@pytest.mark.parametrize("items", [(PAST, PRESENT, COMING), (COMING, PRESENT, PAST)])
def test_azure_price_of_today_is_neither_past_nor_announced(items):
    answer = listed(*items)
    assert amounts(answer) == ([Decimal("0.19")], [("2027-03-01", Decimal("0.22"))])
    assert answer.skipped == {SkipReason.SUPERSEDED: 1}


@pytest.mark.parametrize(
    ("day", "today"),
    [("2024-12-31", "0.2"), ("2025-01-01", "0.19"), ("2027-02-28", "0.19"), ("2027-03-01", "0.22")],
)
def test_azure_price_follows_the_day_of_the_list(day, today):
    answer = listed(PAST, PRESENT, COMING, day=dt.date.fromisoformat(day))
    assert amounts(answer)[0] == [Decimal(today)]


def test_price_has_ended_on_the_midnight_that_its_list_states():
    ended = azure_item(0.2, "2024-01-01T00:00:00Z", "2026-11-27T00:00:00Z")
    assert amounts(listed(ended)) == ([], [])
    assert amounts(listed(ended, day=TODAY - dt.timedelta(days=1)))[0] == [Decimal("0.2")]


def test_type_with_an_announced_price_alone_says_from_when():
    answer = listed(COMING)
    assert amounts(answer)[0] == []
    (reason,) = answer.unpriced
    assert (reason.reason, reason.detail) == (SkipReason.ANNOUNCED, "from 2027-03-01")


def test_two_meters_that_both_count_today_stay_ambiguous():
    answer = listed(PRESENT, azure_item(0.25, "2026-01-01T00:00:00Z", meter="m-2"))
    assert amounts(answer) == ([], [])
    assert answer.skipped == {SkipReason.AMBIGUOUS: 2}


def test_google_sum_changes_with_each_component_on_its_day():
    def sku(part, unit, *periods):
        def info(day, nanos):
            price = {"currencyCode": "USD", "units": "0", "nanos": nanos}
            rates = [{"startUsageAmount": 0, "unitPrice": price}]
            expression = {"usageUnit": unit, "tieredRates": rates}
            return {"pricingExpression": expression, "effectiveTime": f"{day}T00:00:00Z"}

        return {
            "skuId": part,
            "description": f"N2 Instance {part} running in Americas",
            "category": {"resourceFamily": "Compute", "usageType": "OnDemand"},
            "serviceRegions": ["us-central1"],
            "pricingInfo": [info(*period) for period in periods],
        }

    core = sku("Core", "h", ("2027-03-01", 60), ("2026-01-01", 30))
    ram = sku("Ram", "GiBy.h", ("2026-02-01", 4), ("2027-06-01", 5))
    shape = {"name": "n2-standard-2", "guestCpus": 2, "memoryMb": 8192}
    page = {"items": {"zones/us-central1-a": {"machineTypes": [shape]}}}
    results = gcp.parse([json.dumps({"skus": [core, ram]})], gcp.shapes([json.dumps(page)]))
    # 2 × 30 + 8 × 4 = 92, 2 × 60 + 8 × 4 = 152, 2 × 60 + 8 × 5 = 160 nanos
    assert amounts(Collected.of(results, TODAY)) == (
        [Decimal("92E-9")],
        [("2027-03-01", Decimal("152E-9")), ("2027-06-01", Decimal("160E-9"))],
    )


def test_aws_term_that_begins_later_is_announced():
    def rate(code, amount, day):
        return aws.Rate("SKU1", "OnDemand", "JRTC", f"SKU1.JRTC.{code}", "Hrs", amount, "USD",
                        "", "", "", f"{day}T00:00:00Z")  # fmt: skip

    machine = aws.choose_product(
        "SKU1", "", {"instancetype": "m5.large", "regioncode": "us-east-1"}
    )
    rates = [rate("B", "0.11", "2027-01-01"), rate("A", "0.096", "2026-11-01")]
    answer = Collected.of(aws.priced({"SKU1": machine}, rates), TODAY)
    assert amounts(answer) == ([Decimal("0.096")], [("2027-01-01", Decimal("0.11"))])


@given(
    st.dictionaries(
        st.dates(dt.date(2024, 1, 1), dt.date(2029, 1, 1)),
        st.decimals("0.01", "5", places=3),
        min_size=1,
        max_size=6,
    ),
    st.dates(dt.date(2024, 1, 1), dt.date(2029, 1, 1)),
    st.randoms(),
)
def test_price_of_a_day_is_the_last_that_began_by_it(by_day, day, random):
    rows = [
        ParsedPrice(provider="aws", offer="m5.large", region="r", amount=amount, currency="USD",
                    purchase_model=PurchaseModel.ON_DEMAND, unit=PriceUnit.HOUR, source="list",
                    raw_id="SKU1.A", valid_from=begin)
        for begin, amount in by_day.items()
    ]  # fmt: skip
    random.shuffle(rows)
    today, coming = amounts(Collected.of(rows, day))
    begun = [begin for begin in by_day if begin <= day]
    assert today == ([by_day[max(begun)]] if begun else [])
    assert dict(coming) == {str(begin): by_day[begin] for begin in by_day if begin > day}
