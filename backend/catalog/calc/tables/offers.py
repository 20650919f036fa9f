"""Offers of one's own from a CSV table: one line is one machine type at one place.

Columns, all but provider, offer and kind optional: provider, offer, region, kind, arch, cpu, vcpu,
vcpu_kind, threads, ram_gib, disk_gb, disk_kind, amount, currency, unit, setup, purchase_model,
term, minimum_months, tax_basis, tax_rate, observed_on, valid_until, source, note, locale. A line
without an amount is an offer whose price is not known.
"""

import datetime as dt
from decimal import Decimal

from backend.catalog.calc.tables.offer_rows import OfferRow, ParsedTable, PriceRow, parse_table
from backend.catalog.calc.tables.tables import (
    LOCALE,
    Options,
    RefusedTable,
    Remark,
    TableRow,
    records,
)
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.measure.architectures import architecture
from backend.money.pricing.quoted import (
    COMMITMENTS,
    GROSS,
    MODEL_OF_UNIT,
    NET,
    TAX_BASES,
    kind_fault,
)

REQUIRED = ("provider", "offer", "kind")
COLUMNS = (
    "provider",
    "offer",
    "region",
    "kind",
    "arch",
    "cpu",
    "vcpu",
    "vcpu_kind",
    "threads",
    "ram_gib",
    "disk_gb",
    "disk_kind",
    "amount",
    "currency",
    "unit",
    "setup",
    "purchase_model",
    "term",
    "minimum_months",
    "tax_basis",
    "tax_rate",
    "observed_on",
    "valid_until",
    "source",
    "note",
    LOCALE,
)
# Which lists of rankings and offers have beside: the offer's slug.
EXPORTED = "offer_id"
KINDS = ("cloud", "vps", "dedicated", "onprem")
VCPU_KINDS = ("dedicated", "shared", "burstable")
MODELS = ("on_demand", "spot", "monthly", "purchase", *COMMITMENTS)
MOST_MONTHS = 120
MOST_CPUS = 100_000
MOST_SIZE = 1_000_000_000


def offers(raw: bytes | str, *, today: dt.date, options: Options | None = None) -> ParsedTable:
    """The offers of a table. Refuses by line and column."""
    try:
        table = records(raw, known=COLUMNS, required=REQUIRED, exported=EXPORTED, options=options)
    except RefusedTable as refused:
        return ParsedTable((), refused.remarks, (), 0)
    if table.is_export:
        detail = "an export: machines are read, calculated figures (price, score, rank …) are not"
        table.notes.append(Remark(1, "", detail))
    return parse_table(table, (_offer(record, today) for record in table.rows))


def _offer(record: TableRow, today: dt.date) -> OfferRow | None:
    row = OfferRow(
        line=record.line,
        slug=record.text("offer_id", most=120),
        provider=record.text("provider", most=50, is_needed=True),
        name=record.text("offer", most=150, is_needed=True),
        region=record.text("region", most=50),
        kind=record.word("kind", KINDS, is_needed=True),
        arch=architecture(record.text("arch", most=10)),
        cpu_model=record.text("cpu", most=150),
        vcpu_count=_vcpus(record),
        vcpu_kind=record.word("vcpu_kind", VCPU_KINDS),
        thread_count=record.whole("threads", low=1, high=MOST_CPUS),
        memory_bytes=record.size("ram_gib", BYTES_PER_GIB, most=1_000_000),
        disk_bytes=record.size("disk_gb", BYTES_PER_GB, most=MOST_SIZE),
        disk_kind=record.text("disk_kind", most=20),
        note=record.text("note", most=1000),
        price=_price(record, today),
    )
    return None if record.refused else row


def _vcpus(record: TableRow) -> Decimal | None:
    count = record.decimal("vcpu")
    if count is not None and (not 0 < count < MOST_CPUS or count != round(count, 3)):
        record.refuse("vcpu", f"{count} is not above 0, below {MOST_CPUS}, to three decimals")
        return None
    return count


def _price(record: TableRow, today: dt.date) -> PriceRow | None:
    # Every cell is read before anything is decided, so that all faults of a line are named at once.
    amount = record.amount("amount")
    unit = record.word("unit", tuple(MODEL_OF_UNIT))
    tax_basis = record.word("tax_basis", TAX_BASES) or NET
    tax_rate = record.rate("tax_rate")
    setup = record.amount("setup", is_zero_allowed=True)
    observed_on = record.past_day("observed_on", today) or today
    valid_until = record.day("valid_until")
    if valid_until is not None and valid_until < today:
        record.warn("valid_until", f"the price expired on {valid_until}")
    currency = record.currency("currency", is_needed=record.has("amount"))
    purchase_model = record.word("purchase_model", MODELS) or MODEL_OF_UNIT.get(unit, "")
    term = record.text("term", most=20).lower()
    months = record.whole("minimum_months", low=0, high=MOST_MONTHS)
    source = record.text("source", most=290)
    if not record.has("amount"):
        if setup is not None:
            record.refuse("setup", "a setup fee without an amount is no price")
        return None
    if tax_basis == GROSS and tax_rate is None:
        record.refuse("tax_rate", "a gross price needs its rate of tax")
    if not unit:
        record.refuse("unit", f"one of {', '.join(MODEL_OF_UNIT)} is needed")
    elif fault := kind_fault(purchase_model, unit, term):
        record.refuse(*fault)
    if amount is None:
        return None
    return PriceRow(
        amount=amount,
        currency=currency,
        unit=unit,
        purchase_model=purchase_model,
        term=term,
        observed_on=observed_on,
        valid_from=observed_on,
        setup_amount=setup,
        tax_basis=tax_basis,
        tax_rate=tax_rate,
        minimum_months=months,
        plan=f"{months}_months" if months and months > 1 else "",
        valid_until=valid_until,
        source=source or "own list of offers",
    )
