"""Rackrate's own key is replaced, and the earlier key logs in until it is dropped."""

import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Host
from backend.benchmarks.services.login_keys import login_key_get
from tests import factories
from tests.backend.conftest import API
from tests.frontend.spacing import shown
from workers.engine.steps import target_of

pytestmark = pytest.mark.django_db
JSON = {"content_type": "application/json"}


@pytest.fixture
def host() -> Host:
    host = factories.host(name="rack")
    Host.objects.filter(pk=host.pk).update(
        address="192.0.2.7", username="bench", sealed_private_key=None
    )
    login_key_get(workspace=host.workspace)
    return Host.objects.get(pk=host.pk)


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("login_key", *arguments, stdout=out)
    return out.getvalue()


def test_key_is_replaced_and_the_one_before_logs_in_until_dropped(
    caller: Callable[..., Client], host: Host
) -> None:
    admin = caller("admin")
    first, before = admin.get(f"{API}/login-key").json(), target_of(host)
    assert (first["earlier_public_key"], first["host_count"]) == (None, 1)
    second = admin.post(f"{API}/login-key", **JSON).json()
    assert second["earlier_public_key"] == first["public_key"] != second["public_key"]
    host = Host.objects.get(pk=host.pk)
    target = target_of(host)
    assert target.earlier_key == before.private_key != target.private_key
    assert admin.get(f"{API}/hosts/{host.pk}").json()["login_key"] == second["public_key"]
    refused = admin.post(f"{API}/login-key", **JSON)
    assert (refused.status_code, "drop that one first" in refused.json()["detail"]) == (409, True)
    said = admin.delete(f"{API}/login-key/earlier?dry_run=1").json()["consequences"]
    assert said == ["rack has to accept the new key, or its runs fail."]
    assert admin.delete(f"{API}/login-key/earlier").status_code == 204
    host = Host.objects.get(pk=host.pk)
    assert (target_of(host).private_key, target_of(host).earlier_key) == (target.private_key, b"")
    actions = list(AuditEntry.objects.values_list("action", flat=True))
    assert {"login_key_replace", "login_key_drop"} <= set(actions)
    assert caller("run", name="runs").post(f"{API}/login-key", **JSON).status_code == 403


def test_page_replaces_the_key_and_drops_the_earlier_one(client: Client, host: Host) -> None:
    client.force_login(factories.user(role="admin", username="ada"))
    old = login_key_get(workspace=host.workspace).public_key
    assert old in shown(client.get("/hosts/login-key/"))
    page = shown(client.post("/hosts/login-key/replace/", follow=True))
    new = login_key_get(workspace=host.workspace).public_key
    assert old in page
    assert new in page
    assert "rack has to accept the new key" in shown(client.get("/hosts/login-key/drop/"))
    page = shown(client.post("/hosts/login-key/drop/", follow=True))
    assert old not in page
    assert new in page


def test_command_replaces_the_key_and_drops_the_earlier_one(host: Host) -> None:
    old = command().strip()
    lines = command("replace").splitlines()
    assert lines[1] == f"earlier key, until it is dropped: {old}"
    with pytest.raises(CommandError, match="drop that one first"):
        command("replace")
    assert "rack has to accept" in command("drop", "--dry-run")
    assert "only the newest key" in command("drop")
    assert command() == f"{lines[0]}\n"
