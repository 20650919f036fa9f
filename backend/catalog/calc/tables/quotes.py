"""Quotes for dedicated servers from a CSV table: one line is one model at one place.

Columns: provider, location, model, cpu, cores, threads, ram_gib, disks, nic_gbit, currency,
monthly_net, setup_net, min_term_months, traffic_tb, quoted_on, valid_until, url/contact (or url, or
contact), note; and, where a quote holds tax, monthly_gross and setup_gross with tax_rate, and
locale where decimals have a comma.
"""

import datetime as dt
import re
from decimal import Decimal

from backend.catalog.calc.tables.offer_rows import OfferRow, ParsedTable, PriceRow, parse_table
from backend.catalog.calc.tables.tables import LOCALE, Options, RefusedTable, TableRow, records
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.money.pricing.quoted import GROSS, NET

CONTACTS = ("url/contact", "url", "contact")
REQUIRED = ("provider", "model", "currency", "quoted_on")
COLUMNS = (
    "provider",
    "location",
    "model",
    "cpu",
    "cores",
    "threads",
    "ram_gib",
    "disks",
    "nic_gbit",
    "currency",
    "monthly_net",
    "setup_net",
    "min_term_months",
    "traffic_tb",
    "quoted_on",
    "valid_until",
    *CONTACTS,
    "note",
    "monthly_gross",
    "setup_gross",
    "tax_rate",
    "disk_gb",
    "disk_kind",
    LOCALE,
)
# Which the list of quotes has beside.
EXPORTED = "price_id"
UNLIMITED = "unlimited"
MOST_MONTHS = 120
_DISK = re.compile(
    r"(?:(?P<count>[1-9][0-9]{0,2})\s*[x×*]\s*)?(?P<size>[0-9]{1,6}(?:\.[0-9]{1,3})?)\s*"
    r"(?P<unit>[GT]i?B)\s*(?P<kind>nvme|ssd|hdd|sas|sata)?(?:\s+(?:ssd|hdd|disks?))?",
    re.IGNORECASE,
)
_BYTES_PER_TB = 1000 * BYTES_PER_GB
_BITS_PER_GBIT = 10**9
_UNITS = {
    "gb": BYTES_PER_GB,
    "tb": _BYTES_PER_TB,
    "gib": BYTES_PER_GIB,
    "tib": 1024 * BYTES_PER_GIB,
}


def quotes(raw: bytes | str, *, today: dt.date, options: Options | None = None) -> ParsedTable:
    """The quotes of a table.

    Refuses, by line and column, what has no currency, is negative, is gross without a rate of tax,
    or of the future; a quote that has expired is kept with a warning.
    """
    try:
        table = records(raw, known=COLUMNS, required=REQUIRED, exported=EXPORTED, options=options)
    except RefusedTable as refused:
        return ParsedTable((), refused.remarks, (), 0)
    return parse_table(table, (_quote(record, today) for record in table.rows))


def _quote(record: TableRow, today: dt.date) -> OfferRow | None:
    price = _price(record, today)
    cores = record.whole("cores", low=1, high=100_000)
    threads = record.whole("threads", low=1, high=100_000)
    if cores is not None and threads is not None and threads < cores:
        record.refuse("threads", f"{threads} are fewer than {cores} cores")
    disk_bytes, disk_kind = _disks(record)
    cpus = threads if threads is not None else cores
    row = OfferRow(
        line=record.line,
        provider=record.text("provider", most=50, is_needed=True),
        region=record.text("location", most=50),
        name=record.text("model", most=150, is_needed=True),
        kind="dedicated",
        cpu_model=record.text("cpu", most=150),
        vcpu_count=None if cpus is None else Decimal(cpus),
        vcpu_kind="dedicated",
        thread_count=threads,
        memory_bytes=record.size("ram_gib", BYTES_PER_GIB, most=1_000_000),
        disk_bytes=disk_bytes,
        disk_kind=disk_kind,
        price=price,
    )
    return None if record.refused else row


