"""Hosts and runs as a person, the API or a command asks for them."""

import datetime as dt
import gzip
import hashlib
from decimal import Decimal
from typing import Any

import asyncssh
import psycopg
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from django.db import OperationalError

from backend.accounts.models import AuditEntry
from backend.benchmarks.calc.host_document import HostDocument
from backend.benchmarks.models import Evidence, Host, HostState, Run, RunState, Step
from backend.benchmarks.selectors.evidence import EvidenceDamaged, evidence_text
from backend.benchmarks.selectors.hosts import fingerprint, hosts_visible
from backend.benchmarks.selectors.runs import run_view, runs_visible
from backend.benchmarks.services.hosts import (
    HostNotTrusted,
    KeyMismatch,
    host_approve,
    host_create,
    host_local,
    host_scan,
    host_scan_record,
)
from backend.benchmarks.services.leases import claim_due
from backend.benchmarks.services.login_keys import host_private_key
from backend.benchmarks.services.runs import run_cancel, run_create
from backend.core import clock
from backend.core.database import is_database_away
from backend.foundation.errors import InvalidDocument, InvalidValue
from tests import factories
from workers.engine import dispatch
from workers.engine.host_scan import scan_host

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Messages are recorded."""


def pem(key, *, password=None):
    form = serialization.PrivateFormat.PKCS8
    how = serialization.BestAvailableEncryption(password) if password else None
    return key.private_bytes(
        serialization.Encoding.PEM, form, how or serialization.NoEncryption()
    ).decode()


KEY = pem(ed25519.Ed25519PrivateKey.generate())


def created(**given):
    fields = {
        "name": "Rack 1", "address": "192.0.2.1", "username": "bench", "private_key": KEY, **given,
    }  # fmt: skip
    document = HostDocument.read(fields)
    return host_create(workspace=factories.workspace(), document=document, actor="tester")


# --- hosts ----------------------------------------------------------------------------------------


def test_host_without_an_offer_becomes_one_of_its_own_with_its_price():
    host = created(price={"amount": "49.00", "currency": "EUR", "unit": "month"})
    assert (host.offer.slug, host.offer.name) == ("own-rack-1", "Rack 1")
    assert (host.offer.provider.slug, host.offer.kind) == ("own", "dedicated")
    price = host.offer.prices.get()
    assert (price.amount, price.currency, price.unit) == (Decimal("49.00"), "EUR", "month")
    assert price.purchase_model == "monthly"
    assert (host.state, host.driver) == (HostState.UNVERIFIED, "static")


def test_host_key_is_sealed_and_opens_only_for_its_row():
    host, other = created(), created(name="Rack 2")
    assert b"PRIVATE KEY" not in bytes(host.sealed_private_key)
    assert host_private_key(host=host).decode() == KEY
    other.sealed_private_key = host.sealed_private_key
    with pytest.raises(Exception, match="does not open"):
        host_private_key(host=other)


def test_audit_names_the_host_and_not_its_key():
    created()
    entry = AuditEntry.objects.get(action="host_create")
    assert entry.detail == {
        "name": "Rack 1", "address": "192.0.2.1", "port": 22, "username": "bench",
    }  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP256R1()),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["rsa", "ecdsa", "ed25519"],
)
def test_host_takes_the_usual_kinds_of_key_in_both_forms(key):
    openssh = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    ).decode()
    for number, text in enumerate((pem(key), openssh)):
        host = created(name=f"Host {number}", private_key=text)
        assert asyncssh.import_private_key(host_private_key(host=host)).get_algorithm()


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("/name", {"name": " "}), ("/name", {"name": "x" * 101}), ("/name", {"name": "a\nb"}),
        ("/name", {"name": "!!!"}),
        ("/address", {"address": "-oProxyCommand=x"}), ("/address", {"address": "a b"}),
        ("/port", {"port": 0}), ("/port", {"port": 65_536}),
        ("/username", {"username": "-l"}), ("/username", {"username": "a b"}),
        ("/username", {"username": ""}),
        ("/private_key", {"private_key": "secret words"}),
        ("/private_key", {"private_key": "x" * 30_000}),
        ("/private_key", {"private_key": pem(ed25519.Ed25519PrivateKey.generate(), password=b"x")}),
        ("/private_key", {"private_key": pem(rsa.generate_private_key(65537, 1024))}),
        ("/kind", {"kind": "toaster"}),
    ],
)  # fmt: skip
def test_host_is_refused_with_the_field_that_is_wrong(field, given):
    with pytest.raises((InvalidValue, InvalidDocument)) as raised:
        created(**given)
    assert str(raised.value).startswith(f"{field}: ")
    assert "secret" not in str(raised.value)
    assert not Host.objects.exists()


def test_host_name_is_taken_once():
    created()
    with pytest.raises(InvalidValue) as raised:
        created(address="192.0.2.2")
    assert raised.value.field == "/name"


def test_host_of_an_offer_takes_no_price():
    with pytest.raises(InvalidValue) as raised:
        created(
            offer=factories.offer().slug, price={"amount": 1, "currency": "EUR", "unit": "hour"}
        )
    assert raised.value.field == "/price"


def test_this_machine_is_made_once_and_trusted():
    workspace = factories.workspace()
    host = host_local(workspace=workspace)
    assert (host.driver, host.state) == ("local", HostState.TRUSTED)
    assert (host.offer.slug, host.offer.kind) == ("own-this-machine", "onprem")
    assert host_local(workspace=workspace) == host
    assert list(hosts_visible(workspace)) == [host]


# --- trust ----------------------------------------------------------------------------------------


def test_scan_is_asked_of_a_worker_and_shows_the_key(sshd, queued, settings):
    settings.SSH_ALLOW_PRIVATE = True
    host = created(address="127.0.0.1", port=sshd.port)
    host_scan(host=host, actor="tester")
    assert queued[-1] == ("workers.scan_host", {"host_id": str(host.pk)})
    scan_host(str(host.pk))
    host.refresh_from_db()
    assert host.scanned_key == sshd.host_key
    assert (host.state, host.host_key, host.scan_error) == (HostState.UNVERIFIED, "", "")
    assert sshd.commands == []


def test_scan_of_a_dead_host_says_why(settings):
    settings.SSH_ALLOW_PRIVATE = False
    host = created(address="127.0.0.1")
    scan_host(str(host.pk))
    host.refresh_from_db()
    assert host.scan_error.startswith("unreachable: 127.0.0.1 is not a public address")
    assert host.scanned_key == ""


def test_host_is_trusted_when_the_scanned_key_is_named(sshd):
    host = created()
    host_scan_record(host_id=host.pk, key=sshd.host_key, error="")
    shown = fingerprint(sshd.host_key)
    with pytest.raises(KeyMismatch) as raised:
        host_approve(host=host, fingerprint_sha256="SHA256:other", actor="tester")
    assert raised.value.fingerprint == shown
    host = host_approve(host=host, fingerprint_sha256=shown, actor="tester")
    assert (host.state, host.host_key) == (HostState.TRUSTED, sshd.host_key)


def test_host_that_was_never_scanned_cannot_be_approved():
    for given in ("", "SHA256:x"):
        with pytest.raises(KeyMismatch):
            host_approve(host=created(name=f"Host {given}"), fingerprint_sha256=given, actor="t")


def test_scan_of_another_key_takes_the_trust_away(sshd):
    host = created()
    host_scan_record(host_id=host.pk, key=sshd.host_key, error="")
    host = host_approve(host=host, fingerprint_sha256=fingerprint(sshd.host_key), actor="tester")
    sshd.change_host_key()
    host_scan_record(host_id=host.pk, key=sshd.host_key, error="")
    host.refresh_from_db()
    assert host.state == HostState.KEY_CHANGED
    with pytest.raises(HostNotTrusted) as raised:
        run_create(host=host, profile="quick", probes=None, parameters={}, actor="t")
    assert raised.value.fingerprint == fingerprint(sshd.host_key)


# --- runs -----------------------------------------------------------------------------------------


def run_on(host, **given):
    fields = {"profile": "quick", "probes": None, "parameters": {}, "actor": "tester", **given}
    return run_create(host=host, **fields)


def test_run_on_an_unapproved_host_is_refused():
    with pytest.raises(HostNotTrusted) as raised:
        run_on(created())
    assert raised.value.fingerprint is None
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("/profile", {"profile": "slow"}),
        ("/probes/0", {"probes": ["none"]}),
        ("/parameters/x", {"parameters": {"x": 1}}),
    ],
)
def test_run_is_refused_with_the_field_that_is_wrong(field, given):
    with pytest.raises(InvalidValue) as raised:
        run_on(factories.host(), **given)
    assert raised.value.field == field


def test_run_pins_the_price_in_force_and_asks_for_a_tick(queued):
    host = factories.host()
    price = factories.price(host.offer, "0.25")
    run = run_on(host)
    assert run.price == price
    assert (run.state, run.requested_by) == (RunState.QUEUED, "tester")
    assert queued == [("workers.tick", {})]
    factories.price(host.offer, "0.50", currency="EUR")
    run.refresh_from_db()
    assert run.price == price


def test_second_run_of_a_host_is_due_when_the_first_has_ended():
    host = factories.host()
    first, second, third = run_on(host), run_on(host), run_on(host)
    assert [claim.step_id for claim in claim_due(is_polling=False)] == [first.steps.get().pk]
    run_cancel(run=first, actor="tester")
    assert [claim.step_id for claim in claim_due(is_polling=False)] == [second.steps.get().pk]
    assert third.steps.get().next_due_at is None


def test_two_runs_of_different_hosts_are_due_together():
    run_on(factories.host())
    run_on(factories.host())
    assert len(claim_due(is_polling=False)) == 2


def test_cancel_of_a_waiting_run_ends_it_at_once():
    run = run_cancel(run=run_on(factories.host()), actor="tester")
    assert (run.state, run.is_cancel_requested) == (RunState.CANCELLED, True)
    assert run.finished_at is not None
    assert claim_due(is_polling=False) == []
    assert run_cancel(run=run, actor="tester").state == RunState.CANCELLED


def test_cancel_that_races_with_the_first_step_wins_or_is_honoured_next():
    run = run_on(factories.host())
    todo: list[Any] = []
    (claim,) = claim_due(is_polling=False)
    run_cancel(run=run, actor="tester")
    dispatch.run_step(claim, todo.append)  # finds its step closed
    assert todo == []
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_cancel_before_anything_was_sent_goes_through_the_teardown():
    run = run_on(factories.host())
    todo: list[Any] = []
    (claim,) = claim_due(is_polling=False)
    dispatch.run_step(claim, todo.append)  # queued -> reachable
    run_cancel(run=run, actor="tester")
    while todo:
        dispatch.run_step(todo.pop(), todo.append)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.CANCELLED, "")
    states = list(run.steps.values_list("state", flat=True))
    assert states == ["queued", "reachable", "tearing_down", "verified_gone"]


def test_step_that_always_crashes_ends_in_bug_after_four_attempts(monkeypatch):
    run = run_on(factories.host())
    todo: list[Any] = []
    (claim,) = claim_due(is_polling=False)
    dispatch.run_step(claim, todo.append)

    def crash(run, step):
        raise ZeroDivisionError("poison")

    monkeypatch.setitem(dispatch.HANDLERS, RunState.REACHABLE, crash)
    attempts = 0
    while todo:
        attempts += todo[0].step_id == run.steps.get(state=RunState.REACHABLE).pk
        dispatch.run_step(todo.pop(), todo.append)
        run.refresh_from_db()
        if not todo and not run.is_finished:
            run.steps.filter(finished_at=None).update(next_due_at="2020-01-01T00:00:00Z")
            todo += claim_due(is_polling=False)
    assert attempts == dispatch.MAX_ATTEMPTS
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert run.failure_detail == "ZeroDivisionError: poison"


class Refusal(psycopg.errors.Error):
    """An error with a SQLSTATE, as the driver raises it."""

    def __init__(self, state: str) -> None:
        super().__init__(f"refused with {state}")
        self.sqlstate = state


def refusal(state: str | None) -> OperationalError:
    error = OperationalError("could not extend file: No space left on device")
    error.__cause__ = Refusal(state) if state else None
    return error


# disk_full, out_of_memory, too_many_connections, admin_shutdown, io_error, connection lost
@pytest.mark.parametrize("state", ["53100", "53200", "53300", "57P01", "58030", None])
def test_step_waits_uncounted_while_the_database_writes_nothing(
    state: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_on(factories.host())
    todo: list[Any] = []

    def refused(run: Run, step: Step) -> Any:
        raise refusal(state)

    monkeypatch.setitem(dispatch.HANDLERS, RunState.REACHABLE, refused)
    (claim,) = claim_due(is_polling=False)
    todo.append(claim)
    for _ in range(3 * dispatch.MAX_ATTEMPTS):
        while todo:
            dispatch.run_step(todo.pop(), todo.append)
        step = run.steps.get(finished_at=None)
        assert (step.state, step.attempt, step.lease_until) == (RunState.REACHABLE, 0, None)
        assert step.next_due_at > clock.now() + dt.timedelta(seconds=20)
        run.steps.filter(finished_at=None).update(next_due_at="2020-01-01T00:00:00Z")
        todo += claim_due(is_polling=False)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.REACHABLE, "")


@pytest.mark.parametrize("state", ["57014", "40P01", "55P03", "22P02", "23505"])
def test_error_that_is_ours_still_counts_as_an_attempt(state: str) -> None:
    assert not is_database_away(refusal(state))


def test_worker_that_dies_in_the_same_step_again_and_again_ends_the_run():
    run = run_on(factories.host())
    todo: list[Any] = []
    (claim,) = claim_due(is_polling=False)
    dispatch.run_step(claim, todo.append)
    run.steps.filter(finished_at=None).update(attempt=dispatch.MAX_ATTEMPTS + 1)
    while todo:
        dispatch.run_step(todo.pop(), todo.append)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert "stopped after 4 attempts" in run.failure_detail


# --- what is shown --------------------------------------------------------------------------------


def test_view_of_a_waiting_run_expects_nothing_yet():
    run = run_on(factories.host())
    view = run_view(run)
    assert (view.stage, view.elapsed_s, view.remaining_s) == ("waiting for the host", None, None)
    assert [(step.name, step.state) for step in view.steps] == [("queued", "waiting")]
    assert list(runs_visible(run.workspace)) == [run]


def test_view_of_a_waiting_run_says_that_another_one_holds_its_host():
    run = run_on(factories.host())
    factories.run(run.host, state=RunState.RUNNING)
    factories.run(state=RunState.RUNNING)  # on another host
    assert run_view(run).stage == "waiting until another run on this host is over"


def test_view_of_a_running_run_says_what_remains():
    run = factories.run(state=RunState.RUNNING, progress_ratio=0.25, live={"expected_s": 60})
    assert run_view(run).remaining_s == 45


def test_evidence_that_was_altered_is_not_shown():
    run = factories.run()
    raw = b"1+0 records in\n"
    evidence = Evidence.objects.create(
        run=run, n=1, probe="dd", command="dd", raw_gzip=gzip.compress(raw),
        size_bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest(),
    )  # fmt: skip
    assert evidence_text(evidence) == "1+0 records in\n"
    evidence.raw_gzip = gzip.compress(b"2+0 records in\n")
    with pytest.raises(EvidenceDamaged):
        evidence_text(evidence)
