"""The editor's form: a document becomes fields and the same document again; refusals find them."""

import re
from typing import Any

import pytest
from django.conf import settings

from backend.catalog.calc.hardware_document import FIELDS as OF_HARDWARE
from backend.foundation.documents.model import every_field
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.pages.form_shown import ShownForm
from backend.scenarios.pages.forms import ScenarioForm, is_editable
from backend.scenarios.pages.kinds import KINDS

FIELDS = dict(every_field(ScenarioDocument))
HARDWARE = "/options/*/parts/*/price/hardware"
# Always 1; shown as lines of demand/csv; shown as the fields of its own document.
WITHOUT_FIELD = {"/schema", "/demand/points", HARDWARE}
# One currency for all; the unit follows from the billing; the role from that of the base.
STANDS_ALONE = {"currency", "unit", "role"}


def sent(form: ScenarioForm, **changes: str) -> dict[str, str]:
    """What a browser sends of a form, after some changes."""
    filled = {name: form[name].value() or "" for name in form.fields}
    return filled | {name.replace("__", "."): text for name, text in changes.items()}


def startup(**changes: str) -> ScenarioForm:
    return ScenarioForm(sent(ScenarioForm(document=TEMPLATES["startup"].document), **changes))


def without_hash(document: Any) -> dict[str, Any]:
    return {name: value for name, value in simulate(document).items() if name != "input_sha256"}


@pytest.mark.parametrize("key", TEMPLATES)
def test_form_gives_the_document_back_that_it_was_opened_with(key: str) -> None:
    document = TEMPLATES[key].document
    again = ScenarioForm(sent(ScenarioForm(document=document))).document()
    assert without_hash(again) == without_hash(document)


def test_form_has_every_field_of_the_document() -> None:
    bought = {"options.0.parts.0.price.billing": "purchase"}
    shown = {
        "/" + re.sub(r"\.\d+\b", ".*", name).replace(".", "/")
        for name in ScenarioForm(bought).entries
    }
    asked = {
        path
        for path, field in FIELDS.items()
        if field.model is None
        and (field.element is None or field.name == "events")
        and field.name not in STANDS_ALONE
    }
    lines = {path for path in asked if path.startswith("/demand/events/")}
    hardware = {path for path in shown if path.startswith(f"{HARDWARE}/")}
    assert asked - shown - lines == WITHOUT_FIELD
    assert {path for path in shown if path not in FIELDS} == hardware
    named_elsewhere = {"name", "currency"}
    assert {path.rpartition("/")[2] for path in hardware} == set(OF_HARDWARE) - named_elsewhere


def test_form_leaves_out_fields_that_do_not_count_for_what_is_chosen() -> None:
    document = startup(demand__kind="composed", demand__level="4", policy__lead_s="60").document()
    assert document["demand"] == {
        "kind": "composed", "unit": "servers", "time_zone": "UTC", "level": "4",
    }  # fmt: skip
    assert "lead_s" not in document["policy"]


def test_form_skips_empty_lines_and_still_finds_their_neighbours() -> None:
    gone = {"options__0__name": "", "options__0__parts__0__price__amount": ""}
    form = startup(**gone, options__1__parts__0__price__amount="-1")
    document = form.document()
    assert [one["name"] for one in document["options"]] == ["all dedicated", "hybrid"]
    with pytest.raises(InvalidDocument) as caught:
        scenario_from(document)
    said = form.report(caught.value)
    assert [name for name, _ in said] == ["options.1.parts.0.price.amount"]
    assert said[0][1] == "option 2, part 1, Price: -1 is below 0"
    assert form.errors["options.1.parts.0.price.amount"] == ["-1 is below 0"]


@pytest.mark.parametrize(
    ("pointer", "name"),
    [
        ("/options/2/parts/1/price/hardware/items/0/count", "options.2.parts.1.price.billing"),
        ("/options/0/parts/0/price/currency", "currency"),
        ("/options/0/parts/0/price", "options.0.parts.0.price.offer"),
        ("/options/1/extras/egress_tiers/0", "options.1.extras.egress_tiers"),
        ("/demand/windows/0/from", "demand.windows.0.from"),
        ("/demand/points", "demand.csv"),
        ("/demand/events/3/at", "demand.events"),
        ("/horizon/step_s", "horizon.step_s"),
        ("/nothing", ""),
    ],
)
def test_form_finds_the_field_that_a_pointer_means(pointer: str, name: str) -> None:
    form = startup()
    form.document()
    assert form.field_of(pointer) == name


