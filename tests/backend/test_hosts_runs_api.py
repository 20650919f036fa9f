"""POST hosts, scan, approve, runs, cancel; GET runs, samples and evidence."""

import datetime as dt
import gzip
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import jsonschema
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import SSHCertificateBuilder, SSHCertificateType
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.benchmarks.api import hosts as hosts_api
from backend.benchmarks.models import Evidence, Host, HostState, Run
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.services.hosts import host_scan_record
from backend.catalog.models import Offer, PriceObservation
from backend.config.celery import app
from backend.core import clock
from backend.core.queue import Task
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db


def private_key() -> str:
    return (
        Ed25519PrivateKey.generate()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        .decode()
    )


def public_key() -> str:
    return (
        Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode()
    )


def host_document(**changes: Any) -> dict[str, Any]:
    return {
        "name": "Rack 7",
        "address": "192.0.2.10",
        "port": 2222,
        "username": "bench",
        "private_key": private_key(),
        "offer": None,
        "kind": "dedicated",
        "price": {"amount": "49.00", "currency": "EUR", "unit": "month", "setup": "0"},
    } | changes


def post(client: Client, path: str, document: object) -> Any:
    return client.post(f"{API}/{path}", json.dumps(document), content_type="application/json")


@pytest.fixture
def operator(caller: Callable[..., Client]) -> Client:
    return caller("run")


# --- hosts ------------------------------------------------------------------------------------


def test_posted_host_is_unverified_and_makes_its_offer(operator: Client) -> None:
    response = post(operator, "hosts", host_document())
    assert response.status_code == 201
    made = response.json()
    assert made == {
        "id": made["id"], "name": "Rack 7", "state": "unverified", "login_key": None,
    }  # fmt: skip
    host = Host.objects.get(pk=made["id"])
    assert (host.offer.slug, host.offer.name) == ("own-rack-7", "Rack 7")
    assert (host.offer.kind, host.offer.provider.slug) == ("dedicated", "own")
    price = host.offer.prices.get()
    assert (price.amount, price.currency, price.unit) == (Decimal(49), "EUR", "month")
    assert (price.purchase_model, price.setup_amount) == ("monthly", Decimal(0))


def test_private_key_is_kept_sealed_and_never_shown(operator: Client) -> None:
    document = host_document()
    made = post(operator, "hosts", document).json()
    secret = document["private_key"].splitlines()[1]
    stored = Host.objects.get(pk=made["id"])
    assert secret.encode() not in bytes(stored.sealed_private_key or b"")
    for path in ("hosts", f"hosts/{made['id']}", "hosts.csv"):
        assert secret not in operator.get(f"{API}/{path}").content.decode()
    assert secret not in str(list(AuditEntry.objects.values()))


def test_host_without_a_key_lets_in_the_one_key_of_rackrate(operator: Client) -> None:
    made = [
        post(operator, "hosts", host_document(name=name, private_key="")).json()
        for name in ("a", "b")
    ]
    assert made[0]["login_key"] == made[1]["login_key"]
    assert made[0]["login_key"].startswith("ssh-ed25519 ")
    shown = operator.get(f"{API}/hosts/{made[0]['id']}").json()
    assert shown["login_key"] == made[0]["login_key"]
    assert post(operator, "hosts", host_document()).json()["login_key"] is None
    assert "login_key" not in Client().get(f"{API}/hosts/{made[0]['id']}").json()


def certificate_of(public: Any, kind: SSHCertificateType = SSHCertificateType.USER) -> str:
    builder = SSHCertificateBuilder().public_key(public).type(kind).serial(1).key_id(b"rackrate")
    builder = builder.valid_principals([b"bench"]).valid_after(0).valid_before(2**40)
    return builder.sign(Ed25519PrivateKey.generate()).public_bytes().decode()


def test_certificate_has_to_be_one_for_the_key_that_logs_in(operator: Client) -> None:
    document = host_document()
    key: Any = serialization.load_ssh_private_key(document["private_key"].encode(), None)
    other = Ed25519PrivateKey.generate().public_key()
    for certificate in (
        "words",
        public_key(),
        certificate_of(other),
        certificate_of(key.public_key(), SSHCertificateType.HOST),
    ):
        response = post(operator, "hosts", document | {"certificate": certificate})
        assert (response.status_code, fields(response)) == (400, ["/certificate"])
    good = certificate_of(key.public_key())
    made = post(operator, "hosts", document | {"certificate": f"{good} a comment"})
    assert Host.objects.get(pk=made.json()["id"]).certificate == good


