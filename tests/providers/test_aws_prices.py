"""EC2: one right row of many, in each of the forms that the price list comes in."""

import csv
import io
import json
from decimal import Decimal

import pytest

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedPrice, ParsedType, Skipped, SkipReason
from backend.money.price_lists.collected import Coverage, unique
from backend.money.pricing.purchase import PriceUnit
from backend.providers.aws import offer_file as aws_bulk
from backend.providers.aws import prices as aws

FORMS = ("pages", "json", "csv")
MONTH = Decimal(730)


@pytest.fixture(scope="module")
def forms(answer):
    """Results of the same rows in each form."""
    return {
        "pages": list(aws.parse([answer("aws-get-products")])),
        "json": list(aws_bulk.from_json(io.StringIO(answer("aws-offer-file")))),
        "csv": list(aws_bulk.from_csv(answer("aws-offer-file.csv").splitlines(keepends=True))),
    }


def _prices(results, model="on_demand"):
    return {
        row.offer: row
        for row in results
        if isinstance(row, ParsedPrice) and row.purchase_model == model
    }


def _reasons(results):
    return {row.raw_id: row.reason for row in results if isinstance(row, Skipped)}


def _entry(sku="SKU00", price="0.107", terms=None, family="Compute Instance", **attributes):
    """One entry of GetProducts: the right row unless an attribute says otherwise."""
    told = {
        "instanceType": "m5.large",
        "regionCode": "eu-west-1",
        "locationType": "AWS Region",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "licenseModel": "No License required",
        "capacitystatus": "Used",
        "usagetype": "EU-BoxUsage:m5.large",
        **attributes,
    }
    product = {"sku": sku, "productFamily": family, "attributes": told}
    on_demand = {f"{sku}.T": {"priceDimensions": {f"{sku}.T.D": _line(price)}}}
    return {"product": product, "terms": {"OnDemand": on_demand} if terms is None else terms}


def _line(price, unit="Hrs", currency="USD"):
    return {"unit": unit, "pricePerUnit": {currency: price}}


def _reserved(lines, lease="1yr", option="Partial Upfront"):
    attributes = {
        "LeaseContractLength": lease,
        "PurchaseOption": option,
        "OfferingClass": "standard",
    }
    dimensions = {f"SKU00.R.{place}": line for place, line in enumerate(lines)}
    return {"Reserved": {"SKU00.R": {"priceDimensions": dimensions, "termAttributes": attributes}}}


def _parsed(*entries):
    return list(aws.parse([json.dumps({"PriceList": [json.dumps(entry) for entry in entries]})]))


@pytest.mark.parametrize("form", FORMS)
def test_rule_01_the_plain_linux_row_is_taken_when_a_type_has_many(forms, form):
    found = _prices(forms[form])
    assert {name: str(price.amount) for name, price in found.items()} == {
        "m5.large": "0.1070000000",
        "m6g.metal": "2.7520000000",
        "i3en.24xlarge": "3.0000000000",
    }
    price = found["m5.large"]
    assert (price.currency, price.unit, price.region) == ("USD", PriceUnit.HOUR, "eu-west-1")
    assert (price.raw_id, str(price.valid_from)) == ("SKU00.JRT.6YS", "2026-01-01")


