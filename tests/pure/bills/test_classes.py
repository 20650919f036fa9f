"""What the lines of bills charge for."""

from fractions import Fraction

import pytest

from backend.bills.calc.classes import (
    BillCharge,
    ChargeKind,
    LineType,
    PurchaseKind,
    charge_of,
    line_type,
    provider_of,
)

SPEC = (
    '[{"key": "compute.googleapis.com/machine_spec", "value": "n1-standard-4"}, '
    '{"key": "compute.googleapis.com/cores", "value": "4"}]'
)


def machine(provider, machine_type, purchase=PurchaseKind.ON_DEMAND, hours=1):
    return BillCharge(ChargeKind.MACHINE, provider, machine_type, purchase, Fraction(hours))


@pytest.mark.parametrize(
    ("provider", "words", "charge"),
    [
        (
            "",
            {
                "provider": "AWS",
                "description": "$0.34 per On Demand Linux c5.2xlarge Instance Hour",
                "unit": "Hours",
            },
            machine("aws", "c5.2xlarge"),
        ),
        (
            "aws",
            {
                "machine": "m5.large",
                "charge": "DiscountedUsage",
                "usage": "EUC1-BoxUsage:m5.large",
                "unit": "Hrs",
            },
            machine("aws", "m5.large", PurchaseKind.COMMITTED),
        ),
        (
            "aws",
            {"usage": "SpotUsage:c6g.metal", "unit": "Hrs", "description": "c6g.metal Linux Spot"},
            machine("aws", "c6g.metal", PurchaseKind.SPOT),
        ),
        (
            "azure",
            {
                "service": "Virtual Machines",
                "description": "D2s v3",
                "details": '{"ServiceType": "Standard_D2s_v3"}',
                "unit": "10 Hours",
                "pricing": "Reservation",
            },
            machine("azure", "Standard_D2s_v3", PurchaseKind.COMMITTED, 10),
        ),
        (
            "azure",
            {
                "service": "Virtual Machines",
                "description": "D3 v2/DS3 v2 Spot",
                "unit": "1 Hour",
                "pricing": "Spot",
            },
            machine("azure", "Standard_D3_v2/DS3_v2".partition("/")[0], PurchaseKind.SPOT),
        ),
        (
            "gcp",
            {
                "service": "Compute Engine",
                "description": "N1 Predefined Instance Core running in Americas",
                "details": SPEC,
                "unit": "hour",
            },
            machine("gcp", "n1-standard-4", hours=Fraction(1, 4)),
        ),
        (
            "gcp",
            {
                "service": "Compute Engine",
                "description": "N1 Predefined Instance Ram running in Americas",
                "details": SPEC,
                "unit": "gibibyte hour",
            },
            machine("gcp", "n1-standard-4", hours=0),
        ),
        (
            "gcp",
            {"description": "Spot Preemptible Core", "details": SPEC, "unit": "seconds"},
            machine("gcp", "n1-standard-4", PurchaseKind.SPOT, Fraction(1, 14400)),
        ),
        ("", {"provider": "Own", "machine": "box", "unit": "h"}, machine("own", "box")),
        (
            "",
            {"details": '{"InstanceType": "m6i.large"}', "unit": "Hours"},
            machine("", "m6i.large"),
        ),
    ],
)
def test_machine_is_read_with_its_type_hours_and_purchase(provider, words, charge):
    assert charge_of(words, provider) == charge


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"charge": "Tax", "machine": "m5.large", "unit": "Hrs"}, ChargeKind.TAX),
        ({"charge": "Credit"}, ChargeKind.CREDIT),
        ({"charge": "RIFee", "machine": "m5.large", "unit": "Hrs"}, ChargeKind.COMMITMENT),
        ({"charge": "Purchase", "service": "EC2"}, ChargeKind.OTHER),
        ({"charge": "Purchase", "commitment": "yes"}, ChargeKind.COMMITMENT),
        ({"charge": "Fee", "service": "5xabc"}, ChargeKind.OTHER),
        ({"charge": "Fee", "service": "AWS Premium Support"}, ChargeKind.SUPPORT),
        ({"service": "AWSSupportBusiness"}, ChargeKind.SUPPORT),
        ({"service": "AmazonRDS", "usage": "InstanceUsage:db.m5.large"}, ChargeKind.MANAGED),
        (
            {"service": "ElasticMapReduce", "machine": "m5.large", "unit": "Hrs"},
            ChargeKind.MANAGED,
        ),
        (
            {"service": "Virtual Machines Licenses", "description": "2 vCPU VM License"},
            ChargeKind.LICENCE,
        ),
        (
            {"description": "Licensing Fee for Windows Server 2022 (CPU cost)", "unit": "hour"},
            ChargeKind.LICENCE,
        ),
        ({"charge": "Usage", "status": "Unused"}, ChargeKind.COMMITMENT),
        ({"service": "AWS Support (Business)"}, ChargeKind.SUPPORT),
        (
            {"description": "db.r5.large Multi-AZ hours", "unit": "Hrs", "service": "RDS database"},
            ChargeKind.MANAGED,
        ),
        (
            {"machine": "db.r5.large", "unit": "Hrs", "family": "Database Instance"},
            ChargeKind.MANAGED,
        ),
        ({"description": "$0.085 per GB - data transfer out", "unit": "GB"}, ChargeKind.TRAFFIC),
        (
            {"machine": "m5.large", "description": "data transfer out", "unit": "GB"},
            ChargeKind.TRAFFIC,
        ),
        (
            {"machine": "m5.large", "description": "EBS optimized m5.large", "unit": "Hrs"},
            ChargeKind.STORAGE,
        ),
        ({"description": "per GB-month of gp2 storage", "unit": "GB-Mo"}, ChargeKind.STORAGE),
        (
            {"service": "Virtual Machines", "description": "IP Addresses", "unit": "1 Hour"},
            ChargeKind.TRAFFIC,
        ),
        ({"service": "AmazonDynamoDB", "family": "Databases"}, ChargeKind.MANAGED),
        ({"service": "Nobody knows", "unit": "Units"}, ChargeKind.OTHER),
    ],
)
def test_all_else_is_named_by_its_kind(words, kind):
    assert charge_of(words, "aws").kind is kind


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Amazon Web Services", "aws"),
        ("Microsoft", "azure"),
        ("Google Cloud", "gcp"),
        ("Oracle", "oracle"),
        (" Hoster ", "hoster"),
    ],
)
def test_provider_is_known_by_its_own_words(name, slug):
    assert provider_of(name) == slug


