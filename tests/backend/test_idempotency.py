"""Requests that come again: done once by their Idempotency-Key, and names that are taken once."""

import base64
import datetime as dt
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from backend.accounts.models import ApiToken, KeptAnswer, Membership, Workspace
from backend.core import clock
from tests import factories
from tests.backend.api_world import Call, World
from tests.backend.conftest import API
from tests.backend.test_schemathesis import operations, path_parameters_of, world

__all__ = ["world"]
pytestmark = pytest.mark.django_db
TOKEN = {"name": "sheet", "scope": "read"}


def post(client: Client, path: str, body: Any, key: str) -> Any:
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    # Where an answer may become something that is made, it does.
    headers = {"Prefer": "respond-async"} | ({"idempotency-key": key} if key else {})
    return client.post(f"{API}{path}", body, content_type=kind, headers=headers)


def test_every_post_that_makes_is_done_once_by_its_key(
    world: World, caller: Callable[..., Client], subtests: pytest.Subtests
) -> None:
    admin, count = caller("admin"), 0
    for name, operation in operations().items():
        answers = operation.definition.raw["responses"]
        if not name.startswith("POST") or not {"201", "202"} & set(answers):
            continue
        call, count = world.calls.get(name, Call()), count + 1
        ids = {key: world.ids[word][0] for word, key in path_parameters_of(name)} | dict(call.ids)
        path = name.removeprefix("POST ").format(**ids)
        query = "&".join(f"{key}={value}" for key, value in call.query.items())
        with subtests.test(name):
            first, second = (
                post(admin, f"{path}?{query}", call.body or {}, name) for _ in range(2)
            )
            assert first.status_code in {201, 202}, first.content
            assert "Idempotency-Replayed" not in first
            assert second["Idempotency-Replayed"] == "true"
            assert second.status_code == first.status_code
            assert second.content == first.content
            assert second["Location"] == first["Location"]
    assert count > 15


def test_key_with_another_body_or_address_is_refused(caller: Callable[..., Client]) -> None:
    admin = caller("admin")
    assert post(admin, "/tokens", TOKEN, "k").status_code == 201
    for path, body in (("/tokens", {**TOKEN, "name": "other"}), ("/views", TOKEN)):
        refused = post(admin, path, body, "k")
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert ApiToken.objects.filter(name="other").count() == 0


def test_key_of_a_person_is_of_one_workspace_when_they_act_in_two() -> None:
    lab = Workspace.objects.create(slug="lab", name="Lab")
    ada = factories.user(username="ada", role="admin")
    Membership.objects.create(workspace=lab, user=ada, role="admin")
    client = Client()
    client.force_login(ada)
    answers = []
    for slug in ("default", "lab", "default", "lab"):
        client.post(f"/accounts/workspaces/{slug}/enter/")
        answers.append(post(client, "/tokens", TOKEN, "k"))
    assert [answer.status_code for answer in answers] == [201] * 4
    assert ["Idempotency-Replayed" in answer for answer in answers] == [False, False, True, True]
    made = ApiToken.objects.filter(name="sheet").values_list("workspace__slug", flat=True)
    assert sorted(made) == ["default", "lab"]


def test_refused_request_may_be_corrected_under_its_key(caller: Callable[..., Client]) -> None:
    admin = caller("admin")
    assert post(admin, "/tokens", {**TOKEN, "scope": "none"}, "k").status_code == 400
    assert post(admin, "/tokens", TOKEN, "k").status_code == 201


def test_key_belongs_to_its_caller_and_ends_with_its_token(
    caller: Callable[..., Client], token: Callable[..., str]
) -> None:
    first = token("admin")
    client = Client(headers={"authorization": f"Bearer {first}"})
    assert post(client, "/tokens", TOKEN, "k").status_code == 201
    view = {"name": "Cheap ones", "params": {"price__lte": ["1"]}}
    assert post(caller("write"), "/views", view, "k").status_code == 201
    ApiToken.objects.filter(lookup=first[3:11]).update(revoked_at=clock.now())
    assert post(client, "/tokens", TOKEN, "k").status_code == 401


def test_kept_answer_is_sealed_and_ends_after_a_day(caller: Callable[..., Client]) -> None:
    admin = caller("admin")
    made = post(admin, "/tokens", TOKEN, "k").json()
    row = KeptAnswer.objects.get()
    assert made["token"].encode() not in bytes(row.sealed_body or b"")
    KeptAnswer.objects.update(created_at=clock.now() - dt.timedelta(hours=25))
    again = post(admin, "/tokens", {**TOKEN, "name": "next day"}, "k")
    assert again.status_code == 201


@pytest.mark.parametrize("key", ["", "one key"])
@pytest.mark.django_db(transaction=True)
def test_posts_at_once_make_one_token_of_a_name(token: Callable[..., str], key: str) -> None:
    headers = {"authorization": f"Bearer {token('admin')}"}

    def posted(_: int) -> Any:
        try:
            answer = post(Client(headers=headers), "/tokens", TOKEN, key)
            return answer.status_code, json.loads(answer.content).get("token")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(posted, range(6)))
    assert ApiToken.objects.filter(name=TOKEN["name"]).count() == 1
    # With a key all of them have the token; without one a name is taken once.
    expected = {201} if key else {201, 400}
    assert {status for status, _ in answers} == expected
    assert len({text for _, text in answers if text}) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer rr_wrong"}, 401),
        ({"authorization": "Basic {basic}"}, 403),
        ({"authorization": "Bearer {token}", "origin": "https://elsewhere.example"}, 403),
    ],
)
def test_refused_caller_with_a_key_is_refused_as_without(
    token: Callable[..., str], headers: dict[str, str], status: int
) -> None:
    text = token("admin")
    basic = base64.b64encode(f"token:{text}".encode()).decode()
    sent = {name: value.format(token=text, basic=basic) for name, value in headers.items()}
    answer = Client().post(
        f"{API}/tokens",
        json.dumps(TOKEN),
        content_type="application/json",
        headers={**sent, "idempotency-key": "once"},
    )
    assert answer.status_code == status
    assert not ApiToken.objects.filter(name=TOKEN["name"]).exists()
