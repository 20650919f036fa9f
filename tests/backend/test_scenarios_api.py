"""Scenarios over the API and the command: the same numbers, and nothing stored of a fault."""

import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from jsonschema import Draft202012Validator
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.calc.work import MOST_WORK
from backend.scenarios.models import Scenario
from backend.scenarios.selectors import scenarios as selectors
from backend.scenarios.selectors.scenarios import scenario_series, series_of_document
from backend.scenarios.services import scenarios as services
from backend.scenarios.services.demo import demo_scenarios_load, demo_scenarios_remove
from backend.scenarios.services.scenarios import scenario_create, scenario_freeze
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup

pytestmark = pytest.mark.django_db
SCENARIOS = f"{API}/scenarios"
SIMULATE = f"{SCENARIOS}/simulate"


def document(**given: Any) -> Document:
    """The worked example: 1,884, 2,000 and 1,320 USD."""
    return startup(
        all_of("all cloud", price("0.4")),
        all_of("all dedicated", price("100", "monthly"), count="peak"),
        hybrid("hybrid", price("100", "monthly"), price("0.4")),
        **given,
    )


@pytest.fixture
def writer(caller: Callable[..., Client]) -> Client:
    return caller("write")


def posted(client: Client, address: str, given: Any = None) -> Any:
    return client.post(address, given, content_type="application/json")


def patched(client: Client, slug: str, given: Any) -> Any:
    return client.patch(f"{SCENARIOS}/{slug}", given, content_type="application/json")


def kept(client: Client, **given: Any) -> str:
    response = posted(client, SCENARIOS, document(**given))
    assert response.status_code == 201, response.content
    return str(response.json()["slug"])


def costs(result: Any) -> list[Decimal]:
    return [Decimal(option["cost_total"]) for option in result["options"]]


# --- simulate -------------------------------------------------------------------------------------


def test_worked_example_is_answered_without_storing_anything(writer: Client) -> None:
    response = posted(writer, SIMULATE, document())
    assert response.status_code == 200, response.content
    found = response.json()
    assert costs(found) == [1884, 2000, 1320]
    assert found["options"][2]["base_servers"] == 3
    assert all(option["unserved_share"] == 0 for option in found["options"])
    assert not Scenario.objects.exists()


def test_simulate_refuses_parameters_beside_the_document(writer: Client) -> None:
    """No silent field: a parameter of the address was ignored without a word."""
    response = posted(writer, f"{SIMULATE}?seed=1&draws=5", document())
    assert response.status_code == 400
    assert fields(response) == ["seed", "draws"]


def test_numbers_and_decimal_strings_are_the_same_document(writer: Client) -> None:
    as_text = document(capacity={"units_per_server": "0.3"})
    as_number = document(capacity={"units_per_server": 0.3})
    answers = [posted(writer, SIMULATE, one).json() for one in (as_text, as_number)]
    assert answers[0] == answers[1]


def test_offer_gives_price_and_score_and_says_so(writer: Client) -> None:
    offer = factories.offer("m2")
    factories.price(offer, "1.64")
    factories.sample(offer, 4281.0)
    given = startup(
        all_of("m2", {"offer": "m2"}), capacity={"metric": "cmips_score", "units_per_score": "1"}
    )
    given["demand"] |= {"base": 3 * 4281, "windows": []}
    found = posted(writer, SIMULATE, given).json()
    assert costs(found) == [Decimal("3542.40")]  # 3 × 720 × 1.64
    assert {a["name"] for a in found["assumptions"]} >= {
        "price of m2 (on_demand)",
        "cmips_score of m2",
    }


def test_faults_are_listed_all_at_once_by_pointer(writer: Client) -> None:
    given = document(policy={"kind": "perfect", "min": 3, "max": 2}, surprise=1)
    given["options"][0]["parts"][0]["price"]["amount"] = "free"
    response = posted(writer, SIMULATE, given)
    assert response.status_code == 400
    assert fields(response) == ["/options/0/parts/0/price/amount", "/policy/min", "/surprise"]


