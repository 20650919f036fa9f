"""Lines of a bill as every kind of file gives them, and what is refused in each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from backend.bills.calc.formats import FORMATS, BillFormat, recognise_format
from backend.foundation.errors import InvalidValue

# A line that does not end would fill the memory; those of bills have some kilobytes.
MOST_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Batch:
    """Some lines of a bill: columns of text by our names, "" where there is nothing."""

    columns: Mapping[str, pa.Array]
    lines: Sequence[int]
    """Number of the line in the file that each begins in; the first line is 1."""


# Takes the number of a line that is no row of the table, and what is wrong with it.
BadLine = Callable[[int, str], None]


def format_of(header: Sequence[str], slug: str | None) -> tuple[BillFormat, dict[str, str]]:
    bill_format = FORMATS[slug] if slug else recognise_format(header)
    return bill_format, bill_format.sources(header)


def refuse_endless(size: int, number: int) -> None:
    """InvalidValue for a line, by its number, that is larger than any of a bill."""
    if size > MOST_LINE_BYTES:
        most = MOST_LINE_BYTES // 1024**2
        raise InvalidValue("/file", f"line {number} does not end within {most} MiB")
