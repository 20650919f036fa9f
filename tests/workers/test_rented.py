"""Runs on rented machines from beginning to end, and the ways in which they fail: real SSH servers
behind a faked provider."""

import datetime as dt
import json
import time
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest
from django.db.models import F

from backend.accounts.models import AuditEntry, CloudAccount
from backend.accounts.services.installation import installation_id
from backend.benchmarks.models import HostState, Resource, ResourceState, RunState, Step
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.leases import claim_due, silence_limit
from backend.benchmarks.services.runs import run_cancel
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.notifications.models import Notice
from backend.providers import registry
from backend.providers.registry import provider as provider_record
from backend.rentals.services.budgets import resource_reserve
from tests.fakes.fake.cloud import Fault, moment
from tests.fakes.fake.driver import FakeDriver
from tests.fakes.fake_provider import FakeProvider
from tests.fakes.sshd import HOST_KEY_TYPES
from tests.workers.clouds import account, offer, rented_run
from tests.workers.conftest import driven, hurry
from tests.workers.reaping import leaks_are_reported
from workers.engine import dispatch, poller, rented_steps
from workers.engine.pump import Pump

pytestmark = pytest.mark.django_db(transaction=True)
# States that are worked on by steps.
ON_THE_WAY = (
    *("queued", "budget_reserved", "launching", "booting", "reachable", "prepared"),
    *("collecting", "parsed", "tearing_down", "verified_gone"),
)


@pytest.fixture(autouse=True)
def provider(tmp_path, queued, settings):
    settings.SSH_ALLOW_PRIVATE = True
    settings.PROVIDER_SETTLE_S = 1
    with FakeProvider(tmp_path) as made:
        yield made


@pytest.fixture
def run(provider):
    """A run that measures nothing, on the only offer of the only account."""
    account(provider)
    return rented_run(offer(), budget="1", probes=["inventory"])


def machines(provider):
    return [row for row in provider.cloud.record() if row["kind"] == "machine"]


def calls(provider):
    return [row["name"] for row in provider.cloud.log("call")]


def due(run):
    """Its steps, claimed, however long they were to wait."""
    Step.objects.filter(run=run, finished_at=None).update(next_due_at=clock.now(), lease_until=None)
    return claim_due(is_polling=False)


def stepped(run, until):
    """Do one step after the other, and follow the run, until it is in that state."""
    for _ in range(200):
        run.refresh_from_db()
        if run.state == until:
            return run
        if run.state == RunState.RUNNING:
            Step.objects.filter(run=run, finished_at=None).update(lease_until=None)
            poller.follow(lambda claim: None, window_s=1)
        else:
            for claim in due(run):
                dispatch.run_step(claim, lambda claim: None)
    raise AssertionError(f"still {run.state}: {list(run.steps.values_list('last_error'))}")


def over(run):
    """The run at its end, however long the provider takes; messages on the way are lost."""
    Step.objects.filter(run=run).update(lease_until=None)
    for _ in range(100):
        try:
            return driven(run, passes=1)
        except AssertionError:
            time.sleep(0.05)
    return driven(run, passes=1)


def is_nothing_left(provider, run):
    resource = Resource.objects.get(run=run)
    run.host.refresh_from_db()
    return (
        provider.cloud.alive() == []
        and resource.state == ResourceState.GONE
        and run.host.state == HostState.GONE
        and run.host.sealed_private_key is None
    )


def lines(run, kind="warning"):
    return list(run.events.filter(kind=kind).values_list("detail", flat=True))


# --- as it should be --------------------------------------------------------------------------------


def test_rented_run_ends_done_with_its_samples_and_its_machine_gone(provider):
    account(provider)
    run = over(rented_run(offer(), budget="1"))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert run.samples.filter(metric="cmips_score").count() == 2
    assert is_nothing_left(provider, run)
    assert {step.name for step in run_view(run).steps} == {*ON_THE_WAY, "running"}
    assert run.host.name == f"fake.small {str(run.pk)[:8]}"
    (machine,) = machines(provider)
    assert (machine["token"], machine["tag"]) == (str(run.resource.pk), str(run.workspace_id))
    assert json.loads(machine["labels"]) == {
        "run": str(run.pk),
        "owner": "tester",
        "installation": installation_id(),
    }
    assert moment(machine["expires_ms"]) == run.resource.expires_at.replace(
        microsecond=run.resource.expires_at.microsecond // 1000 * 1000
    )


