"""Following running runs: orders to the runner, hosts that change under way, our own defects."""

import datetime as dt
import shutil
from dataclasses import replace

import pytest

from backend.benchmarks.models import Run, RunState, Step
from backend.common import clock
from backend.domain.parsing.runner_status import RunnerStatus
from backend.domain.profiles import PROFILES
from tests import factories
from tests.workers.conftest import driven, tiny_run
from workers import engine, poller
from workers.leases import Claim, release
from workers.probes.registry import plan
from workers.pump import Pump

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = RunnerStatus(
    state="running", probe="cmips", variant="all", repeat=5, step=11, steps=25, progress=0.4,
    monotonic_s=30, boot_id="b", pid=1, quiet_wait_s=0, failure=None,
)  # fmt: skip


def never(claim):
    raise AssertionError(f"{claim} was sent on")


def orders(values, *, profile="standard", flags=(), status=STATUS, has_news=True, **run_fields):
    """What the poller orders after these scores of a run of cmips."""
    run = factories.run(state=RunState.RUNNING, profile=profile, **run_fields)
    for repeat, value in enumerate(values):
        factories.sample(run.offer, value, run=run, repeat=repeat, flags=list(flags))
    step = Step(run=run, state=RunState.RUNNING)
    planned = plan(PROFILES[profile], ["cmips"], run.parameters, run_directory="/tmp/r")
    return poller._orders(step, planned, status, has_news=has_news)


def test_series_is_stopped_when_its_interval_is_narrow(queued):
    # half-width of 100, 101, 100, 101, 100: 2.776 · 0.5477 / √5 = 0.68, of 100.4: 0.7 %
    assert orders([100, 101, 100, 101, 100]) == {"stop/cmips-all"}


def test_series_goes_on_while_it_is_short_or_its_interval_wide(queued):
    assert orders([100, 100, 100, 100]) == set()
    assert orders([100, 120, 80, 110, 90]) == set()
    assert orders([100, 101, 100, 101, 100], has_news=False) == set()


def test_disturbed_repeats_do_not_settle_a_series(queued):
    assert orders([100] * 6, flags=["disturbed"]) == set()


def test_quick_takes_all_its_repeats(queued):
    assert orders([100, 100, 100], profile="quick") == set()


def test_every_series_is_stopped_at_the_cap_of_the_profile(queued):
    late = replace(STATUS, monotonic_s=PROFILES["standard"].time_cap_s + 1)
    assert orders([], status=late) == {"stop/cmips-all", "stop/cmips-single"}


def test_cancelled_run_is_ended_whatever_else(queued):
    assert orders([100] * 6, is_cancel_requested=True) == {"cancel"}


# --- on a host ------------------------------------------------------------------------------------


@pytest.fixture
def running(ssh_host):
    """A run whose runner was started and is not followed yet; the runner takes a few seconds."""
    run = tiny_run(ssh_host, repeats=4)
    Pump().steps(wait_s=0)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    return run


def followed_until(run, count):
    while not run.evidence.filter(n=count).exists():
        poller.follow(lambda claim: None, window_s=0.5)


def test_rebooted_host_ends_the_run_and_keeps_what_was_measured_before(running):
    followed_until(running, 3)
    Run.objects.filter(pk=running.pk).update(boot_id="the boot before")
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "rebooted")
    assert run.samples.filter(metric="cmips_score", repeat=0).count() == 1


def test_vanished_directory_ends_the_run_and_keeps_what_was_measured_before(running, sshd):
    followed_until(running, 3)
    for directory in sshd.temporary.glob("rackrate-*-*"):
        shutil.rmtree(directory)
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "interrupted")
    assert run.failure_detail == "the run's directory has vanished"
    assert run.samples.filter(metric="cmips_score", repeat=0).count() == 1


def test_runner_over_its_deadline_is_ended_and_its_results_kept(running, sshd):
    followed_until(running, 3)
    past = clock.now() - dt.timedelta(seconds=1)
    running.steps.filter(state=RunState.RUNNING).update(deadline_at=past)
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "timeout")
    assert run.samples.filter(metric="cmips_score", repeat=0).count() == 1
    assert list(sshd.temporary.iterdir()) == []


def test_progress_and_last_lines_are_written_while_it_runs(running):
    followed_until(running, 3)
    running.refresh_from_db()
    assert 0 < running.progress_ratio < 1
    assert running.probe == "cmips"
    assert running.live["state"] == "running"
    assert running.live["steps"] == 9  # the inventory and four rounds of two
    assert '"probe":"cmips"' in running.live["last_lines"][-1]
    driven(running)


def test_window_that_closes_leaves_the_step_due_and_asks_for_a_poller(running):
    asked: list[Claim | None] = []
    assert poller.follow(asked.append, window_s=0.3) == 1
    assert asked == [None]
    step = running.steps.get(state=RunState.RUNNING)
    assert (step.lease_until, step.attempt) == (None, 0)
    driven(running)


def test_second_poller_leaves_new_runs_to_the_first(running):
    other = factories.run(state=RunState.RUNNING)
    Step.objects.create(
        run=other, state=RunState.RUNNING, lease_until=clock.now() + dt.timedelta(minutes=1)
    )
    assert poller.follow(never, window_s=0.3) == 0
    assert running.steps.get(state=RunState.RUNNING).lease_token == 0
    overdue = clock.now() - dt.timedelta(seconds=poller.OVERDUE_S + 1)
    running.steps.filter(state=RunState.RUNNING).update(next_due_at=overdue)
    assert poller.follow(lambda claim: None, window_s=0.3) == 1
    other.delete()
    driven(running)


def test_defect_of_ours_in_a_reading_ends_the_run_as_a_bug(running, monkeypatch, sshd):
    def poison(one, snapshot):
        raise ZeroDivisionError("poison")

    monkeypatch.setattr(poller, "_after_reading", poison)
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert run.steps.get(state=RunState.RUNNING).attempt == engine.MAX_ATTEMPTS
    assert list(sshd.temporary.iterdir()) == []


def test_poller_that_lost_its_lease_writes_nothing_more(running, monkeypatch):
    """Another worker takes the step over in the middle: the first drops it and goes on."""
    read = poller._after_reading

    def taken_over(one, snapshot):
        Step.objects.filter(pk=one.claim.step_id).update(lease_token=99)
        return read(one, snapshot)

    monkeypatch.setattr(poller, "_after_reading", taken_over)
    assert poller.follow(never, window_s=5) == 0
    running.refresh_from_db()
    assert (running.progress_ratio, running.evidence.count()) == (0, 0)
    monkeypatch.undo()
    step = running.steps.get(state=RunState.RUNNING)
    release(Claim(step.pk, 99))
    driven(running)
