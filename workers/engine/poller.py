"""Follows running runs, many at once: one thread talks to the hosts, the caller's to the database.

Each run is read about once a second. Its results are stored as they come, so that whatever happens
to the host later, what was measured is kept. What many runs say is written together.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from django.conf import settings
from django.utils.dateparse import parse_datetime

from backend.benchmarks.models import Run, RunState
from backend.benchmarks.selectors.runs import steps_to_cancel
from backend.benchmarks.services.leases import (
    Claim,
    LeaseLost,
    claim_due,
    fence,
    is_followed,
    release_all,
)
from backend.benchmarks.services.progress import Progress, progress_write
from backend.benchmarks.services.results import repeats_store
from backend.benchmarks.services.runs import run_failure_record
from backend.benchmarks.services.steps import silence_record
from backend.benchmarks.services.transitions import StaleState
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.measure.readers.runner_status import RunnerStatus
from backend.measure.repeats import Repeat, repeat_of
from workers.engine import dispatch as engine
from workers.engine.followed_run import LOCAL_PERIOD_S, PERIOD_S, Followed, take_up
from workers.engine.steps import Move, failing, failure_fields, jitter
from workers.remote.connections import Connections, connections
from workers.remote.pipeline import Snapshot

log = logging.getLogger(__name__)

# Shorter than a lease, so that a window's claims do not run out under it.
MAX_WINDOW_S = 60
MAX_FOLLOWED = 300
# This long before the expected end of a run we look more often.
END_S = 3
# A host that is rebooting or cut off is tried again after so long, and ever more seldom: up to a quarter of
# a lease.
SILENT_PERIOD_S = 5.0
# A second poller takes only what the first leaves lying, so that workers stay free for steps.
OVERDUE_S = 3
# Gathered: one statement for hundreds of runs costs little more than one for a single run.
WRITE_PERIOD_S = 0.5
# Whether somebody wants a run to end is looked up this often, for all runs at once: whoever presses the
# button on a host that others need wants it to be free again within two seconds.
CANCEL_PERIOD_S = 0.5
LOCAL_CANCEL_PERIOD_S = 1.0
# The provider of a rented machine that is silent is asked this often whether it lives: calls are limited.
ASK_PERIOD_S = 15.0
# Readings that are under way when the window closes are waited for this long. Their orders are on their
# way.
LAST_READINGS_S = 2.0


def follow(
    dispatch: engine.Dispatch,
    *,
    window_s: float | None = None,
    is_needed: Callable[[], bool] = lambda: True,
) -> int:
    """Follow every running run that nobody follows, until they end or the window closes.

    Returns how many are left over; those are due again at once, and a poller is asked for. No
    longer being needed closes the window early.
    """
    if window_s is None:
        window_s = min(MAX_WINDOW_S, settings.LEASE_S / 2)
    window = FollowWindow(dispatch, connections())
    try:
        window.run(time.monotonic() + window_s, is_needed)
    finally:
        left = window.let_go()
    if left:
        dispatch(None)
    return left


class FollowWindow:
    """The runs that are followed for a while, by the id of their step."""

    def __init__(self, dispatch: engine.Dispatch, hosts: Connections) -> None:
        self._dispatch = dispatch
        self._hosts = hosts
        self._followed: dict[int, Followed] = {}
        self._read: SimpleQueue[Followed] = SimpleQueue()
        """Runs whose reading is there."""
        self._unwritten: dict[int, Progress] = {}
        self._write_at = 0.0

    def run(self, until: float, is_needed: Callable[[], bool]) -> None:
        """Until nothing is left to follow, or that time."""
        claim_at = cancel_at = 0.0
        is_local = False
        overdue_s: float = OVERDUE_S if is_followed() else 0
        while (now := time.monotonic()) < until and is_needed():
            if now >= claim_at:
                self._claim(overdue_s)
                is_local = all(followed_run.is_local for followed_run in self._followed.values())
                claim_at = now + (LOCAL_PERIOD_S if is_local else PERIOD_S)
                # Something lay there, so the first poller does not keep up: from now on this one
                # takes all that is due.
                overdue_s = 0
            if not self._followed:
                return
            if now >= cancel_at:
                cancel_at = now + (LOCAL_CANCEL_PERIOD_S if is_local else CANCEL_PERIOD_S)
                self._order_cancels()
            self._read_due(now)
            self._wait(min(until, claim_at, cancel_at))
            self._take_in_all()

    def _claim(self, overdue_s: float) -> None:
        free_count = MAX_FOLLOWED - len(self._followed)
        claims = claim_due(is_polling=True, limit=free_count, overdue_s=overdue_s)
        followed: list[Followed] = []
        try:
            followed = take_up(claims)
        except Exception:  # one of them cannot be followed: find out which
            log.exception("taking up %s runs at once failed", len(claims))
            for claim in claims:
                followed += self._take_up_each(claim)
        for number, followed_run in enumerate(followed):
            # Apart from each other, so that they do not all come at the same moment.
            followed_run.next_at = time.monotonic() + PERIOD_S * number / len(followed)
            self._followed[followed_run.claim.step_id] = followed_run

    def _take_up_each(self, claim: Claim) -> list[Followed]:
        try:
            return take_up([claim])
        except Exception as error:
            log.exception("step %s failed", claim.step_id)
            engine.fail_as_bug(claim, error, self._dispatch)
            return []

    def _order_cancels(self) -> None:
        for step_id in steps_to_cancel(self._followed):
            followed_run = self._followed[step_id]
            if "cancel" not in followed_run.ordered | followed_run.orders:
                followed_run.order({"cancel"})
                followed_run.next_at = 0

    def _read_due(self, now: float) -> None:
        for followed_run in self._followed.values():
            if followed_run.reading is None and followed_run.next_at <= now:
                period_s = followed_run.period_s
                # On the run's own beat, so that runs stay apart from each other; one that fell
                # behind begins a new beat instead of catching up.
                followed_run.next_at = period_s + (
                    followed_run.next_at if now < followed_run.next_at + period_s else now
                )
                followed_run.sent = set(followed_run.orders)
                followed_run.reading = self._hosts.submit(followed_run.read(self._hosts))
                followed_run.reading.add_done_callback(partial(self._put, followed_run))

    def _put(self, followed: Followed, _: object) -> None:
        # Called in the thread of the connections: all else about a run happens in the thread that
        # owns it.
        self._read.put(followed)

    def _wait(self, until: float) -> None:
        """Until a reading is there, the next one is due, or something is to be written."""
        wakes = [
            followed_run.next_at
            for followed_run in self._followed.values()
            if followed_run.reading is None
        ]
        if self._unwritten:
            wakes.append(self._write_at)
        try:
            read = self._read.get(timeout=max(0.0, min([until, *wakes]) - time.monotonic()))
        except Empty:
            return
        self._take_in(read)

    def _take_in_all(self) -> None:
        """Whatever else has come by now, and then what is to be written."""
        while True:
            try:
                self._take_in(self._read.get_nowait())
            except Empty:
                break
        if self._unwritten and time.monotonic() >= self._write_at:
            self._write()

    def let_go(self) -> int:
        """Give every step back, its connection kept for who comes next; returns how many."""
        reading = [
            followed_run.reading
            for followed_run in self._followed.values()
            if followed_run.reading is not None
        ]
        wait(reading, timeout=LAST_READINGS_S)
        # Whatever has gathered is written at once, as the claims that allow it are given back next.
        self._write_at = 0
        self._take_in_all()
        for followed_run in self._followed.values():
            if followed_run.reading is not None:
                # Its connection cannot be kept while an answer is on its way: the cancelled reading
                # closes it.
                followed_run.reading.cancel()
            elif followed_run.transport is not None:
                self._hosts.keep(followed_run.run.pk, followed_run.target, followed_run.transport)
        release_all(followed_run.claim for followed_run in self._followed.values())
        return len(self._followed)

    # --- what a reading means ------------------------------------------------------------------

    def _take_in(self, followed: Followed) -> None:
        """Note what was read, and stop following when the run goes on to its next state."""
        read, followed.reading = followed.reading, None
        # Dropped while it was being read: only now can its connection be closed, as the reading used it.
        if read is None or self._followed.get(followed.claim.step_id) is not followed:
            self._hosts.submit(followed.close())
            return
        try:
            error = read.exception()
            outcome: Move | HandOver | None
            if error is None:
                outcome = self._after_reading(followed, read.result())
            elif isinstance(error, DriverError):
                # Written first: later it would look as if the host had answered again after its
                # silence.
                self._write_now(followed)
                outcome = _after_silence(followed, error)
            else:
                raise error
            if outcome is None:
                return
            if isinstance(outcome, HandOver):
                self._dispatch(followed.claim)
            else:
                engine.advance(followed.claim, outcome, self._dispatch)
        except (LeaseLost, StaleState, CancelledError) as lost:
            log.info("dropped: %s", lost)
        except Exception as error:
            log.exception("run %s failed", followed.run.pk)
            engine.fail_as_bug(followed.claim, error, self._dispatch)
        self._drop(followed)

    def _after_reading(self, followed: Followed, snapshot: Snapshot) -> Move | None:
        """Consequence of a reading: the run's next state, or progress to be written."""
        readings = [repeat_of(result) for result in snapshot.results]
        status = snapshot.status
        followed.is_silent = False
        followed.orders_are_given()
        if (
            status is None
            or status.is_over
            or not (snapshot.has_directory and snapshot.is_alive)
            # After a reboot the results of before stand beside a clock that began anew: never merged.
            or snapshot.boot_id != followed.run.boot_id
        ):
            self._write_now(followed)
            return _after_end(followed, snapshot, readings)
        followed.take_in(readings)
        if followed.is_late:
            _give_up(followed)
        else:
            followed.order(followed.series_to_end(status))
        progress = self._unwritten.setdefault(followed.claim.step_id, Progress(followed.claim))
        progress.repeats += readings
        if fields := followed.fields(snapshot, status):
            # The readings before may have brought a series or lines that this one does not repeat.
            live_before = progress.fields["live"] if progress.fields else {}
            progress.fields = {**fields, "live": {**live_before, **fields["live"]}}
        _hurry(followed, status)
        return None

    def _write(self) -> None:
        """Write what has gathered; one run that cannot be written does not hold up the others."""
        # Emptied first: what cannot be written must not come back with every pass.
        gathered, self._unwritten = list(self._unwritten.values()), {}
        self._write_at = time.monotonic() + WRITE_PERIOD_S
        try:
            self._write_progress(gathered)
        except Exception:
            log.exception("writing %s runs at once failed", len(gathered))
            for progress in gathered:
                self._write_alone(progress)

    def _write_now(self, followed: Followed) -> None:
        """Write the run's last progress before what comes next."""
        progress = self._unwritten.pop(followed.claim.step_id, None)
        if progress is not None:
            self._write_progress([progress])

    def _write_alone(self, progress: Progress) -> None:
        followed_run = self._followed[progress.claim.step_id]
        try:
            self._write_progress([progress])
        except Exception as error:
            log.exception("run %s failed", followed_run.run.pk)
            engine.fail_as_bug(followed_run.claim, error, self._dispatch)
            self._drop(followed_run)

    def _write_progress(self, gathered: list[Progress]) -> None:
        ours = progress_write(gathered)
        for progress in gathered:
            followed_run = self._followed[progress.claim.step_id]
            if followed_run.claim.step_id not in ours:
                log.info("dropped: step %s is no longer ours", followed_run.claim.step_id)
                self._drop(followed_run)

    def _drop(self, followed: Followed) -> None:
        self._followed.pop(followed.claim.step_id, None)
        self._unwritten.pop(followed.claim.step_id, None)
        if followed.reading is None:
            self._hosts.submit(followed.close())
        else:
            followed.reading.cancel()