def test_ledger_of_a_rented_run_is_what_the_provider_recorded(provider, run):
    over(run)
    (machine,) = machines(provider)
    (entry,) = run.resource.ledger.all()
    assert entry.period_start == run.resource.launched_at == moment(machine["launched_ms"])
    assert run.resource.gone_at == moment(machine["ends_ms"])
    assert entry.seconds * 1000 == machine["ends_ms"] - machine["launched_ms"]
    # an hour begun at 0.36
    assert (entry.amount, entry.currency) == (Decimal("0.36"), "USD")
    assert run_view(run).cost == {"so_far": "0.360000", "currency": "USD", "cap": "1"}
    assert run.resource.price == run.price == run.offer.prices.get()


@pytest.mark.parametrize("look_after_s", [0, 3])
def test_boot_time_is_that_of_the_machine_whenever_we_look(provider, run, look_after_s):
    """3.4: looks come seconds apart, and none of them may be in what is measured."""
    provider.cloud.fault(Fault.SLOW_BOOT, times=1, seconds=1)
    stepped(run, RunState.BOOTING)
    time.sleep(look_after_s)
    over(run)
    sample = run.samples.get(metric="boot_time_s")
    assert (sample.variant, sample.unit, sample.evidence) == ("standard", "s", None)
    assert sample.value == pytest.approx(1.1, abs=0.5)
    assert sample.method_version == "its own clock"
    (line,) = lines(run, "boot")
    said = f"ready {sample.value:.1f} s after its launch, by its own clock; the first login came"
    assert line.startswith(said)


def test_boot_time_is_unknown_when_the_machine_has_another_clock(provider, run):
    stepped(run, RunState.BOOTING)
    while not provider.machines.alive:
        time.sleep(0.02)
    (server,) = provider.machines.alive.values()
    other = 'case $1 in +now*) echo now 1700000000.5 ;; *) exec /bin/date "$@" ;; esac'
    server.install("date", other)
    over(run)
    assert run.state == RunState.DONE
    assert not run.samples.filter(metric="boot_time_s").exists()
    (line,) = lines(run, "boot")
    assert "; boot time unknown: its clock is -" in line


def test_launch_and_end_of_a_machine_are_in_the_audit_trail(run):
    over(run)
    for action in ("resource_launch", "resource_gone"):
        entry = AuditEntry.objects.get(action=action, object_id=str(run.resource.pk))
        assert entry.actor == "tester"
        assert entry.detail["provider_id"] == run.resource.provider_id
    assert AuditEntry.objects.get(action="host_approve").actor == "console"


def test_two_machines_of_an_offer_are_two_hosts(provider):
    account(provider)
    of = offer()
    first, second = rented_run(of, probes=["inventory"]), rented_run(of, probes=["inventory"])
    over(first)
    over(second)
    assert first.host != second.host
    assert len(machines(provider)) == 2


# --- money and places -------------------------------------------------------------------------------


def test_run_beyond_its_budget_fails_with_the_figures_and_no_launch(provider):
    account(provider)
    run = over(rented_run(offer(), budget="0.35", parameters={"lifetime_s": 3600}))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "quota")
    assert run.failure_detail == (
        "0.36 USD do not fit into the budget of the run of 0.35: 0 are spent or reserved"
    )
    assert calls(provider) == []
    assert is_nothing_left(provider, run)


def test_run_waits_while_its_account_holds_all_its_vcpus(provider):
    small, large = offer(vcpu_count=4), offer("fake-large", name="fake.large", vcpu_count=16)
    cloud = account(provider, max_vcpus=6)
    first = stepped(rented_run(small, probes=["inventory"]), RunState.BOOTING)
    second = rented_run(small, probes=["inventory"])
    (claim,) = _made_due(second)
    dispatch.run_step(claim, lambda claim: None)
    second.refresh_from_db()
    assert second.state == RunState.QUEUED
    assert second.steps.get().last_error == (
        f"machines with 4 vCPUs of the account {cloud.name} may exist, "
        "and fake.small has 4 of the 6 that are allowed"
    )
    # One that never fits does not wait.
    never = over(rented_run(large, probes=["inventory"]))
    assert (never.state, never.failure_reason) == (RunState.FAILED, "quota")
    over(first)
    assert over(second).state == RunState.DONE


