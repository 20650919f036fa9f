"""The tables of a bill's file, batch by batch: CSV, Parquet, JSON; plain or packed.

Whatever the file, what comes out are columns of text by our names, so that one reader serves all.
"""

import codecs
import csv
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from backend.bills.calc.formats import HETZNER, BillFormat
from backend.bills.services.batch import (
    BadLine,
    Batch,
    format_of,
    refuse_endless,
)
from backend.bills.services.json_rows import json_batches
from backend.bills.services.numbers import plain_numbers
from backend.core.address_space import address_space
from backend.foundation.errors import InvalidValue
from backend.foundation.reading.encodings import HEAD_BYTES, encoding_of

# Unpacked: a year of the largest sample's lines takes 2 GB.
MOST_BYTES = 8 * 1024**3
COPY_BYTES = 1024 * 1024
BLOCK_BYTES = 8 * 1024 * 1024
# So many lines before the head may be titles.
HEAD_LINES = 20
SEPARATORS = ",;\t"
AS_CSV = "save its table as CSV, or ask the provider for the bill as CSV"
DOCUMENTS = (b"%PDF-", b"<!DOCTYPE", b"<html", b"\xd0\xcf\x11\xe0")
# Parquet is packed already: what holds more than this, and so many times what was sent, is no bill.
PARQUET_FLOOR_BYTES = 64 * 1024**2
MAX_PARQUET_RATIO = 20
# A value that stands once in the file may be the text of each line.
BATCH_LINES = 8192
BATCH_TEXT_BYTES = 64 * 1024**2
# Least memory of a cell, so that lines without text count as well.
CELL_BYTES = 16
# Memory that reading a Parquet file may take in addition to what the process has.
READER_BYTES = 2 * 1024**3


