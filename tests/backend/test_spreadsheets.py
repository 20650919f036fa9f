"""What reaches a spreadsheet: every digit, every type, no formula, nothing left out."""

import csv
import datetime as dt
import io
import math
import re
import shutil
import string
import subprocess
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import openpyxl
import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from backend.catalog.calc.tables.tables import TableRow
from backend.core import clock
from backend.core.rest.renderers import CsvRenderer, TsvRenderer
from backend.core.rest.table import (
    FORMULA_STARTS,
    Column,
    ColumnType,
    Table,
    json_cell,
    text_cell,
)
from backend.core.rest.workbook import MOST_CHARACTERS, NOTES, workbook
from backend.rankings.selectors.columns import COLUMN, COLUMNS
from tests import factories
from tests.backend.conftest import API

NUMBERS = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(
        allow_nan=False, allow_infinity=False, places=20, min_value=-(10**15), max_value=10**15
    ),
)
# What PostgreSQL keeps: no NUL, no half of a character.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
XML = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
ODD = ["=1+1", "@x", "-y", "+z", "\tt", "\rr", "\nn", "＝1", "＋1", "－1", "＠x"]
# LibreOffice's CSV filter: comma, double quote, and 76 for UTF-8; else it writes the locale's.
UTF8_CSV = "csv:Text - txt - csv (StarCalc):44,34,76"
BOUNDS = [2**53 + 1, 0.1 + 0.2, 1e-300, -3.5, Decimal("0.1234567890123456789012345678901234")]


def table(cells: list[Any], kind: ColumnType = ColumnType.NUMBER) -> Table:
    """One column of cells."""
    return Table((Column("cell", kind, "A cell"),), [{"cell": one} for one in cells], "cells", {})


def opened(content: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(content))


def printed_cells(content: bytes, sheet: int = 1) -> dict[str, str]:
    """What the file itself says in each cell that is a number."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        root = ET.fromstring(archive.read(f"xl/worksheets/sheet{sheet}.xml"))
    cells = {}
    for cell in root.iter(f"{XML}c"):
        value = cell.find(f"{XML}v")
        if value is not None and cell.get("t", "n") == "n":
            cells[cell.get("r", "")] = value.text or ""
    return cells


# --- digits ---------------------------------------------------------------------------------------


@given(st.lists(NUMBERS, min_size=1))
def test_xlsx_holds_every_digit_of_a_number_and_is_read_as_one(numbers: list[Any]) -> None:
    content = workbook(table(numbers))
    assert list(printed_cells(content).values()) == [text_cell(one) for one in numbers]
    read = [row[0].value for row in opened(content)["cells"].iter_rows(min_row=2)]
    assert all(isinstance(one, int | float) for one in read)
    assert [float(one) for one in read] == [float(one) for one in numbers]


@pytest.mark.parametrize("number", BOUNDS)
def test_number_has_the_same_digits_in_every_format(number: Any) -> None:
    wanted = text_cell(number)
    assert str(json_cell(number)) == wanted
    assert CsvRenderer().render(table([number])) == f"cell\r\n{wanted}\r\n".encode()
    assert TsvRenderer().render(table([number])) == f"cell\r\n{wanted}\r\n".encode()
    assert printed_cells(workbook(table([number]))) == {"A2": wanted}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["rankings", "offers", "prices", "fx-rates"])
def test_page_is_json_is_csv_is_tsv_is_xlsx_to_the_last_digit(
    client: Client, demo: None, name: str
) -> None:
    factories.price(factories.offer("exact", name="=1+1"), "0.123456789012345678")
    page = client.get(f"{API}/{name}?per_page=250").json()["results"]
    whole = [
        list(csv.reader(io.StringIO(client.get(f"{API}/{name}.{suffix}").content.decode()), **how))
        for suffix, how in (("csv", {}), ("tsv", {"delimiter": "\t"}))
    ]
    assert whole[0] == whole[1]
    header, *lines = whole[0]
    content = client.get(f"{API}/{name}.xlsx").content
    sheet, exact = opened(content)[name], printed_cells(content)
    for number, (row, line) in enumerate(zip(page, lines, strict=False), start=2):
        assert list(row) == header
        for cell, told, (column, value) in zip(sheet[number], line, row.items(), strict=True):
            assert told == as_csv(value), column
            assert xlsx_as_csv(cell, exact) == unguarded(told), column
    assert sheet.max_row == len(lines) + 1


def as_csv(value: Any) -> str:
    """A JSON value as CSV text has it; amounts are texts that begin with no formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if re.fullmatch(r"-?[0-9.]+", str(value)) else text_cell(value)