def test_run_waits_while_its_account_holds_all_its_machines(provider):
    of, cloud = offer(), account(provider, max_machines=1)
    first = stepped(rented_run(of, probes=["inventory"]), RunState.BOOTING)
    second = rented_run(of, probes=["inventory"])
    (claim,) = _made_due(second)
    dispatch.run_step(claim, lambda claim: None)
    second.refresh_from_db()
    assert second.state == RunState.QUEUED
    assert second.steps.get().last_error == (
        f"1 machines of the account {cloud.name} may exist, all of the 1 that are allowed"
    )
    over(first)
    assert over(second).state == RunState.DONE
    assert len(machines(provider)) == 2


def test_zone_without_capacity_is_followed_by_the_next(provider):
    account(provider, zones=["a", "b", "c"])
    provider.cloud.fault(Fault.CAPACITY, probability=1, zone="a")
    provider.cloud.fault(Fault.CAPACITY, probability=1, zone="b")
    run = over(rented_run(offer(), probes=["inventory"]))
    assert run.state == RunState.DONE
    assert run.resource.tried_zones == ["a", "b"]
    assert [machine["zone"] for machine in machines(provider)] == ["c"]


def test_machine_without_an_address_is_named_and_given_up_early(provider, run, monkeypatch):
    real = FakeDriver.describe

    async def unaddressed(self, resource):
        return replace(await real(self, resource), address="")

    monkeypatch.setattr(FakeDriver, "describe", unaddressed)
    stepped(run, RunState.BOOTING)
    while not provider.machines.alive:
        time.sleep(0.02)
    (claim,) = due(run)
    dispatch.run_step(claim, lambda claim: None)
    why = "the machine runs without an IPv4 address that workers may log in to"
    assert run.steps.get(state=RunState.BOOTING).last_error == why
    # A third of the 900 s for the first login.
    Resource.objects.filter(run=run).update(called_at=clock.now() - dt.timedelta(seconds=301))
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unsupported")
    assert run.failure_detail.startswith(why)
    assert "set Address of the account to private" in run.failure_detail
    assert is_nothing_left(provider, run)


def test_part_that_stays_in_use_and_costs_nothing_does_not_hold_a_run(provider, run, monkeypatch):
    """AWS shows groups as in use for minutes after their machine."""
    monkeypatch.setattr(rented_steps, "PARTS_S", 0)
    real = FakeDriver.terminate

    async def in_use(self, resource):
        if resource.kind == "security_group":
            raise DriverError(Reason.UNSUPPORTED, "DependencyViolation", retryable=True)
        await real(self, resource)

    monkeypatch.setattr(FakeDriver, "terminate", in_use)
    over(run)
    assert (run.state, run.resource.state) == (RunState.DONE, ResourceState.GONE)
    # These tests may run at a nice value, which the inventory remarks.
    (line,) = [text for text in lines(run) if not text.startswith("the login runs at nice")]
    assert line.startswith(
        "still there: security_group security_group-2 running, which costs nothing"
    )
    assert [row["kind"] for row in provider.cloud.alive()] == ["security_group"]


def test_forbidden_type_is_refused_before_anything_is_made(provider):
    account(provider)
    provider.cloud.fault(Fault.FORBIDDEN_TYPE, times=1)
    run = over(rented_run(offer(), probes=["inventory"]))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unsupported")
    assert "fake.small is not for this account" in run.failure_detail
    assert provider.cloud.record() == []
    assert is_nothing_left(provider, run)


def test_type_that_the_account_has_rented_before_is_not_rehearsed_again(provider):
    account(provider)
    of = offer()
    for _ in range(2):
        assert over(rented_run(of, probes=["inventory"])).state == RunState.DONE
    assert calls(provider).count("rehearse") == 1


def test_zone_full_after_the_launch_is_followed_by_the_next(provider):
    account(provider, zones=["a", "b", "c"])
    provider.cloud.fault(Fault.UNPLACED, probability=1, zone="a")
    provider.cloud.fault(Fault.CAPACITY, probability=1, zone="b")
    run = over(rented_run(offer(), probes=["inventory"]))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert run.resource.tried_zones == ["a", "b"]
    assert [machine["zone"] for machine in machines(provider)] == ["a", "c"]
    # The first one never ran: the ledger has the second alone, an hour begun at 0.36.
    (entry,) = run.resource.ledger.all()
    assert entry.period_start == moment(machines(provider)[1]["launched_ms"])
    assert (entry.kind, entry.amount, run.resource.surplus) == ("machine", Decimal("0.36"), {})
    assert is_nothing_left(provider, run)


