"""Who may do what: every endpoint and page × every role × own, foreign and shared objects.

The table is docs/permissions.md. With WRITE_PERMISSIONS=1 and -n 0 the tests write what they find.
"""

import json
import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client

from backend.accounts.models import Workspace
from backend.benchmarks.api import hosts
from backend.rentals.api import cloud_accounts
from tests.backend import api_world, permission_world
from tests.backend.api_world import Call
from tests.backend.permission_world import (
    API,
    FOREIGN,
    NO_OBJECT,
    OURS,
    OWN,
    ROLES,
    SHARED,
    Operation,
    World,
)

pytestmark = pytest.mark.django_db
TABLE = Path(__file__).parents[2] / "docs" / "permissions.md"
STRANGER, READER = "stranger", "reader"
COLUMNS = (STRANGER, READER, *ROLES)
Cells = dict[tuple[str, str], str]
# Of pages where the right hangs on what was typed in.
FIELDS: Mapping[str, dict[str, str]] = {
    "POST /scenarios/new/": {"save": "1"},
    "POST /scenarios/{slug}/edit/": {"save": "1"},
    "POST /samples/{sample_id}/exclude/": {"reason": "a fan failed"},
    "POST /prices/{price_id}/review/": {"accept": "1", "reason": "looked it up"},
    "POST /bills/uploads/{upload_id}/": {"price_is": "total"},
    "POST /prices/lists/{feed_id}/review/": {"accept": "1", "reason": "announced", "count": "1"},
    "POST /prices/discounts/": {"provider": "aws", "service": "egress", "percent": "9"},
    "POST /offers/{slug}/price/": {
        "amount": "9",
        "currency": "EUR",
        "unit": "month",
        "reason": "what we pay",
    },
}

# Of pages that show nothing without.
QUERIES = {"/reports/new/comparison/": {"o": permission_world.PRIVATE}}
# What is sent to be calculated or to sign in: nothing of a workspace is written.
READS_BY_POST = {
    "POST /accounts/code/", "POST /accounts/invitation/{secret}/", "POST /accounts/link/{secret}/",
    "POST /accounts/login/", "POST /accounts/logout/", "POST /language/", "POST /data/",
    "POST /api/v1/arrays", "POST /api/v1/contention", "POST /api/v1/requirements/solve",
    "POST /api/v1/scenarios/simulate", "POST /scenarios/preview/",
}  # fmt: skip
FOREIGN_YET_ALLOWED = {("POST /accounts/workspaces/{slug}/enter/", "superuser")}
# Everybody may rent what everybody sees, with an account of their own.
SHARED_YET_USED = {"POST /offers/{slug}/measure/"}