def _hurry(followed: Followed, status: RunnerStatus) -> None:
    """Look again soon, where the end is near or an order is to be given."""
    is_last = status.step >= status.steps - 1
    left_s = followed.plan.expected_s * (1 - status.progress)
    if followed.orders or left_s < (3 * END_S if is_last else END_S):
        followed.next_at = min(followed.next_at, time.monotonic() + followed.end_period_s)


def _give_up(followed: Followed) -> None:
    """The runner should have been over long ago: it is ended, and its results are kept."""
    if "cancel" in followed.ordered | followed.orders:
        return
    with fence(followed.claim) as step:
        detail = f"the runner did not finish within {followed.plan.deadline_s:.0f} s"
        fields = failure_fields(step.run, Reason.TIMEOUT, detail)
        if fields:
            run_failure_record(run=step.run, fields=fields)
    followed.order({"cancel"})


def _after_end(followed: Followed, snapshot: Snapshot, readings: list[Repeat]) -> Move | None:
    """The runner is over, or what it stood on has gone: keep the results and say which."""
    status = snapshot.status
    with fence(followed.claim) as step:
        run = step.run
        # First, whatever has happened: what was measured is kept.
        repeats_store([(run, readings)])
        followed.take_in(readings)
        if snapshot.boot_id != run.boot_id:
            return failing(run, Reason.REBOOTED, "the host was rebooted during the run")
        if not snapshot.has_directory or status is None:
            return failing(run, Reason.INTERRUPTED, "the run's directory has vanished")
        run.probe = status.probe or ""
        fields: dict[str, object] = {
            "probe": run.probe,
            "progress_ratio": max(run.progress_ratio, status.progress),
            "runner_s": status.monotonic_s,
            "live": _live(run, followed.fields(snapshot, status)),
        }
        if status.is_over:
            if status.state == "cancelled" and not run.failure_reason:
                fields["outcome"] = RunState.CANCELLED
            return Move(RunState.COLLECTING, fields)
        if followed.is_restarting:
            return failing(run, Reason.INTERRUPTED, "the runner was killed")
        followed.is_restarting, followed.next_at = True, 0
    return None