def test_hosts_have_tags_and_those_in_production_only_careful_runs(operator: Client) -> None:
    document = host_document(tags=["db", "berlin", "db"], is_in_production=True)
    made = post(operator, "hosts", document).json()
    path = f"{API}/hosts/{made['id']}"
    shown = operator.get(path).json()
    assert (shown["tags"], shown["is_in_production"]) == (["berlin", "db"], True)
    Host.objects.update(state=HostState.TRUSTED)
    run = {"host": made["id"], "profile": "full", "parameters": {"careful": False}}
    labelled = post(operator, "runs", run | {"labels": {"kernel": "6.18"}})
    assert labelled["Retry-After"] == "5"
    assert operator.get(labelled["Location"]).json()["labels"] == "kernel=6.18"
    assert Run.objects.get().parameters == {"careful": True}
    refused = post(operator, "runs", run | {"parameters": {"install_tools": True}})
    assert (refused.status_code, fields(refused)) == (400, ["/parameters/install_tools"])
    for change, pointer in (
        ({"tags": ["no blanks, please"]}, "/tags/0"),
        # What protects a host is not taken away by the way.
        ({"is_in_production": None}, "/is_in_production"),
        ({"name": None}, "/name"),
        ({"kind": "vps"}, "/kind"),
    ):
        response = operator.patch(path, json.dumps(change), content_type="application/json")
        assert (response.status_code, fields(response)) == (400, [pointer])
    freed = operator.patch(path, json.dumps({"tags": None}), content_type="application/json")
    assert (freed.status_code, freed.json()["tags"]) == (200, None)
    assert freed.json()["is_in_production"] is True


def test_host_without_a_login_of_its_own_keeps_to_its_description(operator: Client) -> None:
    host = factories.host(driver="local", address="", username="")
    for change, status, wrong in (
        ({"name": "this one", "port": 22}, 200, []),
        ({"port": 2222}, 400, ["/address"]),
        ({"private_key": ""}, 400, ["/private_key"]),
        ({"colour": "red"}, 400, ["/colour"]),
    ):
        response = operator.patch(
            f"{API}/hosts/{host.pk}", json.dumps(change), content_type="application/json"
        )
        assert (response.status_code, fields(response) if wrong else []) == (status, wrong)
    host.refresh_from_db()
    assert (host.name, host.port) == ("this one", 22)


def test_bastion_is_another_host_that_is_logged_in_to(operator: Client) -> None:
    gate = post(operator, "hosts", host_document(name="gate")).json()["id"]
    inside = post(operator, "hosts", host_document(name="inside", bastion=gate)).json()["id"]
    assert operator.get(f"{API}/hosts/{inside}").json()["bastion"] == gate
    unknown = post(operator, "hosts", host_document(name="c", bastion=str(uuid4())))
    assert (unknown.status_code, fields(unknown)) == (400, ["/bastion"])
    assert operator.delete(f"{API}/hosts/{gate}").status_code == 400
    change = json.dumps({"bastion": None})
    path = f"{API}/hosts/{inside}"
    assert operator.patch(path, change, content_type="application/json").status_code == 200
    assert operator.delete(f"{API}/hosts/{gate}").status_code == 204


def test_strangers_learn_nothing_of_the_bastion_from_errors() -> None:
    gate = factories.host(address="gate.example", username="ops-7", port=2222)
    host = factories.host(address="inside.example", bastion=gate)
    said = "ops-7@gate.example port 2222 refuses the key of ops-7"
    assert redaction_for(AnonymousUser(), host).message(said) == "… refuses the key of …"


def test_host_can_be_an_instance_of_an_offer(operator: Client) -> None:
    factories.offer("aws-m5-large", provider_slug="aws")
    response = post(operator, "hosts", host_document(offer="aws-m5-large", price=None))
    assert response.status_code == 201
    assert Host.objects.get().offer.slug == "aws-m5-large"
    missing = post(operator, "hosts", host_document(name="b", offer="none-such", price=None))
    assert (missing.status_code, fields(missing)) == (400, ["/offer"])