def batches(
    file: BinaryIO, slug: str | None, bad_line: BadLine, opened: ExitStack
) -> tuple[BillFormat, Iterator[Batch]]:
    """The format of a file and its lines. InvalidValue names what is wrong with the file.

    What is opened beside the file is closed with `opened`.
    """
    packed = _CountedFile(file)
    unpacked = opened.enter_context(_bound_reader(_unpack(io.BufferedReader(packed), opened)))
    head = unpacked.peek(HEAD_BYTES)[:HEAD_BYTES]
    if not head.strip():
        raise InvalidValue("/file", "it is empty")
    if head.lstrip().startswith(DOCUMENTS):
        raise InvalidValue("/file", f"it is a document for people: {AS_CSV}")
    if head.startswith(b"PAR1"):
        return _parquet(unpacked, packed, slug, opened)
    if head.lstrip(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return json_batches(unpacked, slug, bad_line)
    return _comma_separated(unpacked, head, slug, bad_line)


class _CountedFile(io.RawIOBase):
    """Counts the bytes that were read of what was sent."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner, self.count = inner, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        self.count += len(data)
        buffer[: len(data)] = data
        return len(data)


def _unpack(buffered: io.BufferedReader, opened: ExitStack) -> BinaryIO:
    magic = buffered.peek(4)[:4]
    if magic.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", gzip.GzipFile(fileobj=buffered))
    if magic.startswith(b"PK\x03\x04"):
        return _only_member(buffered, opened)
    return cast("BinaryIO", buffered)


def _only_member(packed: io.BufferedReader, opened: ExitStack) -> BinaryIO:
    """The only file of an archive; the end of a ZIP file says what is in it, so the file must be
    all there."""
    try:
        archive = opened.enter_context(zipfile.ZipFile(_copy_to_file(packed, opened)))
        files = [member for member in archive.infolist() if not member.is_dir()]
        if any(file.filename == "[Content_Types].xml" for file in files):
            raise InvalidValue("/file", f"it is a workbook: {AS_CSV}")
        if len(files) != 1:
            raise InvalidValue("/file", f"the archive holds {len(files)} files: one is needed")
        if files[0].file_size > MOST_BYTES:
            # At once; what an archive says too little of is refused while it is read.
            raise _too_much()
        return cast("BinaryIO", opened.enter_context(archive.open(files[0])))
    except zipfile.BadZipFile as error:
        raise InvalidValue("/file", f"the archive is damaged: {error}") from error


def _copy_to_file(
    file: io.BufferedReader, opened: ExitStack, refuse: Callable[[int], None] = lambda _: None
) -> BinaryIO:
    """In a file that can be read from its end; `refuse` is called with the bytes so far."""
    whole = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    size_bytes = 0
    while data := file.read(COPY_BYTES):
        whole.write(data)
        size_bytes += len(data)
        refuse(size_bytes)
    whole.seek(0)
    return cast("BinaryIO", whole)


class _BoundedFile(io.RawIOBase):
    """Refuses what unpacks to more than a bill can be; names what cannot be unpacked."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner, self._left = inner, MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except (OSError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidValue("/file", f"it cannot be unpacked: {error}") from error
        self._left -= len(data)
        if self._left < 0:
            raise _too_much()
        buffer[: len(data)] = data
        return len(data)


def _too_much() -> InvalidValue:
    return InvalidValue("/file", f"it holds more than {MOST_BYTES // 1024**3} GiB")


def _bound_reader(inner: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(_BoundedFile(inner), HEAD_BYTES)


# --- CSV ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CsvLayout:
    """How a CSV file is written."""

    encoding: str
    separator: str
    skipped: int
    """Lines before the head."""
    header: Sequence[str]


def _comma_separated(
    file: io.BufferedReader, head: bytes, slug: str | None, bad_line: BadLine
) -> tuple[BillFormat, Iterator[Batch]]:
    encoding = encoding_of(head, is_whole=False)
    text = head.decode(encoding, "ignore")
    if "\0" in text:
        raise InvalidValue(
            "/file", "its encoding is none of UTF-8, UTF-16 with its mark and cp1252"
        )
    layout = _layout(encoding, text, slug)
    bill_format, sources = format_of(layout.header, slug)
    return bill_format, _csv_batches(file, layout, bill_format, sources, bad_line)


def _layout(encoding: str, text: str, slug: str | None) -> _CsvLayout:
    """By the first line that has the names of columns we know."""
    wrong: InvalidValue | None = None
    for skipped, line in enumerate(text.splitlines()[:HEAD_LINES]):
        separator = max(SEPARATORS, key=line.count)
        try:
            names = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:  # a cell larger than any name
            continue
        if len(names) < 2:
            continue
        try:
            format_of(names, slug)
        except InvalidValue as error:
            wrong = wrong or error
            continue
        return _CsvLayout(encoding, separator, skipped, names)
    raise wrong or InvalidValue("/file", "it has no line with the names of columns")


def _csv_batches(
    file: io.BufferedReader,
    layout: _CsvLayout,
    bill_format: BillFormat,
    sources: Mapping[str, str],
    bad_line: BadLine,
) -> Iterator[Batch]:
    # Names that come twice are told apart by their position.
    position = {name: f"{at}" for at, name in reversed(list(enumerate(layout.header)))}
    columns = {ours: position[theirs] for ours, theirs in sources.items()}
    for data, line in _blocks(file, layout):
        bad: dict[int, str] = {}

        def skip(row: arrow_csv.InvalidRow, bad: dict[int, str] = bad) -> str:
            why = f"{row.actual_columns} columns where the head has {row.expected_columns}"
            bad[row.number - 1] = why
            return "skip"

        table = _table(data, layout, sorted(set(columns.values())), skip)
        starts = _starts(data, line, table.num_rows + len(bad))
        for number, why in bad.items():
            bad_line(starts[number], why)
        read = {ours: table[name].combine_chunks() for ours, name in columns.items()}
        # Amounts of an invoice have their currency beside them (hetzner).
        if bill_format is not HETZNER:
            read = plain_numbers(read, layout.separator)
        yield Batch(read, [at for n, at in enumerate(starts) if n not in bad] if bad else starts)


def _starts(data: bytes, line: int, records: int) -> Sequence[int]:
    """Numbers of the lines that the records of a block begin in, the first one being `line`."""
    # Counting line ends is much faster than following the quotes, and nearly every block allows it.
    if data.count(b"\n") + (not data.endswith(b"\n")) == records:
        return range(line, line + records)
    # Some are empty, or hold line breaks in quotes.
    starts, is_inside = [], False
    for number, text in enumerate(data.split(b"\n"), line):
        if not is_inside and text.strip(b"\r"):
            starts.append(number)
        is_inside ^= text.count(b'"') % 2 == 1
    return starts


def _table(
    data: bytes, layout: _CsvLayout, needed: list[str], skip: Callable[..., str]
) -> pa.Table:
    names = [f"{at}" for at in range(len(layout.header))]

    def read(content: bytes) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=len(content) + 1, column_names=names
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=needed,
                strings_can_be_null=False,
            ),
        )

    # Arrow refuses a whole block for one byte that is not UTF-8, but one bad name must not cost the
    # bill.
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode(errors="replace").encode()
    try:
        return read(data)
    except pa.ArrowInvalid as error:
        raise InvalidValue("/file", str(error)) from error