def xlsx_as_csv(cell: Any, exact: dict[str, str]) -> str:
    """An XLSX cell as CSV text has it."""
    if cell.value is None:
        return ""
    if isinstance(cell.value, bool):
        return str(cell.value).upper()
    if isinstance(cell.value, dt.datetime):
        is_day = cell.number_format == "yyyy-mm-dd"
        zoned = cell.value.replace(tzinfo=dt.UTC)
        return str(json_cell(cell.value.date() if is_day else zoned))
    return exact[cell.coordinate] if cell.data_type == "n" else str(cell.value)


def unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA_STARTS) else text


# --- types ----------------------------------------------------------------------------------------


def test_xlsx_cells_have_their_types() -> None:
    moment = dt.datetime(2026, 11, 1, 12, 30, 15, tzinfo=dt.UTC)
    cells = [True, False, 7, 7.5, Decimal("7.25"), moment.date(), moment, "7", None]
    content = workbook(table(cells, ColumnType.TEXT))
    read = [row[0] for row in opened(content)["cells"].iter_rows(min_row=2, max_row=10)]
    assert [cell.data_type for cell in read] == ["b", "b", "n", "n", "n", "d", "d", "s", "n"]
    assert [cell.value for cell in read] == [
        *(True, False, 7, 7.5, 7.25),
        dt.datetime(2026, 11, 1),
        moment.replace(tzinfo=None),
        *("7", None),
    ]
    assert [cell.number_format for cell in read[5:7]] == ["yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"]


def test_day_before_the_calendars_of_spreadsheets_agree_is_text() -> None:
    days = [dt.date(1899, 12, 31), dt.date(1900, 2, 28), dt.date(1900, 3, 1)]
    read = [row[0].value for row in opened(workbook(table(days)))["cells"].iter_rows(min_row=2)]
    assert read == ["1899-12-31", "1900-02-28", dt.datetime(1900, 3, 1)]


