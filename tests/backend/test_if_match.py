"""If-Match: a change of another version than the one that was read is refused, and nothing is done."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from backend.rankings.models import SavedView
from backend.rankings.services.views import view_create
from tests import factories
from tests.backend.api_world import Call, World
from tests.backend.conftest import API
from tests.backend.test_schemathesis import operations, path_parameters_of, world

__all__ = ["world"]
pytestmark = pytest.mark.django_db
Caller = Callable[..., Client]


def patch(client: Client, path: str, body: Any, etag: str) -> Any:
    headers = {"if-match": etag} if etag else {}
    return client.patch(path, body, content_type="application/json", headers=headers)


@pytest.fixture
def view() -> str:
    view_create(workspace=factories.workspace(), name="Ours", slug="ours", params={}, actor="ada")
    return f"{API}/views/ours"


def test_every_change_of_an_object_is_refused_when_its_version_is_another(
    world: World, caller: Caller, subtests: pytest.Subtests
) -> None:
    admin, count = caller("admin"), 0
    for name in operations():
        method, _, template = name.partition(" ")
        if method not in {"PATCH", "PUT", "DELETE"} or f"GET {template}" not in operations():
            continue
        call, count = world.calls.get(name, Call()), count + 1
        ids = {key: world.ids[word][0] for word, key in path_parameters_of(name)} | dict(call.ids)
        path = f"{API}{template.format(**ids)}"
        with subtests.test(name):
            before = admin.get(path)
            if before.status_code != 200:
                continue
            assert before.headers["ETag"]
            refused = getattr(admin, method.lower())(
                path,
                call.body or {},
                content_type="application/json",
                headers={"if-match": '"another"'},
            )
            assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
            assert admin.get(path).status_code == 200
    assert count > 10


def test_change_is_done_when_the_version_is_the_one_that_was_read(
    view: str, caller: Caller
) -> None:
    admin = caller("admin")
    first = admin.get(view).headers["ETag"]
    assert patch(admin, view, {"name": "First"}, first).status_code == 200
    refused = patch(admin, view, {"name": "Second"}, first)
    assert refused.status_code == 412
    assert "read it again" in refused.json()["detail"]
    assert SavedView.objects.get().name == "First"
    second = admin.get(view).headers["ETag"]
    assert second != first
    assert patch(admin, view, {"name": "Second"}, f'"x", W/{second}').status_code == 200
    assert patch(admin, view, {"name": "Third"}, "*").status_code == 200
    assert patch(admin, view, {"name": "Fourth"}, "").status_code == 200
    assert admin.get(view, headers={"if-none-match": second}).status_code == 200
    last = admin.get(view).headers["ETag"]
    assert admin.get(view, headers={"if-none-match": last}).status_code == 304
    assert admin.delete(view, headers={"if-match": first}).status_code == 412
    assert admin.delete(view, headers={"if-match": last}).status_code == 204


def test_stranger_learns_nothing_by_a_version(view: str, settings: Any) -> None:
    settings.PUBLIC_READ = False
    assert patch(Client(), view, {"name": "x"}, '"x"').status_code == 401
    assert patch(Client(), f"{view}-none", {"name": "x"}, '"x"').status_code == 401


@pytest.mark.django_db(transaction=True)
def test_one_of_two_changes_is_done_when_both_come_at_once(view: str, caller: Caller) -> None:
    admin = caller("admin")
    etag = admin.get(view).headers["ETag"]

    def change(name: str) -> int:
        try:
            return int(patch(admin, view, {"name": name}, etag).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(change, ["a", "b", "c", "d"]))
    assert statuses == [200, 412, 412, 412]
