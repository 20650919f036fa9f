"""The demo data: the tables under fixtures/ as providers, offers, prices, rates and figures.

Loading again corrects figures that the tables state anew and leaves what a person wrote. Removing
leaves every offer that has a host, a run or a result of one's own. Exchange rates, extras and
providers stay: they are facts that other rows lean on.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from backend.benchmarks.models import Host, Run, Sample, Source
from backend.benchmarks.services.published_figures import figures_load
from backend.benchmarks.services.published_tables import (
    CMIPS_TABLE,
    OFFERS_TABLES,
    PASSMARK_TABLE,
    Row,
    build_samples,
    moment,
    offers_sold,
    table_rows,
)
from backend.benchmarks.services.summaries import summaries_refresh
from backend.benchmarks.services.twins import twins_refresh
from backend.catalog.models import (
    ExchangeRate,
    ExtraPrice,
    Offer,
    OfferKind,
    PriceObservation,
    Provider,
    Region,
)
from backend.catalog.models.prices import PRICE_IDENTITY
from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS, credit_figures
from backend.catalog.selectors.processors import processor_figures
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.extra_tables import extras_load
from backend.catalog.services.market import market_load
from backend.core import clock
from backend.core.statistics import tables_analyze
from backend.core.writing import rows_create
from backend.foundation.units import BYTES_PER_GB
from backend.money.pricing.extras import GB_PER_TB, LACKS_MONTH_PRICE
from backend.providers.registry import PROVIDERS

BATCH = 1000
UNLIMITED = "unlimited"
# Corrected where a table states them anew; a name or a note may be a person's.
OFFER_FIGURES = ("memory_bytes", "vcpu_count", "thread_count", "is_vcpu_derived", *CREDIT_FIELDS)
SAMPLE_FIGURES = (
    "value",
    "published_sd_ratio",
    "published_count",
    "published_low",
    "published_high",
    "parameters",
    "flags",
)


@transaction.atomic
def demo_load(folder: Path, parts: Sequence[str] = ()) -> dict[str, int]:
    """Load the tables under `folder`; how many rows of each kind are new or corrected.

    `parts` names parts of the market (catalog.services.fact_tables) to load in addition. Raises
    InvalidValue for a missing table or two published figures of one machine type.
    """
    before = _totals()
    _load_regions(folder)
    corrected = {"offers": _load_offers(folder)}
    offer_ids = dict(Offer.objects.values_list("slug", "pk"))
    corrected["prices"] = _load_prices(folder, offer_ids)
    if parts:
        # Prices of earlier days are compared at the rates of their day.
        _load_rates(folder, "facts/ecb_rates_2026.csv.gz")
    for part in parts:
        corrected["offers"] += market_load(folder / "catalog" / part)
    extras_load((folder / "catalog/extras.csv").read_bytes(), today=clock.now().date())
    # Each figure is joined with the twins of its offer, of which the planner knows nothing yet.
    tables_analyze(Offer)
    sold = offers_sold()
    corrected["samples"] = figures_load(folder, sold) + _store(
        Sample.objects.filter(source=Source.PUBLISHED),
        list(build_samples(folder, offer_ids, sold)),
        key="offer_id",
        identity=("offer_id", "metric", "variant", "source_note"),
        figures=SAMPLE_FIGURES,
    )
    new = {kind: total - before[kind] + corrected.get(kind, 0) for kind, total in _totals().items()}
    if any(new.values()):
        # The planner does not know the new rows yet: what follows would be planned for empty
        # tables.
        tables_analyze(Offer, PriceObservation, Sample)
        prices_refresh()
        twins_refresh()
        data_version_bump()
    return new


@transaction.atomic
def demo_remove() -> dict[str, int]:
    """Delete the demo's offers with their prices and published figures, unless measured since.

    How many rows of each kind are gone.
    """
    before = _totals()
    own_samples = Sample.objects.filter(offer=OuterRef("pk")).exclude(source=Source.PUBLISHED)
    Offer.objects.filter(
        ~Exists(Host.objects.filter(offer=OuterRef("pk"))),
        ~Exists(Run.objects.filter(offer=OuterRef("pk"))),
        ~Exists(own_samples),
        is_demo=True,
    ).delete()
    gone = {kind: before[kind] - total for kind, total in _totals().items()}
    if any(gone.values()):
        prices_refresh()
        summaries_refresh()
        data_version_bump()
    return gone


def _totals() -> dict[str, int]:
    return {
        "providers": Provider.objects.count(),
        "regions": Region.objects.count(),
        "fx_rates": ExchangeRate.objects.count(),
        "offers": Offer.objects.count(),
        "prices": PriceObservation.objects.count(),
        "samples": Sample.objects.count(),
        "extras": ExtraPrice.objects.count(),
    }


def _load_regions(folder: Path) -> None:
    Provider.objects.bulk_create(
        [
            Provider(slug=record.slug, name=record.name, homepage=record.homepage)
            for record in PROVIDERS.values()
            if record.sells_machines
        ],
        ignore_conflicts=True,
    )
    provider_ids = dict(Provider.objects.values_list("slug", "pk"))
    Region.objects.bulk_create(
        [
            Region(
                provider_id=provider_ids[row["provider"]],
                code=row["region"],
                name=row["location"],
                country=row["country_code"],
            )
            for row in table_rows(folder, "catalog/regions.csv")
        ],
        ignore_conflicts=True,
    )
    _load_rates(folder, "catalog/fx_rates.csv")


def _load_rates(folder: Path, table: str) -> None:
    rates = (
        ExchangeRate(
            date=dt.date.fromisoformat(row["date"]),
            currency=row["currency"],
            units_per_eur=Decimal(row["units_per_eur"]),
            source=row["source"],
        )
        for row in table_rows(folder, table)
    )
    rows_create(ExchangeRate, rates)


def _load_offers(folder: Path) -> int:
    provider_ids = dict(Provider.objects.values_list("slug", "pk"))
    regions = Region.objects.values_list("provider__slug", "code", "pk")
    region_ids = {(provider, code): pk for provider, code, pk in regions}
    tables = (OFFERS_TABLES, CMIPS_TABLE, PASSMARK_TABLE)
    offers = [
        _offer(row, provider_ids[row["provider"]], region_ids)
        for table in tables
        for row in table_rows(folder, table)
    ]
    return _store(
        Offer.objects.filter(is_demo=True),
        offers,
        key="slug",
        identity=("slug",),
        figures=OFFER_FIGURES,
    )


def _store(
    stored: QuerySet[Any],
    rows: Sequence[Any],
    *,
    key: str,
    identity: tuple[str, ...],
    figures: Sequence[str],
) -> int:
    """Create the rows that are missing and correct figures of stored ones; how many were corrected.

    `key` is the part of the identity by which the stored ones are read.
    """
    model = stored.model
    keys, identified = {getattr(row, key) for row in rows}, attrgetter(*identity)
    known = {identified(row): row for row in stored.filter(**{f"{key}__in": keys})}
    corrected = []
    for row in rows:
        old = known.get(identified(row))
        if old is not None and any(getattr(old, name) != getattr(row, name) for name in figures):
            for name in figures:
                setattr(old, name, getattr(row, name))
            corrected.append(old)
    model.objects.bulk_update(corrected, figures, batch_size=BATCH)
    rows_create(model, (row for row in rows if identified(row) not in known))
    return len(corrected)


def _offer(row: Row, provider_id: int, region_ids: Mapping[tuple[str, str], int]) -> Offer:
    region = row.get("region")
    disk_gb = row.get("disk_gb")
    ended = row.get("discontinued_on")
    return Offer(
        slug=row["slug"],
        provider_id=provider_id,
        region_id=region_ids[row["provider"], region] if region else None,
        name=row["offer"],
        kind=row["kind"],
        arch=row.get("arch", ""),
        cpu_model=row.get("cpu_model", ""),
        **_vcpus(row),
        vcpu_kind=row.get("vcpu_kind", ""),
        **credit_figures(row["provider"], row["offer"]),
        memory_bytes=int(row["ram_bytes"]) if row.get("ram_bytes") else None,
        disk_bytes=int(Decimal(disk_gb) * BYTES_PER_GB) if disk_gb else None,
        disk_kind=row.get("disk_kind", ""),
        is_demo=True,
        note=row.get("note", ""),
        source=row["source"],
        stated_on=dt.date.fromisoformat(row["as_of"]),
        discontinued_on=dt.date.fromisoformat(ended) if ended else None,
    )


def _vcpus(row: Row) -> Mapping[str, Any]:
    vcpus, threads = row.get("vcpu_count"), row.get("thread_count")
    if row["kind"] == OfferKind.DEDICATED and not vcpus and row.get("cpu_model"):
        return processor_figures(row["cpu_model"], int(row["cpu_count"]))
    return {
        "vcpu_count": Decimal(vcpus) if vcpus else None,
        "thread_count": int(threads) if threads else None,
    }


def _load_prices(folder: Path, offer_ids: Mapping[str, UUID]) -> int:
    listed = (
        _price(row, offer_ids[row["offer_slug"]], row["amount"], row["currency"])
        for row in table_rows(folder, "catalog/prices_*.csv")
    )
    published = (
        _price(row, offer_ids[row["slug"]], row["amount"], row["currency"])
        for row in table_rows(folder, CMIPS_TABLE)
    )
    purchases = (
        _price(
            row | {"tax_basis": row[f"tax_basis_{currency}"], "note": row[f"shop_{currency}"]},
            offer_ids[row["slug"]],
            row[f"amount_{currency}"],
            currency.upper(),
        )
        for row in map(dict, table_rows(folder, PASSMARK_TABLE))
        for currency in ("eur", "usd")
    )
    return _store(
        PriceObservation.objects.filter(offer__is_demo=True, feed=None),
        [*listed, *published, *purchases],
        key="offer_id",
        identity=("offer_id", *PRICE_IDENTITY, "observed_at"),
        figures=("included",),
    )


def _price(row: Row, offer_id: UUID, amount: str, currency: str) -> PriceObservation:
    return PriceObservation(
        offer_id=offer_id,
        operating_system=row.get("os", "linux"),
        tenancy=row.get("tenancy", "shared"),
        purchase_model=row["purchase_model"],
        term=row.get("term", ""),
        upfront=row.get("upfront", ""),
        amount=Decimal(amount),
        currency=currency,
        unit=row["unit"],
        sustained_use=row.get("sustained_use", ""),
        setup_amount=Decimal(row["setup_amount"]) if row.get("setup_amount") else None,
        tax_basis=row["tax_basis"] or "unknown",
        basis=row.get("price_basis", "machine"),
        included=_price_extras(row),
        source=row["source"],
        observed_at=moment(row),
        note=row.get("note", ""),
    )


def _price_extras(row: Row) -> dict[str, object]:
    """Extras in the price, in the words of money.pricing.extras."""
    stated: dict[str, object] = {}
    traffic_tb = row.get("traffic_tb")
    if traffic_tb == UNLIMITED:
        stated["is_traffic_unlimited"] = True
    elif traffic_tb:
        stated["traffic_bytes"] = int(Decimal(traffic_tb) * GB_PER_TB * BYTES_PER_GB)
    if addresses := row.get("ipv4_count"):
        stated["ipv4_count"] = int(addresses)
    if row.get("lacks_month_price"):
        stated[LACKS_MONTH_PRICE] = True
    return stated
