"""What is said of a hoster's table holds for its next one; templates to fill in."""

import datetime as dt
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.models import PriceObservation, TableMapping
from backend.catalog.selectors.tables import COLUMNS
from tests import factories
from tests.backend.conftest import API, rows

pytestmark = pytest.mark.django_db
HEAD = "Hoster;Modell;Preis;Datum;Rabatt\n"
FIRST = HEAD + "Hosty;EX44;1.249;10.11.2026;5\n"
NEXT = HEAD + "Hosty;EX45;1.349;11.11.2026;5\n"
SAID = {"columns": {"Preis": "monthly_net", "Rabatt": "-"}, "locale": "de", "currency": "EUR"}


@pytest.fixture
def writer(caller: Callable[..., Client]) -> Client:
    return caller("write")


def sent(client: Client, text: str, **given: Any) -> Any:
    document = {"kind": "quotes", "text": text, **given}
    response = client.post(
        f"{API}/tables/import", json.dumps(document), content_type="application/json"
    )
    assert response.status_code == 200, response.content
    return response.json()


def test_next_table_of_a_hoster_is_read_as_the_last_one(writer: Client) -> None:
    assert sent(writer, FIRST)["refused"]
    assert (sent(writer, FIRST, **SAID)["prices_new"], TableMapping.objects.count()) == (1, 1)
    report = sent(writer, NEXT)
    assert (report["prices_new"], report["refused"], report["recalled"]) == (1, [], "hosty")
    assert report["warnings"][0]["detail"] == (
        "read as the last table of hosty: locale de, currency EUR, Preis = monthly_net, Rabatt = -"
    )
    amounts = PriceObservation.objects.order_by("amount").values_list("amount", flat=True)
    assert list(amounts) == [1249, 1349]
    # what is said now wins, and what is asked for anew is not recalled
    assert sent(writer, NEXT, anew=True)["refused"]
    [line] = sent(writer, NEXT, locale="en", replace=True, dry_run=True)["lines"]
    assert (line["price"], line["state"]) == ("1.349 EUR/month", "replaced")


def test_table_of_another_hoster_is_not_read_so(writer: Client) -> None:
    sent(writer, FIRST, **SAID)
    other = NEXT.replace("Hosty", "Acme")
    assert sent(writer, other)["recalled"] == ""
    mixed = NEXT + "Acme;EX45;1.349;11.11.2026;5\n"
    assert (sent(writer, mixed)["recalled"], PriceObservation.objects.count()) == ("", 1)
    stated = NEXT.replace("Hoster;", "").replace("Hosty;", "")
    assert sent(writer, stated, provider="Hosty")["recalled"] == "hosty"


def test_nothing_is_remembered_of_a_look_or_of_several_hosters(writer: Client) -> None:
    sent(writer, FIRST, dry_run=True, **SAID)
    sent(writer, FIRST + "Acme;EX45;1.349;11.11.2026;5\n", **SAID)
    assert TableMapping.objects.count() == 0


def test_remembered_meanings_are_listed_changed_and_forgotten(writer: Client) -> None:
    sent(writer, FIRST, **SAID)
    sent(writer, FIRST, **SAID)
    assert AuditEntry.objects.filter(action="table_mapping_remember").count() == 1
    [row] = rows(writer.get(f"{API}/table-mappings.csv"))
    assert (row["provider"], row["locale"]) == ("hosty", "de")
    assert json.loads(row["meanings"]) == SAID["columns"]
    sent(writer, NEXT, columns={"Rabatt": "note"})
    mapping = TableMapping.objects.get()
    assert mapping.columns == {"Preis": "monthly_net", "Rabatt": "note"}
    assert Client().delete(f"{API}/table-mappings/{row['id']}").status_code == 401
    assert writer.delete(f"{API}/table-mappings/{row['id']}").status_code == 204
    assert sent(writer, NEXT)["refused"]
    assert AuditEntry.objects.filter(action="table_mapping_forget").exists()