def _price(record: TableRow, today: dt.date) -> PriceRow | None:
    amount, setup, basis = _amounts(record)
    quoted_on = record.past_day("quoted_on", today, is_needed=True)
    valid_until = record.day("valid_until")
    if quoted_on is not None and valid_until is not None and valid_until < quoted_on:
        record.refuse("valid_until", f"{valid_until} is before the day of the quote, {quoted_on}")
    elif valid_until is not None and valid_until < today:
        record.warn("valid_until", f"the quote expired on {valid_until}")
    currency = record.currency("currency", is_needed=True)
    months = record.whole("min_term_months", low=0, high=MOST_MONTHS)
    contact = next((text for name in CONTACTS if (text := record.text(name, most=200))), "")
    row = {
        "setup_amount": setup,
        "tax_basis": basis,
        "tax_rate": record.rate("tax_rate"),
        "minimum_months": months,
        "valid_until": valid_until,
        "included": _quote_extras(record),
        "source": f"quote: {contact}" if contact else "quote",
        "note": record.text("note", most=1000),
    }
    if basis == GROSS and row["tax_rate"] is None:
        record.refuse("tax_rate", "a gross price needs its rate of tax")
    if amount is None or quoted_on is None:
        return None
    return PriceRow(
        amount=amount,
        currency=currency,
        unit="month",
        purchase_model="monthly",
        observed_on=quoted_on,
        valid_from=quoted_on,
        # Two minimum terms of one model are two prices, of which neither supersedes the other.
        plan=f"{months}_months" if months and months > 1 else "",
        **row,  # type: ignore[arg-type]
    )


def _amounts(record: TableRow) -> tuple[Decimal | None, Decimal | None, str]:
    """Monthly price, setup fee, and the tax basis of both."""
    basis = GROSS if record.has("monthly_gross") else NET
    if record.has("monthly_net") and basis == GROSS:
        record.refuse("monthly_gross", "net and gross are both given; give one of them")
    elif not record.has("monthly_net") and basis == NET:
        record.refuse("monthly_net", "a price is needed")
    other = "setup_net" if basis == GROSS else "setup_gross"
    if record.has(other):
        record.refuse(other, f"the monthly price is {basis}: give the setup fee likewise")
    amount = record.amount(f"monthly_{basis}")
    return amount, record.amount(f"setup_{basis}", is_zero_allowed=True), basis


def _quote_extras(record: TableRow) -> dict[str, object]:
    traffic_terms: dict[str, object] = {}
    if record.cells.get("traffic_tb", "").lower() == UNLIMITED:
        traffic_terms["is_traffic_unlimited"] = True
    else:
        traffic = record.size("traffic_tb", _BYTES_PER_TB, most=1_000_000, is_zero_allowed=True)
        if traffic is not None:
            traffic_terms["traffic_bytes"] = traffic
    link = record.size("nic_gbit", _BITS_PER_GBIT, most=10_000)
    if link is not None:
        traffic_terms["network_bits_per_s"] = link
    return traffic_terms


def _disks(record: TableRow) -> tuple[int | None, str]:
    """Bytes of all disks and their kind, of texts such as `2x512 GB NVMe + 4 x 8 TB HDD`."""
    text = record.text("disks")
    if not text:
        size = record.size("disk_gb", BYTES_PER_GB, most=1_000_000_000)
        return size, record.text("disk_kind", most=20)
    total, kinds = Decimal(0), []
    # Spreadsheets and web pages put it between a number and its unit.
    for part in re.split(r"[+,;&]", text.replace("\N{NO-BREAK SPACE}", " ")):
        disk = _DISK.fullmatch(part.strip())
        if disk is None or not Decimal(disk["size"]):
            record.warn(
                "disks", "no list such as 2x512 GB NVMe: the size of the disks is not known"
            )
            return None, ""
        total += int(disk["count"] or 1) * Decimal(disk["size"]) * _UNITS[disk["unit"].lower()]
        kinds.append((disk["kind"] or "").lower())
    known = list(dict.fromkeys(filter(None, kinds)))
    return int(total), "+".join(known)[:20] if "" not in kinds else ""