def test_zones_full_after_the_launch_are_tried_again(provider, settings):
    settings.CAPACITY_WAIT_S = 600
    account(provider, zones=["a"])
    provider.cloud.fault(Fault.UNPLACED, times=1)
    run = over(rented_run(offer(), probes=["inventory"]))
    assert (run.state, run.resource.rounds) == (RunState.DONE, 1)
    assert len(machines(provider)) == 2


def test_run_fails_when_every_zone_is_full_after_the_launch(provider):
    account(provider, zones=["a", "b"])
    provider.cloud.fault(Fault.UNPLACED, probability=1)
    run = over(rented_run(offer(), probes=["inventory"]))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "capacity")
    assert run.failure_detail == "b: no place was left for it"
    assert not run.resource.ledger.exists()
    assert is_nothing_left(provider, run)


@pytest.mark.parametrize(
    ("named", "sold_in", "tried"),
    [(None, ["a", "b"], ["a"]), (["b", "a"], ["a", "c"], []), (None, [], [""])],
)
def test_zones_tried_are_those_that_sell_the_type(provider, named, sold_in, tried):
    cloud = account(provider, zones=named)
    CloudAccount.objects.update(settings={**cloud.settings, "sold_in": sold_in})
    provider.cloud.fault(Fault.CAPACITY, times=len(tried))
    run = stepped(rented_run(offer()), RunState.BUDGET_RESERVED)
    for _ in range(len(tried) + 2):
        (claim,) = _made_due(run)
        dispatch.run_step(claim, lambda claim: None)
    assert run.resource.zones == [zone for zone in sold_in if zone in (named or sold_in)]
    run.resource.refresh_from_db()
    assert run.resource.tried_zones == tried


def test_type_is_refused_when_no_zone_of_the_account_sells_it(provider):
    cloud = account(provider, zones=["a"])
    CloudAccount.objects.update(settings={**cloud.settings, "sold_in": ["b", "c"]})
    run = over(rented_run(offer()))
    assert (run.failure_reason, run.failure_detail) == (
        "unsupported",
        "fake.small is sold in b, c only",
    )


def test_launch_waits_for_a_free_machine_and_says_so(provider, settings):
    settings.CAPACITY_WAIT_S = 600
    account(provider, zones=["a", "b"])
    provider.cloud.fault(Fault.CAPACITY, times=4)
    run = stepped(rented_run(offer(), probes=["inventory"]), RunState.LAUNCHING)
    for _ in range(3):  # a, b, and then nothing is left to try
        (claim,) = _made_due(run)
        dispatch.run_step(claim, lambda claim: None)
    step = run.steps.get(state="launching")
    assert step.last_error.startswith("waiting for a free machine: capacity: ")
    assert step.next_due_at > clock.now() + dt.timedelta(seconds=60)
    assert Resource.objects.get().rounds == 1
    for _ in range(4):
        (claim,) = _made_due(run)
        dispatch.run_step(claim, lambda claim: None)
    assert over(run).state == RunState.DONE
    assert (Resource.objects.get().rounds, len(machines(provider))) == (2, 1)


def test_launch_waits_for_the_quota_that_machines_of_ours_fill(provider):
    account(provider)
    sold = offer()
    first = stepped(rented_run(sold), RunState.BOOTING)
    second = stepped(rented_run(sold), RunState.LAUNCHING)
    provider.cloud.fault(Fault.QUOTA, times=1)
    (claim,) = _made_due(second)
    dispatch.run_step(claim, lambda claim: None)
    second.refresh_from_db()
    assert second.state == RunState.LAUNCHING
    assert second.steps.get(state="launching").last_error.startswith("quota: ")
    over(first)
    assert over(second).state == RunState.DONE


@pytest.mark.parametrize("zones", [None, ["a", "b"]])
def test_no_capacity_anywhere_fails_with_that_reason_and_leaves_no_parts(provider, settings, zones):
    settings.PROVIDER_SETTLE_S = 300  # which a launch that was refused does not wait for
    account(provider, zones=zones)
    provider.cloud.fault(Fault.CAPACITY, probability=1)
    run = over(rented_run(offer()))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "capacity")
    assert "no such machine is free" in run.failure_detail
    assert machines(provider) == []
    assert is_nothing_left(provider, run)
    assert run.resource.ledger.count() == 0