@pytest.mark.parametrize(
    ("words", "is_idle"),
    [
        ({"usage": "USE1-PublicIPv4:IdleAddress"}, True),
        ({"usage": "USE1-PublicIPv4:InUseAddress"}, False),
        ({"description": "$0.096 per Unused Reservation Linux m5.large Instance Hour"}, True),
        ({"description": "Static Ip Charge in Frankfurt", "service": "Compute Engine"}, True),
        ({"description": "idle", "charge": "UnusedReservation"}, False),
    ],
)
def test_what_the_bill_calls_idle_is_known(words, is_idle):
    assert charge_of(words).is_idle is is_idle


def test_fees_of_commitments_at_google_are_known_by_their_words():
    words = {"description": "Commitment v1: Cpu in Americas for 1 Year", "unit": "hour"}
    assert charge_of(words, "gcp").kind is ChargeKind.COMMITMENT
    assert charge_of(words, "aws").kind is ChargeKind.OTHER


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"charge": "Usage"}, LineType.USAGE),
        ({"charge": "EdpDiscount"}, LineType.DISCOUNT),
        ({"charge": "Bundled discount"}, LineType.DISCOUNT),
        ({"charge": "Usage", "class": "Correction"}, LineType.DISCOUNT),
        ({"charge": "Tax", "class": "Correction"}, LineType.TAX),
        ({"charge": "SavingsPlanNegation"}, LineType.COMMITMENT),
        ({"charge": "Promotion"}, LineType.CREDIT),
        ({}, LineType.USAGE),
    ],
)
def test_type_of_a_line_is_read_from_its_own_word(words, kind):
    assert line_type(words) is kind


EC2 = {"service": "AmazonEC2"}
BOX = {**EC2, "usage": "BoxUsage:m5.large", "machine": "m5.large", "unit": "Hrs"}


def correction(kind, machine_type):
    return BillCharge(kind, "aws", machine_type, is_usage=False, is_correction=True)


@pytest.mark.parametrize(
    ("words", "charge"),
    [
        ({"charge": "EdpDiscount", **BOX}, correction(ChargeKind.MACHINE, "m5.large")),
        ({"charge": "EdpDiscount", **EC2}, correction(ChargeKind.MACHINE, "")),
        ({"charge": "Refund", **BOX}, correction(ChargeKind.CREDIT, "m5.large")),
        ({"charge": "Refund", **EC2}, correction(ChargeKind.CREDIT, "")),
        ({"charge": "Credit", **BOX}, correction(ChargeKind.CREDIT, "m5.large")),
    ],
)
def test_correction_of_machines_names_their_type(words, charge):
    assert charge_of(words, "aws") == charge


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        # A credit of the whole service may be for anything, and one that is given is no price.
        ({"charge": "Credit", **EC2}, ChargeKind.CREDIT),
        ({"charge": "Credit", **BOX, "description": "AWS Activate"}, ChargeKind.CREDIT),
        ({"charge": "Credit", **BOX, "description": "AWS MAP 2.0 credits"}, ChargeKind.CREDIT),
        ({"charge": "Refund", **BOX, "commitment": "ri-1"}, ChargeKind.CREDIT),
        ({"charge": "Refund", "service": "AmazonS3"}, ChargeKind.CREDIT),
        ({"charge": "EdpDiscount", **BOX, "commitment": "ri-1"}, ChargeKind.COMMITMENT),
        ({"charge": "EdpDiscount", "service": "AmazonS3"}, ChargeKind.STORAGE),
        ({"charge": "EdpDiscount", **EC2, "usage": "EBS:VolumeUsage.gp3"}, ChargeKind.STORAGE),
        ({"charge": "EdpDiscount", **EC2, "usage": "EUC1-DataTransfer-Out"}, ChargeKind.TRAFFIC),
    ],
)
def test_other_corrections_are_of_no_machine(words, kind):
    assert charge_of(words, "aws") == BillCharge(kind, "aws", is_usage=False)


def test_lightsail_rents_machines_by_their_bundle():
    words = {"service": "Amazon Lightsail", "usage": "EUC1-BundleUsage:2GB", "unit": "Hrs"}
    assert charge_of(words, "aws") == machine("aws", "Lightsail 2GB")


@pytest.mark.parametrize(
    ("description", "unit", "kind"),
    [("Snapshots LRS", "1 GB/Month", ChargeKind.STORAGE), ("D2s v3", "1", ChargeKind.OTHER)],
)
def test_meter_of_azure_that_counts_no_hours_is_no_machine(description, unit, kind):
    words = {"service": "Virtual Machines", "description": description, "unit": unit}
    assert charge_of(words, "azure") == BillCharge(kind, "azure")
