"""A PassMark total: a number, a line that names it, a table of PerformanceTest, or its YAML."""

import csv
import re
from collections.abc import Iterator

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample

TOOL = "passmark"
MAX_CHARACTERS = 2**18
MAX_POINTS = 10_000_000
NAME = re.compile(r"cpu ?mark|passmark cpu mark|summ_cpu", re.IGNORECASE)
NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
# 12.345 may be twelve thousand: three digits behind the point are taken for no fraction.
GROUPED = re.compile(r"[0-9]{1,3}(?:[,.' ][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+,[0-9]+")
LABELLED = re.compile(r"([A-Za-z_ ]{1,40}?)\s*[:=]\s*(.{1,40})")
DELIMITERS = ",;\t"


def parse(text: str) -> list[ParsedSample]:
    """passmark_score (points) of the one CPU Mark in the text. Raises ProbeError.

    A number with separators is refused: whether 12,345 has a fraction depends on who wrote it.
    """
    checked = check_text(TOOL, text, most=MAX_CHARACTERS)
    totals = list(_totals(checked))
    if not totals:
        raise ProbeError(TOOL, "no CPU Mark: a number, or a line such as 'CPU Mark: 12345'", 1)
    if len(totals) > 1:
        raise ProbeError(TOOL, "more than one CPU Mark", totals[1][1])
    value, line = totals[0]
    return [
        ParsedSample(
            metric="passmark_score",
            variant="standard",
            value=_points(value, line),
            unit="points",
        )
    ]


def _totals(text: str) -> Iterator[tuple[str, int]]:
    """Every value that stands for a CPU Mark, as written, with its line."""
    lines = [line.strip() for line in text.split("\n")]
    if len("".join(lines).split()) == 1 and text.strip()[0].isdigit():
        yield text.strip(), next(i for i, line in enumerate(lines, start=1) if line)
        return
    column: int | None = None
    for number, line in enumerate(lines, start=1):
        labelled = LABELLED.fullmatch(line)
        if labelled and NAME.fullmatch(labelled[1]):
            yield labelled[2].strip(), number
            continue
        cells = _cells(line, number)
        named = next((i for i, cell in enumerate(cells) if NAME.fullmatch(cell)), None)
        if named is not None and named + 1 < len(cells) and cells[named + 1][:1].isdigit():
            yield cells[named + 1], number
        elif named is not None:
            column = named
        elif column is not None and column < len(cells) and cells[column]:
            yield cells[column], number


def _cells(line: str, number: int) -> list[str]:
    """The cells of a line of a table; none where the line is not one."""
    delimiter = max(DELIMITERS, key=line.count)
    if delimiter not in line:
        return []
    try:
        row = next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise ProbeError(TOOL, f"not a line of a table: {error}", number) from error
    return [cell.strip() for cell in row]


def _points(value: str, line: int) -> float:
    if GROUPED.fullmatch(value):
        raise ProbeError(TOOL, f"write {value!r} without separators, with a decimal point", line)
    points = float(value) if NUMBER.fullmatch(value) else 0
    if not 0 < points <= MAX_POINTS:
        raise ProbeError(TOOL, f"{value[:40]!r} is not a number of points", line)
    return points