@pytest.mark.parametrize("name", ["marketoption", "licenseModel", "usagetype"])
def test_rule_01_an_attribute_that_is_absent_does_not_filter(name):
    entry = _entry()
    entry["product"]["attributes"].pop(name, None)
    assert _prices(_parsed(entry))["m5.large"].amount == Decimal("0.107")


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"operatingSystem": "Windows"}, SkipReason.OTHER_SYSTEM),
        ({"preInstalledSw": "SQL Web"}, SkipReason.OTHER_SOFTWARE),
        ({"licenseModel": "Bring your own license"}, SkipReason.OTHER_LICENCE),
        ({"tenancy": "Dedicated"}, SkipReason.OTHER_TENANCY),
        ({"capacitystatus": "UnusedCapacityReservation"}, SkipReason.OTHER_CAPACITY),
        ({"marketoption": "CapacityBlock"}, SkipReason.OTHER_MARKET),
        ({"locationType": "AWS Local Zone"}, SkipReason.OTHER_LOCATION),
        ({"regionCode": ""}, SkipReason.NO_REGION),
        ({"usagetype": "EU-HostBox:m5.large"}, SkipReason.OTHER_CAPACITY),
        ({"instanceType": "m5"}, SkipReason.NOT_A_MACHINE),
    ],
)
def test_rule_02_every_attribute_decides_when_rows_differ_in_it_alone(attributes, reason):
    found = _parsed(_entry("SKU00"), _entry("SKU01", "0.999", **attributes))
    assert _prices(found)["m5.large"].amount == Decimal("0.107")
    assert _reasons(found) == {"SKU01": reason}


def test_rule_02_no_row_is_taken_when_two_right_ones_differ():
    found = list(unique(_parsed(_entry("SKU00"), _entry("SKU01", "0.2"))))
    assert not _prices(found)
    assert set(_reasons(found).values()) == {SkipReason.AMBIGUOUS}


@pytest.mark.parametrize("form", FORMS)
def test_rule_03_m5_large_costs_0_107_among_its_seven_and_more_prices(forms, form):
    assert _prices(forms[form])["m5.large"].amount == Decimal("0.107")


@pytest.mark.parametrize("form", FORMS)
def test_rule_04_zero_is_no_price_when_no_other_row_is_right(forms, form):
    coverage = Coverage()
    list(coverage.seen(forms[form]))
    assert {(row.region, row.offer): row.reason for row in coverage.unpriced()} == {
        ("eu-west-1", "z9.large"): SkipReason.ZERO,
        ("eu-west-1-xxx-1", "m5.large"): SkipReason.OTHER_LOCATION,
    }


@pytest.mark.parametrize("form", FORMS)
def test_rule_05_bare_metal_costs_what_its_shared_row_says(forms, form):
    assert _prices(forms[form])["m6g.metal"].amount == Decimal("2.752")


@pytest.mark.parametrize("form", FORMS)
def test_rule_06_reserved_terms_are_separate_when_a_type_has_several(forms, form):
    found = {
        (row.term, row.upfront, row.plan): (
            str(row.amount),
            row.unit.value,
            row.setup_amount,
            row.raw_id,
        )
        for row in forms[form]
        if isinstance(row, ParsedPrice) and row.purchase_model == "reserved"
    }
    assert found == {
        ("1y", "none", "standard"): ("0.0670000000", "hour", None, "SKU00.R1N.6YS"),
        ("1y", "partial", "standard"): (
            "0.0320000000",
            "hour",
            Decimal(280),
            "SKU00.R1P.6YS+SKU00.R1P.2TG",
        ),
        ("1y", "all", "standard"): ("549", "once", None, "SKU00.R1A.6YS+SKU00.R1A.2TG"),
        ("3y", "all", "convertible"): ("1238", "once", None, "SKU00.R3A.6YS+SKU00.R3A.2TG"),
    }


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (_reserved([_line("0.03"), _line("280", "Quantity")], lease=""), SkipReason.OTHER_TERMS),
        (
            _reserved([_line("0.03"), _line("280", "Quantity")], option="Some"),
            SkipReason.OTHER_TERMS,
        ),
        (_reserved([_line("0.03"), _line("0.04")]), SkipReason.OTHER_UNIT),
        (_reserved([_line("0.03"), _line("280", "Days")]), SkipReason.OTHER_UNIT),
        # A partial upfront of nothing, and hours that cost nothing without any upfront.
        (_reserved([_line("0.03"), _line("0", "Quantity")]), SkipReason.UNEXPECTED_SHAPE),
        (_reserved([_line("0.0")], option="No Upfront"), SkipReason.UNEXPECTED_SHAPE),
        ({"OnDemand": {"SKU00.T": {"priceDimensions": {"D": _line("NA")}}}}, SkipReason.NO_PRICE),
        (
            {"OnDemand": {"SKU00.T": {"priceDimensions": {"D": _line("1", "GB")}}}},
            SkipReason.OTHER_UNIT,
        ),
        (
            {"OnDemand": {"SKU00.T": {"priceDimensions": {"D": _line("1"), "E": _line("2")}}}},
            SkipReason.TIERED,
        ),
        (
            {"OnDemand": {"SKU00.T": {"priceDimensions": {"D": _line("1", currency="usd")}}}},
            SkipReason.NO_CURRENCY,
        ),
        (
            {"OnDemand": {"SKU00.T": {"priceDimensions": {"D": {"pricePerUnit": {}}}}}},
            SkipReason.NO_CURRENCY,
        ),
        ({}, SkipReason.NO_PRICE),
    ],
)
def test_term_is_skipped_with_its_reason_when_it_is_no_price(terms, reason):
    found = _parsed(_entry(terms=terms))
    assert not [row for row in found if isinstance(row, ParsedPrice)]
    assert reason in _reasons(found).values()


