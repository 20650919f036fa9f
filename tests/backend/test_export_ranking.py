"""`manage.py export_ranking`: the same figures as the API, in every format."""

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import Workspace
from tests import factories
from tests.backend.conftest import API

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("demo")]


def exported(path: Path, *arguments: str) -> bytes:
    call_command("export_ranking", *arguments, "--output", str(path))
    return path.read_bytes()


@pytest.mark.parametrize("query", ["", "provider=aws&sort=price", "kind!=cloud&cols=offer_id,cup"])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_export_is_the_answer_of_the_api(
    client: Client, tmp_path: Path, settings: LazySettings, kind: str, query: str
) -> None:
    settings.PUBLIC_READ = True
    found = exported(tmp_path / "out", "--format", kind, *filter(None, query.split("&")))
    assert found == client.get(f"{API}/rankings.{kind}?{query}").content


def test_json_and_workbook_hold_the_same_rows(tmp_path: Path) -> None:
    told = json.loads(exported(tmp_path / "a.json", "--json", "provider=aws"))
    text = exported(tmp_path / "a.csv", "provider=aws").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert told["count"] == len(rows) > 0
    assert [row["offer_id"] for row in told["results"]] == [row["offer_id"] for row in rows]
    exported(tmp_path / "a.xlsx", "--format", "xlsx", "provider=aws")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0]
    assert [cell.value for cell in sheet["A"]][1:] == [row["offer_id"] for row in rows]


def test_offers_of_a_workspace_are_exported_for_it_alone(tmp_path: Path) -> None:
    lab = Workspace.objects.create(slug="lab", name="Laboratory")
    offer = factories.offer("lab-rack", workspace=lab)
    factories.sample(offer, 4281.0)

    def offers(*arguments: str) -> set[str]:
        told = json.loads(exported(tmp_path / "a.json", "--json", *arguments))
        return {row["offer_id"] for row in told["results"]}

    assert offers("--workspace", "lab") - offers() == {"lab-rack"}
    with pytest.raises(CommandError, match="no workspace"):
        offers("--workspace", "nowhere")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nonsense"], "'nonsense' is not name=value"),
        (["metric=magic"], "metric: 'magic' is not one of"),
        (["vcpu__gte=x"], "vcpu__gte: 'x' is not a number"),
    ],
)
def test_bad_query_is_one_line_that_names_the_parameter(arguments: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        call_command("export_ranking", *arguments)


def test_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("export_ranking", "--output", str(tmp_path / "nowhere" / "x.csv"))
