"""The description of the API: sound, without warnings, and whole."""

import io
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from backend.api import urls
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
PROBLEM = {"$ref": "#/components/schemas/Problem"}
LISTED = ("application/json", "text/csv", "text/tab-separated-values")
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@cache
def described() -> Any:
    """What the command prints: it fails on an unsound schema, and on any warning."""
    printed = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=printed)
    return read(printed.getvalue())


def read(text: str | bytes) -> Any:
    """YAML by the parser in C: the one in Python takes seconds for this document."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path.removeprefix(API)}", operation


def named(reference: dict[str, str]) -> Any:
    """The schema that a reference names."""
    return described()["components"]["schemas"][reference["$ref"].rpartition("/")[2]]


def test_schema_is_sound_and_made_without_warnings() -> None:
    assert described()["openapi"].startswith("3.0.")


def test_schema_that_is_served_is_the_one_that_is_printed(client: Client) -> None:
    served = read(client.get(f"{API}/schema/").content)
    assert served["paths"] == described()["paths"]


def test_every_operation_has_words_and_a_name_of_its_own() -> None:
    found = dict(operations())
    assert [name for name, one in found.items() if not one.get("description")] == []
    names = [one["operationId"] for one in found.values()]
    assert sorted(set(names)) == sorted(names)


def test_every_operation_has_a_summary_of_one_sentence() -> None:
    for name, one in operations():
        assert 5 <= len(one["summary"]) <= 110, name
        assert not re.match(r"[0-9]", one["summary"]), name


def test_no_two_parameters_become_one_identifier() -> None:
    for name, one in operations():
        names = [re.sub(r"\W", "", each["name"]) for each in one.get("parameters", ())]
        assert sorted(set(names)) == sorted(names), name


def test_every_answer_that_makes_or_begins_says_where() -> None:
    for name, one in operations():
        for status in {"201", "202"} & set(one["responses"]):
            assert "Location" in one["responses"][status]["headers"], name


def test_every_parameter_of_a_query_has_words() -> None:
    silent = [
        (name, parameter["name"])
        for name, one in operations()
        for parameter in one.get("parameters", ())
        if parameter["in"] == "query" and not parameter.get("description")
    ]
    assert silent == []


CALCULATIONS = (
    *("GET /scenarios/{slug}/screening", "GET /scenarios/{slug}/mix"),
    *("POST /scenarios/simulate", "GET /scenarios/{slug}/result"),
)


def test_calculations_say_that_they_may_be_refused() -> None:
    described = dict(operations())
    for name in CALCULATIONS:
        assert {"422", "503"} <= described[name]["responses"].keys(), name


def test_every_refusal_is_documented_as_a_problem() -> None:
    for name, one in operations():
        refusals = {code: answer for code, answer in one["responses"].items() if code >= "400"}
        assert {"401", "429"} <= set(refusals), name
        assert ("400" in refusals) is bool(
            "requestBody" in one or {"query"} & {p["in"] for p in one.get("parameters", ())}
        ), name
        assert ("415" in refusals) is ("requestBody" in one), name
        if "{" in name:
            assert "404" in refusals, name
        for answer in refusals.values():
            assert answer["content"]["application/problem+json"]["schema"] == PROBLEM, name
        assert "Retry-After" in refusals["429"]["headers"], name


def test_strangers_may_call_what_only_reads() -> None:
    found = dict(operations())
    assert {} in found["GET /rankings"]["security"]
    assert {} not in found["POST /runs"]["security"]
    assert {} not in found["GET /tokens"]["security"]
    # One of them is enough.
    assert {"bearer": []} in found["POST /runs"]["security"]
    assert {"basic": []} in found["POST /runs"]["security"]


@pytest.mark.parametrize("name", urls.LISTS)
def test_every_list_documents_its_formats_headers_and_columns(name: str) -> None:
    answer = dict(operations())[f"GET /{name}"]["responses"]["200"]
    assert set(answer["content"]) == {*LISTED, XLSX}
    assert {"ETag", "Last-Modified", "Link", "X-Data-Version"} <= set(answer["headers"])
    page = named(answer["content"]["application/json"]["schema"])
    rows = named(page["properties"]["results"]["items"])
    columns = [column.name for column in urls.LISTS[name].columns]
    assert list(rows["properties"]) == columns
    assert rows["additionalProperties"] is False


def test_name_has_one_type_in_a_list_and_in_what_it_lists() -> None:
    parts = described()["components"]["schemas"]

    def kind(part: dict[str, Any]) -> str:
        return str(part.get("type", "object"))

    pairs = [
        ("CampaignsRow", "CampaignDetail"),
        ("SubscriptionsRow", "SubscriptionDetail"),
        ("RunsRow", "RunDetail"),
        ("SchedulesRow", "ScheduleDetail"),
        ("ViewsRow", "ViewDetail"),
        ("TokensRow", "TokenMade"),
        ("HardwareRow", "HardwareDetail"),
        ("PricesRow", "PriceDetail"),
        ("SamplesRow", "RunSample"),
    ]
    for row, detail in pairs:
        ours, theirs = parts[row]["properties"], parts[detail]["properties"]
        unlike = {
            name: (kind(ours[name]), kind(theirs[name]))
            for name in ours.keys() & theirs.keys()
            if kind(ours[name]) != kind(theirs[name])
        }
        assert not unlike, (row, detail)
