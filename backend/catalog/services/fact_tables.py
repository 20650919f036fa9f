"""The load form of the market, made from the fact tables: what `demo load` copies into the database.

Offers and prices of today's regions go to `catalog/market`, those of the other regions to
`catalog/world`. What the tables beside them hold already is left out, unless a fact is newer.
"""

import csv
import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS, credit_figures
from backend.catalog.services.fact_faults import (
    clean_prices,
    likeliest_hours,
    without_odd_prices,
)
from backend.catalog.services.fact_sources import (
    OCI_GB_PER_OCPU,
    OCI_OCPUS,
    SIZE_TABLES,
    SOURCES,
    FactSource,
    PriceColumns,
    Row,
    fact_rows,
)
from backend.core.slugs import offer_slug
from backend.foundation.units import BYTES_PER_GB
from backend.money.pricing.extras import GB_PER_TB
from backend.providers.registry import provider

MARKET, WORLD = "market", "world"
MIB = 2**20
OFFER_COLUMNS = (
    "slug", "provider", "region", "name", "kind", "arch", "cpu_model", "vcpu_count", "vcpu_kind",
    "memory_bytes", "disk_bytes", "disk_kind", "note", "source", "stated_on",
    "no_orders_on", *CREDIT_FIELDS,
)  # fmt: skip
PRICE_COLUMNS = (
    "offer", "purchase_model", "term", "amount", "currency", "unit", "monthly_cap",
    "minimum_months", "sustained_use", "valid_from", "valid_until", "applies_to", "tax_basis",
    "included", "source", "observed_at",
)  # fmt: skip
REGION_COLUMNS = ("provider", "region", "location", "country_code", "source", "as_of")
DEDICATED = {"dedicated", "not overprovisioned", "fixed performance"}
SHARED = {"shared", "overprovisioned"}
# Google's types that share a core (its documentation, machine families).
GCP_SHARED = re.compile(r"e2-(micro|small|medium)$|f1-|g1-")
AWS_BURSTABLE = re.compile(r"t[0-9]")
ARM = {
    "aws": re.compile(r"(a1|[a-z]+[0-9]+g[a-z]*)\."),
    "azure": re.compile(r"Standard_[A-Z]+[0-9]+(-[0-9]+)?[a-z]*p[a-z]*_v"),
    "gcp": re.compile(r"(c4a|t2a|n4a)-"),
}
# As fact tables call them.
PROVIDERS = {"hcloud": "hetzner", "oracle": "oci"}
# The day of which the tables with a column `orderable` are.
STOCK_ON = "2026-09-03"
UPCLOUD_LINE = re.compile(r"^[a-z]+(?=-)")


def build(folder: Path) -> dict[str, int]:
    """Write the load form below `folder`; rows by file."""
    regions, regions_by_name = _regions(folder)
    sizes = _sizes(folder)
    sustained = _sustained_use_table(folder)
    known = _newest_days(folder)
    offers: dict[str, Row] = {}
    prices: dict[tuple[str, ...], Row] = {}
    for listing in listings(folder):
        for region in regions_by_name[listing["provider"], listing["location"]]:
            slug = offer_slug(listing["provider"], listing["name"], region["region"])
            price = _price(slug, listing, sustained)
            if price["observed_at"] <= known.get(_kind(price), ""):
                continue
            prices.setdefault((*_kind(price), price["observed_at"]), price)
            # The newest price says most of its offer.
            stated_on = offers[slug]["stated_on"] if slug in offers else ""
            if (slug,) not in known and listing["as_of"] > stated_on:
                size = sizes.get((listing["provider"], listing["name"].lower()), {})
                offers[slug] = _offer(slug, listing, region["region"], size)
    sold = [*prices.values(), *_before(folder, prices.values())]
    return _write(folder, regions, offers, sold)


def _kind(price: Row) -> tuple[str, ...]:
    """Key of prices that supersede each other."""
    return price["offer"], price["purchase_model"], price["term"], price["unit"], price["currency"]


