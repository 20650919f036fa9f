"""Forms by themselves: what is typed becomes what the services take, and refusals stand beside fields."""

import datetime as dt
from decimal import Decimal

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict

from backend.benchmarks.pages.imports import forms as import_forms
from backend.benchmarks.pages.imports.forms import ImportForm
from backend.benchmarks.pages.schedules.forms import ScheduleForm, time_zones
from backend.catalog.pages.prices.forms import PriceForm, TableForm
from backend.foundation.errors import InvalidValue
from backend.site.forms import Day, SecretText, WriteForm, text


class Parts(WriteForm):
    """Fields that a service refuses by pointers."""

    name = text("Name", list="names")
    disk_size = forms.IntegerField(required=False)
    window_from = forms.CharField(required=False)
    pointers = {"/window": "window_from", "/window/to": "absent"}


# --- what forms share -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pointer", "field"),
    [
        ("/name", "name"),
        ("name", "name"),
        ("/disk/size", "disk_size"),
        ("/window", "window_from"),
        ("/window/days/0", "window_from"),
        ("/name/3", "name"),
    ],
)
def test_refusal_is_beside_the_nearest_field_of_its_pointer(pointer, field):
    form = Parts({"name": "a"})
    form.refuse(InvalidValue(pointer, "is not allowed"))
    assert form.errors == {field: ["is not allowed"]}


@pytest.mark.parametrize("pointer", ["/other", "/disk", ""])
def test_refusal_without_a_field_is_above_the_form(pointer):
    form = Parts({"name": "a"})
    form.refuse(InvalidValue(pointer, "is not allowed"))
    [words] = form.non_field_errors()
    assert words.endswith("is not allowed")
    assert not words.startswith("/")
    assert set(form.errors) == {"__all__"}


def test_fields_have_plain_ids_and_labels():
    form = Parts()
    assert form["name"].id_for_label == "name"
    assert 'list="names"' in str(form["name"])
    assert 'autocomplete="off"' in str(form["name"])
    assert ":" not in form["name"].label_tag()


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("2026-11-22", ""),
        ("9999-12-30", ""),
        ("9999-12-31", "This day is too far ahead."),
        ("2026-02-30", "Enter a valid date."),
        ("", "This field is required."),
    ],
)
def test_day_is_of_the_calendar_and_has_a_next_one(typed, error):
    class Form(forms.Form):
        day = Day()

    form = Form({"day": typed})
    assert form.errors == ({"day": [error]} if error else {})
    if not error:
        assert form.cleaned_data["day"] + dt.timedelta(days=1) <= dt.date.max


def test_secret_is_never_written_into_the_page():
    class Form(forms.Form):
        key = forms.CharField(widget=SecretText)

    form = Form({"key": "-----BEGIN PRIVATE KEY-----"})
    assert form.is_valid()
    assert form.cleaned_data["key"] == "-----BEGIN PRIVATE KEY-----"
    assert "BEGIN" not in str(form)


# --- schedules ------------------------------------------------------------------------------------


class Weekly:
    pk, name = 7, "Weekly"


def schedule(**typed):
    data = {"campaign": "7", "time_zone": "Europe/Dublin", **typed}
    return ScheduleForm(data, campaigns=[Weekly()])


def starts(kind):
    """The radio button of this kind of start."""
    [name] = [
        name for name, field in ScheduleForm.base_fields.items()
        if type(field.widget) is forms.RadioSelect
    ]  # fmt: skip
    return {name: kind}


def test_cron_line_is_taken_and_the_interval_ignored():
    form = schedule(**starts("cron"), cron="0 3 * * 1", every="2", every_unit="3600")
    assert form.is_valid(), form.errors
    assert form.recurrence().model_dump() == {
        "cron": "0 3 * * 1", "every_s": None, "time_zone": "Europe/Dublin", "window": None,
        "is_enabled": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("every", "unit", "seconds"),
    [("2", "3600", 7200), ("1", "604800", 604_800), ("30", "60", 1800), ("3", "", 10_800)],
)
def test_interval_is_in_seconds_and_of_hours_by_default(every, unit, seconds):
    form = schedule(**starts("every"), cron="0 3 * * 1", every=every, every_unit=unit)
    assert form.is_valid(), form.errors
    made = form.recurrence()
    assert (made.cron, made.every_s) == (None, seconds)


def test_window_has_both_ends():
    form = schedule(**starts("cron"), cron="0 * * * *", window_from="22:00", window_to="06:30")
    assert form.is_valid(), form.errors
    window = form.recurrence().window
    assert (window.begin, window.end) == (dt.time(22), dt.time(6, 30))