def test_rule_08_region_is_its_code_and_currency_is_read():
    entry = _entry(regionCode="cn-north-1", location="China (Beijing)")
    dimension = {"D": _line("0.9", currency="CNY")}
    entry["terms"] = {"OnDemand": {"SKU00.T": {"priceDimensions": dimension}}}
    price = _prices(_parsed(entry))["m5.large"]
    assert (price.region, price.currency) == ("cn-north-1", "CNY")


@pytest.mark.parametrize("form", FORMS)
def test_type_has_the_fields_of_the_answer(forms, form):
    types = {row.name: row for row in forms[form] if isinstance(row, ParsedType)}
    large, metal, disks = types["m5.large"], types["m6g.metal"], types["i3en.24xlarge"]
    assert (large.vcpu_count, large.memory_bytes, large.arch) == (2, 8 * 2**30, "x86_64")
    assert (large.disk_bytes, large.gpu_count, large.vcpu_kind) == (None, None, "dedicated")
    assert (metal.arch, metal.cpu_model) == ("arm64", "AWS Graviton2 Processor")
    # 8 × 7,500 GB = 60 × 10^12 bytes
    assert (disks.disk_bytes, disks.disk_kind) == (60 * 10**12, "nvme")
    assert (disks.memory_bytes, disks.gpu_count) == (1952 * 2**30, 4)


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        ({"storage": "1 x 475 GB SSD"}, {"disk_bytes": 475 * 10**9, "disk_kind": "ssd"}),
        ({"storage": "24 x 2000 HDD"}, {"disk_bytes": 48 * 10**12, "disk_kind": "hdd"}),
        ({"storage": "some x more HDD"}, {"disk_bytes": None, "disk_kind": ""}),
        ({"storage": "NA"}, {"disk_bytes": None}),
        ({"memory": "8 TB"}, {"memory_bytes": None}),
        ({"physicalProcessor": "NA"}, {"arch": "", "cpu_model": ""}),
        ({"vcpu": "NA"}, {"vcpu_count": None}),
        ({"instanceType": "t3.micro"}, {"vcpu_kind": "burstable"}),
    ],
)
def test_rule_27_missing_specs_stay_unknown(attributes, fields):
    (machine,) = [row for row in _parsed(_entry(**attributes)) if isinstance(row, ParsedType)]
    assert {name: getattr(machine, name) for name in fields} == fields