def listings(folder: Path) -> Iterator[Row]:
    """Every price of every fact table, with the names of columns that the tables share."""
    for source in SOURCES:
        rows = fact_rows(folder, source.table)
        hours = likeliest_hours(rows) if source.table.startswith("scaleway") else {}
        if source.table == "azure_prices_all_2026":
            rows = without_odd_prices(rows, clean_prices(folder))
        for row in rows:
            if source.is_left_out(row):
                continue
            for charge in source.charges:
                amount = (
                    str(hours.get(row[source.name], row[charge.amount]))
                    if hours
                    else row[charge.amount]
                )
                if amount and not _is_computed_month(charge, row):
                    yield from _list_rows(source, charge, row, amount)
    yield from _oracle(folder)


def _is_computed_month(charge: PriceColumns, row: Row) -> bool:
    """A month that is only the hour times hours."""
    return charge.unit == "month" and row.get("month_rule", "").startswith("hour x")


def _list_rows(source: FactSource, charge: PriceColumns, row: Row, amount: str) -> Iterator[Row]:
    slug = row.get("provider") or source.provider
    text = source.source
    name = row[source.name]
    listing = {
        **row,
        "provider": PROVIDERS.get(slug, slug),
        # As its interface writes it: the scores are by that name.
        "name": UPCLOUD_LINE.sub(lambda line: line[0].upper(), name) if slug == "upcloud" else name,
        "location": source.location if source.is_location_fixed else row[source.location],
        "amount": amount,
        "unit": charge.unit,
        "purchase_model": charge.purchase_model,
        "term": charge.term,
        "monthly_cap": row[charge.cap] if charge.cap else "",
        "currency": row.get("currency") or "USD",
        "note": source.note,
        "source": text if isinstance(text, str) else text.get(row["source"], text[""]),
    }
    for as_of in charge.days(row):
        yield {**listing, "as_of": as_of}


def _before(folder: Path, prices: Iterable[Row]) -> Iterator[Row]:
    """Prices before a change, at the day of the list that held them, of offers that have one now."""
    current = {_kind(price): price for price in prices}
    for row in fact_rows(folder, "price_changes_2024-2026"):
        before = re.search(r"before: (\d{4}-\d\d-\d\d)", row["date_kind"])
        currency, _, unit = row["unit"].partition(" per ")
        slug = offer_slug(row["provider"], row["offer"], row["location"])
        model = "on_demand" if unit == "hour" else "monthly"
        price = current.get((slug, model, "", unit, currency))
        if price and before:
            source = f"{row['source']}, copy of {before[1]}"
            stated = {"amount": row["old_price"], "source": source, "observed_at": before[1]}
            yield {**price, **stated}


def _oracle(folder: Path) -> Iterator[Row]:
    """Configurations of flexible shapes: OCPUs and memory at their unit prices."""
    for row in fact_rows(folder, "oci_unit_prices_2026"):
        for ocpus in OCI_OCPUS:
            for gb in (ocpus * each for each in OCI_GB_PER_OCPU):
                hour = ocpus * Decimal(row["usd_per_ocpu_hour"]) + gb * Decimal(
                    row["usd_per_gb_ram_hour"]
                )
                yield {
                    "provider": "oci",
                    "name": f"{row['shape']} {ocpus} OCPU {gb} GB",
                    "location": row["location"],
                    "vcpu": str(ocpus * int(row["vcpu_per_ocpu"])) if row["vcpu_per_ocpu"] else "",
                    "ram_gb": str(gb),
                    "architecture": row["architecture"],
                    "vcpu_kind": "dedicated",
                    "amount": str(hour),
                    "currency": "USD",
                    "unit": "hour",
                    "purchase_model": "on_demand",
                    "vat_included": row["vat_included"],
                    "note": "A size of a flexible shape, at the unit prices of OCPU and memory.",
                    "source": "Oracle's price API, as kept at https://github.com/jasonwilbur/oci-pricing-mcp",
                    "as_of": row["price_date"],
                }