@pytest.mark.parametrize("amount", [49.0, 49, "49", "49.00", "4.9e1"])
def test_price_of_a_host_is_a_number_in_any_form(operator: Client, amount: object) -> None:
    price = {"amount": amount, "currency": "EUR", "unit": "month"}
    assert post(operator, "hosts", host_document(price=price)).status_code == 201
    assert PriceObservation.objects.get().amount == 49


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"colour": "red"}, ["/colour"]),
        ({"a/b~c": 1}, ["/a~1b~0c"]),
        ({"name": ""}, ["/name"]),
        ({"name": 7}, ["/name"]),
        ({"port": 0}, ["/port"]),
        ({"port": 65536}, ["/port"]),
        ({"kind": "toaster"}, ["/kind"]),
        ({"private_key": "no key"}, ["/private_key"]),
        ({"username": "a b"}, ["/username"]),
        ({"price": {"amount": True, "currency": "EUR", "unit": "month"}}, ["/price/amount"]),
        ({"price": {"amount": "0", "currency": "EUR", "unit": "month"}}, ["/price/amount"]),
        ({"price": {"amount": "-1", "currency": "EUR", "unit": "month"}}, ["/price/amount"]),
        ({"price": {"amount": "1e99", "currency": "EUR", "unit": "month"}}, ["/price/amount"]),
        ({"price": {"amount": "1", "currency": "euro", "unit": "month"}}, ["/price/currency"]),
        ({"price": {"amount": "1", "currency": "EUR", "unit": "week"}}, ["/price/unit"]),
        (
            {"price": {"amount": "1", "currency": "EUR", "unit": "month", "tax": "19"}},
            ["/price/tax"],
        ),
        ({"price": "cheap"}, ["/price"]),
    ],
)
def test_bad_field_of_a_host_is_named_by_its_pointer(
    operator: Client, changes: dict[str, Any], expected: list[str]
) -> None:
    response = post(operator, "hosts", host_document(**changes))
    assert (response.status_code, fields(response)) == (400, expected)
    assert not Host.objects.exists()
    assert not Offer.objects.exists()


def test_missing_and_unknown_fields_are_named_together(operator: Client) -> None:
    response = post(operator, "hosts", {"nmae": "x"})
    assert set(fields(response)) >= {"/nmae", "/name", "/address", "/username"}


def test_published_schema_accepts_what_the_api_accepts(client: Client) -> None:
    schema = client.get(f"{API}/schemas/host.json").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(host_document(), schema)
    jsonschema.validate(host_document(price=None), schema)
    for bad in ({"colour": "red"}, {"port": 0}, {"price": {"amount": 49}}, {"kind": "toaster"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(host_document(**bad), schema)
    run = client.get(f"{API}/schemas/run.json").json()
    jsonschema.validate({"host": str(uuid4()), "profile": "quick"}, run)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"host": str(uuid4())}, run)


def test_where_to_log_in_is_shown_to_known_callers_only(
    client: Client, caller: Callable[..., Client]
) -> None:
    factories.host(name="hidden", address="192.0.2.99")
    assert "192.0.2.99" not in client.get(f"{API}/hosts").content.decode()
    assert "192.0.2.99" in caller().get(f"{API}/hosts").content.decode()


# --- scan and approval ------------------------------------------------------------------------


def answering_worker(
    monkeypatch: pytest.MonkeyPatch, *, key: str | None = None, error: str = ""
) -> None:
    """A broker whose worker scans at once and finds the key, or the error."""

    def sent(name: str, kwargs: dict[str, Any], **_: Any) -> None:
        assert name == Task.SCAN_HOST
        host_scan_record(host_id=kwargs["host_id"], key=key, error=error)

    monkeypatch.setattr(app, "send_task", sent)


