"""Files that would harm who reads them: a clear answer for each, and nothing of them is kept."""

import gzip
import io
import itertools
import resource
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest
from pyarrow import parquet

from backend.accounts.services.workspaces import default_workspace
from backend.bills.models import Bill, BillUpload
from backend.bills.services import batch, tables
from backend.bills.services.importing import BillFile, bill_import
from backend.bills.services.uploads import upload_keep
from backend.core.address_space import address_space
from backend.foundation.errors import InvalidValue
from workers import bills as worker

pytestmark = pytest.mark.django_db
HEAD = b"type,hours,cost,month,currency,provider\n"
LINE = b"m5.large,730,70.08,2026-10,USD,AWS\n"
GIB = 1024**3


class EndlessFile(io.RawIOBase):
    """A start, then the same byte, ten gigabytes of it; counts what was read."""

    def __init__(self, start):
        self.start, self.read_bytes = start, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.read_bytes >= 10 * GIB:
            return 0
        data = (self.start + b"x" * len(buffer))[: len(buffer)]
        self.start = self.start[len(buffer) :]
        buffer[:] = data
        self.read_bytes += len(data)
        return len(data)


def imported(*contents):
    numbers = itertools.count(1)
    files = [
        BillFile(f"{next(numbers)}.csv", lambda data=data: io.BytesIO(data)) for data in contents
    ]
    return bill_import(workspace=default_workspace(), name="Bad", files=files, actor="tester")


def assert_refused(why, *contents):
    with pytest.raises(InvalidValue, match=why):
        imported(*contents)
    assert not Bill.objects.exists()


@pytest.mark.parametrize(
    ("start", "line"), [(HEAD + LINE, 3), (HEAD + LINE + b'"', 3), (b'{"a": "', 1)]
)
def test_line_of_ten_gigabytes_is_refused_early_and_small(start, line):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    file = EndlessFile(start)
    with pytest.raises(InvalidValue, match=f"line {line} does not end within 64 MiB"):
        bill_import(
            workspace=default_workspace(),
            name="Endless",
            files=[BillFile("endless.csv", lambda: io.BufferedReader(file))],
            actor="tester",
        )
    assert file.read_bytes < 100 * 1024**2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024
    assert not Bill.objects.exists()


def test_file_without_any_line_break_is_no_bill():
    with pytest.raises(InvalidValue, match="no line with the names of columns"):
        bill_import(
            workspace=default_workspace(),
            name="Endless",
            files=[BillFile("x.csv", lambda: io.BufferedReader(EndlessFile(b"x")))],
            actor="tester",
        )
    assert not Bill.objects.exists()


def test_zip_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 100_000)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bill.csv", HEAD + LINE * 50_000)
    assert len(packed.getvalue()) < 20_000
    assert_refused("holds more than", packed.getvalue())
    # The size of its file stands twice in an archive; this one says that it is small.
    size = len(HEAD + LINE * 50_000).to_bytes(4, "little")
    assert packed.getvalue().count(size) == 2
    lying = packed.getvalue().replace(size, (1_000).to_bytes(4, "little"))
    assert_refused("cannot be unpacked: Bad CRC", lying)


def parquet_bill(lines, **columns):
    """A bill of so many equal lines; `columns` replaces values, one for all lines or a list."""
    names = HEAD.decode().strip().split(",")
    values = dict(zip(names, LINE.decode().strip().split(","), strict=True)) | columns
    arrays = {
        name: value
        if isinstance(value, pa.Array)
        else pa.array([value] * lines).dictionary_encode()
        for name, value in values.items()
    }
    packed = io.BytesIO()
    parquet.write_table(pa.table(arrays), packed, compression="zstd", row_group_size=lines)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("characters", "lines"), [(30_000, 65_536), (300_000, 6_553), (64, 65_536)]
)
def test_parquet_value_that_stands_for_gigabytes_is_read_in_small_parts(characters, lines):
    indices = pa.array([0] * lines, pa.int32())
    value = pa.DictionaryArray.from_arrays(indices, pa.array(["m5.large" + "x" * characters]))
    content = parquet_bill(lines, type=value)
    assert len(content) < 400_000
    assert imported_within(content, 600 * 1024**2) == lines


def imported_within(content, more_bytes):
    """Lines of the bill, read in a process of its own that may grow by so much."""
    program = (
        "import io, sys; from contextlib import ExitStack\n"
        "import django; django.setup()\n"
        "from backend.bills.services import tables\n"
        "import resource\n"
        "data = sys.stdin.buffer.read()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "with ExitStack() as opened:\n"
        "    _, found = tables.batches(io.BytesIO(data), None, lambda *_: None, opened)\n"
        "    lines = sum(len(batch.lines) for batch in found)\n"
        "print(lines, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], input=content, capture_output=True, check=True
    )
    lines, grown_bytes = map(int, output.stdout.split())
    assert grown_bytes < more_bytes
    return lines


def test_parquet_line_that_is_larger_than_any_is_refused():
    value = pa.array(["m5.large" + "x" * (70 * 1024**2)])
    assert_refused("one line holds more than 64 MiB", parquet_bill(1, type=value))


