"""The command that records exchange rates: files in every form, and the ECB itself."""

import io
import json
import sys
import zipfile
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from backend.catalog.models import ExchangeRate
from tests.fakes.price_faults import refused, web_page
from tests.fakes.price_servers import DAYS_90, HISTORY
from tests.workers.feeds import RATES

pytestmark = pytest.mark.django_db
CSV = "Date,USD,BGN,\n2026-10-30,1.1172,N/A,\n1999-01-04,1.1789,,\n"


def zipped(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)
    return made.getvalue()


def output_of(*arguments, **options):
    out = io.StringIO()
    call_command("import_fx", *arguments, stdout=out, **options)
    return out.getvalue().strip()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rates.xml", RATES.encode()),
        ("rates.csv", CSV.encode()),
        ("rates.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("rates.zip", zipped(hist=CSV)),
    ],
)
def test_file_is_recorded_in_every_form(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content)
    assert "new" in output_of(str(file))
    rate = ExchangeRate.objects.get(currency="USD", date="2026-10-30")
    assert rate.units_per_eur == Decimal("1.1172")
    assert "0 new, 0 changed" in output_of(str(file))


def test_counts_are_printed_in_words_and_as_json(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text(CSV)
    assert output_of(str(file)) == (
        "2 new, 0 changed, 0 unchanged, 1999-01-04 to 2026-10-30; left out: 2 missing"
    )
    document = json.loads(output_of(str(file), "--json"))
    assert (document["unchanged"], document["last_day"]) == (2, "2026-10-30")


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RATES.encode())))
    assert output_of("-").startswith("3 new")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no header"),
        (b"<html></html>", "holds no day"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"PK\x03\x04 not really", "not an archive"),
        (zipped(hist=CSV)[:-40], "not an archive"),
        (zipped(one=CSV, two=CSV), "an archive of 2 files"),
        (zipped(hist=CSV)[:40] + b"\x00" * 20 + zipped(hist=CSV)[60:], "not an archive"),
    ],
)
def test_file_of_another_form_is_refused_and_changes_nothing(tmp_path, content, words):
    file = tmp_path / "rates"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=words):
        output_of(str(file))
    assert not ExchangeRate.objects.exists()


def test_archive_that_grows_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("backend.providers.ecb.rates.LARGEST_TEXT", 1000)
    file = tmp_path / "rates.zip"
    file.write_bytes(zipped(hist="Date,USD,\n" + "\n" * 100_000))
    with pytest.raises(CommandError, match="longer than"):
        output_of(str(file))


def test_file_that_is_not_there_is_an_error_in_one_line(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        output_of(str(tmp_path / "none.xml"))


def test_ecb_is_asked_for_ninety_days_without_a_file(price_server):
    price_server.files[DAYS_90] = RATES.encode()
    assert output_of().startswith("3 new")
    assert price_server.paths() == [DAYS_90]


def test_ecb_is_asked_for_all_days_when_the_history_is_requested(price_server):
    price_server.files[HISTORY] = zipped(hist=CSV)
    assert output_of("--history").startswith("2 new")
    assert price_server.paths() == [HISTORY]


def test_history_and_a_file_contradict_each_other():
    with pytest.raises(CommandError, match="not from a file"):
        output_of("rates.xml", "--history")


@pytest.mark.parametrize(
    ("fault", "words"), [(refused("no"), "answered 403"), (web_page(), "a web page")]
)
def test_ecb_that_does_not_answer_is_an_error_in_one_line(price_server, fault, words):
    price_server.files[DAYS_90] = RATES.encode()
    price_server.fault(DAYS_90, fault)
    with pytest.raises(CommandError, match=words):
        output_of()
    assert not ExchangeRate.objects.exists()
