"""What was entered is changed, retired or deleted, by API and command, after saying what depends on it."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.benchmarks.models import Campaign, Evidence, Host, HostState, Run, Sample
from backend.benchmarks.services.imports import result_import
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.services.hardware import hardware_create
from backend.rankings.models import SavedView
from backend.scenarios.models import Scenario
from tests import factories
from tests.backend.campaigns import campaign
from tests.backend.conftest import API
from tests.backend.test_hardware_api import BARE
from tests.backend.test_hosts_runs_api import private_key
from tests.backend.test_imports import DD
from tests.frontend.spacing import shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(factories.user(role="admin", username="ada"))
    return client


@pytest.fixture
def own(db: None) -> Offer:
    workspace = factories.workspace()
    made = factories.offer("own-r1-1", provider_slug="own", name="R1.1", workspace=workspace)
    factories.price(made, "40", unit="month", purchase_model="monthly")
    return made


def send(client: Client, method: str, path: str, document: Any = None) -> Any:
    body = {} if document is None else {"data": json.dumps(document)}
    return getattr(client, method)(f"{API}/{path}", content_type="application/json", **body)


def said(client: Client, path: str) -> str:
    answer = client.delete(f"{API}/{path}?dry_run=1")
    assert answer.status_code == 200, answer.content
    return " ".join(answer.json()["consequences"])


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def actions() -> list[str]:
    entries = AuditEntry.objects.exclude(action="login").order_by("pk")
    return list(entries.values_list("action", flat=True))


# --- offers -----------------------------------------------------------------------------------------


def test_offer_of_ones_own_is_changed_and_retired(admin: Client, own: Offer) -> None:
    changes = {"vcpu": 16, "ram_gib": "64", "discontinued_on": "2026-11-01"}
    answer = send(admin, "patch", "offers/own-r1-1", changes | {"name": "R1.1 v2"})
    assert answer.status_code == 200, answer.content
    assert (answer.json()["vcpu"], answer.json()["flags"]) == (16, "discontinued")
    own.refresh_from_db()
    assert (own.name, own.slug, own.memory_bytes) == ("R1.1 v2", "own-r1-1", 2**36)
    entry = AuditEntry.objects.get(action="offer_update")
    assert (entry.before["name"], entry.after["name"]) == ("R1.1", "R1.1 v2")
    command("retire", "own-r1-1", "--undo")
    own.refresh_from_db()
    assert own.discontinued_on is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "…"}, "/name"),
        ({"name": "taken"}, "/name"),
        ({"vcpu": "0"}, "/vcpu"),
        ({"kind": "cluster"}, "/kind"),
        ({"slug": "x"}, "/slug"),
    ],
)
def test_wrong_change_of_an_offer_names_its_field(
    admin: Client, own: Offer, changes: dict[str, str], field: str
) -> None:
    factories.offer(provider_slug="own", name="Taken", workspace=own.workspace)
    answer = send(admin, "patch", "offers/own-r1-1", changes)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_offer_is_deleted_after_saying_what_names_it(admin: Client, own: Offer) -> None:
    campaign(factories.host(), name="nightly").offers.add(own)
    given: dict[str, Any] = {"workspace": own.workspace, "slug": "s"}
    document = {"options": [{"servers": {"offer": "own-r1-1"}}]}
    Scenario.objects.create(name="Growth", document=document, created_by="ada", **given)
    SavedView.objects.create(name="Mine", params={"offer": ["own-r1-1"]}, owner="bob", **given)
    SavedView.objects.create(
        name="Hidden", params={"o": ["own-r1-1"]}, owner="bob", visibility="private",
        workspace=own.workspace, slug="h",
    )  # fmt: skip
    words = said(admin, "offers/own-r1-1")
    for part in ("prices (1)", "nightly", "Scenario Growth", "View Mine", "that name it: 1"):
        assert part in words
    assert "Hidden" not in words
    assert Offer.objects.filter(pk=own.pk).exists()
    assert send(admin, "delete", "offers/own-r1-1").status_code == 204
    assert not Offer.objects.filter(pk=own.pk).exists()
    assert not PriceObservation.objects.exists()
    assert actions() == ["campaign_create", "offer_delete"]


def test_offer_in_use_or_of_everybody_is_not_deleted(admin: Client, own: Offer) -> None:
    host = factories.host(own, name="rack")
    for query in ("", "?dry_run=1"):
        answer = admin.delete(f"{API}/offers/own-r1-1{query}")
        assert answer.status_code == 409
        assert "rack is a host of it" in answer.json()["detail"]
    # A host without runs that was removed is in nobody's way: an address that was mistyped is gone.
    Host.objects.filter(pk=host.pk).update(state=HostState.GONE)
    assert admin.delete(f"{API}/offers/own-r1-1").status_code == 204
    shared = factories.offer("aws-m5-large")
    Campaign.objects.create(
        workspace=Workspace.objects.create(slug="other", name="Other"),
        name="secret",
        profile="quick",
    ).offers.add(shared)
    assert "secret" not in admin.get("/offers/aws-m5-large/delete/").content.decode()
    assert admin.delete(f"{API}/offers/aws-m5-large").status_code == 400
    assert admin.delete(f"{API}/offers/none").status_code == 404
    assert "sold to everybody" in shown(admin.get("/offers/aws-m5-large/change/", follow=True))


def test_pages_change_and_delete_an_offer(admin: Client, own: Offer) -> None:
    assert "/offers/own-r1-1/change/" in admin.get("/offers/own-r1-1/").content.decode()
    fields = {"name": "R1.1", "kind": "onprem", "memory_bytes": "64", "disk_bytes": ""}
    assert admin.post("/offers/own-r1-1/change/", fields).status_code == 302
    own.refresh_from_db()
    assert (own.kind, own.memory_bytes, own.disk_bytes) == ("onprem", 64 * 2**30, None)
    assert "64" in admin.get("/offers/own-r1-1/change/").content.decode()
    assert "prices (1)" in admin.get("/offers/own-r1-1/delete/").content.decode()
    admin.post("/offers/own-r1-1/delete/")
    assert not Offer.objects.filter(pk=own.pk).exists()


# --- hosts and keys ---------------------------------------------------------------------------------


def test_key_of_a_host_is_replaced_and_forgotten(admin: Client) -> None:
    key = private_key()
    host = factories.host(sealed_private_key=b"sealed", certificate="of the old key")
    assert send(admin, "patch", f"hosts/{host.pk}", {"private_key": key}).status_code == 200
    host.refresh_from_db()
    assert (host.sealed_private_key, host.certificate) != (b"sealed", "of the old key")
    answer = send(admin, "patch", f"hosts/{host.pk}", {"private_key": ""})
    assert answer.json()["login_key"].startswith("ssh-ed25519 ")
    host.refresh_from_db()
    assert host.sealed_private_key is None
    assert actions() == ["host_key_replace", "host_key_forget"]
    trail = json.dumps(list(AuditEntry.objects.values("detail", "before", "after")))
    assert key.splitlines()[1] not in trail
    wrong = send(admin, "patch", f"hosts/{host.pk}", {"private_key": "no key"})
    assert wrong.json()["errors"][0]["field"] == "/private_key"


def test_page_and_command_forget_the_key_of_a_host(admin: Client) -> None:
    host = factories.host(name="rack", sealed_private_key=b"sealed")
    fields = {"name": "rack", "address": "127.0.0.1", "port": "22", "username": "bench"}
    admin.post(f"/hosts/{host.pk}/change/", fields)
    host.refresh_from_db()
    assert host.sealed_private_key is not None
    admin.post(f"/hosts/{host.pk}/change/", fields | {"forgets_key": "on"})
    host.refresh_from_db()
    assert host.sealed_private_key is None
    Host.objects.filter(pk=host.pk).update(sealed_private_key=b"sealed")
    assert "own key" in command("delete", "host-key", "rack", "--yes")
    host.refresh_from_db()
    assert host.sealed_private_key is None


def test_removal_of_a_host_is_looked_at_first(admin: Client) -> None:
    host = factories.host(name="rack")
    campaign(host, factories.host(), name="nightly")
    words = said(admin, f"hosts/{host.pk}")
    assert "nightly no longer measures it" in words
    host.refresh_from_db()
    assert host.address == "127.0.0.1"


# --- campaigns --------------------------------------------------------------------------------------


def test_campaign_changes_whole_before_its_first_round_and_little_after(admin: Client) -> None:
    made = campaign(name="nightly")
    path = f"campaigns/{made.pk}"
    other = factories.host()
    changes = {"name": "weekly", "hosts": [str(other.pk)], "profile": "full", "repeats": 3}
    answer = send(admin, "patch", path, changes)
    assert answer.status_code == 200, answer.content
    changed = answer.json()
    assert (changed["name"], changed["hosts"], changed["probes"]) == (
        "weekly",
        [str(other.pk)],
        ["cmips"],
    )
    assert send(admin, "patch", path, {"hosts": []}).json()["errors"][0]["field"] == "/hosts"
    Campaign.objects.update(round=1)
    fixed = send(admin, "patch", path, {"repeats": 4})
    assert (fixed.status_code, fixed.json()["errors"][0]["field"]) == (400, "/repeats")
    later = {"budget": {"amount": "5", "currency": "EUR"}, "concurrency": 2, "repeats": 3}
    assert send(admin, "patch", path, later).json()["budget"] == {"amount": "5", "currency": "EUR"}
    run = factories.run(other, campaign=made, round=1)
    for method in ("patch", "delete"):
        assert send(admin, method, path, {"name": "x"}).status_code == 409
    Run.objects.filter(pk=run.pk).update(state="done")
    assert "runs and their results stay" in said(admin, path)
    assert send(admin, "delete", path).status_code == 204
    assert actions().count("campaign_update") == 2
    assert Run.objects.get().campaign is None


def test_page_changes_a_campaign_and_keeps_what_it_has_no_field_for(admin: Client) -> None:
    hosts = [factories.host(), factories.host()]
    peer = factories.host()
    made = campaign(
        *hosts,
        name="nightly",
        probes=["network"],
        parameters={"peer": str(peer.pk), "ping_count": 20},
    )
    page = admin.get(f"/campaigns/{made.pk}/change/")
    form = page.context["form"]
    fields = {
        field.name: value for field in form if (value := field.value()) not in (None, "", False)
    }
    admin.post(f"/campaigns/{made.pk}/change/", fields | {"name": "weekly", "repeats": "2"})
    made.refresh_from_db()
    assert (made.name, made.repeats, made.parameters["peer"]) == ("weekly", 2, str(peer.pk))
    Campaign.objects.update(round=1)
    admin.post(f"/campaigns/{made.pk}/change/", fields | {"name": "daily", "repeats": "5"})
    made.refresh_from_db()
    assert (made.name, made.repeats) == ("daily", 2)


# --- imports ----------------------------------------------------------------------------------------


def test_imported_text_is_deleted_with_its_figures(admin: Client, own: Offer) -> None:
    made = result_import(
        workspace=factories.workspace(), offer=own, tool="dd", text=DD, parameters=None, actor="ada"
    )
    path = f"results/{made.evidence.pk}"
    assert f"figures of R1.1 are deleted: {len(made.samples)}" in said(admin, path)
    assert Sample.objects.exists()
    assert "Delete result" in admin.get(f"/evidence/{made.evidence.pk}/").content.decode()
    assert send(admin, "delete", path).status_code == 204
    assert not Sample.objects.exists()
    assert not Evidence.objects.exists()
    assert actions()[-1] == "import_delete"
    assert send(admin, "delete", path).status_code == 404


def test_only_a_run_that_came_as_an_archive_is_deleted(admin: Client, own: Offer) -> None:
    archived = factories.run(factories.host(own, driver="archive"), state="done")
    factories.sample(own, 9.0, run=archived, source="imported")
    made_here = factories.run(factories.host(own), state="done")
    assert "figures of R1.1 are deleted: 1" in said(admin, f"runs/{archived.pk}")
    assert "Delete run" in admin.get(f"/runs/{archived.pk}/").content.decode()
    admin.post(f"/runs/{archived.pk}/delete/")
    assert list(Run.objects.all()) == [made_here]
    assert not Host.objects.filter(driver="archive").exists()
    refused = send(admin, "delete", f"runs/{made_here.pk}")
    assert (refused.status_code, Run.objects.count()) == (409, 1)


def test_many_results_are_imported_all_or_none(admin: Client, own: Offer) -> None:
    good = {"offer": own.slug, "tool": "dd", "text": DD}
    bad = [good | {"offer": "none"}, good | {"text": "no dd"}]
    answer = send(admin, "post", "results/import-batch", {"results": [good, *bad, good]})
    places = [one["field"] for one in answer.json()["errors"]]
    assert places == ["/results/1/offer", "/results/2/text", "/results/3"]
    assert not Sample.objects.exists()
    other = {"offer": own.slug, "tool": "dd", "text": DD.replace("0.5 s", "0.6 s")}
    done = send(admin, "post", "results/import-batch", {"results": [good, other]})
    assert done.status_code == 200, done.content
    made = [one["evidence"] for one in done.json()["results"]]
    assert list(Evidence.objects.order_by("pk").values_list("pk", flat=True)) == made


def test_many_samples_are_left_out_all_or_none(admin: Client, own: Offer) -> None:
    keys = [factories.sample(own, value).pk for value in (1.0, 2.0)]
    marks = [{"sample_id": key, "excluded_reason": "fan"} for key in keys]
    wrong = [*marks, {"sample_id": 2**40, "excluded_reason": None}]
    answer = send(admin, "post", "samples/mark", {"samples": wrong})
    assert answer.json()["errors"][0]["field"] == "/samples/2/sample_id"
    assert not Sample.objects.exclude(excluded_reason="").exists()
    long = send(admin, "post", "samples/mark", {"samples": [0] * 3_000})
    assert [one["field"] for one in long.json()["errors"]] == ["/samples"]
    assert send(admin, "post", "samples/mark", {"samples": marks}).status_code == 204
    marks[0]["excluded_reason"] = None
    send(admin, "post", "samples/mark", {"samples": marks})
    kept = Sample.objects.filter(excluded_reason="").values_list("pk", flat=True)
    assert list(kept) == keys[:1]


# --- the commands -----------------------------------------------------------------------------------


@pytest.fixture
def entered(own: Offer) -> Callable[[str], str]:
    """The name of one object of each kind that a command deletes."""

    def named(kind: str) -> str:
        if kind == "price":
            return str(PriceObservation.objects.get().pk)
        if kind == "import":
            workspace = factories.workspace()
            made = result_import(
                workspace=workspace, offer=own, tool="dd", text=DD, parameters=None, actor="ada"
            )
            return str(made.evidence.pk)
        if kind == "run":
            return str(factories.run(factories.host(own, driver="archive"), state="done").pk)
        if kind == "hardware":
            return hardware_create(workspace=own.workspace, document=BARE, actor="ada").name
        if kind == "campaign":
            return campaign(name="nightly").name
        return {"host": factories.host(name="rack").name, "offer": own.slug}[kind]

    return named


@pytest.mark.parametrize(
    "kind", ["host", "offer", "price", "hardware", "campaign", "import", "run"]
)
def test_command_says_what_depends_and_deletes(
    entered: Callable[[str], str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = entered(kind)
    looked_at = command("delete", kind, name, "--dry-run")
    assert looked_at
    assert "is deleted\n" not in looked_at
    with pytest.raises(CommandError, match="add --yes"):
        command("delete", kind, name)
    assert f"{kind} {name} is deleted" in command("delete", kind, name, "--yes")
    with pytest.raises(CommandError, match=f"there is no {kind}"):
        command("delete", kind, name, "--yes")


def test_command_does_not_delete_what_is_of_everybody_or_in_use(own: Offer) -> None:
    factories.offer("aws-m5-large")
    factories.host(own)
    for slug, why in (("aws-m5-large", "sold to everybody"), ("own-r1-1", "only be retired")):
        with pytest.raises(CommandError, match=why):
            command("delete", "offer", slug, "--yes")
    for name in ("x", "7", "\0"):
        with pytest.raises(CommandError, match="there is no price"):
            command("delete", "price", name, "--yes")


def test_command_leaves_samples_out_and_counts_them_again(own: Offer) -> None:
    samples = [str(factories.sample(own, value).pk) for value in (1.0, 2.0)]
    assert "2 samples excluded" in command("samples", "exclude", *samples, "--reason", "wrong disk")
    assert set(Sample.objects.values_list("excluded_reason", flat=True)) == {"wrong disk"}
    with pytest.raises(CommandError, match="there is no sample 999999"):
        command("samples", "include", samples[0], "999999")
    command("samples", "include", *samples)
    assert set(Sample.objects.values_list("excluded_reason", flat=True)) == {""}
