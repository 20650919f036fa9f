"""Known faults of fact tables, and the rules that keep them out of the load form."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median, median_low

from backend.catalog.services.fact_sources import Row, fact_rows

# A Windows price is 1.5 times the Linux one or more; families differ between regions by 1.3 at most.
MOST_OF_REGIONAL_RATIO = 1.45


def clean_prices(folder: Path) -> Mapping[str, float]:
    """Azure's hours in westeurope by size, of lists without the fault."""
    old = {
        row["vm_size"]: float(row["usd_per_hour"])
        for row in fact_rows(folder, "azure_prices")
        if row["region"] == "westeurope"
    }
    new = fact_rows(folder, "azure_prices_2026")
    return old | {
        row["vm_size"]: float(row["usd_per_hour_westeurope"])
        for row in new
        if row["usd_per_hour_westeurope"]
    }


def without_odd_prices(rows: Sequence[Row], clean: Mapping[str, float]) -> list[Row]:
    """The rows of Azure that are no Windows prices, as far as a clean price tells.

    A region costs about the same share more than westeurope for every size.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if size := clean.get(row["vm_size"]):
            ratios[row["region"]].append(float(row["usd_per_hour"]) / size)
    usual = {region: median(of) for region, of in ratios.items()}
    return [
        row
        for row in rows
        if row["vm_size"] not in clean
        or float(row["usd_per_hour"]) / clean[row["vm_size"]]
        <= usual[row["region"]] * MOST_OF_REGIONAL_RATIO
    ]


def likeliest_hours(rows: Sequence[Row]) -> Mapping[str, Decimal]:
    """Scaleway's hours by offer: of two lists that differ, the one that fits its neighbours.

    Neighbours are types of the same line with as much memory for each vCPU; its API has slips.
    """
    per_vcpu: dict[tuple[str, Decimal], list[Decimal]] = {}
    for row in rows:
        if row["price_per_hour"] == row["price_per_hour_catalogue"]:
            per_vcpu.setdefault(_line(row), []).append(
                Decimal(row["price_per_hour"]) / Decimal(row["vcpu"])
            )
    return {row["offer"]: _fitting(row, per_vcpu.get(_line(row), ())) for row in rows}


def _fitting(row: Row, neighbours: Iterable[Decimal]) -> Decimal:
    stated = [
        Decimal(row[name]) for name in ("price_per_hour", "price_per_hour_catalogue") if row[name]
    ]
    if not neighbours:
        return stated[0]
    usual = median_low(neighbours) * Decimal(row["vcpu"])
    # To whole percents: of two lists that differ by their rounding, the interface is the exact one.
    return min(stated, key=lambda hour: round(abs(hour / usual - 1), 2))


def _line(row: Row) -> tuple[str, Decimal]:
    return row["product_line"], Decimal(row["ram_gb"]) / Decimal(row["vcpu"])