def _live(run: Run, fields: dict[str, Any] | None) -> dict[str, Any]:
    said = {**run.live, **(fields["live"] if fields else {})}
    # The host has answered: a later silence is counted from its own beginning, not from this one's.
    return {name: value for name, value in said.items() if name != "silent_since"}


@dataclass(frozen=True)
class HandOver:
    """The step goes to a worker, who asks the provider: here that would hold up the others, and
    a cloud's library is not loaded."""


def _after_silence(followed: Followed, error: DriverError) -> Move | HandOver | None:
    """The host does not answer: wait for it, but not for ever. The runner does not need us."""
    followed.is_silent = True
    with fence(followed.claim) as step:
        run = step.run
        since = parse_datetime(str(run.live.get("silent_since", ""))) or clock.now()
        silent_s = (clock.now() - since).total_seconds()
        followed.next_at = time.monotonic() + _silent_period_s(run, silent_s)
        if "silent_since" not in run.live:
            log.warning("run %s on %s does not answer: %s", run.pk, run.host.name, error)
        if not error.retryable:
            return engine.refuse(run, error)
        if run.is_cancel_requested:
            return Move(RunState.TEARING_DOWN, {"outcome": RunState.CANCELLED})
        if silent_s > settings.HOST_LOST_AFTER_S:
            return failing(run, error.reason, error.detail, outcome=RunState.LOST)
        # In the row: the next window, or another worker, must go on counting and not begin anew.
        run.live = {**run.live, "silent_since": since.isoformat()}
        is_asking = run.host.is_rented and _is_to_be_asked(run)
        if is_asking:
            run.live["asked_at"] = clock.now().isoformat()
        silence_record(run=run, step=step, error=str(error))
    return HandOver() if is_asking else None


def _silent_period_s(run: Run, silent_s: float) -> float:
    # A rented machine may have been taken away, which its provider is asked about in between.
    if run.host.is_rented:
        return SILENT_PERIOD_S
    period_s = max(SILENT_PERIOD_S, jitter(min(silent_s, settings.LEASE_S) / 4))
    # The last try comes when its time is over, and not a quarter of a lease later.
    left_s = settings.HOST_LOST_AFTER_S - silent_s
    return min(period_s, left_s) if left_s > SILENT_PERIOD_S else SILENT_PERIOD_S


def _is_to_be_asked(run: Run) -> bool:
    asked = parse_datetime(str(run.live.get("asked_at", "")))
    return asked is None or (clock.now() - asked).total_seconds() > ASK_PERIOD_S