def test_page_asks_what_headers_mean_and_remembers_it(client: Client) -> None:
    client.force_login(factories.user(role="write"))
    file = SimpleUploadedFile("quotes.csv", FIRST.encode())
    asked = client.post("/prices/tables/", {"kind": "quotes", "file": file})
    page = asked.content.decode()
    headers = re.findall(r'name="header" value="([^"]*)"', page)
    [kept] = re.findall(r'name="kept" value="([^"]*)"', page)
    assert headers == ["preis", "rabatt"]
    answers = {"header": headers, "meaning": ["monthly_net", "-"], "kept": kept}
    given = {"kind": "quotes", "locale": "de", "currency": "EUR", "store": "1"}
    page = client.post("/prices/tables/", answers | given).content.decode()
    assert PriceObservation.objects.get().amount == 1249
    assert "Saved column mappings" in page
    file = SimpleUploadedFile("quotes.csv", NEXT.encode())
    client.post("/prices/tables/", {"kind": "quotes", "file": file, "store": "1"})
    assert PriceObservation.objects.count() == 2
    mapping = TableMapping.objects.get()
    client.post(f"/prices/tables/mappings/{mapping.pk}/forget/")
    assert TableMapping.objects.count() == 0
    wrong = client.post("/prices/tables/", {"kind": "quotes", "kept": "%"})
    assert "Choose the file again." in wrong.content.decode()


def test_command_recalls_and_writes_templates(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "quotes.csv"
    file.write_text(FIRST)
    said = (
        "--map",
        "Preis=monthly_net",
        "--map",
        "Rabatt=-",
        "--locale",
        "de",
        "--currency",
        "EUR",
    )
    call_command("import_quotes", str(file), *said)
    file.write_text(NEXT)
    call_command("import_quotes", str(file))
    assert "1 prices" in capsys.readouterr().out
    with pytest.raises(CommandError, match="the table is refused"):
        call_command("import_quotes", str(file), "--anew")
    template = tmp_path / "offers.xlsx"
    call_command("import_offers", str(template), "--template")
    assert openpyxl.load_workbook(template).active.max_column == len(COLUMNS["offers"])
    with pytest.raises(CommandError, match="csv or xlsx"):
        call_command("import_offers", str(tmp_path / "offers.ods"), "--template")
    with pytest.raises(CommandError, match="No such file"):
        call_command("import_offers", str(tmp_path / "none" / "o.csv"), "--template")


@pytest.mark.parametrize("kind", COLUMNS)
def test_template_has_the_columns_and_what_they_may_hold(client: Client, kind: str) -> None:
    text = client.get(f"{API}/table-templates/{kind}.csv").content.decode("utf-8-sig")
    assert text == ",".join(COLUMNS[kind]) + "\r\n"
    book = openpyxl.load_workbook(
        io.BytesIO(client.get(f"{API}/table-templates/{kind}.xlsx").content)
    )
    sheet = book["table"]
    assert [cell.value for cell in sheet[1]] == list(COLUMNS[kind])
    rules = {
        sheet.cell(1, next(iter(rule.sqref.ranges)).min_col).value: rule
        for rule in sheet.data_validations.dataValidation
    }
    assert rules["currency"].formula1.startswith("lists!")
    assert (rules["valid_until"].type, rules["valid_until"].operator) == (
        "date", "greaterThanOrEqual",
    )  # fmt: skip
    amount = "monthly_net" if kind == "quotes" else "amount"
    assert (rules[amount].type, rules[amount].operator) == ("decimal", "greaterThan")
    assert client.get(f"{API}/table-templates/other.xlsx").status_code == 404


def test_template_that_is_filled_in_is_taken(writer: Client) -> None:
    book = openpyxl.load_workbook(
        io.BytesIO(writer.get(f"{API}/table-templates/quotes.xlsx").content)
    )
    cells = {
        "provider": "Hosty", "model": "EX44", "currency": "EUR", "monthly_net": 1249,
        "quoted_on": dt.date(2026, 11, 10),
    }  # fmt: skip
    for name, value in cells.items():
        book["table"].cell(2, COLUMNS["quotes"].index(name) + 1, value)
    file = io.BytesIO()
    book.save(file)
    upload = SimpleUploadedFile("quotes.xlsx", file.getvalue())
    report = writer.post(f"{API}/tables/import", {"kind": "quotes", "file": upload}).json()
    assert (report["prices_new"], report["refused"]) == (1, [])
    assert PriceObservation.objects.get().amount == 1249