def test_quota_of_the_provider_fails_the_run(provider, run):
    provider.cloud.fault(Fault.QUOTA, times=1)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "quota")
    assert is_nothing_left(provider, run)


# --- a provider in trouble --------------------------------------------------------------------------


def test_throttled_calls_are_made_again_later(provider, run):
    provider.cloud.fault(Fault.THROTTLED, times=3)
    stepped(run, RunState.BUDGET_RESERVED)
    (claim,) = claim_due(is_polling=False) or _made_due(run)
    dispatch.run_step(claim, lambda claim: None)
    step = run.steps.get(state="budget_reserved")
    assert step.last_error == "timeout: too many calls, try again"
    assert step.attempt == 0  # it is not our attempts that are counted
    over(run)
    assert run.state == RunState.DONE
    assert len(machines(provider)) == 1


def _made_due(run):
    Step.objects.filter(run=run, finished_at=None).update(next_due_at=clock.now(), lease_until=None)
    return claim_due(is_polling=False)


def test_empty_bucket_of_calls_is_waited_for(provider, run):
    stepped(run, RunState.BUDGET_RESERVED)
    later = clock.now() + dt.timedelta(hours=1)
    CloudAccount.objects.update(calls_left=0.5, calls_at=later)
    (claim,) = _made_due(run)
    dispatch.run_step(claim, lambda claim: None)
    step = run.steps.get(state="budget_reserved")
    assert step.last_error == "no call of the provider is left for 0.1 s"
    assert step.next_due_at > clock.now()
    assert calls(provider) == []
    CloudAccount.objects.update(calls_at=None)
    assert over(run).state == RunState.DONE


def test_unknown_access_fails_before_anything_is_asked_for(provider, run):
    provider.cloud.fault(Fault.AUTH, times=1)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert calls(provider) == ["whoami"]
    assert is_nothing_left(provider, run)


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_launch_without_an_answer_is_asked_again_and_makes_one_machine(provider, run, fault):
    provider.cloud.fault(fault, times=2)
    over(run)
    assert run.state == RunState.DONE
    assert len(machines(provider)) == 1
    assert calls(provider).count("launch") == 3
    assert is_nothing_left(provider, run)


def test_machine_that_is_listed_late_is_waited_for(provider, run, settings):
    settings.PROVIDER_SETTLE_S = 30
    provider.cloud.fault(Fault.LATE, times=1, seconds=0.4)
    assert over(run).state == RunState.DONE


def test_second_machine_of_one_launch_ends_with_it(provider, run):
    provider.cloud.fault(Fault.DOUBLED, times=1)
    over(run)
    assert run.state == RunState.DONE
    assert len(machines(provider)) == 2
    assert is_nothing_left(provider, run)


def test_disk_that_stays_behind_is_ended(provider, run):
    provider.cloud.fault(Fault.DISK_LEFT, times=1)
    provider.cloud.fault(Fault.SLOW_END, times=1, seconds=0.3)
    provider.cloud.fault(Fault.TERMINATE_LOST, times=1)
    over(run)
    assert run.state == RunState.DONE
    assert is_nothing_left(provider, run)


# --- the first login --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key_types",
    [HOST_KEY_TYPES, HOST_KEY_TYPES[1:], HOST_KEY_TYPES[2:]],
    ids=lambda types: types[0],
)
def test_machine_is_pinned_by_the_preferred_key_of_its_console(provider, run, key_types):
    provider.machines.host_key_types = key_types
    stepped(run, RunState.BOOTING)
    provider.look()
    (server,) = provider.machines.alive.values()
    assert over(run).state == RunState.DONE
    run.host.refresh_from_db()
    assert run.host.host_key == server.host_key
    assert run.host.host_key.startswith(f"{key_types[0]} ")


@pytest.mark.parametrize("key_types", [HOST_KEY_TYPES, HOST_KEY_TYPES[2:]], ids=["same", "other"])
def test_machine_that_presents_another_key_than_its_console_gets_nothing(
    provider, run, key_types, settings
):
    stepped(run, RunState.BOOTING)
    provider.look()
    (server,) = provider.machines.alive.values()
    shown = server.fingerprint
    server.change_host_key(*key_types)
    (claim,) = due(run)
    dispatch.run_step(claim, lambda claim: None)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.BOOTING, "")
    settings.BOOT_LIMIT_S = 0
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert run.failure_detail == (
        f"it presents the host key {key_types[0]} {server.fingerprint}, "
        f"but its console shows ssh-ed25519 {shown}"
    )
    assert server.commands == []
    assert is_nothing_left(provider, run)


