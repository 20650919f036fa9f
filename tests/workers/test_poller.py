"""Following running runs: orders to the runner, hosts that change under way, our own defects."""

import datetime as dt
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from backend.benchmarks.models import Evidence, Run, RunState, Step
from backend.benchmarks.services.leases import Claim, release
from backend.benchmarks.services.progress import Progress, progress_write
from backend.benchmarks.services.runs import run_cancel
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.measure.profiles import PROFILES
from backend.measure.readers.runner_status import RunnerStatus
from backend.measure.repeats import RawResult, Repeat
from tests import factories
from tests.workers.conftest import driven, tiny_run
from workers.engine import dispatch, poller
from workers.engine.followed_run import UNCHANGED_S, take_up
from workers.engine.pump import Pump
from workers.remote.connections import connections
from workers.remote.pipeline import Snapshot
from workers.remote.static import StaticDriver

pytestmark = pytest.mark.django_db(transaction=True)

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/probes"
STATUS = RunnerStatus(
    state="running", probe="cmips", variant="all", repeat=5, step=11, steps=25, progress=0.4,
    monotonic_s=30, boot_id="b", pid=1, quiet_wait_s=0, failure=None,
)  # fmt: skip


def never(claim):
    raise AssertionError(f"{claim} was sent on")


def followed(profile="standard", probes=("cmips",), **parameters):
    """A run as the poller has just taken it up, with what the database knows of it."""
    run = factories.run(
        state=RunState.RUNNING,
        profile=profile,
        probes=list(probes),
        parameters=parameters,
        live={"directory": "/tmp/r"},
    )
    step = Step.objects.create(run=run, state=RunState.RUNNING, lease_token=1)
    return run, Claim(step.pk, 1)


def measured(run, values, *, pair=("cmips", "all"), metric="cmips_score", flags=()):
    """Results of a series that are stored already."""
    for repeat, value in enumerate(values):
        evidence = Evidence.objects.create(
            run=run, n=run.evidence.count() + 1, probe=pair[0], variant=pair[1], repeat=repeat,
            command="", raw_gzip=b"", size_bytes=0, sha256="",
        )  # fmt: skip
        factories.sample(
            run.offer, value, run=run, repeat=repeat, metric=metric, variant="-".join(pair),
            flags=list(flags), evidence=evidence,
        )  # fmt: skip


def orders(values, *, status=STATUS, flags=(), **given):
    """What is ordered after these scores of cmips on all CPUs."""
    run, claim = followed(**given)
    measured(run, values, flags=flags)
    (one,) = take_up([claim])
    return one.series_to_end(status)


def test_series_is_stopped_when_its_interval_is_narrow(queued):
    # half-width of 100, 101, 100, 101, 100: 2.776 · 0.5477 / √5 = 0.68, of 100.4: 0.7 %
    assert orders([100, 101, 100, 101, 100]) == {"stop/cmips-all"}


def test_series_goes_on_while_it_is_short_or_its_interval_wide(queued):
    assert orders([100, 100, 100, 100]) == set()
    assert orders([100, 120, 80, 110, 90]) == set()


@pytest.mark.parametrize("flag", ["disturbed", "cached"])
def test_repeats_that_do_not_count_do_not_settle_a_series(queued, flag):
    assert orders([100] * 6, flags=[flag]) == set()


def test_series_of_one_metric_are_judged_apart(queued):
    run, claim = followed(probes=("fio",))
    metric = "disk_rand_read_iops"
    measured(run, [100, 101, 100, 101, 100], pair=("fio", "rand_read_qd32"), metric=metric)
    measured(run, [100, 300, 100, 300, 100], pair=("fio", "mixed_qd32"), metric=metric)
    # the other metrics of a test settle nothing
    measured(run, [5] * 5, pair=("fio", "rand_write_qd1"), metric="disk_rand_write_iops")
    (one,) = take_up([claim])
    assert one.series_to_end(STATUS) == {"stop/fio-rand_read_qd32"}


