"""POST /contention and the command: the same numbers, and one clear error."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client

from tests.backend.conftest import API, fields
from tests.pure.test_contention_document import NAS

pytestmark = pytest.mark.django_db


def posted(client: Client, document: Any) -> Any:
    return client.post(f"{API}/contention", document, content_type="application/json")


def test_answer_is_the_worked_one(caller: Callable[..., Client]) -> None:
    found = posted(caller("read"), NAS).json()
    assert [flow["rate_bytes_per_s"] for flow in found["flows"]] == [100_000.0, 9_300_000.0]
    assert found["flows"][1]["bottleneck"] == "nas"


def test_stranger_may_ask_where_reading_is_public(client: Client, settings: LazySettings) -> None:
    settings.PUBLIC_READ = True
    assert posted(client, NAS).status_code == 200
    settings.PUBLIC_READ = False
    assert posted(client, NAS).status_code == 401


def test_faults_are_listed_by_pointer(caller: Callable[..., Client]) -> None:
    wrong = {**NAS, "transfer_bytes": -1, "surprise": 1}
    response = posted(caller("read"), wrong)
    assert response.status_code == 400
    assert fields(response) == ["/surprise", "/transfer_bytes"]


def test_document_that_is_too_large_is_refused_by_its_length(
    caller: Callable[..., Client],
) -> None:
    flows = [{"name": "f" * 200, "path": ["nas"]}] * 10_000
    assert posted(caller("read"), {**NAS, "flows": flows}).status_code == 413


def test_command_prints_what_the_api_answers(caller: Callable[..., Client], tmp_path: Path) -> None:
    file = tmp_path / "links.json"
    file.write_text(json.dumps(NAS))
    printed, told = io.StringIO(), io.StringIO()
    call_command("contention", str(file), "--json", stdout=printed)
    assert json.loads(printed.getvalue()) == posted(caller("read"), NAS).json()
    call_command("contention", str(file), stdout=told)
    assert "9.3 MB/s" in told.getvalue()
    assert "100%" in told.getvalue()


def test_command_names_the_field_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "links.json"
    file.write_text(json.dumps({**NAS, "links": [], "flows": NAS["flows"][:1]}))
    with pytest.raises(CommandError, match=r"^/flows/0/path/0: no link is called 'nas'$"):
        call_command("contention", str(file))
