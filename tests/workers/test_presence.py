"""Local hosts belong to the machine of one worker: who may claim, who is kept off, who gives up."""

import importlib
import io
import socket

import pytest
from celery.signals import heartbeat_sent, worker_ready, worker_shutdown
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.db.models.functions import Now

from backend.benchmarks.models import Host, RunState, Step, Worker
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.hosts import host_local
from backend.benchmarks.services.leases import Claim, claim_due, lease_end, silence_limit
from backend.benchmarks.services.runs import run_cancel
from backend.benchmarks.services.workers import (
    ALIVE_S,
    instance,
    worker_get,
    worker_left,
    worker_seen,
    workers_alive,
)
from backend.core import clock
from backend.core.queue import Task
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.workers.conftest import driven, hurry, tiny_run
from workers.engine import dispatch, presence
from workers.engine.pump import Pump
from workers.engine.report import document
from workers.management.commands.benchmark import Command

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "other"


@pytest.fixture(autouse=True)
def _no_broker(queued, tmp_path, monkeypatch):
    """Messages are recorded, and runs on this machine stay in the test's directory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def routed(monkeypatch):
    """Pairs of task and queue that would have gone to the broker; None: the task's usual queue."""
    from backend.config.celery import app

    sent = []
    monkeypatch.setattr(
        app, "send_task", lambda name, kwargs=None, queue=None: sent.append((name, queue))
    )
    return sent


def other_host():
    """The machine of a worker that is there, but not here."""
    worker_seen(worker_id=OTHER, instance="another machine")
    return host_local(workspace=factories.workspace(), worker_id=OTHER)


def silent_for(seconds, worker_id=OTHER):
    Worker.objects.filter(pk=worker_id).update(seen_at=Now() - seconds)


def overdue(run, by):
    Step.objects.filter(run=run, finished_at=None).update(next_due_at=Now() - by, lease_until=None)


# --- who is there ---------------------------------------------------------------------------------


def test_second_container_is_refused_while_the_first_has_the_id():
    assert worker_seen(worker_id="w", instance="first")
    assert not worker_seen(worker_id="w", instance="second")
    assert worker_seen(worker_id="w", instance="first")


def test_second_container_gets_the_id_when_the_first_is_gone_or_silent():
    worker_seen(worker_id="w", instance="first")
    worker_left(worker_id="w", instance="second")
    assert not worker_seen(worker_id="w", instance="second")
    worker_left(worker_id="w", instance="first")
    assert worker_seen(worker_id="w", instance="second")
    silent_for(lease_end() * ALIVE_S, "w")
    assert not workers_alive().exists()
    assert worker_seen(worker_id="w", instance="third")


def test_local_host_of_before_belongs_to_the_first_worker():
    host = factories.host(driver="local")
    worker_seen(worker_id="first", instance="i")
    worker_seen(worker_id="second", instance="i")
    host.refresh_from_db()
    assert host.worker_id == "first"
    assert host_local(workspace=factories.workspace(), worker_id="first") == host


def test_local_hosts_of_two_workers_have_names_and_offers_of_their_own(settings):
    settings.WORKER_ID = "first"
    here, there = host_local(workspace=factories.workspace()), other_host()
    assert (here.name, there.name) == ("first", OTHER)
    assert (here.offer.slug, there.offer.slug) == ("own-this-machine", "own-this-machine-other")
    assert host_local(workspace=factories.workspace(), worker_id=OTHER) == there


def test_peers_are_refused_when_both_are_machines_of_workers():
    here, there = host_local(workspace=factories.workspace()), other_host()
    with pytest.raises(InvalidValue, match="cannot log in to each other"):
        tiny_run(here, probes=["network"], peer=str(there.pk))


# --- who does a step ------------------------------------------------------------------------------


def test_steps_of_another_machine_are_routed_there_and_not_claimed_here(routed):
    here, there = tiny_run(host_local(workspace=factories.workspace())), tiny_run(other_host())
    Pump()._presence.say()
    assert [claim.step_id for claim in claim_due(is_polling=False)] == [here.steps.get().pk]
    routed.clear()
    dispatch.tick()
    assert routed == [(Task.RUN_STEP, "local.other")]
    assert there.steps.get().attempt == 1


def test_running_run_of_another_machine_is_followed_only_there(routed):
    run = factories.run(other_host(), state=RunState.RUNNING)
    step = Step.objects.create(run=run, state=RunState.RUNNING, next_due_at=clock.now())
    assert claim_due(is_polling=True) == []
    dispatch.to_queue(None)
    assert routed == [(Task.POLL_STEPS, "local.other")]
    assert Step.objects.get(pk=step.pk).attempt == 0


def test_steps_wait_when_the_machine_has_no_worker(routed):
    run = tiny_run(host_local(workspace=factories.workspace(), worker_id=OTHER))
    routed.clear()
    dispatch.tick()
    assert routed == []
    assert run.steps.get().attempt == 0