@pytest.mark.parametrize("given", ["[]", "7", '"text"', "null", "{}"])
def test_what_is_no_scenario_is_refused(writer: Client, given: str) -> None:
    assert posted(writer, SIMULATE, json.loads(given)).status_code == 400
    assert posted(writer, SCENARIOS, json.loads(given)).status_code == 400


def test_year_of_seconds_and_too_much_work_are_refused_with_the_limit(writer: Client) -> None:
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 1}
    response = posted(writer, SIMULATE, document(horizon=horizon))
    assert fields(response) == ["/horizon/step_s"]
    many = [all_of(f"option {n}", price("0.4")) for n in range(300)]
    response = posted(writer, SIMULATE, startup(*many, horizon={**horizon, "step_s": 60}))
    assert fields(response) == ["/horizon/step_s"]
    assert f"{MOST_WORK:,}" in response.json()["errors"][0]["detail"]


def test_stranger_may_simulate_where_reading_is_public_and_never_keep(
    client: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_READ = True
    assert posted(client, SIMULATE, document()).status_code == 200
    assert posted(client, SCENARIOS, document()).status_code == 401
    settings.PUBLIC_READ = False
    assert posted(client, SIMULATE, document()).status_code == 401


def test_reader_may_not_write(caller: Callable[..., Client], writer: Client) -> None:
    slug, reader = kept(writer), caller("read")
    assert posted(reader, SCENARIOS, document()).status_code == 403
    assert patched(reader, slug, {"name": "x"}).status_code == 403
    assert reader.delete(f"{SCENARIOS}/{slug}").status_code == 403
    for action in ("freeze", "duplicate"):
        assert posted(reader, f"{SCENARIOS}/{slug}/{action}", {}).status_code == 403
    assert reader.get(f"{SCENARIOS}/{slug}").status_code == 200


# --- keep, change, copy, freeze, remove -----------------------------------------------------------


def test_scenario_is_kept_listed_and_has_the_same_result(writer: Client) -> None:
    slug = kept(writer)
    assert slug == "startup-with-five-busy-hours"
    assert kept(writer) == f"{slug}-2"
    listed = writer.get(SCENARIOS).json()
    assert [row["slug"] for row in listed["results"]] == [slug, f"{slug}-2"]
    assert rows(writer.get(f"{SCENARIOS}.csv"))[0]["name"] == "Startup with five busy hours"
    detail = writer.get(f"{SCENARIOS}/{slug}").json()
    assert detail["document"] == document()
    assert (detail["frozen_at"], detail["note"], detail["data_version"]) == (None, None, None)
    result = writer.get(f"{SCENARIOS}/{slug}/result").json()
    assert result == posted(writer, SIMULATE, document()).json()
    assert AuditEntry.objects.filter(action="scenario_create").count() == 2


def test_name_that_is_a_word_of_an_address_is_numbered(writer: Client) -> None:
    assert kept(writer, name="New") == "new-2"
    assert kept(writer, name="…") == "scenario"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"options": []}, "/options"),
        ({"name": "n" * 101}, "/name"),
        ({"name": None}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"name": "\ud800"}, "/name"),
    ],
)
def test_nothing_is_stored_of_a_document_with_a_fault(
    writer: Client, given: Document, field: str
) -> None:
    response = posted(writer, SCENARIOS, {**document(), **given})
    assert response.status_code == 400
    assert fields(response) == [field]
    assert not Scenario.objects.exists()
    assert not AuditEntry.objects.filter(action__startswith="scenario").exists()


def test_change_replaces_members_and_null_takes_one_away(writer: Client) -> None:
    slug = kept(writer, hazard_per_month="0.1")
    changed = patched(
        writer, slug, {"name": "Fewer", "policy": {"quota": 10}, "hazard_per_month": None}
    ).json()
    assert (changed["slug"], changed["name"]) == (slug, "Fewer")
    assert changed["document"]["policy"] == {"quota": 10}
    assert "hazard_per_month" not in changed["document"]
    result = writer.get(f"{SCENARIOS}/{slug}/result").json()
    assert result["options"][0]["unserved_share"] > 0
    (entry,) = AuditEntry.objects.filter(action="scenario_update")
    assert entry.detail["changed"] == ["hazard_per_month", "name", "policy"]


