"""A row of a person's table: a machine, and perhaps its price."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from backend.catalog.calc.tables.tables import ReadTable, Remark
from backend.money.pricing.quoted import ALL_MACHINES

FACTS = (
    "arch",
    "cpu_model",
    "vcpu_count",
    "vcpu_kind",
    "thread_count",
    "memory_bytes",
    "disk_bytes",
    "disk_kind",
)


@dataclass(frozen=True, kw_only=True)
class PriceRow:
    """A price as stated, never rounded; names are those of the catalog's columns."""

    amount: Decimal
    currency: str
    unit: str
    purchase_model: str
    observed_on: dt.date
    observed_at: dt.datetime | None = None
    """Known to the second in exports alone."""
    valid_from: dt.date | None = None
    zone: str = ""
    operating_system: str = "linux"
    tenancy: str = "shared"
    upfront: str = ""
    basis: str = "machine"
    term: str = ""
    plan: str = ""
    setup_amount: Decimal | None = None
    tax_basis: str = "net"
    tax_rate: Decimal | None = None
    minimum_months: int | None = None
    valid_until: dt.date | None = None
    applies_to: str = ALL_MACHINES
    included: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class OfferRow:
    """A machine type at one place; unknown figures are None, unknown words ""."""

    line: int
    provider: str
    name: str
    kind: str
    region: str = ""
    slug: str = ""
    arch: str = ""
    cpu_model: str = ""
    vcpu_count: Decimal | None = None
    vcpu_kind: str = ""
    thread_count: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    disk_kind: str = ""
    note: str = ""
    price: PriceRow | None = None
    price_id: str = ""
    """Id of the observation that a line of an export is of."""


@dataclass(frozen=True)
class ParsedTable:
    """Rows that can be used, and what is said of the others; `total` counts both."""

    rows: tuple[OfferRow, ...]
    refused: tuple[Remark, ...]
    warnings: tuple[Remark, ...]
    total: int


def parse_table(table: ReadTable, rows: Iterable[OfferRow | None]) -> ParsedTable:
    """The table of these records; a record that was read as None has said why."""
    kept = tuple(row for row in rows if row is not None)
    refused = [*table.wrong, *(remark for record in table.rows for remark in record.refused)]
    warned = [remark for record in table.rows if not record.refused for remark in record.warned]
    return ParsedTable(
        rows=kept,
        refused=tuple(sorted(refused, key=lambda remark: remark.line)),
        warnings=(*table.notes, *warned),
        total=len(table.rows) + len(table.wrong),
    )
