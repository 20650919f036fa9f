"""Prices of extras from a CSV table: what a provider takes beside the machine.

Columns, all but provider, kind, amount and currency optional: provider, region, kind, up_to, amount,
currency, unit, observed_on, source, locale. A line is a tier; lines that agree in provider, region,
kind and day are the tiers of one price, in the order of their bounds.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from backend.catalog.calc.tables.tables import (
    LOCALE,
    Options,
    RefusedTable,
    Remark,
    TableRow,
    records,
    shown,
)
from backend.foundation.errors import InvalidValue
from backend.money.pricing.extras import Tiers, tiers_checked

REQUIRED = ("provider", "kind", "amount", "currency")
COLUMNS = (
    "provider",
    "region",
    "kind",
    "up_to",
    "amount",
    "currency",
    "unit",
    "observed_on",
    "source",
    LOCALE,
)
# Units by kind; the first is what an amount is of where nobody says it.
UNITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"disk": ("gb_month",), "ipv4": ("hour", "month"), "egress": ("gb",)}
)


@dataclass(frozen=True, kw_only=True)
class ExtraRow:
    """A price of an extra; `region` "" is every region. `line` is that of its first tier."""

    line: int
    provider: str
    region: str
    kind: str
    tiers: Tiers
    currency: str
    observed_on: dt.date
    source: str


@dataclass(frozen=True)
class ExtraTable:
    """Prices that can be used, and what is said of the other lines; `total` counts all lines."""

    rows: tuple[ExtraRow, ...]
    refused: tuple[Remark, ...]
    warnings: tuple[Remark, ...]
    total: int


@dataclass(frozen=True)
class _Tier:
    line: int
    bound: Decimal | None
    amount: Decimal
    currency: str
    unit: str
    source: str


_Key = tuple[str, str, str, dt.date]


def extras(raw: bytes | str, *, today: dt.date, options: Options | None = None) -> ExtraTable:
    """The prices of a table; a line that is refused takes its price with it."""
    try:
        table = records(raw, known=COLUMNS, required=REQUIRED, options=options)
    except RefusedTable as refused:
        return ExtraTable((), refused.remarks, (), 0)
    cells = table.rows
    tiers: dict[_Key, list[_Tier]] = {}
    spoilt: set[_Key] = set()
    for record in cells:
        key, tier = _key(record, today), _tier(record)
        tiers.setdefault(key, []).append(tier)
        if record.refused:
            spoilt.add(key)
    refusals = [*table.wrong, *(remark for record in cells for remark in record.refused)]
    rows = [_row(key, of, refusals) for key, of in tiers.items() if key not in spoilt]
    return ExtraTable(
        rows=tuple(row for row in rows if row is not None),
        refused=tuple(sorted(refusals, key=lambda remark: remark.line)),
        warnings=(*table.notes, *(remark for record in cells for remark in record.warned)),
        total=len(cells) + len(table.wrong),
    )


def _key(record: TableRow, today: dt.date) -> _Key:
    return (
        record.text("provider", most=50, is_needed=True),
        record.text("region", most=50),
        record.word("kind", tuple(UNITS), is_needed=True),
        record.past_day("observed_on", today) or today,
    )


def _tier(record: TableRow) -> _Tier:
    amount = record.amount("amount", is_zero_allowed=True)
    if amount is None and not record.refused:
        record.refuse("amount", "a value is needed; 0 is a tier that costs nothing")
    units = UNITS.get(record.cells["kind"].lower(), ())
    unit = record.word("unit", units) or next(iter(units), "")
    bound = record.decimal("up_to")
    if bound is not None and unit == "month":
        record.refuse("up_to", "a price of the month has no tiers")
    return _Tier(
        line=record.line,
        bound=bound,
        amount=amount or Decimal(0),
        currency=record.currency("currency", is_needed=True),
        unit=unit,
        source=record.text("source", most=290) or "own list of extras",
    )


def _row(key: _Key, of: list[_Tier], said: list[Remark]) -> ExtraRow | None:
    """The price that these lines are the tiers of."""
    first = of[0]
    for tier in of[1:]:
        if (tier.currency, tier.unit) != (first.currency, first.unit):
            said.append(Remark(tier.line, "", f"another currency or unit than line {first.line}"))
            return None
    ordered = sorted(of, key=lambda tier: (tier.bound is None, tier.bound or Decimal(0)))
    tiers: Tiers = tuple((tier.bound, tier.amount) for tier in ordered)
    try:
        tiers = tiers_checked(tiers)
    except InvalidValue as error:
        said.append(Remark(first.line, "up_to", shown(error.detail)))
        return None
    if first.unit == "month":
        # All of a month is paid with its first hour.
        tiers = ((Decimal(1), first.amount), (None, Decimal(0)))
    provider, region, kind, day = key
    return ExtraRow(
        line=first.line,
        provider=provider,
        region=region,
        kind=kind,
        tiers=tiers,
        currency=first.currency,
        observed_on=day,
        source=first.source,
    )
