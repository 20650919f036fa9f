"""The cells of a table that a person sends: CSV in any usual encoding, XLSX, or a pasted table."""

import csv
import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any
from xml.parsers import expat

from backend.catalog.calc.tables.table_remarks import RefusedTable, Remark
from backend.foundation.reading.encodings import encoding_of

# A table is read whole and previewed in a page; larger ones belong to the API or a price list.
MAX_BYTES = 1_000_000
MAX_UNPACKED_BYTES = 30_000_000
MAX_COLUMNS = 200
MAX_LINES = 6_000
# So many lines before the header may be titles.
HEAD_LINES = 30
SEPARATORS = ",;\t"
_SEPARATOR_LINE = re.compile(r'"?sep=(?P<mark>[,;\t])"?[,;\t]*\r?\n', re.IGNORECASE)
_ZIP = b"PK\x03\x04"
_AMBIGUOUS = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")

Line = tuple[int, list[str]]


@dataclass
class FileLines:
    """Lines with their number in the file, and what is said of the file as a whole."""

    lines: list[Line]
    notes: list[Remark] = field(default_factory=list)
    is_ragged: bool = True
    """True if a line says itself how many cells it has: no sheet of a workbook does."""


def sheet(raw: bytes | str, score: Callable[[Sequence[str]], int]) -> FileLines:
    """The lines of a file. `score` says how much of a line is header: it decides on the separator.

    Raises RefusedTable for what is too large, cannot be read as text, or is damaged.
    """
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise RefusedTable(Remark(1, "", f"{size} bytes are too many, {MAX_BYTES} the most"))
    if isinstance(raw, bytes) and raw.startswith(_ZIP):
        return _workbook(raw)
    text, notes = decode(raw)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RefusedTable(Remark(line, "", "a NUL character is not text"))
    first = 1
    mark = ""
    if stated := _SEPARATOR_LINE.match(text):
        mark, text, first = stated["mark"], text[stated.end() :], 2
    marks = (
        [mark] if mark else sorted(SEPARATORS, key=lambda mark: -_rate_encoding(text, mark, score))
    )
    return FileLines(list(_lines(text, marks[0], first)), notes)


def text_lines(raw: bytes) -> str:
    """The text of a file of lines; the first sheet of a workbook as CSV, each row on the line of its
    number. Raises RefusedTable."""
    if not raw.startswith(_ZIP):
        return decode(raw)[0]
    out = io.StringIO(newline="")
    writer, line = csv.writer(out, lineterminator="\n"), 1
    lines = _workbook(raw).lines
    # A sheet is as wide as MAX_COLUMNS, whatever stands in it.
    width = max((n for _, cells in lines for n, cell in enumerate(cells, 1) if cell), default=0)
    for number, cells in lines:
        out.write("\n" * (number - line))
        # A line feed within a cell would move all lines below it.
        writer.writerow([" ".join(cell.split("\n")) for cell in cells[:width]])
        line = number + 1
    return out.getvalue()


def _rate_encoding(text: str, mark: str, score: Callable[[Sequence[str]], int]) -> int:
    try:
        head = [cells for _, cells in islice(_lines(text, mark, 1), HEAD_LINES)]
    except RefusedTable:
        return -1
    # More cells decide where no line looks like a header.
    return max((1000 * score(cells) + min(len(cells), 999) for cells in head), default=0)


def decode(raw: bytes | str) -> tuple[str, list[Remark]]:
    """The text of a file, and what is said of how it was read; raises RefusedTable for half a character."""
    if isinstance(raw, str):
        try:
            raw.encode()
        except UnicodeEncodeError as error:
            line = raw.count("\n", 0, error.start) + 1
            raise RefusedTable(Remark(line, "", "half a character is not text")) from None
        return raw.removeprefix("\ufeff"), []
    try:
        encoding = encoding_of(raw)
        text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        detail = f"byte {error.start + 1} is no text: save the file as CSV UTF-8, or as XLSX"
        raise RefusedTable(Remark(line, "", detail)) from None
    if encoding != "cp1252":
        return text, []
    line = next(n for n, part in enumerate(raw.split(b"\n"), 1) if not part.isascii())
    return text, [Remark(line, "", "not UTF-8: read as Windows-1252, look at names with accents")]


def _lines(text: str, mark: str, first: int) -> Iterator[Line]:
    """(Line on which it begins, cells) of each row; blank lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    while True:
        # A quoted cell may span lines: the row is named by its first one.
        line = reader.line_num + first
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong = max(line, reader.line_num + first - 1)
            raise RefusedTable(Remark(wrong, "", f"no CSV: {error}")) from None
        stripped = [cell.strip(" \u00a0") for cell in cells]
        if any(stripped):
            yield line, stripped


def _workbook(raw: bytes) -> FileLines:
    # Only here: every web process would load it otherwise.
    import openpyxl

    try:
        _check_archive(raw)
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        filled = [
            (worksheet.title, lines)
            for worksheet in book.worksheets
            if (lines := _cells(worksheet))
        ]
    except RefusedTable:
        raise
    # openpyxl raises whatever its parts raise for a damaged file.
    except Exception as error:  # noqa: BLE001
        detail = f"the workbook cannot be read ({type(error).__name__}): save it anew as XLSX"
        raise RefusedTable(Remark(1, "", detail)) from None
    if not filled:
        return FileLines([], is_ragged=False)
    title, lines = filled[0]
    others = ", ".join(name for name, _ in filled[1:])
    notes = [Remark(1, "", f"only the sheet {title!r} is read, not {others}")] if others else []
    return FileLines(lines, notes, is_ragged=False)


def _check_archive(raw: bytes) -> None:
    """Before anything is unpacked as XML: a small file may hold gigabytes, or entities of entities."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
        size = sum(part.file_size for part in parts)
        if size > MAX_UNPACKED_BYTES or len(parts) > MAX_LINES:
            detail = f"unpacked it has {size} bytes, {MAX_UNPACKED_BYTES} are the most"
            raise RefusedTable(Remark(1, "", detail))
        for part in parts:
            if _has_declaration(archive.read(part)):
                raise RefusedTable(Remark(1, "", "a workbook declares no entities"))


class _Seen(Exception):
    """Raised within the parser to end it."""


def _has_declaration(part: bytes) -> bool:
    """True if a part of XML, in whatever encoding, has a document type, where entities are declared."""
    is_declared = False

    def declared(*_: object) -> None:
        nonlocal is_declared
        is_declared = True
        raise _Seen

    def begun(*_: object) -> None:
        raise _Seen

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = declared
    # It stands before the first element.
    parser.StartElementHandler = begun
    # An image, or what openpyxl will say of it.
    with suppress(_Seen, expat.ExpatError):
        parser.Parse(part, True)
    return is_declared


def _cells(worksheet: Any) -> list[Line]:
    rows = worksheet.iter_rows(max_row=MAX_LINES, max_col=MAX_COLUMNS, values_only=True)
    lines = []
    for number, row in enumerate(rows, 1):
        cells = [_text(value) for value in row]
        if any(cells):
            lines.append((number, cells))
    return lines


def _text(value: object) -> str:
    """A typed cell as text that means the same in every locale."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        text = format(Decimal(repr(value)), "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        # A number of the sheet has no marks of a locale: one more zero, and three digits cannot be
        # taken for a group of thousands.
        return f"{text}0" if _AMBIGUOUS.fullmatch(text) else text
    if isinstance(value, dt.datetime):
        return value.date().isoformat()
    return str(value).strip(" \u00a0")