def test_quick_takes_all_its_repeats(queued):
    assert orders([100, 100, 100], profile="quick") == set()


def test_series_with_a_repeat_are_stopped_at_the_cap_of_the_profile(queued):
    late = replace(STATUS, monotonic_s=PROFILES["standard"].time_cap_s + 1)
    assert orders([], status=late) == set()  # each is to be taken once
    assert orders([100], status=late) == {"stop/cmips-all"}


def test_order_is_given_once(queued):
    _run, claim = followed()
    (one,) = take_up([claim])
    one.order({"stop/cmips-all"})
    one.sent = set(one.orders)
    one.order({"stop/cmips-single"})  # while the reading is under way
    one.orders_are_given()
    assert one.orders == {"stop/cmips-single"}
    one.order({"stop/cmips-all"})
    assert one.orders == {"stop/cmips-single"}


def test_unavailable_series_is_not_tried_again(queued):
    _run, claim = followed(probes=("fio",))
    (one,) = take_up([claim])
    raw = RawResult(7, "007-fio-rand_read_qd1-0", b"", b"", b"")
    one.take_in([Repeat(raw, "fio", "rand_read_qd1", 0, None, unavailable="no fio")])
    assert (one.orders, one.after) == ({"stop/fio-rand_read_qd1"}, 7)


def test_reading_that_says_the_same_is_written_seldom(queued):
    _run, claim = followed()
    (one,) = take_up([claim])
    snapshot = Snapshot("b", True, True, STATUS, (), (), None)
    assert one.fields(snapshot, STATUS) is not None
    assert one.fields(snapshot, STATUS) is None
    assert one.fields(snapshot, replace(STATUS, progress=0.5)) is not None
    one.written_at -= UNCHANGED_S
    assert one.fields(snapshot, replace(STATUS, progress=0.5)) is not None


def test_silent_host_is_tried_ever_more_seldom(queued, settings):
    settings.LEASE_S, settings.HOST_LOST_AFTER_S = 120, 600
    error = DriverError(Reason.UNREACHABLE, "no answer", retryable=True)
    waits = []
    for silent_s in (0, 60, 300):
        run, claim = followed()
        if silent_s:
            run.live["silent_since"] = (clock.now() - dt.timedelta(seconds=silent_s)).isoformat()
            run.save()
        (one,) = take_up([claim])
        assert one.is_silent == bool(silent_s)
        assert poller._after_silence(one, error) is None
        assert one.is_silent
        waits.append(one.next_at - time.monotonic())
    first, minute, later = waits
    # a quarter of the silence, a quarter of a lease at most; a quarter more or less of these
    assert 4 < first <= 5
    assert 11 < minute < 19
    assert 22 < later < 38


def test_silent_host_is_given_up_when_its_time_is_over(queued, settings):
    """A run whose host vanished went on for ten minutes, and a quarter of a lease more."""
    settings.LEASE_S, settings.HOST_LOST_AFTER_S = 120, 120
    error = DriverError(Reason.UNREACHABLE, "no answer", retryable=True)
    run, claim = followed()
    run.live["silent_since"] = (clock.now() - dt.timedelta(seconds=112)).isoformat()
    run.save()
    (one,) = take_up([claim])
    assert poller._after_silence(one, error) is None
    assert one.next_at - time.monotonic() <= 8
    run.live["silent_since"] = (clock.now() - dt.timedelta(seconds=121)).isoformat()
    run.save()
    move = poller._after_silence(one, error)
    assert (move.target, move.fields["outcome"]) == (RunState.TEARING_DOWN, RunState.LOST)