def test_form_has_lines_for_more_than_is_filled() -> None:
    shown = ShownForm(startup(), None, {})
    assert [one.is_open for one in shown.options] == [True, True, True, False]
    assert {of: len(lines) for of, lines in shown.windows.items()} == {"demand": 2, "policy": 1}


def test_form_stays_below_the_fields_that_may_be_sent() -> None:
    document = dict(TEMPLATES["startup"].document)
    option, window = document["options"][2], document["demand"]["windows"][0]
    document["options"] = [{**option, "name": f"option {n}"} for n in range(14)]
    document["demand"] = {**document["demand"], "windows": [window] * 24}
    document["policy"] = {"kind": "scheduled", "windows": [{**window, "level": 2}] * 24}
    assert is_editable(document)
    form = ScenarioForm(document=document)
    assert len(form.fields) < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS - 5  # and the buttons
    again = ScenarioForm(sent(form)).document()
    assert [len(again["options"]), len(again["demand"]["windows"])] == [14, 24]
    assert not is_editable({**document, "options": document["options"] + [option]})


def test_form_passes_an_offer_on_without_a_billing() -> None:
    price = "options__0__parts__0__price__"
    given = {f"{price}offer": "m5-large", f"{price}amount": "", f"{price}billing": ""}
    part = startup(**given).document()["options"][0]["parts"][0]
    assert part == {"role": "all", "price": {"offer": "m5-large", "currency": "USD"}}


def test_help_has_unit_range_default_and_source() -> None:
    form = ScenarioForm()
    step = form.fields["horizon.step_s"]
    assert "; s; 1 to 2,592,000. our assumption" in step.help_text
    assert step.widget.attrs["placeholder"] == "60"
    amount = form.fields["options.0.parts.0.price.amount"]
    assert amount.help_text == "currency; above 0"
    units = form.fields["capacity.units_per_server"]
    assert units.help_text.endswith("unit of the demand; above 0.")
    assert form.fields["options.0.parts.0.price.interruptions_per_month"].help_text.endswith(
        "0 to 100,000"
    )
    glossary = ShownForm(form, None, {}).glossary
    rows = {field.name: (default, bounds) for field, default, bounds in glossary}
    assert rows["term_months"] == ("12", "1 to 120")


@pytest.mark.parametrize(
    ("kind", "text", "value", "back"),
    [
        ("days", "Mon-Fri", [0, 1, 2, 3, 4], "Mon-Fri"),
        ("days", "fri–mon", [0, 4, 5, 6], "Mon, Fri, Sat, Sun"),
        ("days", "0, 6", [0, 6], "Mon, Sun"),
        ("days", "Mon-Sun", [0, 1, 2, 3, 4, 5, 6], ""),
        ("days", "now and then", "now and then", "now and then"),
        ("days", "Mon-Tue-Wed", "Mon-Tue-Wed", "Mon-Tue-Wed"),
        ("whole", "12", 12, "12"),
        ("whole", "1.5", "1.5", "1.5"),
        ("count", "peak", "peak", "peak"),
        ("convention", "730", 730, "730"),
        ("numbers", "1, 2;3\n4", ["1", "2", "3", "4"], "1 2 3 4"),
        ("pairs", "10 0.5\n\nrest 1", [["10", "0.5"], [None, "1"]], "10 0.5\nrest 1"),
        (
            "events",
            "2026-01-01T00:00:00Z 3600 5\nsoon",
            [{"at": "2026-01-01T00:00:00Z", "duration_s": 3600, "level": "5"}, {"at": "soon"}],
            "2026-01-01T00:00:00Z 3600 5\nsoon  ",
        ),
        (
            "items",
            "2, a big server, 3000, 250\nswitch",
            [
                {"count": 2, "name": "a big server", "unit_price": "3000", "watts": "250"},
                {"count": "switch"},
            ],
            "2, a big server, 3000, 250\nswitch, , , ",
        ),
        ("text", "x", "x", "x"),
        ("points", "a,1", "a,1", "a,1"),
    ],
)
def test_values_are_typed_and_explained(kind: str, text: str, value: Any, back: str) -> None:
    assert KINDS[kind].read(text) == value
    assert KINDS[kind].text(value) == back


def test_values_that_no_form_would_give_are_shown_unchanged() -> None:
    assert KINDS["days"].text([9, "x"]) == '[9, "x"]'
    assert KINDS["days"].text(None) == ""
    assert KINDS["points"].text([["2026-01-01T00:00:00Z", 2]]) == "2026-01-01T00:00:00Z,2"