def test_step_of_another_machine_is_dropped_when_its_message_comes_here():
    run = tiny_run(other_host())
    step = run.steps.get()
    Step.objects.filter(pk=step.pk).update(lease_token=1, lease_until=Now() + lease_end())
    dispatch.run_step(Claim(step.pk, 1), lambda _: None)
    run.refresh_from_db()
    assert (run.state, run.steps.get().finished_at) == (RunState.QUEUED, None)


def test_peer_on_a_workers_machine_binds_the_run_to_it(ssh_host, routed):
    tiny_run(ssh_host, probes=["network"], peer=str(other_host().pk))
    routed.clear()
    dispatch.tick()
    assert routed == [(Task.RUN_STEP, "local.other")]


@pytest.mark.parametrize(
    ("state", "end"),
    [(RunState.QUEUED, RunState.FAILED), (RunState.PREPARED, RunState.LOST),
     (RunState.RUNNING, RunState.LOST), (RunState.COLLECTING, RunState.LOST)],
)  # fmt: skip
def test_run_ends_without_verified_gone_when_its_worker_never_returns(state, end):
    run = factories.run(other_host(), state=state, live={"directory": "/tmp/rackrate-x"})
    step = Step.objects.create(run=run, state=state, next_due_at=clock.now())
    silent_for(silence_limit())
    for _ in range(3):
        overdue(run, silence_limit())
        Step.objects.filter(run=run).update(created_at=step.created_at - silence_limit())
        Pump().steps(wait_s=0)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (end, "unreachable")
    assert "no worker with the WORKER_ID other" in run.failure_detail
    assert not run.events.filter(detail=RunState.VERIFIED_GONE).exists()


def test_abandoned_step_is_sent_to_any_worker(routed):
    run = tiny_run(other_host())
    silent_for(silence_limit())
    overdue(run, silence_limit())
    routed.clear()
    dispatch.tick()
    assert routed == [(Task.RUN_STEP, None)]


def test_run_is_lost_when_another_container_tears_it_down():
    run = tiny_run(host_local(workspace=factories.workspace()), repeats=40)
    pump = Pump()
    pump.steps(wait_s=0)
    run.refresh_from_db()
    assert run.live["container"] == socket.gethostname()
    run.live["container"] = "the one before"
    run.save(update_fields=["live"])
    run_cancel(run=run, actor="tester")
    driven(run)
    assert run.state == RunState.LOST
    assert "the one before" in run.failure_detail
    assert not run.events.filter(detail=RunState.VERIFIED_GONE).exists()
    hurry(run)
    pump.steps(wait_s=0)
    assert not run.steps.filter(finished_at=None).exists()
    assert "the one before" in run.events.last().detail


def test_presence_is_said_seldom_also_when_the_database_is_away(monkeypatch):
    said = []

    def worker_seen(**given):
        said.append(given)
        raise DatabaseError

    monkeypatch.setattr(presence, "worker_seen", worker_seen)
    here = presence.Presence()
    with pytest.raises(DatabaseError):
        here.say()
    assert not here.say()
    assert len(said) == 1


# --- the command ----------------------------------------------------------------------------------


def test_local_means_the_only_worker_when_none_runs_here():
    other_host()
    said = io.StringIO()
    with pytest.raises(CommandError, match="iodepth"):
        call_command("benchmark", "local", "--set", "iodepth=4", stdout=said, stderr=said)
    assert list(Host.objects.values_list("worker_id", flat=True)) == [OTHER]


def test_local_is_refused_when_several_workers_run_elsewhere():
    for worker_id in ("a", "b"):
        worker_seen(worker_id=worker_id, instance=worker_id)
    with pytest.raises(CommandError, match=r"a worker \(a, b\), or name a host"):
        call_command("benchmark", "local")


def test_command_says_that_it_waits_for_a_worker_that_is_not_there(monkeypatch):
    host = host_local(workspace=factories.workspace(), worker_id=OTHER)

    def cancelled(self, run):
        run.state = RunState.CANCELLED
        return (seen := run_view(run)), document(seen)

    monkeypatch.setattr(Command, "_follow", cancelled)
    said = io.StringIO()
    with pytest.raises(CommandError):
        call_command("benchmark", host.name, stdout=said, stderr=said)
    assert f"{OTHER} has no worker (WORKER_ID {OTHER}): waiting for it" in said.getvalue()


def test_instance_names_this_container_and_boot():
    worker_get(worker_id="w")
    assert instance().startswith(f"{socket.gethostname()} pid:[")


def test_every_worker_that_knows_the_tasks_says_that_it_is_there():
    importlib.import_module("workers.tasks")
    for signal, method in (
        (worker_ready, "begin"),
        (heartbeat_sent, "look"),
        (worker_shutdown, "end"),
    ):
        assert getattr(presence._worker, method) in [receiver() for _, receiver in signal.receivers]