def test_workbook_has_a_frozen_header_a_filter_a_name_and_words() -> None:
    columns = (
        Column("price", ColumnType.DECIMAL, "What it costs", "USD/h"),
        Column("x", ColumnType.TEXT, "X"),
    )
    content = workbook(
        Table(columns, [{"price": Decimal(1), "x": "a"}], "fx-rates", {"address": "http://here"})
    )
    book = opened(content)
    sheet = book["fx-rates"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("B2", "A1:B2")
    assert book.defined_names["rackrate_fx_rates"].value == "'fx-rates'!$A$1:$B$2"
    told = {
        str(one.sqref): one.promptTitle or one.prompt
        for one in sheet.data_validations.dataValidation
    }
    assert told == {"A1": "What it costs (USD/h)", "B1": "X"}
    about = {row[0]: row[1:] for row in book["About"].iter_rows(values_only=True) if row[0]}
    assert about["address"][0] == "http://here"
    assert about["price"] == ("What it costs", "USD/h")
    assert set(NOTES) < set(about)


def test_workbook_without_rows_is_one() -> None:
    sheet = opened(workbook(table([])))["cells"]
    assert (sheet.max_row, sheet["A1"].value) == (1, "cell")


def test_workbook_of_a_table_is_the_same_every_time() -> None:
    assert workbook(table([1.5, "a"])) == workbook(table([1.5, "a"]))


# --- text -----------------------------------------------------------------------------------------


@given(st.lists(TEXTS | st.sampled_from(ODD), min_size=1))
@example(["a\r\nb", "\r\n", "\r", "\n"])
def test_text_is_text_in_every_format_whatever_it_is(texts: list[str]) -> None:
    sheet = opened(workbook(table(texts)))["cells"]
    read = [row[0] for row in sheet.iter_rows(min_row=2)]
    assert [cell.data_type for cell in read] == ["s"] * len(texts)
    assert [unescaped(cell.value) for cell in read] == texts
    told = io.StringIO(CsvRenderer().render(table(texts)).decode(), newline="")
    cells = [row[0] for row in csv.reader(told)][1:]
    assert not any(one.startswith(FORMULA_STARTS) for one in cells)
    assert [unguarded(one) for one in cells] == texts


def unescaped(text: str) -> str:
    """Characters that XML cannot hold come as _xHHHH_."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


@pytest.mark.parametrize("start", ODD)
def test_a_guard_is_taken_off_again_by_an_import(start: str) -> None:
    guarded = text_cell(f"{start}name")
    assert guarded == f"'{start}name"
    read = TableRow(1, {"name": guarded}).text("name")
    assert read.endswith("name")
    assert not read.startswith(("'", *FORMULA_STARTS))


def test_negative_number_is_no_formula() -> None:
    assert CsvRenderer().render(table([-3.5, Decimal("-0.1")])) == b"cell\r\n-3.5\r\n-0.1\r\n"


def test_text_too_long_for_a_cell_says_that_it_was_cut() -> None:
    text = string.ascii_letters * 1_000
    cut = opened(workbook(table([text])))["cells"]["A2"].value
    assert len(cut) == MOST_CHARACTERS
    assert cut.endswith(f"… (cut; JSON and CSV have all {len(text)} characters)")
    assert cut.startswith(text[:32_000])


# --- dialects and amounts -------------------------------------------------------------------------


@pytest.mark.django_db
def test_excel_eu_reads_under_de_de_as_the_plain_one_reads(client: Client, demo: None) -> None:
    plain = client.get(f"{API}/offers.csv").content.decode()
    german = client.get(f"{API}/offers.csv?dialect=excel-eu").content
    assert german.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(plain, newline="")))
    lines = csv.DictReader(io.StringIO(german.decode("utf-8-sig"), newline=""), delimiter=";")
    for row, line in zip(rows, lines, strict=True):
        for column in COLUMNS:
            told, wanted = line[column.name], row[column.name]
            if column.kind.is_numeric and wanted:
                assert "." not in told
                assert math.isclose(float(told.replace(",", ".")), float(wanted), rel_tol=0)
            elif column.kind is not ColumnType.TIME:
                assert told == wanted


@pytest.mark.django_db
def test_more_than_fifty_thousand_rows_are_refused_with_their_count(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO catalog_exchangerate (currency, date, units_per_eur, source)"
            " SELECT 'USD', date '1900-01-01' + n, 1, 'test' FROM generate_series(1, 50001) n"
        )
    for suffix in ("csv", "tsv"):
        refused = client.get(f"{API}/fx-rates.{suffix}")
        assert refused.status_code == 400
        assert refused["Content-Type"] == "text/plain; charset=utf-8"
        line = refused.content.decode()
        assert "50001 rows" in line
        assert line.count("\r\n") == 1
    assert "50001" in client.get(f"{API}/fx-rates.xlsx").json()["errors"][0]["detail"]
    assert client.get(f"{API}/fx-rates").json()["count"] == 50_001
    assert client.get(f"{API}/fx-rates.csv?as_of=2026-01-01").status_code == 200


@pytest.mark.django_db
def test_value_is_at_most_64_bytes_for_every_numeric_column(client: Client) -> None:
    slow = factories.offer("slow")
    factories.price(slow, "9999999999.999999999999999999", currency="USD")
    factories.sample(
        slow, 1.2345678901234567e25, metric="net_rtt_ns", variant="standard", unit="ns"
    )
    lengths = {}
    for column in (name for name, column in COLUMN.items() if column.kind.is_numeric):
        address = f"{API}/value?offer=slow&metric=net_rtt_ns&period=year&column={column}"
        answer = client.get(address)
        assert answer.status_code in {200, 404}, column
        if answer.status_code == 200:
            lengths[column] = len(answer.content)
            assert math.isfinite(float(answer.content))
    assert max(lengths.values()) <= 64
    [row] = client.get(f"{API}/rankings?metric=net_rtt_ns&period=year").json()["results"]
    # Derived figures have 12 significant digits.
    assert len(Decimal(row["value_per_cost"]).as_tuple().digits) <= 12
    told = client.get(f"{API}/value?offer=slow&metric=net_rtt_ns&period=year&column=value_per_cost")
    assert Decimal(told.content.decode()) == Decimal(row["value_per_cost"])


@pytest.mark.django_db
def test_libreoffice_opens_the_workbook_and_reads_the_same(
    client: Client, demo: None, tmp_path: Path
) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    factories.offer("odd", name="=1+1")
    (tmp_path / "offers.xlsx").write_bytes(client.get(f"{API}/offers.xlsx").content)
    home = f"-env:UserInstallation={(tmp_path / 'home').as_uri()}"
    made = subprocess.run(
        [office, home, "--headless", "--convert-to", UTF8_CSV, "offers.xlsx"],
        cwd=tmp_path, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "rror" not in made.stderr
    rows = list(csv.DictReader(io.StringIO((tmp_path / "offers.csv").read_bytes().decode())))
    wanted = list(csv.DictReader(io.StringIO(client.get(f"{API}/offers.csv").content.decode())))
    assert [row["offer_id"] for row in rows] == [row["offer_id"] for row in wanted]
    assert "=1+1" in {row["offer"] for row in rows}


def test_xlsx_shows_amounts_and_counts_by_their_unit_and_widens_columns() -> None:
    columns = (
        Column("price", ColumnType.DECIMAL, "What it costs", "currency/h"),
        Column("disk", ColumnType.INTEGER, "Size", "bytes"),
        Column("year", ColumnType.INTEGER, "When"),
        Column("score", ColumnType.NUMBER, "Measured", "CMIPS"),
        Column("url", ColumnType.TEXT, "Where"),
        Column("value", ColumnType.DECIMAL, "Score for the money"),
    )
    row = {
        "price": Decimal("1234.56789012"), "disk": 4 * 10**12, "year": 2026, "score": 0.000123,
        "url": "https://rackrate.example/" + "x" * 100, "value": Decimal("0.00000012"),
    }  # fmt: skip
    book = opened(workbook(Table(columns, [row], "cells", {})))
    sheet = book["cells"]
    assert [cell.number_format for cell in sheet[2]] == [
        *("#,##0.00########", "#,##0", "General", "General", "General", "General")
    ]
    assert sheet["A2"].value == 1234.56789012
    widths = [sheet.column_dimensions[name].width for name in "ABDE"]
    assert widths == pytest.approx([14, 14, 12, 40], abs=1)
    about = {row[0].value: row[1].value for row in book["About"].iter_rows()}
    assert about["exported"] == clock.now().date().isoformat()


@pytest.mark.django_db
def test_workbook_and_formulas_name_the_address_that_others_use(
    client: Client, settings: LazySettings
) -> None:
    def about(host: str) -> dict[str, str]:
        content = client.get(f"{API}/metrics.xlsx?sort=metric", headers={"host": host}).content
        return {row[0].value: row[1].value for row in opened(content)["About"].iter_rows()}

    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    assert about("testserver")["address"] == f"http://testserver{API}/metrics.xlsx?sort=metric"
    assert "PUBLIC_URL" in about("127.0.0.1")["reached from"]
    warning = "only works on this computer"
    assert warning in client.get("/data/", headers={"host": "127.0.0.1"}).content.decode()
    settings.PUBLIC_URL = "https://rackrate.example/"
    there = about("127.0.0.1")
    assert there["address"] == f"https://rackrate.example{API}/metrics.xlsx?sort=metric"
    assert "reached from" not in there
    page = client.get("/data/", headers={"host": "127.0.0.1"}).content.decode()
    assert warning not in page
    assert f"https://rackrate.example{API}/rankings.csv" in page