@pytest.mark.parametrize(
    ("typed", "errors"),
    [
        ({**starts("cron")}, {"cron": ["A cron line is needed."]}),
        ({**starts("every")}, {"every": ["A number is needed."]}),
        (
            {**starts("every"), "every": "0"},
            {"every": ["Ensure this value is greater than or equal to 1."]},
        ),
        (
            {**starts("cron"), "cron": "0 3 * * 1", "window_to": "06:00"},
            {"window_from": ["Both are needed."]},
        ),
        (
            {**starts("cron"), "cron": "0 3 * * 1", "window_from": "06:00"},
            {"window_to": ["Both are needed."]},
        ),
        (
            {**starts("cron"), "cron": "0 3 * * 1", "window_from": "25:00"},
            {"window_from": ["Enter a valid time."]},
        ),
    ],
)
def test_incomplete_schedule_has_one_error_beside_its_field(typed, errors):
    assert schedule(**typed).errors == errors


def test_schedule_of_another_campaign_is_refused():
    form = schedule(**starts("cron"), cron="0 3 * * 1", campaign="8")
    assert list(form.errors) == ["campaign"]
    assert schedule().initial["time_zone"] == "UTC"


def test_zones_for_completion_are_those_of_cities():
    zones = time_zones()
    assert zones[0] == "UTC"
    assert {"Europe/Dublin", "America/New_York"} <= set(zones)
    assert not any(zone.startswith("Etc/") for zone in zones)
    assert zones[1:] == sorted(zones[1:])


# --- prices ---------------------------------------------------------------------------------------


def test_price_has_its_currency_in_capitals_and_perhaps_a_fee():
    typed = {"amount": "49.90", "currency": "eur", "unit": "month", "reason": "mail of 2 May"}
    form = PriceForm(typed)
    assert form.is_valid(), form.errors
    assert form.price() == type(form.price())(Decimal("49.90"), "EUR", "month", None)
    form = PriceForm({**typed, "setup": "0"})
    assert form.is_valid()
    assert Decimal(0) in vars(form.price()).values()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": "-1"}, "amount"),
        ({"amount": "NaN"}, "amount"),
        ({"unit": "week"}, "unit"),
        ({"setup": "-0.01"}, "setup"),
        ({"reason": ""}, "reason"),
        ({"currency": ""}, "currency"),
    ],
)
def test_wrong_price_has_its_error_beside_the_field(change, field):
    typed = {"amount": "49", "currency": "EUR", "unit": "month", "reason": "mail"}
    assert list(PriceForm({**typed, **change}).errors) == [field]


def test_empty_table_reaches_the_service_that_explains_it():
    form = TableForm(QueryDict("kind=quotes"), {"file": SimpleUploadedFile("q.csv", b"")})
    assert form.is_valid(), form.errors
    assert list(TableForm(QueryDict("kind=poems"), {}).errors) == ["kind"]
    assert list(TableForm(QueryDict("kind=quotes"), {}).errors) == ["file"]


# --- imports --------------------------------------------------------------------------------------


def pasted(content=None, **typed):
    files = {} if content is None else {"file": SimpleUploadedFile("out.txt", content)}
    return ImportForm({"tool": "dd", "offer": "own-rack", **typed}, files)


def test_pasted_lines_end_as_the_tool_wrote_them():
    form = pasted(text="one\r\n two \r\n")
    assert form.is_valid(), form.errors
    assert form.cleaned_data["text"] == "one\n two \n"


def test_file_is_taken_before_pasted_text_and_unchanged():
    form = pasted("α\r\n".encode(), text="other")
    assert form.is_valid(), form.errors
    assert form.cleaned_data["text"] == "α\r\n"


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (None, {"text": ["Paste the output, or choose a file."]}),
        (b" \n", {"text": ["Paste the output, or choose a file."]}),
        (b"ab\xff", {"file": ["Not a text in UTF-8: byte 3 cannot be read."]}),
    ],
)
def test_import_without_text_has_one_error(content, errors):
    assert pasted(content).errors == errors


def test_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(import_forms, "MOST_BYTES", 2**20)
    form = pasted(b"x" * (2**20 + 1))
    assert form.errors == {"file": ["The file is larger than 1 MiB."]}


def test_conditions_are_in_bytes_and_absent_when_nothing_is_stated():
    form = pasted(text="x", file_mib="1.5", ram_gib="2", direction="write", conditions="direct")
    assert form.is_valid(), form.errors
    assert form.parameters() == {
        "direction": "write", "conditions": "direct", "file_bytes": 1_572_864, "ram_bytes": 2**31,
    }  # fmt: skip
    form = pasted(text="x", file_mib="0")
    assert form.is_valid(), form.errors
    assert form.parameters() is None