def test_entries_may_be_objects_and_families_may_be_missing():
    entry = _entry(family="")
    found = list(
        aws.parse([json.dumps({"PriceList": [entry, _entry("S", family="Dedicated Host")]})])
    )
    assert _prices(found)["m5.large"].amount == Decimal("0.107")
    assert _reasons(found) == {"S": SkipReason.NOT_A_MACHINE}


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("[]", "page 1: is missing, or no object"),
        ("{}", "page 1 PriceList: is missing"),
        ('{"PriceList": ["{"]}', r"page 1 PriceList\[0\] line 1: not JSON"),
        ('{"PriceList": [3]}', r"page 1 PriceList\[0\]: is missing, or no object"),
    ],
)
def test_pages_are_refused_when_they_have_another_shape(page, said):
    with pytest.raises(InvalidValue, match=said):
        list(aws.parse([page]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"terms": {}}', "terms: stand before the products"),
        ('{"version": 1}', "products: is missing"),
        ('{"products": {"S": 3}}', "offer file S: is missing, or no object"),
        ('{"products": {}, "terms": {"OnDemand": {"S": 3}}}', "OnDemand.S: is missing"),
        ('{"products": {', "ends too early"),
    ],
)
def test_offer_file_is_refused_when_it_has_another_shape(text, said):
    with pytest.raises(InvalidValue, match=said):
        list(aws_bulk.from_json([text]))


def test_offer_file_names_the_line_that_has_no_currency(answer):
    text = answer("aws-offer-file").replace('"USD": "0.1070000000"', "")
    assert SkipReason.NO_CURRENCY in _reasons(aws_bulk.from_json([text])).values()


def test_csv_skips_a_row_when_its_columns_do_not_fit(answer):
    text = answer("aws-offer-file.csv") + '"SKU77","JRT"\n\n'
    assert _reasons(aws_bulk.from_csv(io.StringIO(text)))["SKU77"] is SkipReason.UNEXPECTED_SHAPE


def test_csv_passes_over_terms_of_another_kind(answer):
    text = answer("aws-offer-file.csv").replace('"Reserved"', '"FlatRate"')
    found = list(aws_bulk.from_csv(io.StringIO(text)))
    assert not _prices(found, "reserved")
    assert _prices(found)["m5.large"].amount == Decimal("0.107")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 0: no header"),
        ('"SKU","Unit"\n', "line 1: no header"),
        ("x\n" * 50, "line 21: no header"),
        ('"FormatVersion" x\n', "line 1: "),
    ],
)
def test_csv_is_refused_when_it_is_no_offer_file(text, said):
    with pytest.raises(InvalidValue, match=said):
        list(aws_bulk.from_csv(io.StringIO(text)))


def test_csv_keeps_only_the_right_rows_in_memory(answer):
    """The results of one row come before the next row is asked for."""
    rows = answer("aws-offer-file.csv").splitlines(keepends=True)
    asked = []

    def lines():
        for place, line in enumerate(rows):
            asked.append(place)
            yield line

    first = next(aws_bulk.from_csv(lines()))
    assert isinstance(first, Skipped)
    assert len(asked) <= len(rows) / 2


def test_prices_are_decimals_from_the_text_on(forms):
    csv_text = io.StringIO()
    csv.writer(csv_text).writerow([_prices(forms["csv"])["m5.large"].amount])
    assert csv_text.getvalue().strip() == "0.1070000000"
    for results in forms.values():
        amounts = [row.amount for row in results if isinstance(row, ParsedPrice)]
        assert {type(amount) for amount in amounts} == {Decimal}


@pytest.mark.parametrize("ending", ["\n", ""])
def test_offer_file_is_read_in_either_form_from_pieces(answer, ending):
    def pieces(text):
        return (text[start : start + 100] for start in range(0, len(text), 100))

    csv_text = answer("aws-offer-file.csv").rstrip("\n") + ending
    of_csv = list(aws_bulk.parse(pieces(csv_text)))
    of_json = list(aws_bulk.parse(pieces(answer("aws-offer-file"))))
    assert _prices(of_csv).keys() == _prices(of_json).keys() != set()


def test_offer_file_is_refused_when_it_is_empty():
    with pytest.raises(InvalidValue):
        list(aws_bulk.parse(iter(())))