def _blocks(file: io.BufferedReader, layout: _CsvLayout) -> Iterator[tuple[bytes, int]]:
    """Whole rows in UTF-8 and the number of their first line, some megabytes at a time.

    Read here and not by the library, which reads ahead in a thread of its own: uploads come from the
    database, whose connections belong to threads.
    """
    decoder = codecs.getincrementaldecoder(layout.encoding)("replace")
    is_plain = layout.encoding == "utf-8"
    kept, line, skipped = b"", 1, layout.skipped + 1
    while chunk := file.read(BLOCK_BYTES):
        kept += chunk if is_plain else decoder.decode(chunk).encode()
        while skipped and b"\n" in kept:
            kept = kept.partition(b"\n")[2]
            skipped, line = skipped - 1, line + 1
        end = _end_of_rows(kept)
        if end and not skipped:
            yield kept[:end], line
            line += kept.count(b"\n", 0, end)
            kept = kept[end:]
        refuse_endless(len(kept), line)
    if kept.strip() and not skipped:
        yield kept, line


def _end_of_rows(data: bytes) -> int:
    """Where the last row that is complete ends; 0 for none yet. Line breaks in quotes end none."""
    end = data.rfind(b"\n")
    # A mark that is never closed must not swallow the rest of the file: after four blocks any line is an end.
    if len(data) > 4 * BLOCK_BYTES:
        return end + 1
    while end >= 0 and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end)
    return end + 1


# --- Parquet --------------------------------------------------------------------------------------


def _parquet(
    file: io.BufferedReader, packed: _CountedFile, slug: str | None, opened: ExitStack
) -> tuple[BillFormat, Iterator[Batch]]:
    def refuse(size_bytes: int) -> None:
        if size_bytes > max(PARQUET_FLOOR_BYTES, MAX_PARQUET_RATIO * packed.count):
            detail = f"it unpacks to more than {MAX_PARQUET_RATIO} times its size: send the Parquet file itself"
            raise InvalidValue("/file", detail)

    # Its end says what is in it, so the file must be all there.
    whole = _copy_to_file(file, opened, refuse)
    opened.enter_context(address_space(READER_BYTES))
    try:
        # Values that repeat stay the numbers of a dictionary until they are needed as text.
        texts = [field.name for field in parquet.read_schema(whole) if _is_text(field.type)]
        whole.seek(0)
        table = opened.enter_context(parquet.ParquetFile(whole, read_dictionary=texts))
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidValue("/file", f"it is no Parquet file: {error}") from error
    bill_format, sources = format_of(list(_leaves(table.schema_arrow)), slug)
    return bill_format, _parquet_batches(table, sources)


def _leaves(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[str]:
    """Names of columns; of those within another one, as BigQuery writes them, with its name before."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type.fields, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def _parquet_batches(table: parquet.ParquetFile, sources: Mapping[str, str]) -> Iterator[Batch]:
    line, left_bytes = 2, MOST_BYTES
    names = sorted(set(sources.values()))
    try:
        for batch in table.iter_batches(batch_size=BATCH_LINES, columns=names):
            flat = pa.Table.from_batches([batch])
            while any(pa.types.is_struct(field.type) for field in flat.schema):
                flat = flat.flatten()
            for piece, size_bytes in _pieces(flat):
                left_bytes -= size_bytes
                if left_bytes < 0:
                    raise _too_much()
                columns = {ours: piece[name].combine_chunks() for ours, name in sources.items()}
                lines = range(line, line + piece.num_rows)
                yield Batch({ours: _text(column) for ours, column in columns.items()}, lines)
                line = lines.stop
    except MemoryError as error:
        detail = f"reading it takes more than {READER_BYTES // 1024**3} GiB of memory"
        raise InvalidValue("/file", detail) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidValue("/file", f"it is damaged: {error}") from error


def _pieces(table: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """The lines in parts of at most BATCH_TEXT_BYTES, each with its bytes as text."""
    size_bytes = sum(_text_bytes(chunk) for column in table.columns for chunk in column.chunks)
    if size_bytes <= BATCH_TEXT_BYTES:
        yield table, size_bytes
    elif table.num_rows == 1:
        raise InvalidValue("/file", f"one line holds more than {BATCH_TEXT_BYTES // 1024**2} MiB")
    else:
        half = table.num_rows // 2
        yield from _pieces(table.slice(0, half))
        yield from _pieces(table.slice(half))


def _text_bytes(column: pa.Array) -> int:
    """Bytes of the column with each value written out."""
    if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
        lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
    elif _is_text(column.type):
        lengths = pc.binary_length(column)
    else:
        return int(max(CELL_BYTES * len(column), column.nbytes))
    # Of 64 bits: the sum of many long values.
    return CELL_BYTES * len(column) + (pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        values = [json.dumps(value, default=str) for value in column.to_pylist()]
        return pa.array(values, pa.string())
    return pc.fill_null(pc.cast(column, pa.string()), "")