def test_machine_whose_server_takes_its_keys_late_is_logged_in_to(provider, run):
    stepped(run, RunState.BOOTING)
    provider.look()
    (server,) = provider.machines.alive.values()
    server.change_host_key()
    (claim,) = due(run)
    dispatch.run_step(claim, lambda claim: None)
    (row,) = machines(provider)
    provider.cloud.attach(
        row["number"], address=server.address, port=server.port, console=server.console
    )
    assert over(run).state == RunState.DONE


def test_plan_that_outlives_the_machine_is_refused(provider):
    account(provider)
    run = over(rented_run(offer(), parameters={"lifetime_s": 121}))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unsupported")
    assert "lifetime_s must be larger" in run.failure_detail
    assert (machines(provider), calls(provider)) == ([], [])


@pytest.mark.parametrize(("lifetime_s", "is_refused"), [(421, True), (600, False)])
def test_plan_leaves_aws_the_minutes_in_which_nobody_logs_in(
    provider, monkeypatch, lifetime_s, is_refused
):
    """shutdown(8) of a machine of AWS lets nobody in for its last five minutes (last_login_s=420)."""
    assert provider_record("aws").last_login_s == 420
    fake = provider_record("fake")
    late = replace(fake, last_login_s=provider_record("aws").last_login_s)
    monkeypatch.setitem(registry._records, "fake", late)
    account(provider)
    run = rented_run(offer(), parameters={"lifetime_s": lifetime_s})
    if is_refused:
        over(run)
        assert (run.state, run.failure_reason) == (RunState.FAILED, "unsupported")
        assert "the last 420 s are for its end" in run.failure_detail
        assert machines(provider) == []
    else:
        stepped(run, RunState.RUNNING)
        step = run.steps.get(state="running")
        latest = run.resource.expires_at - dt.timedelta(seconds=420)
        assert step.deadline_at <= latest


def test_machine_without_a_server_fails_with_timeout_after_the_limit(provider, run, settings):
    settings.BOOT_LIMIT_S = 1
    provider.cloud.fault(Fault.NO_SSHD, times=1)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "timeout")
    assert run.failure_detail == ("no login within 1 s: the console does not show the host key yet")
    assert is_nothing_left(provider, run)


def test_key_pair_that_is_not_let_in_yet_is_waited_for(provider, run):
    stepped(run, RunState.BOOTING)
    provider.look()
    (server,) = provider.machines.alive.values()
    allowed, server._allowed = server._allowed, set()
    for _ in range(20):  # a slow machine may not have come so far at the first look
        (claim,) = _made_due(run)
        dispatch.run_step(claim, lambda claim: None)
        step = run.steps.get(state="booting")
        if "refuses the key" in step.last_error:
            break
    assert "refuses the key" in step.last_error
    run.host.refresh_from_db()
    assert run.host.host_key == server.host_key
    server._allowed = allowed
    assert over(run).state == RunState.DONE


# --- the machine is taken away ----------------------------------------------------------------------


def test_machine_taken_away_while_it_boots_fails_the_run_as_interrupted(provider, run):
    stepped(run, RunState.BOOTING)
    provider.cloud.interrupt(machines(provider)[0]["number"])
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "interrupted")
    assert run.failure_detail == "the provider ended the machine: interrupted by the provider"
    assert is_nothing_left(provider, run)


@pytest.fixture
def measuring(provider, broken_probes):
    """A rented run whose third repeat does not end by itself."""
    broken_probes("cmips", '[ "$count" -ge 2 ] && sleep 100\nexec "$real" "$@"')
    account(provider)
    run = rented_run(offer())
    while not run.evidence.filter(n=3).exists():
        hurry(run)
        Pump().steps(wait_s=0)
        poller.follow(lambda claim: None, window_s=1)
    return run


def test_machine_taken_away_while_it_measures_fails_the_run_at_once(provider, measuring):
    provider.cloud.interrupt(machines(provider)[0]["number"])
    began = time.monotonic()
    over(measuring)
    assert time.monotonic() - began < 20  # not the ten minutes that a silent host is waited for
    assert (measuring.state, measuring.failure_reason) == (RunState.FAILED, "interrupted")
    assert "interrupted by the provider" in measuring.failure_detail
    assert measuring.samples.filter(metric="cmips_score").count() == 1  # measured before
    assert is_nothing_left(provider, measuring)


