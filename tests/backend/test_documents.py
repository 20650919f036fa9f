"""Hosts, views, campaigns and scenarios: exported, taken back, and exported again."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Campaign, Host
from backend.catalog.models import Offer
from backend.rankings.models import SavedView
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
HOSTS = (
    "address,name,username,tags,bastion,production\n"
    "192.0.2.1,gate,ops,,,\n"
    "192.0.2.7,rack 7,bench,db web,gate,yes\n"
)
VIEW = {"name": "Small", "params": {"vcpu__lte": ["4"], "provider": ["aws", "gcp"]}}
KEPT = ("name", "address", "port", "username", "tags", "is_in_production", "driver")
FILES = ("csv", "csv?dialect=excel", "csv?dialect=excel-eu", "tsv")


@pytest.fixture
def admin(caller: Callable[..., Client]) -> Client:
    return caller("admin")


def sent(method: Callable[..., Any], path: str, document: Any) -> Any:
    return method(f"{API}/{path}", json.dumps(document), content_type="application/json")


def done(method: Callable[..., Any], path: str, document: Any) -> Any:
    response = sent(method, path, document)
    assert response.status_code in {200, 201}, response.content
    return response.json()


def got(client: Client, path: str) -> Any:
    return client.get(f"{API}/{path}").json()


def hosts_added(client: Client) -> None:
    made = done(client.post, "hosts/import", {"format": "csv", "text": HOSTS})
    assert len(made["added"]) == 2


def shown(client: Client) -> list[dict[str, str]]:
    hosts = rows(client.get(f"{API}/hosts.csv"))
    names = {host["id"]: host["name"] for host in hosts}
    return [
        {name: host[name] for name in KEPT} | {"bastion": names.get(host["bastion"], "")}
        for host in hosts
    ]


@pytest.mark.parametrize("file", FILES)
def test_hosts_taken_back_change_nothing(admin: Client, queued: Any, file: str) -> None:
    hosts_added(admin)
    factories.host(name="=local", driver="local", address="")
    before = admin.get(f"{API}/hosts.{file}").content
    entries = AuditEntry.objects.count()
    report = done(admin.post, "hosts/import", {"format": "csv", "text": before.decode()})
    assert (report["added"], report["changed"], report["unchanged"]) == ([], [], 2)
    assert admin.get(f"{API}/hosts.{file}").content == before
    assert AuditEntry.objects.count() == entries


@pytest.mark.parametrize("file", FILES)
def test_hosts_come_back_to_an_empty_workspace(admin: Client, queued: Any, file: str) -> None:
    hosts_added(admin)
    before, text = shown(admin), admin.get(f"{API}/hosts.{file}").content.decode()
    Host.objects.filter(bastion__isnull=False).delete()
    Host.objects.all().delete()
    Offer.objects.all().delete()
    report = done(admin.post, "hosts/import", {"format": "csv", "text": text})
    assert len(report["added"]) == 2
    assert shown(admin) == before


def test_changed_line_changes_its_host(admin: Client, queued: Any) -> None:
    hosts_added(admin)
    text = admin.get(f"{API}/hosts.csv").content.decode()
    text = (
        text.replace("192.0.2.7", "192.0.2.8").replace("db web", "cache").replace("TRUE", "FALSE")
    )
    report = done(admin.post, "hosts/import", {"format": "csv", "text": text})
    assert (len(report["changed"]), report["unchanged"]) == (1, 1)
    host = Host.objects.get(name="rack 7")
    assert (host.address, host.tags, host.is_in_production) == ("192.0.2.8", ["cache"], False)
    assert host.bastion is not None
    assert host.bastion.name == "gate"


def test_views_come_back_as_they_were(admin: Client) -> None:
    done(admin.post, "views", VIEW)
    done(admin.post, "views", VIEW | {"name": "Mine", "visibility": "private"})
    before = got(admin, "documents/views")
    assert [item["slug"] for item in before["items"]] == ["mine", "small"]
    entries = AuditEntry.objects.count()
    report = done(admin.put, "documents/views", before)
    assert report == {"is_dry": False, "created": [], "changed": [], "unchanged": 2}
    assert AuditEntry.objects.count() == entries
    SavedView.objects.all().delete()
    assert done(admin.put, "documents/views", before | {"dry_run": True})["is_dry"]
    assert SavedView.objects.count() == 0
    assert done(admin.put, "documents/views", before)["created"] == ["mine", "small"]
    assert got(admin, "documents/views") == before


def test_views_are_changed_all_or_none_and_by_their_owners(
    admin: Client, caller: Callable[..., Client]
) -> None:
    done(admin.post, "views", VIEW)
    document = got(admin, "documents/views")
    item = document["items"][0]
    wrong = {"items": [item | {"name": "Tiny"}, item | {"slug": "b", "params": {"cost": ["x"]}}]}
    response = sent(admin.put, "documents/views", wrong)
    assert response.status_code == 400
    assert [field.rpartition("/")[0] for field in fields(response)] == ["/items/1/params"]
    assert SavedView.objects.get().name == "Small"
    tiny = {"items": [item | {"name": "Tiny"}]}
    response = sent(
        caller("write", owner=factories.user(role="write")).put, "documents/views", tiny
    )
    assert fields(response) == ["/items/0/slug"]
    assert done(admin.put, "documents/views", tiny)["changed"] == ["small"]
    assert SavedView.objects.get().name == "Tiny"


def test_scenarios_come_back_as_they_were(demo: None, admin: Client) -> None:
    documents = [dict(TEMPLATES[name].document) for name in ("content", "content")]
    for document in documents:
        done(admin.post, "scenarios", document)
    before = got(admin, "documents/scenarios")
    assert len({item["slug"] for item in before["items"]}) == 2
    report = done(admin.put, "documents/scenarios", before)
    assert report == {"is_dry": False, "created": [], "changed": [], "unchanged": 2}
    Scenario.objects.all().delete()
    assert len(done(admin.put, "documents/scenarios", before)["created"]) == 2
    assert got(admin, "documents/scenarios") == before
    item = before["items"][0]
    renamed = {"items": [item | {"document": item["document"] | {"name": "Other"}}]}
    assert done(admin.put, "documents/scenarios", renamed)["changed"] == [item["slug"]]
    done(admin.post, f"scenarios/{item['slug']}/freeze", {"note": ""})
    frozen = got(admin, "documents/scenarios")
    assert frozen["items"][0]["is_frozen"]
    assert done(admin.put, "documents/scenarios", frozen)["unchanged"] == 2
    response = sent(admin.put, "documents/scenarios", before)
    assert (response.status_code, fields(response)) == (400, ["/items/0"])


def test_hosts_and_campaigns_come_back_as_they_were(admin: Client, queued: Any) -> None:
    hosts_added(admin)
    ids = [str(host.pk) for host in Host.objects.order_by("name")]
    budget = {"amount": "12.50", "currency": "EUR"}
    for name in ("nightly", "weekly"):
        made = {"name": name, "hosts": ids, "profile": "quick", "budget": budget, "repeats": 2}
        done(admin.post, "campaigns", made)
    before = got(admin, "documents/setup")
    assert done(admin.put, "documents/setup", before) == {"is_dry": False, "changes": []}
    Campaign.objects.all().delete()
    report = done(admin.put, "documents/setup?dry_run=1", before)
    assert [change["name"] for change in report["changes"]] == ["nightly", "weekly"]
    assert Campaign.objects.count() == 0
    done(admin.put, "documents/setup", before)
    assert got(admin, "documents/setup") == before
    out = io.StringIO()
    call_command("export_config", stdout=out)
    assert "nightly" in out.getvalue()
    assert fields(sent(admin.put, "documents/setup?dryrun=1", before)) == [""]
    wrong = before | {"campaigns": [before["campaigns"][0] | {"hosts": ["nobody"]}]}
    assert fields(sent(admin.put, "documents/setup", wrong)) == ["/campaigns/0/hosts/0"]