@pytest.fixture
def world(
    settings: LazySettings,
    queued: list[Any],
    client: Client,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> World:
    monkeypatch.setattr(hosts, "host_scan", api_world.scanned_at_once)
    monkeypatch.setattr(cloud_accounts, "account_check", api_world.checked_at_once)
    caplog.set_level(logging.CRITICAL, "django.request")
    settings.SECURE_SSL_REDIRECT = False
    settings.STATIC_ROOT = settings.STATICFILES_DIRS[0]
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    made = permission_world.build()
    made.callers |= {(role, side): client for role in (STRANGER, READER) for side in (OWN, FOREIGN)}
    return made


@cache
def operations() -> list[Operation]:
    return permission_world.operations()


# --- calling --------------------------------------------------------------------------------------


def call_of(world: World, operation: Operation) -> Call:
    return world.calls.get(operation.name.replace(API, ""), Call())


def address(world: World, operation: Operation, situation: str) -> str:
    ids = world.shared if situation in {SHARED, OURS} else world.own
    chosen = call_of(world, operation).ids
    path = operation.path
    for word, name in operation.words:
        kind = "results" if name == "evidence_id" else word
        found, index = ids.get(kind) or world.own[kind], 0
        if name in chosen:
            one = str(chosen[name])
            if one in world.made[kind]:
                index = world.made[kind].index(one)
            elif ids is world.own:
                found = [one]  # which nothing depends on, so that it may be deleted
        path = path.replace(f"{{{name}}}", found[min(index, len(found) - 1)])
    return path.replace("{slug}", "large").replace("{format}", "csv")


def called(world: World, operation: Operation, situation: str, role: str) -> Any:
    """The answer; what it changed is undone."""
    is_outside = situation in {FOREIGN, SHARED}
    client = world.callers[role, FOREIGN if is_outside else OWN]
    call, cookies = call_of(world, operation), dict(client.cookies.items())
    with transaction.atomic():
        if is_outside and role in {STRANGER, READER}:
            _swapped()
        answer = client.generic(
            operation.method,
            address(world, operation, situation),
            data(operation, call),
            content_type=operation.media or "application/x-www-form-urlencoded",
            query_params=call.query or QUERIES.get(operation.path),
        )
        if answer.streaming:
            b"".join(answer.streaming_content)  # type: ignore[arg-type]
        transaction.set_rollback(True)
    # Signing out is undone as well.
    client.cookies = SimpleCookie()
    client.cookies.update(cookies)
    return answer


def data(operation: Operation, call: Call) -> bytes | str:
    if not operation.media:
        return "&".join(f"{name}={text}" for name, text in FIELDS.get(operation.name, {}).items())
    if isinstance(call.body, bytes):
        return call.body
    return json.dumps(call.body if call.body is not None else {})


def _swapped() -> None:
    """What strangers see is what the default workspace has: make the other one the default."""
    names = {"default": "was-default", "other": "default"}
    for before, after in names.items():
        Workspace.objects.filter(slug=before).update(slug=after)


def outcome(answer: Any) -> str:
    code = answer.status_code
    if code == 401 or (code == 302 and answer["Location"].startswith("/accounts/login/?next")):
        return "sign in"
    return {403: "no", 404: "404", 405: "405"}.get(code, "yes" if code < 500 else str(code))


def cells(world: World, role: str) -> Cells:
    """What the role is answered. Who may do everything tries all methods; one that an address does
    not take is no row."""
    found, known = {}, documented()
    for operation in operations():
        for situation in operation.situations(set(world.shared)):
            row = operation.name, situation
            if role == "superuser" or row in known:
                found[row] = outcome(called(world, operation, situation, role))
    return {row: cell for row, cell in found.items() if cell != "405"}


# --- the table ------------------------------------------------------------------------------------


def documented() -> dict[tuple[str, str], list[str]]:
    rows = re.findall(
        r"^\| `([A-Z]+ [^`]*)` \| ([^|]*) \| (.*) \|$", TABLE.read_text(), re.MULTILINE
    )
    return {(name, whose): cells.split(" | ") for name, whose, cells in rows}


def column(role: str) -> Cells:
    return {row: cells[COLUMNS.index(role)] for row, cells in documented().items()}


def write(role: str, found: Cells) -> None:
    text, rows = TABLE.read_text(), documented()
    head = text.partition("\n| operation")[0]
    if role == "superuser":
        rows = {row: ["–"] * len(COLUMNS) for row in found}
    for row in found.keys() & rows.keys():
        rows[row][COLUMNS.index(role)] = found[row]
    order = [
        (one.name, whose)
        for one in operations()
        for whose in (OWN, FOREIGN, OURS, SHARED, NO_OBJECT)
    ]
    lines = [
        f"\n| operation | object | {' | '.join(COLUMNS)} |",
        "|---" * (len(COLUMNS) + 2) + "|",
        *(
            f"| `{name}` | {whose} | {' | '.join(rows[name, whose])} |"
            for name, whose in order
            if (name, whose) in rows
        ),
    ]
    TABLE.write_text(head + "\n".join(lines) + "\n")


@pytest.mark.parametrize("role", COLUMNS[::-1])
def test_everything_answers_a_role_as_the_table_says(
    world: World, settings: LazySettings, role: str
) -> None:
    settings.PUBLIC_READ = role == READER
    found = cells(world, role)
    if os.environ.get("WRITE_PERMISSIONS"):
        write(role, found)
    assert found == column(role)


# --- what holds for every row ---------------------------------------------------------------------


def rows() -> list[tuple[str, str, dict[str, str]]]:
    return [
        (name, whose, dict(zip(COLUMNS, found, strict=True)))
        for (name, whose), found in documented().items()
    ]


def test_every_operation_has_a_row_for_each_kind_of_object() -> None:
    paths = {one.path for one in operations()}
    assert paths == {name.partition(" ")[2] for name, *_ in rows()}
    described = {(one.name, one.path) for one in operations() if one.path.startswith(API)}
    assert {name for name, _ in described} <= {name for name, *_ in rows()}


def test_foreign_object_is_404_to_whoever_may_do_it_to_their_own() -> None:
    own = {name: found for name, whose, found in rows() if whose == OWN}
    faults = [
        (name, role)
        for name, whose, found in rows()
        if whose == FOREIGN
        for role in COLUMNS
        if own.get(name, {}).get(role) == "yes" and found[role] != "404"
    ]
    assert set(faults) == FOREIGN_YET_ALLOWED
    allowed = [
        (name, role)
        for name, whose, found in rows()
        if whose == FOREIGN
        for role in COLUMNS
        if found[role] == "yes"
    ]
    assert set(allowed) == FOREIGN_YET_ALLOWED


def test_shared_object_is_written_by_its_owner_only() -> None:
    for name, whose, found in rows():
        if whose == SHARED and not name.startswith("GET") and name not in SHARED_YET_USED:
            assert "yes" not in found.values(), name


def test_strangers_read_at_most_and_each_role_may_what_the_one_below_may() -> None:
    for name, whose, found in rows():
        allowed = [found[role] == "yes" for role in (READER, *ROLES)]
        assert allowed == sorted(allowed), (name, whose)
        if not name.startswith("GET") and name not in READS_BY_POST:
            assert found[READER] != "yes", name
        assert not {cell for cell in found.values() if cell.isdigit()} - {"404"}, name


# --- what names an object elsewhere than in the address -------------------------------------------


def test_foreign_objects_named_in_a_body_are_not_found(world: World) -> None:
    """Bodies name objects of the default workspace: nobody of the other one gets anywhere."""
    foreign = {str(one) for word in ("hosts", "campaigns", "views") for one in world.own[word]}
    tried = 0
    for operation in operations():
        call = call_of(world, operation)
        if operation.words or not isinstance(call.body, dict):
            continue
        text = json.dumps(call.body).replace(api_world.ODD, permission_world.PRIVATE)
        if any(f'"{one}"' in text for one in {*foreign, permission_world.PRIVATE}):
            tried += 1
            client = world.callers["superuser", FOREIGN]
            answer = client.post(operation.path, text, content_type="application/json")
            assert answer.status_code in {400, 404}, (operation.name, answer.content)
    assert tried >= 5


def test_foreign_key_below_a_view_of_ones_own_is_404(world: World) -> None:
    address = permission_world.nested_keys(world)
    for role in ("admin", "superuser"):
        assert world.callers[role, FOREIGN].post(address).status_code == 404


def test_nothing_of_one_workspace_is_shown_in_another(world: World) -> None:
    words = ("hosts", "runs", "campaigns", "schedules", "subscriptions", "tokens", "scenarios")
    secret = {one for word in words for one in world.own[word]} | {permission_world.PRIVATE}
    client = world.callers["superuser", FOREIGN]
    for operation in operations():
        is_shared = SHARED in operation.situations(set(world.shared))
        if operation.method == "GET" and (is_shared or not operation.words):
            path = address(world, operation, SHARED)
            with transaction.atomic():
                answer = client.get(path, call_of(world, operation).query)
                content = answer.content.decode(errors="replace")
                transaction.set_rollback(True)
            assert not [one for one in secret if one in content], path
