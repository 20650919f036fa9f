"""The page that takes a recorded demand, and the command that does the same."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from backend.scenarios.calc.simulate import simulate
from backend.scenarios.models import Scenario
from tests import factories

pytestmark = pytest.mark.django_db
CSV = "time,requests/s\n1767225600,10\n1767225900,80\n1767226200,20\n1767230000,5\n"
PROMETHEUS = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {"metric": {"job": "web"}, "values": [[1767225600, "10"], [1767225660, "30"]]},
                {"metric": {"job": "api"}, "values": [[1767225600, "1"], [1767225660, "3"]]},
            ],
        },
    }
)


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(username="ada", role="write"))
    return client


def sent(client: Client, content: str | bytes, **given: str) -> Any:
    data = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile("load.csv", data)
    return client.post("/scenarios/trace/", {"file": file, "template": "startup"} | given)


def test_recording_becomes_a_scenario_whose_gaps_are_listed(analyst: Client) -> None:
    answer = sent(analyst, CSV)
    scenario = Scenario.objects.get()
    assert answer.headers["Location"] == f"/scenarios/{scenario.slug}/"
    assert scenario.document["demand"]["unit"] == "requests/s"
    assert scenario.document["capacity"]["units_per_server"] == "8.000"
    page = analyst.get(answer.headers["Location"]).content.decode()
    assert "points missing; the value before holds" in page
    assert simulate(scenario.document)["demand"]["peak"] == 80


def test_example_of_a_recording_is_one_that_can_be_imported(analyst: Client) -> None:
    page = analyst.get("/scenarios/trace/").content.decode()
    answer = sent(analyst, page.split('Example">')[1].split("</pre>")[0], name="Example")
    assert answer.status_code == 302
    assert Scenario.objects.get().name == "Example"


def test_series_of_an_export_is_chosen_by_its_label(analyst: Client) -> None:
    assert sent(analyst, PROMETHEUS, series='{job="api"}').status_code == 302
    values = [value for _, value in Scenario.objects.get().document["demand"]["points"]]
    assert max(values) == 3


@pytest.mark.parametrize(
    ("content", "given", "told"),
    [
        ("1767225600,1\n1767225600,2\n", {}, "line 2: is not later"),
        ("1767225600,-1\n", {}, "line 1"),
        ("1767225600,nan\n", {}, "not a number"),
        (b"\xff\xfe\x00", {}, "no text in UTF-8"),
        (PROMETHEUS, {}, "api"),
        (CSV, {"step_s": "7"}, "do not divide a day"),
        ("1767225600,1\n1799225600,1\n", {"step_s": "1"}, "take longer ones"),
    ],
)
def test_rubbish_is_refused_by_position_and_nothing_is_stored(
    analyst: Client, content: str | bytes, given: dict[str, str], told: str
) -> None:
    answer = sent(analyst, content, **given)
    assert answer.status_code == 200
    assert told in answer.content.decode().replace("&#x27;", "'")
    assert not Scenario.objects.exists()


def test_viewer_may_not_keep_a_recording(client: Client) -> None:
    assert sent(client, CSV).status_code == 403


def test_command_prints_the_document_that_simulate_reads(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text(CSV)
    out, err = io.StringIO(), io.StringIO()
    call_command("import_trace", str(path), "--name", "Shop", stdout=out, stderr=err)
    document = json.loads(out.getvalue())
    assert document["name"] == "Shop"
    assert simulate(document)["demand"]["peak"] == 80
    assert "remark: 2026-01-01" in err.getvalue()


@pytest.mark.parametrize(
    ("content", "told"), [("1767225600,x\n", "line 1"), (None, "No such file")]
)
def test_command_prints_a_fault_in_one_line(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "load.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CommandError, match=told):
        call_command("import_trace", str(path))
