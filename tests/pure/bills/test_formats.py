"""Formats of bills: recognised by their columns, whatever the case and punctuation of names."""

import pytest

from backend.bills.calc.formats import FORMATS, recognise_format
from backend.foundation.errors import InvalidValue

HEADERS = {
    "focus": "BilledCost,BillingCurrency,ChargePeriodStart,ServiceName",
    "cur": "lineItem/UnblendedCost,lineItem/LineItemType,lineItem/UsageStartDate,lineItem/CurrencyCode",
    "azure": "Date,MeterCategory,MeterName,CostInBillingCurrency,BillingCurrencyCode",
    "gcp": "service.description,sku.description,usage_start_time,cost,currency",
    "hetzner": "grouping,product,description,reference,quantity,from,until,condition,unit,total",
    "plain": "type,hours,price,month,currency",
}


@pytest.mark.parametrize("slug", HEADERS)
def test_format_is_recognised_by_its_columns(slug):
    header = HEADERS[slug].split(",")
    one = recognise_format(header)
    assert one is FORMATS[slug]
    sources = one.sources(header)
    assert {"start", "billed", "currency"} <= set(sources)
    assert set(sources.values()) <= set(header)


def test_names_of_the_newer_report_of_aws_mean_the_same():
    header = [
        "line_item_unblended_cost",
        "line_item_line_item_type",
        "line_item_usage_start_date",
        "line_item_currency_code",
        "product_instance_type",
    ]
    sources = recognise_format(header).sources(header)
    assert sources["machine"] == "product_instance_type"
    assert sources["billed"] == "line_item_unblended_cost"


def test_first_known_name_of_a_column_wins():
    header = ["MeterCategory", "MeterName", "Cost", "CostInBillingCurrency", "Currency", "Date"]
    assert FORMATS["azure"].sources(header)["billed"] == "CostInBillingCurrency"


def test_unknown_columns_are_refused_with_the_formats_there_are():
    with pytest.raises(InvalidValue, match="FOCUS, AWS Cost and Usage Report, Azure"):
        recognise_format(["a", "b"])


def test_bill_without_its_money_is_refused_with_the_columns_it_lacks():
    with pytest.raises(InvalidValue, match="needs the columns billingcurrency"):
        FORMATS["focus"].sources(["BilledCost", "ChargePeriodStart"])