def test_change_with_a_fault_or_without_any_changes_nothing(writer: Client) -> None:
    slug = kept(writer)
    assert fields(patched(writer, slug, {"policy": {"kind": "magic"}})) == ["/policy/kind"]
    assert fields(patched(writer, slug, {"surprise": 1})) == ["/surprise"]
    assert patched(writer, slug, []).status_code == 400
    assert patched(writer, slug, {}).status_code == 200
    assert writer.get(f"{SCENARIOS}/{slug}").json()["document"] == document()
    assert not AuditEntry.objects.filter(action="scenario_update").exists()


def test_copy_may_be_changed_and_the_first_stays(writer: Client) -> None:
    slug = kept(writer)
    copy = posted(writer, f"{SCENARIOS}/{slug}/duplicate").json()
    assert copy["name"] == "Startup with five busy hours copy"
    assert copy["slug"] != slug
    assert copy["document"]["options"] == document()["options"]
    assert patched(writer, copy["slug"], {"name": "Other"}).status_code == 200
    assert writer.get(f"{SCENARIOS}/{slug}").json()["name"] == document()["name"]


def test_frozen_scenario_is_deleted_by_admins_only(writer: Client, caller: Any) -> None:
    slug = posted(writer, SCENARIOS, document()).json()["slug"]
    posted(writer, f"{SCENARIOS}/{slug}/freeze", {"note": "decided"})
    assert writer.delete(f"{SCENARIOS}/{slug}").status_code == 403
    assert caller("admin").delete(f"{SCENARIOS}/{slug}").status_code == 204


def test_length_of_a_note_is_that_of_what_is_sent(writer: Client) -> None:
    slug = posted(writer, SCENARIOS, document()).json()["slug"]
    for note, status in ((f"{'x' * 20_000} ", 400), ("x" * 20_000, 200)):
        answer = posted(writer, f"{SCENARIOS}/{slug}/freeze", {"note": note})
        assert answer.status_code == status, answer.json()


def test_frozen_scenario_keeps_its_result_whatever_prices_do(writer: Client) -> None:
    offer = factories.offer("m2")
    factories.price(offer, "0.4")
    given = startup(all_of("m2", {"offer": "m2"}))
    slug = posted(writer, SCENARIOS, given).json()["slug"]
    frozen = posted(writer, f"{SCENARIOS}/{slug}/freeze", {"note": "decided"}).json()
    assert frozen["note"] == "decided"
    assert frozen["data_version"] is not None
    before = writer.get(f"{SCENARIOS}/{slug}/result").json()
    series = writer.get(f"{SCENARIOS}/{slug}/series?table=months").json()["results"]
    offer.delete()
    assert writer.get(f"{SCENARIOS}/{slug}/result").json() == before
    assert costs(before) == [1884]
    assert writer.get(f"{SCENARIOS}/{slug}/series?table=months").json()["results"] == series
    for refused in (
        patched(writer, slug, {"name": "Other"}),
        posted(writer, f"{SCENARIOS}/{slug}/freeze", {}),
    ):
        assert refused.status_code == 409
        assert "was frozen on" in refused.json()["detail"]
    assert posted(writer, f"{SCENARIOS}/{slug}/duplicate").status_code == 201


def test_scenario_whose_offer_is_gone_says_so(writer: Client) -> None:
    offer = factories.offer("m2")
    factories.price(offer, "0.4")
    slug = posted(writer, SCENARIOS, startup(all_of("m2", {"offer": "m2"}))).json()["slug"]
    offer.delete()
    for answer in (
        writer.get(f"{SCENARIOS}/{slug}/result"),
        writer.get(f"{SCENARIOS}/{slug}/series"),
        posted(writer, f"{SCENARIOS}/{slug}/freeze", {}),
    ):
        assert answer.status_code == 409
        assert "no offer is called 'm2'" in answer.json()["detail"]


def test_scenario_is_removed_and_the_trail_keeps_that_it_was(writer: Client) -> None:
    slug = kept(writer)
    assert writer.delete(f"{SCENARIOS}/{slug}").status_code == 204
    assert writer.get(f"{SCENARIOS}/{slug}").status_code == 404
    assert AuditEntry.objects.get(action="scenario_delete").detail["slug"] == slug