def test_cost_so_far_and_last_rows_are_shown(queued):
    run, claim = followed()
    price = factories.price(run.offer, "3.6")
    began = clock.now() - dt.timedelta(seconds=100)
    Run.objects.filter(pk=run.pk).update(price=price, started_at=began)
    (one,) = take_up([claim])
    text = (FIXTURES / "observe-series.txt").read_text()
    fields = one.fields(Snapshot("b", True, True, STATUS, (), (), None, live=text), STATUS)
    assert fields is not None
    # 3.60 an hour are a thousandth a second
    assert 0.1 <= float(fields["live"]["cost"]["so_far"]) < 0.11
    assert fields["live"]["cost"]["currency"] == "USD"
    assert fields["live"]["cost"]["cap"] is None
    assert fields["live"]["series"]["t_s"][:2] == [1.0, 2.0]
    torn = one.fields(Snapshot("b", True, True, STATUS, (), (), None, live="t_s x\n1"), STATUS)
    assert torn is None  # it is only shown


def test_many_runs_are_taken_up_and_written_in_a_few_statements(
    queued, django_assert_max_num_queries
):
    claims = []
    for _ in range(5):
        run, claim = followed()
        measured(run, [100, 101])
        claims.append(claim)
    with django_assert_max_num_queries(4):
        found = take_up(claims)
    assert {one.after for one in found} == {2}
    snapshot = Snapshot("b", True, True, STATUS, ("a line",), (), None)
    gathered = [Progress(one.claim, one.fields(snapshot, STATUS)) for one in found]
    stale = Progress(Claim(claims[0].step_id, 0), gathered[0].fields)
    with django_assert_max_num_queries(4):  # begin, lock, write, commit
        written = progress_write([stale, *gathered[1:]])
    assert written == {one.claim.step_id for one in gathered[1:]}
    run = Run.objects.get(steps=claims[1].step_id)
    assert (run.progress_ratio, run.runner_s, run.probe) == (0.4, 30, "cmips")
    assert (run.live["last_lines"], run.live["directory"]) == (["a line"], "/tmp/r")
    assert Run.objects.get(steps=claims[0].step_id).progress_ratio == 0


def test_progress_never_goes_back_and_ends_the_silence(queued):
    run, claim = followed()
    live = {**run.live, "silent_since": "2026-01-01T00:00:00Z", "last_lines": ["before"]}
    Run.objects.filter(pk=run.pk).update(progress_ratio=0.9, live=live)
    (one,) = take_up([claim])
    snapshot = Snapshot("b", True, True, STATUS, (), (), None)
    progress_write([Progress(claim, one.fields(snapshot, STATUS))])
    run.refresh_from_db()
    assert run.progress_ratio == 0.9
    assert "silent_since" not in run.live
    assert run.live["last_lines"] == ["before"]


# --- on a host ------------------------------------------------------------------------------------


@pytest.fixture
def running(ssh_host):
    """A run whose runner was started and is not followed yet. It takes longer than any test here
    looks at it, on a machine of any speed."""
    run = tiny_run(ssh_host, repeats=20)
    Pump().steps(wait_s=0)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    return run


def followed_until(run, count):
    while not run.evidence.filter(n=count).exists():
        poller.follow(lambda claim: None, window_s=0.5)


def end(run):
    """Leave nothing running on the host."""
    run_cancel(run=run, actor="tester")
    assert driven(run).state == RunState.CANCELLED


def test_rebooted_host_ends_the_run_and_keeps_what_was_measured_before(running):
    followed_until(running, 3)
    Run.objects.filter(pk=running.pk).update(boot_id="the boot before")
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "rebooted")
    assert run.samples.filter(metric="cmips_score", repeat=0).count() == 1


def test_vanished_directory_ends_the_run_and_keeps_earlier_samples(running, sshd, tmp_path):
    followed_until(running, 3)
    for directory in sshd.temporary.glob("rackrate-*-*"):
        # Moved first: the runner goes on writing while the directory is being emptied.
        shutil.rmtree(directory.rename(tmp_path / directory.name), ignore_errors=True)
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
    assert running.live["steps"] == 41  # the inventory and twenty rounds of two
    assert '"probe":"cmips"' in running.live["last_lines"][-1]
    end(running)


