"""Invoices of Hetzner as CSV: numbers, dates and units in English or German, as the other formats have them.

Both languages have the same columns. A number has four decimals, a total its currency beside it, and a
month of a server is the unit "Months" or "Monate".
"""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from backend.bills.calc.moments import moment
from backend.bills.calc.periods import month_hours
from backend.bills.services.batch import Batch

CURRENCIES = {"€": "EUR", "$": "USD"}
UNITS = (
    (re.compile(r"gb[- ]?mon", re.IGNORECASE), "GB-Months"),
    (re.compile(r"tb", re.IGNORECASE), "TB"),
    (re.compile(r"mon", re.IGNORECASE), "Months"),
    (re.compile(r"stunde|hour", re.IGNORECASE), "Hours"),
)
SERVER = re.compile(
    r"^(?P<cloud>\S+) Cloud[- ]Server$|"
    r"\b(?P<dedicated>(?:AX|EX|PX|SX|RX|DX|GEX|EQ|MX)\d+[A-Za-z0-9-]*)\b",
    re.IGNORECASE,
)
FAMILIES = (
    (re.compile(r"^volume", re.IGNORECASE), "Block storage"),
    (re.compile(r"storage|backup|snapshot", re.IGNORECASE), "Storage"),
    (
        re.compile(r"traffic|\bip(?:v[46])?\b|load ?balancer|network|vswitch", re.IGNORECASE),
        "Network",
    ),
)
NUMBER = re.compile(r"-?\d[\d.,]*")
DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)


def normalize(batch: Batch) -> Batch:
    """The same lines with amounts, dates and units as the reader takes them."""
    names = list(batch.columns)
    rows = [
        _row(dict(zip(names, values, strict=True)))
        for values in zip(*(column.to_pylist() for column in batch.columns.values()), strict=True)
    ]
    keys = (
        "start",
        "end",
        "billed",
        "currency",
        "service",
        "family",
        "machine",
        "quantity",
        "unit",
    )
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in keys}
    resources = {name: of for name, of in batch.columns.items() if name == "resource"}
    return replace(batch, columns={**columns, **resources})


def _row(cells: Mapping[str, str | None]) -> dict[str, str]:
    texts = {name: (cell or "").strip() for name, cell in cells.items()}
    product, total = texts["service"], texts["billed"]
    # A total always has decimals, so it shows which mark the file writes before them.
    amount, mark = _number(total, ".")
    quantity, _mark = _number(texts.get("quantity", ""), mark)
    unit = next((name for word, name in UNITS if word.search(texts.get("unit", ""))), "")
    server = SERVER.search(product)
    machine = (server["cloud"] or server["dedicated"]).lower() if server else ""
    start, until = moment(texts["start"]), moment(texts.get("end", ""))
    end = "" if until is None else f"{until + DAY:%Y-%m-%d}"
    if unit == "Months" and start is not None:
        quantity, unit = _hours(quantity, start, until), "Hours"
    return {
        "start": texts["start"],
        "end": end,
        "billed": amount,
        "currency": next((code for sign, code in CURRENCIES.items() if sign in total), "")
        or "".join(re.findall(r"[A-Z]{3}", total)),
        "service": product,
        "family": next((name for word, name in FAMILIES if word.search(product)), ""),
        "machine": machine,
        "quantity": quantity,
        "unit": unit,
    }


def _number(text: str, mark: str) -> tuple[str, str]:
    """A number with a point before its decimals, and the mark that the text has there."""
    match = NUMBER.search(text.replace("\u2212", "-").replace("\u00a0", " "))
    if match is None:
        return text, mark
    digits = match[0].rstrip(".,")
    sign = "-" if "-" in text[: match.start()] else ""
    marks = re.findall(r"[.,]", digits)
    last = marks[-1] if marks else mark
    # Three digits behind a single mark may be a group of thousands: the file's own mark decides.
    is_group = len(digits) - digits.rfind(last) - 1 == 3 and len(set(marks)) == 1
    if marks and not (is_group and last != mark):
        mark = last
    whole, point, part = digits.rpartition(mark) if mark in digits else (digits, "", "")
    return sign + re.sub(r"[.,]", "", whole) + ("." if point else "") + part, mark


def _hours(months: str, start: dt.datetime, until: dt.datetime | None) -> str:
    """Hours of so many months; no more than there are from the first day to the last."""
    try:
        hours = float(months) * month_hours(start)
    except ValueError:
        return months
    if until is not None:
        hours = min(hours, max(float(months), 1.0) * ((until + DAY - start) / HOUR))
    return f"{hours:.6f}".rstrip("0").rstrip(".")
