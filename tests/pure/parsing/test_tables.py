"""Tables as people send them: fifteen files of quotes, and what is never guessed."""

import datetime as dt
import io
import zipfile
from decimal import Decimal

import openpyxl
import pytest

from backend.catalog.calc.tables.offers import offers
from backend.catalog.calc.tables.quotes import quotes
from backend.catalog.calc.tables.table_figures import day, number
from backend.catalog.calc.tables.table_files import sheet, text_lines
from backend.catalog.calc.tables.tables import Options
from tests.pure.parsing.test_quotes import TODAY

HEAD = "provider;model;monthly_net;currency;quoted_on\n"
LINE = "Hosty;EX44;{};EUR;2026-11-10\n"
ONE = [("EX44", Decimal(1249), "EUR", "2026-11-10")]


def workbook(*rows, sheets=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in sheets:
        book.create_sheet(name).append(["more"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


FILES = {
    "title row above the header": ("Quotes, November 2026\n\n" + HEAD + LINE.format("1249"), {}),
    "spoken header with its currency": (
        "Provider;Model;Monthly price (EUR);Date\nHosty;EX44;1249,00;2026-11-10\n", {}),
    "German figures": (HEAD + LINE.format("1.234,56 €").replace("1.234,56", "1.249,00"), {}),
    "cp1252": ("Anbieter;Modell;Monatspreis netto;Währung;Angebotsdatum\n"
               "Hosty;EX44;1249,00;€;10.11.2026\n".encode("cp1252").decode("cp1252"), {}),
    "UTF-16": ((HEAD + LINE.format("1249")).replace(";", "\t").encode("utf-16"), {}),
    "sep line": ("sep=;\r\n" + HEAD + LINE.format("1249"), {}),
    "capitals": (HEAD.replace("monthly_net", "Monthly Net") + LINE.format("1249"), {}),
    "German date": (HEAD + LINE.format("1249").replace("2026-11-10", "10.11.2026"), {}),
    "US thousands": ('provider,model,monthly_net,currency,quoted_on\n'
                     'Hosty,EX44,"1,249.00",EUR,2026-11-10\n', {}),
    "totals row": (HEAD + LINE.format("1249") + "Total;;1249;;\n", {}),
    "empty header cell": (HEAD.replace("\n", ";\n") + LINE.format("1249").replace("\n", ";\n"), {}),
    "French": ("Fournisseur;Modèle;Prix mensuel HT (€);Date du devis\n"
               "Hosty;EX44;1\u202f249,00;10/11/2026\n", {"locale": "fr"}),
    "Spanish": ("Proveedor;Modelo;Precio mensual sin IVA;Moneda;Fecha\n"
                "Hosty;EX44;1.249;EUR;10/11/2026\n", {"locale": "es"}),
    "pasted cells": ("Hoster\tServer\tMonthly price\tDate\nHosty\tEX44\t1,249.00 €\t2026-11-10\n", {}),
    "workbook": (workbook(["Our quotes"], [], ["Provider", "Model", "Preis pro Monat (EUR)", "Datum"],
                          ["Hosty", "EX44", 1249, "10.11.2026"], ["Summe", None, 1249]), {}),
}  # fmt: skip


def seen(found):
    return [
        (row.name, row.price.amount, row.price.currency, str(row.price.observed_on))
        for row in found.rows
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_people_write_it_is_read_with_one_flag_at_most(name):
    raw, defaults = FILES[name]
    if name == "cp1252":
        raw = raw.encode("cp1252")
    assert len(defaults) <= 1
    found = quotes(raw, today=TODAY, options=Options(defaults=defaults))
    assert (found.refused, seen(found)) == ((), ONE)


@pytest.mark.parametrize(
    ("cell", "locale", "figure"),
    [
        ("1.234,56", "", "1234.56"), ("1,234.56", "", "1234.56"), ("1.234.567", "", "1234567"),
        ("1 234,56", "", "1234.56"), ("1'234.50", "", "1234.50"), ("249,00", "", "249.00"),
        ("0.096", "", "0.096"), ("12345.678", "", "12345.678"), ("1.249", "de", "1249"),
        ("1,249", "de", "1.249"), ("1.249", "en-US", "1.249"), ("1,249", "en", "1249"),
        ("1.249", "de-CH", "1.249"), ("-5", "", "-5"),
    ],
)  # fmt: skip
def test_a_number_with_one_meaning_is_read(cell, locale, figure):
    assert number(cell, locale) == Decimal(figure)


@pytest.mark.parametrize(
    ("cell", "locale", "words"),
    [
        ("1.249", "", "1249 or 1.249"), ("1,249", "", "1249 or 1.249"), ("12,34,567", "", "three"),
        ("1,23.5", "", "three"), ("249.00", "de", "comma"), ("249,00", "en", "point"),
        ("1e3", "", "not a decimal"), ("", "", "not a decimal"), ("1.2,3.4", "", "three"),
    ],
)  # fmt: skip
def test_a_number_with_two_meanings_is_never_guessed(cell, locale, words):
    with pytest.raises(ValueError, match=words):
        number(cell, locale)


@pytest.mark.parametrize(
    ("cell", "locale", "iso"),
    [
        ("10.11.2026", "", "2026-11-10"), ("2026-11-10T00:00:00", "", "2026-11-10"),
        ("13/11/2026", "", "2026-11-13"), ("11/13/2026", "", "2026-11-13"),
        ("10/11/2026", "fr", "2026-11-10"), ("10/11/2026", "en-US", "2026-10-11"),
        ("10/11/2026", "en-GB", "2026-11-10"),
    ],
)  # fmt: skip
def test_a_day_with_one_meaning_is_read(cell, locale, iso):
    assert str(day(cell, locale)) == iso


@pytest.mark.parametrize(
    ("cell", "words"),
    [("10/11/2026", "two days"), ("1899-12-30", "no date"), ("10.11.26", "not a date"),
     ("2026-02-30", "not a date"), ("1900-01-00", "not a date")],
)  # fmt: skip
def test_a_day_with_two_meanings_or_none_is_refused(cell, words):
    with pytest.raises(ValueError, match=words):
        day(cell)


@pytest.mark.parametrize(
    ("old", "new", "column", "words"),
    [
        ("1249", "1.249", "monthly_net", "state the locale"),
        ("1249", "$1,249.00", "monthly_net", "two currencies"),
        ("1249;EUR", "$1,249.00;", "monthly_net", "which country"),
        ("EUR", "XXX", "currency", "currency in use"),
        ("2026-11-10", "1899-12-30", "quoted_on", "no date"),
        ("2026-11-10", "10/11/2026", "quoted_on", "two days"),
    ],
)
def test_unclear_figure_is_refused_with_what_to_change(old, new, column, words):
    found = quotes((HEAD + LINE.format("1249")).replace(old, new), today=TODAY)
    assert found.rows == ()
    assert [remark.column for remark in found.refused][:1] == [column]
    assert words in found.refused[0].detail


def test_dollars_are_read_where_the_line_says_which():
    text = (HEAD + LINE.format('"$1,249.00"')).replace("EUR", "USD")
    assert seen(quotes(text, today=TODAY)) == [("EX44", Decimal(1249), "USD", "2026-11-10")]


def test_a_header_in_another_unit_is_unknown_and_can_be_mapped():
    text = HEAD.replace("\n", ";Port (Mbit/s)\n") + LINE.format("1249").replace("\n", ";1000\n")
    [refused] = quotes(text, today=TODAY).refused
    assert (refused.line, refused.column) == (1, "port (mbit/s)")
    assert "unknown column" in refused.detail
    left_out = Options(columns={"Port (Mbit/s)": "-"})
    assert seen(quotes(text, today=TODAY, options=left_out)) == ONE
    renamed = Options(columns={"Rate": "monthly_net"})
    renamed_text = (HEAD + LINE.format("1249")).replace("monthly_net", "Rate")
    assert seen(quotes(renamed_text, today=TODAY, options=renamed)) == ONE


def test_cells_under_no_header_name_the_column():
    text = HEAD.replace("\n", ";\n") + LINE.format("1249").replace("\n", ";7\n")
    [refused] = quotes(text, today=TODAY).refused
    assert (refused.column, refused.line) == ("column F", 1)


def test_missing_columns_may_be_stated_for_all_lines():
    defaults = {"provider": "Hosty", "currency": "EUR", "quoted_on": "2026-11-10"}
    found = quotes("model,monthly_net\nEX44,1249\n", today=TODAY, options=Options(defaults))
    assert seen(found) == ONE


def test_typed_cells_of_a_workbook_mean_the_same_everywhere():
    """A day as a date, a yes as a boolean; a time of day is no part of a quote."""
    head = ["provider", "model", "monthly_net", "currency", "quoted_on", "burstable"]
    for typed in (dt.date(2026, 11, 10), dt.datetime(2026, 11, 10, 12)):
        lines = sheet(workbook(head, ["Hosty", "EX44", 49, "EUR", typed, True]), len).lines
        number, cells = lines[1]
        assert number == 2
        assert cells[:6] == ["Hosty", "EX44", "49", "EUR", "2026-11-10", "TRUE"]
        assert not any(cells[6:])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("a;b\n\ud800;1\n", "half a character is not text"),
        (b"PK\x03\x04 and no archive", "the workbook cannot be read (BadZipFile)"),
    ],
)
def test_file_that_is_no_table_says_why(raw, said):
    (refusal,) = quotes(raw, today=TODAY).refused
    assert said in refusal.detail


def test_empty_workbook_is_an_empty_file():
    (refusal,) = quotes(workbook(), today=TODAY).refused
    assert refusal.detail == "the file is empty"


def test_cells_that_a_spreadsheet_appends_are_no_columns():
    lines = HEAD + LINE.format("1249").replace("\n", ";;;\n")
    assert seen(quotes(lines, today=TODAY)) == ONE


def test_numbers_of_a_workbook_need_no_locale():
    rows = (["provider", "model", "monthly_net", "currency", "quoted_on"],
            ["Hosty", "EX44", 1.249, "EUR", TODAY.replace(day=10)])  # fmt: skip
    found = quotes(workbook(*rows, sheets=["other"]), today=TODAY)
    assert seen(found) == [("EX44", Decimal("1.249"), "EUR", "2026-11-10")]
    assert any("other" in remark.detail for remark in found.warnings)


def test_a_workbook_that_unpacks_to_gigabytes_is_refused_unread():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 40_000_000)
    [refused] = quotes(file.getvalue(), today=TODAY).refused
    assert "unpacked" in refused.detail
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("xl/workbook.xml", "<!DOCTYPE x [<!ENTITY a 'b'>]>")
    assert "entities" in quotes(file.getvalue(), today=TODAY).refused[0].detail
    for encoding in ("utf-16", "utf-16-le", "utf-8-sig", "iso-8859-1"):
        declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n<!-- x -->'
        text = f"{declared}<!DOCTYPE x [<!ENTITY a 'bbbb'>]><x>&a;</x>"
        with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
            archive.writestr("xl/workbook.xml", text.encode(encoding))
        detail = quotes(file.getvalue(), today=TODAY).refused[0].detail
        # Without its mark nobody reads UTF-16, the parser of a workbook neither.
        assert "entities" in detail or encoding == "utf-16-le", encoding
    assert "cannot be read" in quotes(b"PK\x03\x04junk", today=TODAY).refused[0].detail


def test_an_offer_table_understands_price_and_period():
    text = "Provider;Machine;kind;Price (USD);Period\nown;Rack 7;onprem;0.25;hour\n"
    [row] = offers(text, today=TODAY).rows
    assert (row.name, row.price.amount, row.price.currency) == ("Rack 7", Decimal("0.25"), "USD")


def test_workbook_of_a_list_is_text_with_its_rows_on_their_lines() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["address", "port"])
    sheet.append([])
    sheet.append(["a\nb", 22])
    out = io.BytesIO()
    book.save(out)
    assert text_lines(out.getvalue()) == "address,port\n\na b,22\n"
    assert text_lines("\ufeffaddress\ngäte\n".encode()) == "address\ngäte\n"