@pytest.mark.django_db(transaction=True)
def test_scan_then_approval_of_the_scanned_key_makes_a_host_trusted(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = factories.host(state=HostState.UNVERIFIED)
    key = public_key()
    answering_worker(monkeypatch, key=key)
    scanned = post(operator, f"hosts/{host.pk}/scan", {})
    assert scanned.status_code == 200
    assert scanned.json() == {"key_type": "ssh-ed25519", "fingerprint_sha256": fingerprint(key)}

    other = post(
        operator,
        f"hosts/{host.pk}/approve",
        {"fingerprint_sha256": fingerprint(public_key())},
    )
    assert other.status_code == 409
    assert other.json()["fingerprint_sha256"] == fingerprint(key)

    approved = post(operator, f"hosts/{host.pk}/approve", {"fingerprint_sha256": fingerprint(key)})
    assert (approved.status_code, approved.json()) == (200, {"state": "trusted"})
    host.refresh_from_db()
    assert (host.state, host.host_key) == ("trusted", key)


@pytest.mark.django_db(transaction=True)
def test_scan_of_a_dead_host_is_502_with_the_reason(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering_worker(monkeypatch, error="connection refused")
    response = post(operator, f"hosts/{factories.host().pk}/scan", {})
    assert (response.status_code, response.json()["detail"]) == (502, "connection refused")


def test_scan_that_no_worker_answers_is_504(
    operator: Client, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts_api, "SCAN_WAIT_S", 0.0)
    response = post(operator, f"hosts/{factories.host().pk}/scan", {})
    assert response.status_code == 504
    assert response["Content-Type"] == "application/problem+json"


# --- runs -------------------------------------------------------------------------------------


def test_run_on_a_trusted_host_is_accepted_and_queued(operator: Client) -> None:
    host = factories.host()
    price = factories.price(host.offer, "2")
    response = post(operator, "runs", {"host": str(host.pk), "profile": "quick"})
    assert response.status_code == 202
    made = response.json()
    assert made["state"] == "queued"
    assert response["Location"] == made["url"] == f"http://testserver{API}/runs/{made['id']}"
    run = Run.objects.get(pk=made["id"])
    assert (run.host, run.price, run.profile) == (host, price, "quick")
    assert run.requested_by == "token run token"
    shown = operator.get(made["url"]).json()
    assert (shown["state"], shown["progress"], shown["failure"]) == ("queued", 0.0, None)
    assert (shown["samples"], shown["evidence"], shown["overhead_s"]) == ([], [], None)
    schema = operator.get(f"{API}/schemas/run-detail.json").json()
    jsonschema.validate(shown, schema)


def test_run_on_an_unapproved_host_is_409_with_the_fingerprint(operator: Client) -> None:
    key = public_key()
    never = factories.host(state=HostState.UNVERIFIED)
    scanned = factories.host(state=HostState.UNVERIFIED, scanned_key=key)
    for host, shown in ((never, None), (scanned, fingerprint(key))):
        response = post(operator, "runs", {"host": str(host.pk), "profile": "quick"})
        assert response.status_code == 409
        assert response.json()["fingerprint_sha256"] == shown
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"profile": "slow"}, "/profile"),
        ({"host": "x"}, "/host"),
        ({"host": str(UUID(int=7))}, "/host"),
        ({"host": None}, "/host"),
        ({"offer": "some-offer"}, "/host"),
        ({"host": None, "offer": "some-offer"}, "/budget"),
        (
            {"host": None, "offer": "x", "budget": {"amount": "5", "currency": "USD"}},
            "/offer",
        ),
        ({"speed": 1}, "/speed"),
        ({"budget": {"amount": "5", "currency": "USD", "limit": 1}}, "/budget/limit"),
    ],
)
def test_bad_field_of_a_run_is_named_by_its_pointer(
    operator: Client, changes: dict[str, Any], expected: str
) -> None:
    document = {"host": str(factories.host().pk), "profile": "quick"} | changes
    response = post(operator, "runs", document)
    assert (response.status_code, fields(response)) == (400, [expected])


def test_unknown_probe_and_parameter_of_a_run_are_refused(operator: Client) -> None:
    host = str(factories.host().pk)
    for changes, pointer in (
        ({"probes": ["cmips", "telepathy"]}, "/probes"),
        ({"parameters": {"rm": "-rf"}}, "/parameters"),
        ({"labels": {"Kernel": "6"}}, "/labels/Kernel"),
    ):
        response = post(operator, "runs", {"host": host, "profile": "quick"} | changes)
        assert response.status_code == 400
        assert all(field.startswith(pointer) for field in fields(response))