def _regions(folder: Path) -> tuple[dict[str, list[Row]], dict[tuple[str, str], list[Row]]]:
    """Regions by the file that holds their offers, and by provider and name in the fact tables."""
    files: dict[str, list[Row]] = {MARKET: [], WORLD: []}
    regions_by_name: dict[tuple[str, str], list[Row]] = defaultdict(list)
    with (folder / "facts" / "regions.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            files[MARKET if row["in_demo"] == "1" else WORLD].append(row)
            regions_by_name[row["provider"], row["stated_as"]].append(row)
    return files, regions_by_name


def _sizes(folder: Path) -> Mapping[tuple[str, str], Row]:
    """vCPUs, memory and architecture by provider and type, of all tables that state them."""
    sizes: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for table, owner, name, vcpu, ram, arch in SIZE_TABLES:
        for row in fact_rows(folder, table):
            slug = owner[1:] if owner.startswith("=") else row[owner]
            size = sizes[PROVIDERS.get(slug, slug), row[name].lower()]
            stated = {"vcpu": row[vcpu], "ram_gb": row[ram], "architecture": row[arch]}
            for key, value in stated.items():
                if value:
                    size.setdefault(key, value)
    return sizes


def _sustained_use_table(folder: Path) -> Mapping[str, str]:
    """Google's table of discounts by family, as the tables beside state it."""
    return {
        row["offer_slug"].split("-")[1]: row["sustained_use"]
        for row in _table(folder / "catalog/prices_gcp.csv")
        if row["sustained_use"]
    }


def _newest_days(folder: Path) -> Mapping[tuple[str, ...], str]:
    """Day of the newest price by kind, of the other tables; of their offers by slug alone, too."""
    newest: dict[tuple[str, ...], str] = {}
    for path in sorted(folder.glob("catalog/offers_*.csv")):
        newest |= {(row["slug"],): "" for row in _table(path)}
    for path in sorted(folder.glob("catalog/prices_*.csv")):
        for row in _table(path):
            kind = _kind({**row, "offer": row["offer_slug"]})
            newest[kind] = max(newest.get(kind, ""), row["as_of"])
    return newest


def _table(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def _offer(slug: str, listing: Row, region: str, size: Row) -> Row:
    seller, name = listing["provider"], listing["name"]
    record = provider(seller)
    vcpu = listing.get("vcpu") or size.get("vcpu", "")
    ram = listing.get("ram_gb") or listing.get("ram_gib") or size.get("ram_gb", "")
    by_name = record.size_figures(name) if record.size_figures and not (vcpu and ram) else {}
    disk_gb = listing.get("disk_gb", "")
    return {
        "slug": slug,
        "provider": seller,
        "region": region,
        "name": name,
        "kind": record.kind.value,
        "arch": _arch(seller, name, listing.get("architecture") or size.get("architecture", "")),
        "cpu_model": listing.get("cpu_model", "") if seller == "scaleway" else "",
        "vcpu_count": vcpu or str(by_name.get("vcpu_count", "")),
        "vcpu_kind": _vcpu_kind(seller, name, listing.get("vcpu_kind", "")),
        # In whole MiB, as interfaces report it.
        "memory_bytes": str(int(Decimal(ram) * 1024) * MIB)
        if ram
        else str(by_name.get("memory_bytes", "")),
        "disk_bytes": str(int(Decimal(disk_gb) * BYTES_PER_GB)) if disk_gb not in {"", "0"} else "",
        "disk_kind": _disk_kind(listing.get("disk_kind", "")),
        "note": listing["note"],
        "source": listing["source"],
        "stated_on": listing["as_of"],
        "no_orders_on": STOCK_ON if listing.get("orderable") == "0" else "",
        **{
            key: str(value)
            for key, value in credit_figures(seller, name).items()
            if value is not None
        },
    }


def _arch(seller: str, name: str, stated: str) -> str:
    if stated:
        return {"aarch64": "arm64", "x86": "x86_64", "i386": "x86_64"}.get(stated, stated)
    return "arm64" if seller in ARM and ARM[seller].match(name) else "x86_64"


def _vcpu_kind(seller: str, name: str, stated: str) -> str:
    if GCP_SHARED.match(name) and seller == "gcp":
        return "shared"
    if seller == "aws" and AWS_BURSTABLE.match(name):
        return "burstable"
    if kind := provider(seller).vcpu_kind_of(name):
        return kind
    if seller in {"aws", "gcp"} or stated in DEDICATED:
        return "dedicated"
    return "shared" if stated in SHARED else ""


def _disk_kind(stated: str) -> str:
    kinds = ("nvme", "ssd", "hdd")
    return next((kind for kind in kinds if kind in stated), "ssd" if "maxiops" in stated else "")


def _price(slug: str, listing: Row, sustained: Mapping[str, str]) -> Row:
    is_on_demand = listing["purchase_model"] == "on_demand"
    family = listing["name"].split("-")[0]
    return {
        "offer": slug,
        "purchase_model": listing["purchase_model"],
        "term": listing.get("term", ""),
        "amount": listing["amount"],
        "currency": listing["currency"],
        "unit": listing["unit"],
        "monthly_cap": listing.get("monthly_cap", ""),
        "minimum_months": "12" if "12-month term" in listing.get("month_rule", "") else "",
        "sustained_use": sustained.get(family, "")
        if listing["provider"] == "gcp" and is_on_demand
        else "",
        "valid_from": listing.get("valid_from", ""),
        "valid_until": listing.get("valid_until", ""),
        "applies_to": "new" if listing.get("applies_to", "").startswith("new orders") else "all",
        # Clouds that state nothing list prices before tax.
        "tax_basis": {"0": "net", "1": "gross", "": "unknown"}[listing.get("vat_included", "0")],
        "included": json.dumps(_price_extras(listing)),
        "source": listing["source"],
        "observed_at": listing["as_of"],
    }


def _price_extras(listing: Row) -> Mapping[str, object]:
    """Extras in the price, in the words of money.pricing.extras."""
    traffic_tb, addresses = listing.get("traffic_tb", ""), listing.get("ipv4_included", "")
    return {
        **(
            {"traffic_bytes": int(Decimal(traffic_tb) * GB_PER_TB * BYTES_PER_GB)}
            if traffic_tb
            else {}
        ),
        **({"ipv4_count": int(addresses)} if addresses == "1" else {}),
    }


def _write(
    folder: Path,
    regions: Mapping[str, Sequence[Row]],
    offers: Mapping[str, Row],
    prices: Sequence[Row],
) -> dict[str, int]:
    counts = {}
    world = {(row["provider"], row["region"]) for row in regions[WORLD]}
    file_of = {
        slug: WORLD
        if (offer["provider"], offer["region"]) in world or not _has_size(offer)
        else MARKET
        for slug, offer in offers.items()
    }
    for file in (MARKET, WORLD):
        tables = {
            "regions": (REGION_COLUMNS, regions[file]),
            "offers": (
                OFFER_COLUMNS,
                [offers[slug] for slug in sorted(offers) if file_of[slug] == file],
            ),
            "prices": (
                PRICE_COLUMNS,
                # Offers of the tables beside belong to the market.
                sorted(
                    (row for row in prices if file_of.get(row["offer"], MARKET) == file),
                    key=lambda row: tuple(row.values()),
                ),
            ),
        }
        for name, (columns, rows) in tables.items():
            path = folder / "catalog" / file / f"{name}.csv.gz"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(compress_table(columns, rows))
            counts[f"{file}/{name}"] = len(rows)
    return counts


def _has_size(offer: Row) -> bool:
    """False for the sizes of Azure and Google of which no table tells what they are."""
    return bool(offer["vcpu_count"]) or offer["provider"] not in {"azure", "gcp"}


def compress_table(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    """A table as gzip, the same bytes from the same rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)
