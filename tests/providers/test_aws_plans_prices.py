"""EC2 spot prices and savings plans."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, Skipped, SkipReason
from backend.providers.aws import prices as aws
from backend.providers.aws import savings as aws_savings
from backend.providers.aws import spot as aws_spot


def _prices_and_reasons(results):
    results = list(results)
    prices = [row for row in results if isinstance(row, ParsedPrice)]
    return prices, {row.raw_id: row.reason for row in results if isinstance(row, Skipped)}


def _spot(*items):
    return json.dumps({"SpotPriceHistory": list(items)})


ITEM = {
    "AvailabilityZone": "eu-west-1a",
    "InstanceType": "m5.large",
    "ProductDescription": "Linux/UNIX",
    "SpotPrice": "0.04",
    "Timestamp": "2026-01-02T10:00:00+00:00",
}


def test_rule_07_spot_prices_keep_their_zone_and_the_latest_counts(answer):
    prices, reasons = _prices_and_reasons(aws_spot.parse([answer("aws-spot")], region="eu-west-1"))
    assert {price.zone: str(price.amount) for price in prices} == {
        "eu-west-1a": "0.041200",
        "eu-west-1b": "0.038700",
        # Of both products, the one that machines in a VPC pay.
        "eu-west-1c": "0.047000",
    }
    assert sorted(reasons.values()) == [
        SkipReason.OTHER_SYSTEM,
        SkipReason.SUPERSEDED,
        SkipReason.SUPERSEDED,
        SkipReason.ZERO,
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_spot_price_is_the_latest_in_whatever_order_they_come(order):
    older = {**ITEM, "SpotPrice": "0.05", "Timestamp": "2026-01-01T10:00:00+00:00"}
    prices, _ = _prices_and_reasons(
        aws_spot.parse([_spot(*[ITEM, older][::order])], region="eu-west-1")
    )
    assert [str(price.amount) for price in prices] == ["0.04"]


def test_rule_07_zones_go_by_id_when_it_is_known():
    told = {**ITEM, "AvailabilityZone": "eu-west-1b", "AvailabilityZoneId": "euw1-az3"}
    other = {**ITEM, "AvailabilityZone": "eu-west-1z"}
    page = _spot(ITEM, told, other)
    ids = {"eu-west-1a": "euw1-az1"}
    prices, reasons = _prices_and_reasons(aws_spot.parse([page], region="eu-west-1", zone_ids=ids))
    assert [price.zone for price in prices] == ["euw1-az1", "euw1-az3"]
    assert list(reasons.values()) == [SkipReason.UNKNOWN_ZONE]


def test_spot_row_is_skipped_when_it_names_no_type():
    _, reasons = _prices_and_reasons(
        aws_spot.parse([_spot({**ITEM, "InstanceType": ""})], region="eu-west-1")
    )
    assert list(reasons.values()) == [SkipReason.NO_TYPE]


def test_spot_answer_is_refused_when_it_has_another_shape():
    with pytest.raises(InvalidValue, match="page 1 SpotPriceHistory: is missing"):
        list(aws_spot.parse(["{}"], region="eu-west-1"))


@pytest.fixture(scope="module")
def on_demand(answer):
    return aws.skus(aws.parse([answer("aws-get-products")]))


def test_rule_06_savings_plans_are_joined_on_the_sku(answer, on_demand):
    # The plan's rate of SKU03, the dedicated m5.large, is none of the type's prices.
    prices, reasons = _prices_and_reasons(
        aws_savings.parse([answer("aws-savings-plans")], on_demand)
    )
    assert {
        (price.offer, price.plan, price.term, price.upfront): str(price.amount) for price in prices
    } == {
        ("m5.large", "compute", "1y", "none"): "0.0780000000",
        ("m6g.metal", "compute", "1y", "none"): "2.0100000000",
        ("m5.large", "ec2_instance", "3y", "all"): "0.0420000000",
    }
    assert {price.purchase_model for price in prices} == {"savings"}
    assert not reasons


def test_savings_plans_are_read_when_products_come_last(answer, on_demand):
    told = json.loads(answer("aws-savings-plans"))
    text = json.dumps({"terms": {**told["terms"], "other": [1]}, "products": told["products"]})
    assert len(_prices_and_reasons(aws_savings.parse([text], on_demand))[0]) == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("No Upfront", "Whatever", SkipReason.OTHER_TERMS),
        (
            '"ComputeSavingsPlans",\n   "serviceCode"',
            '"Other",\n   "serviceCode"',
            SkipReason.OTHER_TERMS,
        ),
        ('"duration": 1', '"duration": 2', SkipReason.OTHER_TERMS),
        ('"unit": "Hrs"', '"unit": "Days"', SkipReason.OTHER_UNIT),
        ("0.0780000000", "0.0000000000", SkipReason.ZERO),
        ('"currency": "USD"', '"currency": null', SkipReason.NO_CURRENCY),
    ],
)
def test_savings_rate_is_skipped_with_its_reason_when_it_is_no_price(
    answer, on_demand, old, new, reason
):
    text = answer("aws-savings-plans")
    assert old in text
    _, reasons = _prices_and_reasons(aws_savings.parse([text.replace(old, new)], on_demand))
    assert reasons["PLAN1.SKU00"] is reason


# --- spot prices as the API answers them ------------------------------------------------------------


SPACE = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'
SPOT_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<DescribeSpotPriceHistoryResponse {SPACE}><spotPriceHistorySet><item>
<instanceType>m5.large</instanceType><productDescription>Linux/UNIX</productDescription>
<spotPrice>0.035000</spotPrice><timestamp>2026-11-01T10:00:00.000Z</timestamp>
<availabilityZone>eu-west-1a</availabilityZone><empty/></item></spotPriceHistorySet><nextToken/>
</DescribeSpotPriceHistoryResponse>"""
ZONES_XML = f"""<DescribeAvailabilityZonesResponse {SPACE}><availabilityZoneInfo>
<item><zoneName>eu-west-1a</zoneName><zoneId>euw1-az3</zoneId></item>
</availabilityZoneInfo></DescribeAvailabilityZonesResponse>"""


def test_spot_price_is_read_from_the_xml_of_the_api():
    zone_ids = aws_spot.zone_ids([ZONES_XML])
    assert zone_ids == {"eu-west-1a": "euw1-az3"}
    [price] = aws_spot.parse([SPOT_XML], region="eu-west-1", zone_ids=zone_ids)
    assert (price.offer, price.zone, price.amount) == ("m5.large", "euw1-az3", Decimal("0.035000"))
    assert price.valid_from == dt.date(2026, 11, 1)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("<a><b></a>", "page 1 line 1"),
        ("<a><other/></a>", "page 1 spotPriceHistorySet"),
        ("{}", "page 1 SpotPriceHistory"),
    ],
)
def test_spot_answer_of_another_form_is_refused(text, field):
    with pytest.raises(InvalidValue) as refusal:
        list(aws_spot.parse([text], region="eu-west-1"))
    assert refusal.value.field == field