@pytest.mark.parametrize("path", ["", "/result", "/series", "/series.csv"])
def test_unknown_scenario_is_not_found(writer: Client, path: str) -> None:
    assert writer.get(f"{SCENARIOS}/nothing{path}").status_code == 404


def test_pages_of_a_kept_scenario_take_few_queries(
    writer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    slug = kept(writer)
    for path in ("", f"/{slug}", f"/{slug}/result", f"/{slug}/series"):
        with django_assert_max_num_queries(12):
            writer.get(SCENARIOS + path)


# --- services -------------------------------------------------------------------------------------


def test_document_that_is_too_large_to_be_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_BYTES", 100)
    with pytest.raises(InvalidDocument, match="100 bytes"):
        scenario_create(workspace=factories.workspace(), document=document(), actor="test")


def test_text_that_a_database_cannot_hold_is_refused() -> None:
    demand = {"kind": "trace", "csv": "ti\0me,value\n1767225600,1"}
    with pytest.raises(InvalidDocument, match="NUL"):
        scenario_create(
            workspace=factories.workspace(), document=document(demand=demand), actor="test"
        )


def test_slug_that_was_taken_meanwhile_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = factories.workspace()
    first = scenario_create(workspace=workspace, document=document(), actor="test")
    monkeypatch.setattr(services, "_slug", lambda *_: first.slug)
    with pytest.raises(InvalidValue, match="taken just now"):
        scenario_create(workspace=workspace, document=document(), actor="test")


def test_cached_results_are_bounded_and_calculated_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selectors, "MOST_STORED", 1)
    monkeypatch.setattr(selectors, "_stored_results", selectors._StoredResults())
    first = selectors.simulate_document(document()).result
    selectors.simulate_document(document(name="Other"))
    assert len(selectors._stored_results._texts) == 1
    assert selectors.simulate_document(document()).result == first


def test_template_is_kept_with_the_scenario_and_must_be_one() -> None:
    workspace, template = factories.workspace(), TEMPLATES["startup"]
    made = scenario_create(
        workspace=workspace, document=template.document, actor="test", template="startup"
    )
    assert made.template == "startup"
    with pytest.raises(InvalidDocument, match="/template"):
        scenario_create(workspace=workspace, document=template.document, actor="test", template="z")


@pytest.mark.parametrize("note", ["n" * 20_001, "\0"])
def test_note_that_cannot_be_kept_is_refused(note: str) -> None:
    made = scenario_create(workspace=factories.workspace(), document=document(), actor="test")
    with pytest.raises(InvalidValue, match="/note"):
        scenario_freeze(scenario=made, note=note, actor="test")


def test_demo_scenarios_come_once_and_go_unless_changed(
    market: None, settings: LazySettings
) -> None:
    folder = settings.FIXTURE_DIR
    count = len(list(folder.glob("scenarios/*.json")))
    assert count >= 3
    assert demo_scenarios_load(folder) == count
    assert demo_scenarios_load(folder) == 0
    changed = Scenario.objects.order_by("slug").first()
    assert changed is not None
    services.scenario_update(
        scenario=changed, document={**changed.document, "name": "Mine"}, actor="me"
    )
    assert demo_scenarios_remove(folder) == count - 1
    assert Scenario.objects.get().name == "Mine"


# --- series ---------------------------------------------------------------------------------------


def test_series_have_a_row_for_each_point_and_option(writer: Client) -> None:
    slug = kept(writer, policy={"kind": "perfect", "quota": 10})
    table = rows(writer.get(f"{SCENARIOS}/{slug}/series.csv?points=720"))
    assert len(table) == 720 * 3
    noon = [row for row in table if row["at"] == "2026-01-01T12:00:00Z"]
    assert [row["option"] for row in noon] == ["all cloud", "all dedicated", "hybrid"]
    assert noon[0] == {
        **dict.fromkeys(("running", "serving"), "10"),
        "at": "2026-01-01T12:00:00Z",
        "option": "all cloud",
        "demand": "20.0",
        "carried": "10.0",
        "unserved": "10.0",
    }
    assert writer.get(f"{SCENARIOS}/{slug}/series.xlsx").status_code == 200


