"""Who may do what: every operation of the API and every page, by role and by whose object it is.

The table in docs/security.md is what these calls show. After a change of rights, or for another
address, `WRITE_PERMISSIONS=1` writes it anew, to be read before it is committed.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import Client
from django.urls import URLPattern
from drf_spectacular.generators import SchemaGenerator

from backend.accounts.models import Scope, Workspace
from backend.accounts.services.members import invitation_create
from backend.accounts.services.tokens import token_create
from backend.benchmarks.api import hosts
from backend.benchmarks.models import HostAuthority
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer, PricePayload
from backend.rankings.models import Report
from backend.rentals.api import cloud_accounts
from backend.web import urls
from tests import factories
from tests.architecture.sources import ROOT
from tests.backend import api_world
from tests.backend.api_world import KEY, Call, World

pytestmark = pytest.mark.django_db
PREFIX = "/api/v1"
DOCUMENT = ROOT / "docs" / "security.md"
BEGIN, END = "<!-- permissions -->\n", "<!-- end of permissions -->\n"
ROLES = ("everybody", "viewer", "analyst", "operator", "admin", "installation")
"""Each includes those before it; the last runs the installation."""
SCOPES = dict(zip(ROLES[1:5], Scope, strict=True))
SHARED = {"offers", "prices", "price-feeds", "results", "schemas", "metrics", "prices/payloads"}
"""First words of addresses whose objects every workspace sees."""
HARMLESS: set[tuple[str, str]] = {
    ("POST", "/offers/{slug}/measure/"),
    ("POST", "/offers/{slug}/price/"),
}
"""Forms about a shared object: a run of one's own, and a form that was refused for its fields
before the owner is asked."""
NOBODY = "nobody"
OPEN = {"login", "logout", "sign-in-link", "invitation", "language", "second-factor"}
"""Pages of who is not known yet; they show no object of a workspace."""
OWN_PERSON = {"session-end", "sessions-end"}


class Matrix:
    """Calls by role in the workspace of the world, and by an admin of another one."""

    def __init__(self, world: World, other: Workspace, of_token: bool) -> None:
        self.world = world
        self.faults: list[str] = []
        self.clients = {"everybody": Client()}
        for role, scope in SCOPES.items():
            self.clients[role] = self._client(of_token, factories.workspace(), scope)
        self.clients["installation"] = self._client(
            of_token, factories.workspace(), Scope.ADMIN, is_superuser=True
        )
        self.outsider = self._client(of_token, other, Scope.ADMIN)

    def _client(self, of_token: bool, workspace: Workspace, scope: Scope, **given: Any) -> Client:
        person = factories.user(role=scope, workspace=workspace, **given)
        if of_token:
            text = token_create(
                workspace=workspace, owner=person, name=person.username, scope=scope
            )[1]
            return Client(headers={"authorization": f"Bearer {text}"})
        client = Client()
        client.force_login(person)
        return client

    def status(self, client: Client, method: str, path: str, call: Call) -> int:
        """Of the answer; what the call changed is undone."""
        body = call.body if isinstance(call.body, bytes) else json.dumps(call.body or {})
        kind = "application/octet-stream" if isinstance(call.body, bytes) else "application/json"
        with transaction.atomic():
            # A fault of the page is its status here, so that all of them are seen at once.
            client.raise_request_exception = False
            answer = client.generic(
                method, path, body, content_type=kind, query_params=dict(call.query)
            )
            transaction.set_rollback(True)
        is_sign_in = answer.status_code == 302 and "/accounts/login/" in answer["Location"]
        return 401 if is_sign_in else answer.status_code

    def least_role(self, method: str, path: str, call: Call) -> str | None:
        """The least role that is let in; all below it are refused. None where nobody knows the
        method."""
        for role in ROLES:
            status = self.status(self.clients[role], method, path, call)
            if status == 405:
                return None
            # 504: no worker answers here, and who is refused is not made to wait for one.
            if status >= 500 and status != 504:
                self.faults.append(f"{method} {path}: {status}")
            # What is one person's own is not there for others of the workspace, but for admins.
            if status not in {401, 403, 404}:
                top = self.status(self.clients["installation"], method, path, call)
                assert top not in {401, 403, 404}, f"{method} {path}"
                return role
        return NOBODY

    def elsewhere(self, method: str, path: str, call: Call) -> str:
        """What an admin of another workspace is told of the same object."""
        status = self.status(self.outsider, method, path, call)
        if status == 404:
            return "404"
        return "403" if status in {401, 403} else "allowed"


@pytest.fixture
def world(
    settings: LazySettings, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setattr(hosts, "SCAN_WAIT_S", 0.0)
    monkeypatch.setattr(cloud_accounts, "CHECK_WAIT_S", 0.0)
    settings.PUBLIC_READ = True
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    built = api_world.build()
    workspace = factories.workspace()
    factories.sample(Offer.objects.get(slug=api_world.ODD), 5.0)
    summaries_refresh()
    authority = HostAuthority.objects.create(workspace=workspace, patterns="*", public_key=KEY)
    payload = PricePayload.objects.create(
        feed_id=built.ids["price-feeds"][0],
        sha256="0" * 64,
        size_bytes=1,
        raw_gzip=b"x",
        fetched_at=factories.AT,
    )
    invitation, _ = invitation_create(workspace=workspace, scope="read", actor="test")
    report = Report.objects.create(
        workspace=workspace,
        slug="frozen",
        title="Frozen",
        document={"columns": [], "rows": [], "basis": [], "count": 0},
        params={},
        data_version=1,
        created_by="test",
    )
    built.ids |= {
        "authorities": [str(authority.pk)],
        "payloads": [str(payload.pk)],
        "invitations": [str(invitation.pk)],
        "reports": [report.slug],
        "workspaces": ["default"],
        "people": [str(factories.user().memberships.get().pk)],
        "metrics": ["cmips_score"],
        "lists": built.ids["price-feeds"],
        "clouds": built.ids["cloud-accounts"],
        "keys": built.ids["feed-keys"],
        "scores": ["cmips_score"],
        "new": ["aws"],
    }
    yield built
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def other(db: None) -> Workspace:
    return Workspace.objects.create(slug="other", name="Other")


# --- what there is --------------------------------------------------------------------------------


def operations() -> Iterator[tuple[str, str]]:
    """(method, path) of every operation of the OpenAPI schema."""
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    for path, methods in paths.items():
        for method in methods:
            if method in {"get", "post", "put", "patch", "delete"}:
                yield method.upper(), path.removeprefix(PREFIX)


def pages() -> Iterator[tuple[str, str]]:
    """(name, path with its parameters in braces) of every page."""
    for pattern in urls.urlpatterns:
        assert isinstance(pattern, URLPattern)
        yield str(pattern.name), "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))


def filled(world: World, path: str, call: Call) -> str:
    """The path with the ids of objects that exist in the workspace of the world."""
    for word, name in re.findall(r"/([a-z-]+)/\{(\w+)\}", path):
        value = call.ids.get(name) or world.ids[word][0]
        path = path.replace(f"{{{name}}}", str(value))
    return path


def is_shared(path: str) -> bool:
    return any(path.lstrip("/").startswith(f"{word}/") for word in SHARED)


# --- the table ------------------------------------------------------------------------------------


def api_rows(matrix: Matrix) -> Iterator[str]:
    for method, path in operations():
        call = matrix.world.calls.get(f"{method} {path}", Call())
        address = PREFIX + filled(matrix.world, path, call)
        least = matrix.least_role(method, address, call)
        assert least is not None, f"{method} {path}"
        has_object = "{" in path
        told = matrix.elsewhere(method, address, call) if has_object else "own"
        yield f"| {method} | `{PREFIX}{path}` | {least} | {told} |"


def page_rows(matrix: Matrix) -> Iterator[str]:
    for name, path in pages():
        if name in OPEN:
            yield f"| any | `{path}` | everybody | own |"
            continue
        if name in OWN_PERSON:
            yield f"| POST | `{path}` | viewer | own |"
            continue
        address = filled(matrix.world, path, Call())
        for method in ("GET", "POST"):
            least = matrix.least_role(method, address, Call())
            if least is None:
                continue
            has_object = "{" in path
            told = matrix.elsewhere(method, address, Call()) if has_object else "own"
            yield f"| {method} | `{path}` | {least} | {told} |"


def table(rows: list[str]) -> str:
    head = "| method | address | needs | object of another workspace |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def test_permissions_are_those_of_the_document(
    world: World, other: Workspace, settings: LazySettings
) -> None:
    api, site = Matrix(world, other, True), Matrix(world, other, False)
    rows = [*api_rows(api), *page_rows(site)]
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    stated, _, after = rest.partition(END)
    if os.environ.get("WRITE_PERMISSIONS"):
        DOCUMENT.write_text(f"{before}{BEGIN}{table(rows)}{END}{after}")
        stated = table(rows)
    assert not [*api.faults, *site.faults]
    assert stated.splitlines() == table(rows).splitlines()
    assert not [row for row in rows if f"| {NOBODY} |" in row]


def test_objects_of_another_workspace_are_not_there() -> None:
    """By the table, which the test above holds against the answers."""
    rows = DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    cells = [[one.strip(" `") for one in row.strip("|").split("|")] for row in rows]
    assert len(cells) > 200
    wrong = [
        (method, path, told)
        for method, path, least, told in cells
        if "{" in path
        and told not in {"404", "own"}
        and not is_shared(path.removeprefix(PREFIX))
        # Whoever does not run the installation is refused before any object is looked for.
        and least != "installation"
    ]
    assert not wrong
    changed = [
        (method, path)
        for method, path, _, told in cells
        if method in {"POST", "PATCH", "DELETE"}
        and told == "allowed"
        and is_shared(path.removeprefix(PREFIX))
    ]
    assert set(changed) <= HARMLESS


@pytest.mark.parametrize("role", ["run", "admin"])
def test_nothing_is_made_of_objects_of_another_workspace(
    world: World, other: Workspace, caller: Callable[..., Client], role: str
) -> None:
    """Bodies name objects, too: those of another workspace are as unknown as none."""
    owner = factories.user(role=role, workspace=other)
    client = caller(role, workspace=other, owner=owner)
    names = ("POST /runs", "POST /campaigns", "POST /schedules", "POST /feed-keys")
    for name in names:
        call = world.calls[name]
        answer = client.post(
            PREFIX + name.split()[1], json.dumps(call.body), content_type="application/json"
        )
        assert answer.status_code in {400, 404}, (name, answer.content)
