"""Bills as JSON, such as the export of Google: objects of a table in BigQuery, one a line or in an array."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from backend.bills.calc.formats import FORMATS, GCP, BillFormat, comparable_name, recognise_format
from backend.bills.services.batch import (
    MOST_LINE_BYTES,
    BadLine,
    Batch,
    format_of,
    refuse_endless,
)
from backend.foundation.errors import InvalidValue
from backend.money.price_lists.json_stream import Scanner

ROWS = 50_000
HEAD_BYTES = 64 * 1024
# Columns that hold a document in every kind of file.
DOCUMENTS = frozenset(
    name for bill_format in FORMATS.values() for name in bill_format.columns.get("details", ())
)

# Number of a line or object, and its flat fields.
Row = tuple[int, Mapping[str, str]]


def json_batches(
    file: io.BufferedReader, slug: str | None, bad_line: BadLine
) -> tuple[BillFormat, Iterator[Batch]]:
    """The format and the lines. InvalidValue names what is wrong with the file."""
    rows = _line_rows(file, bad_line) if _has_lines(file) else _array_rows(file, bad_line)
    flat = ((number, _flat(row)) for number, row in rows)
    first = list(islice(flat, ROWS))
    if not first:
        raise InvalidValue("/file", "it holds no JSON object")
    names = _names(first)
    bill_format, _ = format_of(names, slug or _slug(names))
    return bill_format, _batches(bill_format, first, flat)


def _slug(names: Sequence[str]) -> str:
    try:
        return recognise_format(names).slug
    # Whose objects may leave out any field that is empty in all of them.
    except InvalidValue:
        return GCP.slug


def _names(rows: Sequence[Row]) -> list[str]:
    # Of all rows: BigQuery leaves out the fields that are empty in one.
    return list(dict.fromkeys(name for _, row in rows for name in row))


def _batches(bill_format: BillFormat, first: Sequence[Row], rest: Iterator[Row]) -> Iterator[Batch]:
    while first:
        sources = bill_format.sources(_names(first))
        columns = {
            ours: pa.array([row.get(name, "") for _, row in first], pa.string())
            for ours, name in sources.items()
        }
        yield Batch(columns, [number for number, _ in first])
        first = list(islice(rest, ROWS))


def _has_lines(file: io.BufferedReader) -> bool:
    """True if each object has a line of its own."""
    # Only peeked at: whoever reads the rows begins at the start of the file.
    head = file.peek(HEAD_BYTES).decode("utf-8-sig", "replace").lstrip().removeprefix("[").lstrip()
    if not file.peek(1).lstrip(b"\xef\xbb\xbf \n\r\t").startswith(b"["):
        return True
    try:
        json.loads(_bare(head.partition("\n")[0]))
    except ValueError:
        return False
    return True


def _bare(line: str) -> str:
    # An array may be written with an object a line: its brackets and commas stand beside them.
    return line.strip().lstrip("[,").rstrip(",]").strip()


def _line_rows(file: io.BufferedReader, bad_line: BadLine) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = iter(partial(file.readline, MOST_LINE_BYTES + 1), b"")
    for number, line in enumerate(lines, 1):
        refuse_endless(len(line), number)
        text = _bare(line.decode("utf-8-sig", "replace"))
        if not text:
            continue
        try:
            row = json.loads(text, parse_float=str)  # amounts keep their digits
        except ValueError as error:
            bad_line(number, f"no JSON: {error}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            bad_line(number, "no object of columns")


def _array_rows(file: io.BufferedReader, bad_line: BadLine) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects by their position; what is no JSON ends the file, as nobody knows where it goes on."""
    scanner = Scanner(io.TextIOWrapper(file, "utf-8-sig", "replace"), where="array")
    try:
        for number, _ in enumerate(scanner.items(), 1):
            row = scanner.value()
            if isinstance(row, dict):
                yield number, row
            else:
                bad_line(number, "no object of columns")
    except InvalidValue as error:
        raise InvalidValue("/file", f"{error.field}: {error.detail}") from error


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Fields of nested objects by their joined names; lists as JSON."""
    flat: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, dict) and comparable_name(name) in DOCUMENTS:
            flat[prefix + name] = json.dumps(value, default=str)
        elif isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            flat[prefix + name] = json.dumps(value, default=str)
        else:
            flat[prefix + name] = "" if value is None else str(value)
    return flat