def test_window_that_closes_leaves_the_step_due_and_asks_for_a_poller(running):
    asked: list[Claim | None] = []
    assert poller.follow(asked.append, window_s=0.3) == 1
    assert asked == [None]
    step = running.steps.get(state=RunState.RUNNING)
    assert (step.lease_until, step.attempt) == (None, 0)
    end(running)


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
    end(running)


def test_defect_of_ours_in_a_reading_ends_the_run_as_a_bug(running, monkeypatch, sshd):
    def poison(window, one, snapshot):
        raise ZeroDivisionError("poison")

    monkeypatch.setattr(poller.FollowWindow, "_after_reading", poison)
    run = driven(running)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert run.steps.get(state=RunState.RUNNING).attempt == dispatch.MAX_ATTEMPTS
    assert list(sshd.temporary.iterdir()) == []


def test_poller_that_lost_its_lease_writes_nothing_more(running, monkeypatch):
    """Another worker takes the step over in the middle: the first drops it and goes on."""
    read = poller.FollowWindow._after_reading

    def taken_over(window, one, snapshot):
        Step.objects.filter(pk=one.claim.step_id).update(lease_token=99)
        return read(window, one, snapshot)

    monkeypatch.setattr(poller.FollowWindow, "_after_reading", taken_over)
    assert poller.follow(never, window_s=5) == 0
    running.refresh_from_db()
    assert (running.progress_ratio, running.evidence.count()) == (0, 0)
    monkeypatch.undo()
    step = running.steps.get(state=RunState.RUNNING)
    release(Claim(step.pk, 99))
    end(running)


def test_connection_outlives_its_window(running, monkeypatch):
    connects = []
    connect = StaticDriver.connect

    async def counted(self, target):
        connects.append(target.port)
        return await connect(self, target)

    monkeypatch.setattr(StaticDriver, "connect", counted)
    followed_until(running, 1)  # on a busy machine one window may end before it is connected
    for _ in range(3):
        assert poller.follow(lambda claim: None, window_s=0.3) == 1
    assert len(connects) == 1
    end(running)


def test_run_that_cannot_be_written_does_not_hold_up_the_others(queued, monkeypatch):
    """Two runs say something at once; what one of them says cannot be stored."""
    broken_run, broken = followed()
    good_run, good = followed()
    window = poller.FollowWindow(lambda claim: None, connections())
    snapshot = Snapshot("b", True, True, STATUS, (), (), None)
    for one in take_up([broken, good]):
        window._followed[one.claim.step_id] = one
        window._unwritten[one.claim.step_id] = Progress(one.claim, one.fields(snapshot, STATUS))
    write = poller.progress_write

    def refused(gathered):
        if broken in {progress.claim for progress in gathered}:
            raise ZeroDivisionError("poison")
        return write(gathered)

    monkeypatch.setattr(poller, "progress_write", refused)
    window._write()
    assert [one.claim for one in window._followed.values()] == [good]
    good_run.refresh_from_db()
    assert good_run.progress_ratio == 0.4
    step = broken_run.steps.get()
    assert (step.lease_until, step.last_error) == (None, "bug: ZeroDivisionError: poison")
    assert window.let_go() == 1


def test_cancel_reaches_the_runner_once(running, sshd):
    assert poller.follow(lambda claim: None, window_s=1.2) == 1
    run_cancel(run=running, actor="tester")
    assert driven(running).state == RunState.CANCELLED
    words = [command.rstrip("'").split()[-1] for command in sshd.commands]
    assert words.count("cancel") == 1


def test_run_that_cannot_be_followed_does_not_hold_up_the_others(running, monkeypatch):
    """Two runs are taken up at once; one of them was prepared by a version that we do not know."""
    strange = factories.run(state=RunState.RUNNING, profile="later")
    step = Step.objects.create(run=strange, state=RunState.RUNNING, next_due_at=clock.now())
    assert poller.follow(lambda claim: None, window_s=1.5) == 1
    step.refresh_from_db()
    assert step.last_error == "bug: KeyError: 'later'"
    running.refresh_from_db()
    assert running.live["state"] == "running"
    Step.objects.filter(pk=step.pk).delete()
    end(running)
