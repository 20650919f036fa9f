"""Published facts of machine types that earn CPU credits (fixtures/catalog/cpu_credits.csv)."""

import csv
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

TABLE = "catalog/cpu_credits.csv"
# As many digits as the column of Offer holds.
RATIO_STEP = Decimal("0.000001")
CREDIT_FIELDS = (
    "cpu_baseline_ratio",
    "cpu_credit_price_usd_per_vcpu_hour",
    "cpu_credit_default",
)


def credit_figures(provider_slug: str, machine_type: str) -> Mapping[str, Any]:
    """Fields of Offer for a type that earns credits; empty for every other type."""
    return _figures_by_type(settings.FIXTURE_DIR).get((provider_slug, machine_type.lower()), {})


@lru_cache(maxsize=1)
def _figures_by_type(folder: Path) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    with (folder / TABLE).open(encoding="utf-8", newline="") as lines:
        return {
            (row["provider"], row["type"].lower()): _figures(row) for row in csv.DictReader(lines)
        }


def _figures(row: Mapping[str, str]) -> Mapping[str, Any]:
    share = Decimal(row["baseline_vcpus"]) / Decimal(row["vcpu_count"])
    price = row["credit_price_usd_per_vcpu_hour"]
    values = (share.quantize(RATIO_STEP), Decimal(price) if price else None, row["default_mode"])
    return dict(zip(CREDIT_FIELDS, values, strict=True))