@pytest.mark.parametrize("table", ["months", "cash"])
def test_no_table_of_costs_is_without_unserved_demand(writer: Client, table: str) -> None:
    slug = kept(writer, policy={"kind": "perfect", "quota": 10})
    found = rows(writer.get(f"{SCENARIOS}/{slug}/series.csv?table={table}"))
    assert [float(row["unserved_share"]) > 0 for row in found] == [True, False, True]
    amount = "cost" if table == "months" else "paid"
    result = writer.get(f"{SCENARIOS}/{slug}/result").json()
    assert [Decimal(row[amount]) for row in found] == costs(result)


def test_load_duration_falls(writer: Client) -> None:
    slug = kept(writer)
    found = rows(writer.get(f"{SCENARIOS}/{slug}/series.csv?table=load_duration"))
    demand = [float(row["demand"]) for row in found]
    assert demand == sorted(demand, reverse=True)
    assert (found[2]["option"], found[2]["base"], found[2]["burst"]) == ("hybrid", "3", "17")


def test_series_refuse_an_unknown_table_and_too_many_rows(writer: Client) -> None:
    slug = kept(writer)
    assert fields(writer.get(f"{SCENARIOS}/{slug}/series?table=z")) == ["table"]
    assert fields(writer.get(f"{SCENARIOS}/{slug}/series?points=20000")) == ["points"]
    assert writer.get(f"{SCENARIOS}/{slug}/series.csv?points=20000").status_code == 400
    assert writer.get(f"{SCENARIOS}/{slug}/series?points=3&page=2").status_code == 404


def test_series_of_a_document_and_of_its_kept_scenario_are_the_same() -> None:
    made = scenario_create(workspace=factories.workspace(), document=document(), actor="test")
    assert series_of_document(document()) == scenario_series(made)


# --- schemas and command --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scenario", "contention"])
def test_schema_is_published(writer: Client, name: str) -> None:
    schema = writer.get(f"{API}/schemas/{name}.json").json()
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == name
    if name == "scenario":
        assert Draft202012Validator(schema).is_valid(document())


def test_result_keeps_to_its_schema(writer: Client) -> None:
    schema = writer.get(f"{API}/schemas/scenario-result.json").json()
    found = posted(writer, SIMULATE, dict(TEMPLATES["project_may_fail"].document)).json()
    assert list(Draft202012Validator(schema).iter_errors(found)) == []


def test_command_prints_what_the_api_answers(
    writer: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, printed, told = tmp_path / "scenario.json", io.StringIO(), io.StringIO()
    file.write_text(json.dumps(document()))
    call_command("simulate", str(file), "--json", stdout=printed)
    assert json.loads(printed.getvalue()) == posted(writer, SIMULATE, document()).json()
    monkeypatch.setattr("sys.stdin", io.StringIO(file.read_text()))
    call_command("simulate", "-", stdout=told)
    lines = told.getvalue().splitlines()
    assert lines[3].split()[:4] == ["all", "cloud", "1,884", "1,910"]
    assert lines[3].split()[4] == "0%"


def test_command_prints_intervals(tmp_path: Path) -> None:
    file, told = tmp_path / "scenario.json", io.StringIO()
    file.write_text(json.dumps(dict(TEMPLATES["startup"].document)))
    call_command("simulate", str(file), stdout=told)
    assert " to " in told.getvalue().splitlines()[3]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "no JSON"),
        ('{"schema": NaN}', "NaN is no number"),
        ("{}", "/schema: 1 is needed"),
        (b"\xff", "no UTF-8 text"),
    ],
)
def test_command_fails_with_one_line(tmp_path: Path, text: Any, line: str) -> None:
    file = tmp_path / "scenario.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CommandError, match=line) as failed:
        call_command("simulate", str(file))
    assert "\n" not in str(failed.value)


def test_command_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("simulate", str(tmp_path / "nothing.json"))