def test_silent_machine_is_waited_for_with_few_calls_to_its_provider(provider, measuring):
    (server,) = provider.machines.alive.values()
    before = calls(provider).count("describe")
    server.refuse()
    server.drop()
    handed = []
    poller.follow(handed.append, window_s=2)
    (claim,) = [claim for claim in handed if claim is not None]
    dispatch.run_step(claim, lambda claim: None)
    measuring.refresh_from_db()
    assert measuring.state == RunState.RUNNING
    assert calls(provider).count("describe") == before + 1
    poller.follow(handed.append, window_s=2)
    assert [claim for claim in handed if claim is not None] == [claim]
    server.accept()
    poller.follow(handed.append, window_s=8)
    measuring.refresh_from_db()
    assert "silent_since" not in measuring.live


@pytest.mark.parametrize("state", [RunState.PREPARED, RunState.COLLECTING])
def test_machine_taken_away_under_a_step_fails_the_run_at_once(provider, run, state):
    stepped(run, state)
    provider.cloud.interrupt(machines(provider)[0]["number"])
    provider.look()
    (claim,) = _made_due(run)
    dispatch.run_step(claim, lambda claim: None)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.TEARING_DOWN, "interrupted")
    assert over(run).state == RunState.FAILED


def test_runner_is_given_up_before_its_machine_ends_itself(provider):
    account(provider)
    run = stepped(rented_run(offer(), parameters={"lifetime_s": 200}), RunState.RUNNING)
    step = run.steps.get(state="running")
    assert step.deadline_at == run.resource.expires_at - dt.timedelta(seconds=120)


# --- cancelled --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ON_THE_WAY)
def test_run_cancelled_in_any_state_leaves_nothing(provider, run, state):
    stepped(run, state)
    run_cancel(run=run, actor="tester")
    over(run)
    # What is measured is brought home: from then on the run ends as it would have.
    is_measured = state in {"collecting", "parsed", "tearing_down", "verified_gone"}
    assert run.state == (RunState.DONE if is_measured else RunState.CANCELLED)
    assert is_nothing_left(provider, run)
    assert len(machines(provider)) == (state not in {"queued", "budget_reserved", "launching"})


def test_run_cancelled_after_a_launch_without_an_answer_finds_its_machine(provider, run, settings):
    # Longer than a busy machine needs for the steps until the first teardown.
    settings.PROVIDER_SETTLE_S = 6
    provider.cloud.fault(Fault.LOST_ANSWER, times=1)
    provider.cloud.fault(Fault.LATE, times=1, seconds=4)
    stepped(run, RunState.LAUNCHING)
    (claim,) = _made_due(run)
    dispatch.run_step(claim, lambda claim: None)
    assert Resource.objects.get(run=run).state == ResourceState.CALLED
    run_cancel(run=run, actor="tester")
    stepped(run, RunState.TEARING_DOWN)
    (claim,) = _made_due(run)
    dispatch.run_step(claim, lambda claim: None)
    # Where a launch has a group of its own, ending the group ends a machine that nobody has seen.
    assert len(provider.cloud.alive()) > 1
    assert "terminate" not in calls(provider)
    over(run)
    assert run.state == RunState.CANCELLED
    assert len(machines(provider)) == 1
    assert is_nothing_left(provider, run)
    assert run.resource.ledger.count() == 1


# --- crashed ----------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process is gone: nobody catches this."""


def crashing(monkeypatch, name, when):
    """The next call of that name ends the process, before or after it is heard."""
    real = getattr(FakeDriver, name)
    left = [1]

    async def crash(self, *arguments, **given):
        is_crashing = bool(left) and left.pop()
        if is_crashing and when == "before":
            raise Crash
        answer = await real(self, *arguments, **given)
        if is_crashing:
            raise Crash
        return answer

    monkeypatch.setattr(FakeDriver, name, crash)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "name", ["whoami", "launch", "describe", "console_fingerprint", "inventory", "terminate"]
)
def test_process_that_dies_at_a_call_leaves_one_machine_and_then_none(
    provider, run, monkeypatch, name, when
):
    crashing(monkeypatch, name, when)
    with pytest.raises(Crash):
        over(run)
    over(run)
    assert run.state == RunState.DONE
    assert len(machines(provider)) == 1
    assert is_nothing_left(provider, run)
    assert run.resource.ledger.count() == 1


