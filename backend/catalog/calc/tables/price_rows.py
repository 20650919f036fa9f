"""Prices from the table that the list of prices is exported as: one line is one price of an offer.

A line names its offer by offer_id, or by provider, offer and region; price_id is of the observation
that it was exported from, if it is known here.
"""

import datetime as dt

from backend.catalog.calc.tables.offer_rows import OfferRow, ParsedTable, PriceRow, parse_table
from backend.catalog.calc.tables.tables import LOCALE, Options, RefusedTable, TableRow, records
from backend.money.pricing.purchase import PurchaseModel
from backend.money.pricing.quoted import (
    ALL_MACHINES,
    APPLIES_TO,
    GROSS,
    MODEL_OF_UNIT,
    NET,
    TAX_BASES,
    kind_fault,
)

REQUIRED = ("amount", "currency", "unit")
COLUMNS = (
    "price_id", "offer_id", "provider", "offer", "region", "zone", "os", "tenancy", "purchase_model",
    "term", "upfront", "plan", "basis", "amount", "currency", "unit", "setup", "tax_basis", "tax_rate",
    "minimum_months", "valid_until", "effective_from", "valid_from", "applies_to", "observed_at",
    "source", "note", LOCALE,
)  # fmt: skip
EXPORTED = "price_id"
MOST_MONTHS = 600


def prices_of_table(
    raw: bytes | str, *, today: dt.date, options: Options | None = None
) -> ParsedTable:
    """The prices of a table, each with the words that say which offer it is of."""
    try:
        table = records(raw, known=COLUMNS, required=REQUIRED, exported=EXPORTED, options=options)
    except RefusedTable as refused:
        return ParsedTable((), refused.remarks, (), 0)
    return parse_table(table, (_row(record, today) for record in table.rows))


def _row(record: TableRow, today: dt.date) -> OfferRow | None:
    slug = record.text("offer_id", most=120)
    row = OfferRow(
        line=record.line,
        slug=slug,
        provider=record.text("provider", most=50, is_needed=not slug),
        name=record.text("offer", most=150, is_needed=not slug),
        region=record.text("region", most=50),
        kind="",
        price=_price(record, today),
        price_id=record.text("price_id", most=40),
    )
    return None if record.refused else row


def _price(record: TableRow, today: dt.date) -> PriceRow | None:
    amount = record.amount("amount")
    if not record.has("amount"):
        record.refuse("amount", "a price is needed")
    currency = record.currency("currency", is_needed=True)
    unit = record.word("unit", tuple(MODEL_OF_UNIT), is_needed=True)
    model = record.word("purchase_model", tuple(PurchaseModel)) or MODEL_OF_UNIT.get(unit, "")
    term = record.text("term", most=20).lower()
    if unit and (fault := kind_fault(model, unit, term)):
        record.refuse(*fault)
    tax_basis = record.word("tax_basis", TAX_BASES) or NET
    tax_rate = record.rate("tax_rate")
    # A list may state a gross price without its rate; a person's is of no use so.
    if tax_basis == GROSS and tax_rate is None and not record.has("price_id"):
        record.refuse("tax_rate", "a gross price needs its rate of tax")
    observed_at = record.moment("observed_at")
    if observed_at is not None and observed_at.date() > today:
        record.refuse("observed_at", f"{observed_at.date()} is in the future")
    if amount is None:
        return None
    return PriceRow(
        amount=amount,
        currency=currency,
        unit=unit,
        purchase_model=model,
        term=term,
        observed_on=observed_at.date() if observed_at else today,
        observed_at=observed_at,
        valid_from=record.day("valid_from") or record.day("effective_from"),
        applies_to=record.word("applies_to", APPLIES_TO) or ALL_MACHINES,
        zone=record.text("zone", most=50),
        operating_system=record.text("os", most=20) or "linux",
        tenancy=record.text("tenancy", most=20) or "shared",
        upfront=record.text("upfront", most=20),
        plan=record.text("plan", most=30),
        basis=record.text("basis", most=60) or "machine",
        setup_amount=record.amount("setup", is_zero_allowed=True),
        tax_basis=tax_basis,
        tax_rate=tax_rate,
        minimum_months=record.whole("minimum_months", low=0, high=MOST_MONTHS),
        valid_until=record.day("valid_until"),
        source=record.text("source", most=300) or "own list of prices",
        note=record.text("note", most=1000),
    )