def test_cancel_of_a_waiting_run_ends_it_and_can_be_repeated(operator: Client) -> None:
    made = post(operator, "runs", {"host": str(factories.host().pk), "profile": "quick"}).json()
    for _ in range(2):
        response = post(operator, f"runs/{made['id']}/cancel", {})
        assert (response.status_code, response.json()["state"]) == (202, "cancelled")
    refused = post(operator, f"runs/{made['id']}/cancel", {"force": True})
    assert (refused.status_code, fields(refused)) == (400, ["/force"])


def evidence(run: Run, text: str = "score 1\n", **given: Any) -> Evidence:
    raw = text.encode()
    return Evidence.objects.create(
        **{
            "run": run,
            "n": 1,
            "probe": "cmips",
            "command": "cmips --threads all",
            "raw_gzip": gzip.compress(raw),
            "size_bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
            **given,
        }
    )


def test_finished_run_shows_samples_that_lead_to_their_raw_output(client: Client) -> None:
    run = factories.run(state="done", failure_reason="disk_full", failure_detail="no space")
    raw = "iterations 1 ✓\n"
    item = evidence(run, raw, n=3)
    factories.sample(
        run.offer, 12.5, run=run, evidence=item, parameters={"threads": 2}, flags=["disturbed"]
    )
    shown = client.get(f"{API}/runs/{run.pk}").json()
    assert shown["failure"] == {"reason": "disk_full", "detail": "no space"}
    assert shown["samples"] == [
        {
            "metric": "cmips_score",
            "variant": "all",
            "parameters": {"threads": 2},
            "unit": "CMIPS",
            "value": 12.5,
            "repeat": 0,
            "flags": ["disturbed"],
            "evidence": 3,
        }
    ]
    [listed] = shown["evidence"]
    assert (listed["n"], listed["bytes"]) == (3, len(raw.encode()))
    response = client.get(listed["url"])
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == raw
    assert hashlib.sha256(response.content).hexdigest() == listed["sha256"]
    assert client.get(f"{API}/runs/{run.pk}/evidence/4").status_code == 404


def test_series_beside_a_command_is_json_and_its_address_is_listed(client: Client) -> None:
    run = factories.run()
    evidence(run)
    evidence(run, n=2, series={"t_s": [1.0, 2.0], "mhz": [None, 2600.0]})
    none, some = client.get(f"{API}/runs/{run.pk}").json()["evidence"]
    assert none["series_url"] is None
    assert client.get(some["series_url"]).json() == {"t_s": [1.0, 2.0], "mhz": [None, 2600.0]}
    assert client.get(f"{API}/runs/{run.pk}/evidence/1/series").status_code == 404
    assert client.get(f"{API}/runs/{run.pk}/evidence/9/series").status_code == 404
    [first, second] = client.get(f"{API}/evidence?run={run.pk}").json()["results"]
    assert (first["series_url"], second["series_url"]) == (None, some["series_url"])


def test_running_run_shows_what_remains_and_what_it_has_cost(client: Client) -> None:
    run = factories.run(
        state="running", started_at=clock.now() - dt.timedelta(seconds=36), progress_ratio=0.5,
        live={"expected_s": 60},
    )  # fmt: skip
    run.price = factories.price(run.offer, "100")
    run.save()
    shown = client.get(f"{API}/runs/{run.pk}").json()
    assert shown["eta_s"] == 30
    jsonschema.validate(shown, client.get(f"{API}/schemas/run-detail.json").json())
    assert shown["cost"].pop("so_far").startswith("1.0")  # 36 s at 100 an hour
    assert shown["cost"] == {"currency": "USD", "cap": None}