def test_run_that_died_between_reserving_and_moving_on_reserves_once(provider, run):
    resource_reserve(run=run)
    before = Resource.objects.get(run=run).reserved_amount
    over(run)
    assert run.state == RunState.DONE
    assert run.resource.reserved_amount == before


def test_defect_in_a_step_ends_the_run_with_its_machine_gone(provider, run, monkeypatch):
    async def broken(*_, **__):
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(FakeDriver, "console_fingerprint", broken)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert is_nothing_left(provider, run)


# --- lost -------------------------------------------------------------------------------------------


def refuse_to_end(monkeypatch, error):
    """The provider refuses to end machines, until the returned function is called."""
    real = FakeDriver.terminate

    async def refused(self, resource):
        raise error

    monkeypatch.setattr(FakeDriver, "terminate", refused)
    return partial(monkeypatch.setattr, FakeDriver, "terminate", real)


PROTECTED = DriverError(Reason.UNSUPPORTED, "OperationNotPermitted: protected", retryable=False)


@pytest.mark.parametrize(
    "error",
    [
        PROTECTED,
        DriverError(Reason.AUTH, "InvalidClientTokenId", retryable=False),
        DriverError(Reason.UNREACHABLE, "no answer", retryable=True),
    ],
)
def test_measured_run_is_done_with_an_alarm_when_its_machine_stays(provider, monkeypatch, error):
    account(provider)
    leaks_are_reported()
    run = rented_run(offer(), budget="1")
    stepped(run, RunState.TEARING_DOWN)
    relent = refuse_to_end(monkeypatch, error)
    step = run.steps.get(state="tearing_down")
    Step.objects.filter(pk=step.pk).update(created_at=F("created_at") - silence_limit())
    over(run)
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert run.samples.filter(metric="cmips_score", excluded_reason="").count() == 2
    remark = lines(run)[-1]
    assert remark.startswith(f"fake.small {run.resource.provider_id} created may remain")
    assert error.detail in remark
    resource = Resource.objects.get(run=run)
    # It still counts in account and budgets, its ledger goes on, and people are notified once.
    assert (resource.state, resource.is_alarmed) == (ResourceState.CREATED, True)
    notice = Notice.objects.get(key=f"leak:{resource.pk}")
    assert notice.document["title"] == "fake.small in fake-1 does not go away"
    stepped_once(run)
    assert resource.ledger.get().kind == "machine"
    assert len(provider.cloud.alive()) > 0

    relent()
    for _ in range(100):
        if not Step.objects.filter(pk=step.pk, finished_at=None).exists():
            break
        stepped_once(run)
    assert is_nothing_left(provider, run)
    assert lines(run)[-1] == "the machine is gone"
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_cancelled_run_is_lost_when_its_machine_stays(provider, run, monkeypatch):
    stepped(run, RunState.REACHABLE)
    run.is_cancel_requested = True
    run.save(update_fields=["is_cancel_requested"])
    refuse_to_end(monkeypatch, PROTECTED)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.LOST, "unsupported")
    assert Resource.objects.get(run=run).is_alarmed


def stepped_once(run):
    for claim in _made_due(run):
        dispatch.run_step(claim, lambda claim: None)
    time.sleep(0.05)


def test_refused_access_at_the_end_is_notified_at_once(provider, run, monkeypatch):
    leaks_are_reported()
    stepped(run, RunState.TEARING_DOWN)
    provider.cloud.fault(Fault.AUTH, times=1)
    over(run)
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert Notice.objects.filter(key=f"leak:{run.resource.pk}").count() == 1
    for _ in range(5):
        stepped_once(run)
    assert is_nothing_left(provider, run)


def test_secret_in_a_refusal_is_not_passed_on(provider, monkeypatch):
    from backend.providers.machines import Access
    from workers.rentals import provider_calls as calling

    secret = "s3cr3t-value-of-a-token"
    monkeypatch.setattr(
        calling,
        "access_of",
        lambda account: Access(account.access, account.settings, {"token": secret}),
    )

    async def refusing(self):
        raise DriverError(Reason.AUTH, f"bad token {secret}", retryable=False)

    monkeypatch.setattr(FakeDriver, "whoami", refusing)
    account(provider)
    run = over(rented_run(offer()))
    assert (run.failure_reason, run.failure_detail) == ("auth", "bad token (secret)")