def test_parquet_that_holds_more_than_a_bill_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 20 * 1024**2)
    value = pa.DictionaryArray.from_arrays(
        pa.array([0] * 65_536, pa.int32()), pa.array(["m5.large" + "x" * 1000])
    )
    assert_refused("holds more than", parquet_bill(65_536, type=value))


@pytest.mark.parametrize("packing", ["gzip", "zip"])
def test_packed_parquet_of_many_times_its_size_is_refused_early(monkeypatch, packing):
    content = b"PAR1" + bytes(300 * 1024**2)
    packed = io.BytesIO()
    if packing == "gzip":
        packed.write(gzip.compress(content))
    else:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bill.parquet", content)
    assert len(packed.getvalue()) < 400_000
    written = []
    real = tables.tempfile.TemporaryFile

    class Counting:
        """A temporary file that says how much was written to it."""

        def __init__(self):
            self.file = real()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, data):
            written.append(len(data))
            return self.file.write(data)

    monkeypatch.setattr(tables.tempfile, "TemporaryFile", Counting)
    assert_refused("unpacks to more than 20 times its size", packed.getvalue())
    assert sum(written) < 100 * 1024**2


@pytest.mark.parametrize("packing", ["gzip", "zip", "none"])
def test_parquet_of_a_real_bill_is_read_however_it_is_packed(packing):
    content = parquet_bill(1000)
    if packing == "gzip":
        content = gzip.compress(content)
    if packing == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("bill.parquet", content)
        content = packed.getvalue()
    bill = imported(content)
    # 1000 lines of 70.08
    assert (bill.line_count, bill.total) == (1000, 70_080)


def test_process_lives_when_a_reader_takes_too_much_memory():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), address_space(200 * 1024**2):
        bytearray(400 * 1024**2)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(400 * 1024**2)) == 400 * 1024**2


def test_mixed_currencies_are_refused_also_across_files():
    euros = LINE.replace(b"USD", b"EUR")
    assert_refused("mixes EUR, USD: import one currency at a time", HEAD + LINE + euros)
    assert_refused("mixes EUR, USD", HEAD + LINE, HEAD + euros)


def test_month_that_two_files_repeat_is_refused_by_their_names():
    more = LINE.replace(b"2026-10", b"2026-11")
    why = "1.csv and 2.csv have the same lines of 2026-10: import each month once"
    assert_refused(why, HEAD + LINE, HEAD + LINE + more)


def test_month_of_a_line_is_that_of_utc_whatever_zone_it_is_written_in():
    """Providers close their months by it: read by its words a line at an end would count twice."""
    ends = LINE.replace(b"2026-10", b"2026-10-31T23:30:00-05:00")
    begins = LINE.replace(b"2026-10", b"2026-11-01T04:30:00Z")
    assert_refused("have the same lines of 2026-11", HEAD + ends, HEAD + begins)
    assert imported(HEAD + ends, HEAD + LINE).line_count == 2


def test_encoding_that_nobody_stated_is_read_or_refused_in_words():
    text = (HEAD + LINE).decode()
    assert imported(text.encode("utf-16")).line_count == 1
    Bill.objects.all().delete()
    for encoding in ("utf-16-le", "utf-32"):
        assert_refused("its encoding is none of", text.encode(encoding))


def test_bill_below_zero_keeps_its_sum_and_its_page(client):
    bill = imported(HEAD + LINE.replace(b"70.08", b"-70.08"))
    assert bill.total < 0
    assert bill.estate["by_kind"][0]["cost"] == "-70.08"


def test_count_beyond_all_machines_counts_none_and_its_line_is_read():
    head = b"type,count,price,month,currency\n"
    bill = imported(head + b"box,3,120,2026-10,EUR\nbox,99999999999999999999,1,2026-10,EUR\n")
    assert (bill.line_count, bill.total) == (2, 361)


def test_credits_that_nest_too_deep_are_a_line_that_is_named():
    head = b"usage_start_time,service.description,sku.description,cost,currency,credits\n"
    row = b"2024-05-01,Compute Engine,Core,1,USD,"
    bill = imported(head + row + b"0\n" + row + b"[" * 100_000 + b"\n")
    assert (bill.line_count, bill.total) == (2, 1)
    assert bill.unreadable_count == 1


def test_refused_upload_leaves_its_reason_and_no_piece(queued):
    content = iter([HEAD + LINE, b"x" * (batch.MOST_LINE_BYTES + len(LINE))])
    given = {"name": "Endless", "file_name": "endless.csv", "actor": "tester"}
    upload = upload_keep(workspace=default_workspace(), content=content, **given)
    worker.read_waiting()
    upload = BillUpload.objects.get(pk=upload.pk)
    assert "line 3 does not end within 64 MiB" in upload.failure
    assert not upload.parts.exists()
    assert not Bill.objects.exists()


def test_empty_upload_leaves_no_row(queued):
    given = {"name": "Empty", "file_name": "empty.csv", "actor": "tester"}
    with pytest.raises(InvalidValue, match="it is empty"):
        upload_keep(workspace=default_workspace(), content=iter([]), **given)
    assert not BillUpload.objects.exists()
