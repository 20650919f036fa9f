"""Draining: what is under way ends, nothing else begins."""

import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from backend.benchmarks.management.commands import drain
from backend.benchmarks.models import Host, Run, RunState, Step, Worker
from backend.benchmarks.services.drains import drain_begin, drain_end
from backend.benchmarks.services.leases import claim_due
from tests import factories

pytestmark = pytest.mark.django_db


def due(state: RunState = RunState.QUEUED, on: Host | None = None) -> Run:
    run = factories.run(on, state=state)
    Step.objects.create(run=run, state=state, next_due_at=Now())
    return run


def claimed() -> set[Run]:
    """The runs whose steps somebody would do now."""
    claims = claim_due(is_polling=False, is_routed=True)
    steps = Step.objects.filter(pk__in=[claim.step_id for claim in claims])
    return {step.run for step in steps}


def drained(*options: str) -> str:
    out = StringIO()
    call_command("drain", *options, stdout=out)
    return out.getvalue()


def test_queued_runs_wait_and_others_go_on_while_it_is_drained() -> None:
    queued, prepared = due(), due(RunState.PREPARED)
    drain_begin(worker_id=None)
    drain_begin(worker_id=None)  # twice is once
    assert claimed() == {prepared}
    drain_end(worker_id=None)
    assert claimed() == {queued}


def test_drain_of_a_worker_is_for_its_own_machine() -> None:
    here = Worker.objects.create(pk="here", instance="i", seen_at=Now())
    there = due(on=factories.host(driver="local", worker=here))
    peer = due()
    Run.objects.filter(pk=peer.pk).update(peer=there.host)
    elsewhere = due()
    drain_begin(worker_id="here")
    assert claimed() == {elsewhere}
    drain_end(worker_id=None)  # another one
    assert claimed() == set()
    drain_end(worker_id="here")
    assert claimed() == {there, peer}


def test_command_says_when_no_run_is_active() -> None:
    queued = due()
    assert drained().startswith("empty")
    assert claimed() == set()
    assert "may begin" in drained("--end")
    assert claimed() == {queued}


def test_command_fails_when_a_run_is_still_active() -> None:
    due(RunState.RUNNING)
    out = StringIO()
    with pytest.raises(CommandError, match="1 runs are still under way"):
        call_command("drain", "--timeout", "0", stdout=out)
    assert out.getvalue() == "1 under way: 1 running\n"


def test_run_that_was_claimed_before_counts_as_active() -> None:
    due()
    assert len(claimed()) == 1
    with pytest.raises(CommandError, match="still under way"):
        drained("--timeout", "0")


def test_command_refuses_a_worker_that_nobody_knows() -> None:
    with pytest.raises(CommandError, match="no worker has the WORKER_ID nobody"):
        drained("--worker", "nobody")


@pytest.mark.django_db(transaction=True)
def test_command_waits_for_the_end_of_active_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = due(RunState.RUNNING)
    looks = threading.Semaphore(0)

    def ended(_: float) -> None:
        looks.release()
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE)

    monkeypatch.setattr(drain.time, "sleep", ended)
    assert drained().splitlines()[0] == "1 under way: 1 running"
    assert looks.acquire(blocking=False)