@pytest.mark.parametrize(
    ("read_s", "silent_s", "left_s"),
    [(3, None, None), (13, None, 119), (70, 60, 60)],  # of 12 s until a silence and 120 s of it
)
def test_silent_host_is_said_with_its_last_sign_and_its_end(
    client: Client, read_s: float, silent_s: float | None, left_s: float | None
) -> None:
    now = clock.now()
    live = {"expected_s": 60, "read_at": (now - dt.timedelta(seconds=read_s)).isoformat()}
    if silent_s:
        live["silent_since"] = (now - dt.timedelta(seconds=silent_s)).isoformat()
    run = factories.run(state="running", started_at=now, progress_ratio=0.5, live=live)
    run.steps.create(state="running", last_error="no route to the host")
    shown = client.get(f"{API}/runs/{run.pk}").json()
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert ("The host has not responded for" in page) == (left_s is not None)
    if left_s is None:
        assert shown["silence"] is None
        assert shown["eta_s"] == 30
        return
    assert shown["eta_s"] is None
    assert dt.datetime.fromisoformat(shown["silence"]["since"]) == now - dt.timedelta(
        seconds=read_s
    )
    ends_at = dt.datetime.fromisoformat(shown["silence"]["ends_at"])
    assert (ends_at - now).total_seconds() == pytest.approx(left_s)
    assert shown["silence"]["error"] == ("no route to the host" if silent_s else "")
    assert "about 30 s left" not in page


def test_run_takes_lists_flags_and_a_peer(operator: Client) -> None:
    host, peer = factories.host(), factories.host()
    parameters = {
        "directories": ["/data/a", "/data/b"], "install_tools": True, "peer": str(peer.pk),
    }  # fmt: skip
    document = {"host": str(host.pk), "profile": "quick", "parameters": parameters}
    made = post(operator, "runs", document)
    assert made.status_code == 202
    run = Run.objects.get(pk=made.json()["id"])
    assert (run.parameters, run.peer) == (parameters, peer)
    for changes, pointer in (
        ({"parameters": {"peer": str(host.pk)}}, "/parameters/peer"),
        ({"parameters": {"directories": ["/a", "b"]}}, "/parameters/directories/1"),
        ({"probes": ["network"], "parameters": {}}, "/probes"),
    ):
        refused = post(operator, "runs", document | changes)
        assert (refused.status_code, fields(refused)) == (400, [pointer])


def test_damaged_evidence_is_never_shown_as_if_it_were_whole(client: Client) -> None:
    run = factories.run()
    evidence(run, raw_gzip=gzip.compress(b"another text"))
    response = client.get(f"{API}/runs/{run.pk}/evidence/1")
    assert response.status_code == 500
    assert b"another text" not in response.content


def test_lists_of_runs_samples_and_evidence_can_be_filtered(client: Client) -> None:
    run, other = factories.run(state="done"), factories.run()
    item = evidence(run)
    factories.sample(run.offer, 1.0, run=run, evidence=item)
    factories.sample(other.offer, 2.0, run=other)
    assert len(rows(client.get(f"{API}/runs.csv"))) == 2
    assert [row["id"] for row in rows(client.get(f"{API}/runs.csv?state=done"))] == [str(run.pk)]
    [sample] = rows(client.get(f"{API}/samples.csv?run={run.pk}"))
    assert (sample["value"], sample["evidence"]) == ("1.0", "1")
    [row] = client.get(f"{API}/evidence?run={run.pk}").json()["results"]
    assert row["sha256"] == item.sha256
    assert fields(client.get(f"{API}/samples?run=x&metric=speed")) == ["run", "metric"]


def test_ids_of_another_workspace_are_404(caller: Callable[..., Client]) -> None:
    other = Workspace.objects.create(slug="other", name="Other")
    stranger = caller("admin", workspace=other)
    run = factories.run()
    evidence(run)
    for path in (f"runs/{run.pk}", f"runs/{run.pk}/evidence/1", f"hosts/{run.host_id}"):
        assert stranger.get(f"{API}/{path}").status_code == 404, path
    approval = {"fingerprint_sha256": "SHA256:x"}
    for path, document in (
        (f"runs/{run.pk}/cancel", {}),
        (f"hosts/{run.host_id}/scan", {}),
        (f"hosts/{run.host_id}/approve", approval),
    ):
        assert post(stranger, path, document).status_code == 404, path
    started = post(stranger, "runs", {"host": str(run.host_id), "profile": "quick"})
    assert fields(started) == ["/host"]
    for name in ("runs", "hosts", "evidence"):
        assert stranger.get(f"{API}/{name}").json()["count"] == 0
