"""Follows running runs, many at once: one thread talks to the hosts, the caller's to the database.

Each run is read about once a second. Its results are stored as they come, so that whatever happens
to the host later, what was measured is kept.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.dateparse import parse_datetime

from backend.benchmarks.models import Run, RunState, Step
from backend.benchmarks.transitions import StaleState
from backend.common import clock
from backend.domain.errors import ProbeError, Reason
from backend.domain.parsing.runner_status import RunnerStatus
from backend.domain.stats import is_settled
from workers import engine, pipeline
from workers.driver import DriverError, ProviderDriver, Target, Transport
from workers.leases import Claim, LeaseLost, claim_due, fenced, is_followed, release, renewed
from workers.probes.registry import Plan, series
from workers.registry import driver
from workers.results import DISTURBED, readings_store

log = logging.getLogger(__name__)

MAX_WINDOW_S = 60
MAX_FOLLOWED = 300
PERIOD_S = 1.0
END_PERIOD_S = 0.25
END_S = 3
"""Shortly before the expected end we look more often, so that the end is seen soon."""
SILENT_PERIOD_S = 5.0
OVERDUE_S = 3
"""A second poller takes only what the first leaves lying, so that workers stay free for steps."""
CLOSE_S = 2


@dataclass
class Followed:
    """One run that we follow, and the open way to its host."""

    claim: Claim
    run_id: object
    directory: str
    after: int
    plan: Plan
    machine: ProviderDriver
    target: Target
    transport: Transport | None = None
    reading: "Future[pipeline.Snapshot] | None" = None
    next_at: float = 0
    orders: set[str] = field(default_factory=set)
    """Files to create on the target: `cancel`, `stop/<probe>-<variant>`."""
    is_restarting: bool = False
    """The runner is dead: starting it again makes it tidy up and say so."""


def follow(
    dispatch: engine.Dispatch,
    *,
    window_s: float | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> int:
    """Follow every running run that nobody follows, until they end or the window closes.

    Returns how many are left over; those are due again at once, and a poller is asked for. No
    longer being wanted closes the window early.
    """
    if window_s is None:
        window_s = min(MAX_WINDOW_S, settings.LEASE_S / 2)
    until = time.monotonic() + window_s
    followed: dict[int, Followed] = {}
    with _loop_thread() as loop:
        try:
            _follow_until(until, is_wanted, followed, loop, dispatch)
        finally:
            left = _let_go(followed, loop)
    if left:
        dispatch(None)
    return left


def _follow_until(
    until: float,
    is_wanted: Callable[[], bool],
    followed: dict[int, Followed],
    loop: asyncio.AbstractEventLoop,
    dispatch: engine.Dispatch,
) -> None:
    claim_at = 0.0
    overdue_s: float = OVERDUE_S if is_followed() else 0
    while (now := time.monotonic()) < until and is_wanted():
        if now >= claim_at:
            claim_at = now + PERIOD_S
            room = MAX_FOLLOWED - len(followed)
            for claim in claim_due(is_polling=True, limit=room, overdue_s=overdue_s):
                _take_up(claim, followed, dispatch)
            overdue_s = 0
        if not followed:
            return
        for one in followed.values():
            if one.reading is None and one.next_at <= now:
                one.reading = asyncio.run_coroutine_threadsafe(_read(one), loop)
        _wait(followed, until=min(until, claim_at))
        for one in list(followed.values()):
            if one.reading is not None and one.reading.done():
                _note(one, followed, loop, dispatch)


def _wait(followed: dict[int, Followed], *, until: float) -> None:
    """Until a reading is there, or the next one is due."""
    pending = [one.reading for one in followed.values() if one.reading is not None]
    wakes = [one.next_at for one in followed.values() if one.reading is None]
    seconds = max(0.0, min([until, *wakes]) - time.monotonic())
    if pending:
        wait(pending, timeout=seconds, return_when="FIRST_COMPLETED")
    else:
        time.sleep(seconds)


def _take_up(claim: Claim, followed: dict[int, Followed], dispatch: engine.Dispatch) -> None:
    try:
        step = renewed(claim)
        run = step.run
        last = run.evidence.order_by("n").values_list("n", flat=True).last()
        followed[claim.step_id] = Followed(
            claim=claim,
            run_id=run.pk,
            directory=run.live["directory"],
            after=last or 0,
            plan=engine.plan_of(run),
            machine=driver(run.host.driver),
            target=engine.target_of(run.host),
        )
    except LeaseLost as lost:
        log.info("dropped: %s", lost)
    except Exception as error:
        log.exception("step %s failed", claim.step_id)
        engine.crashed(claim, error, dispatch)


# --- the thread that talks to the hosts -----------------------------------------------------------


@contextmanager
def _loop_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="hosts", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _read(one: Followed) -> pipeline.Snapshot:
    try:
        if one.transport is None:
            one.transport = await one.machine.connect(one.target)
        if one.is_restarting:
            await pipeline.start(one.transport, one.directory)
        return await pipeline.read(
            one.transport, one.directory, after=one.after, orders=sorted(one.orders)
        )
    except (DriverError, asyncio.CancelledError):
        await _close(one)
        raise
    except ProbeError as error:
        raise DriverError(Reason.BUG, str(error), retryable=True) from error


async def _close(one: Followed) -> None:
    transport, one.transport = one.transport, None
    if transport is not None:
        await transport.close()


def _let_go(followed: dict[int, Followed], loop: asyncio.AbstractEventLoop) -> int:
    """Close every connection and give every step back; returns how many there were."""
    for one in followed.values():
        if one.reading is not None:
            one.reading.cancel()
    for one in followed.values():
        _run_in(loop, _close(one))
        try:
            release(one.claim, is_progress=True)
        except LeaseLost as lost:
            log.info("dropped: %s", lost)
    return len(followed)


def _run_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
    wait([asyncio.run_coroutine_threadsafe(work, loop)], timeout=CLOSE_S)


# --- what a reading means -------------------------------------------------------------------------


def _note(
    one: Followed,
    followed: dict[int, Followed],
    loop: asyncio.AbstractEventLoop,
    dispatch: engine.Dispatch,
) -> None:
    """Write what was read, and stop following when the run goes on to its next state."""
    reading, one.reading = one.reading, None
    if reading is None:
        return
    one.next_at = time.monotonic() + PERIOD_S
    try:
        error = reading.exception()
        if error is None:
            outcome = _after_reading(one, reading.result())
        elif isinstance(error, DriverError):
            outcome = _after_silence(one, error)
        else:
            raise error
        if outcome is None:
            return
        engine.advance(one.claim, outcome, dispatch)
    except (LeaseLost, StaleState, CancelledError) as lost:
        log.info("dropped: %s", lost)
    except Exception as error:
        log.exception("run %s failed", one.run_id)
        engine.crashed(one.claim, error, dispatch)
    del followed[one.claim.step_id]
    _run_in(loop, _close(one))


def _after_reading(one: Followed, snapshot: pipeline.Snapshot) -> engine.Move | None:
    """Store results and progress, give orders, and say whether the runner is over."""
    readings = [pipeline.reading(result) for result in snapshot.results]
    with fenced(one.claim) as step:
        run = step.run
        readings_store(run, readings)
        if readings:
            one.after = readings[-1].raw.number
        if snapshot.boot_id != run.boot_id:
            return _lost_ground(run, Reason.REBOOTED, "the host was rebooted during the run")
        if not snapshot.has_directory or snapshot.status is None:
            return _lost_ground(run, Reason.INTERRUPTED, "the run's directory has vanished")
        _progress_write(run, snapshot.status, snapshot.last_lines)
        one.orders.clear()
        if snapshot.status.is_over:
            return _over(run, snapshot.status)
        if not snapshot.is_alive:
            if one.is_restarting:
                return _lost_ground(run, Reason.INTERRUPTED, "the runner was killed")
            one.is_restarting, one.next_at = True, 0
            return None
        one.orders |= _orders(step, one.plan, snapshot.status, has_news=bool(readings))
    status = snapshot.status
    is_last = status.step >= status.steps - 1
    if is_last or one.orders or one.plan.expected_s * (1 - status.progress) < END_S:
        one.next_at = time.monotonic() + END_PERIOD_S
    return None


def _lost_ground(run: Run, reason: Reason, detail: str) -> engine.Move:
    return engine.Move(RunState.TEARING_DOWN, engine.failed(run, reason, detail), event=detail)


def _over(run: Run, status: RunnerStatus) -> engine.Move:
    fields: dict[str, object] = {}
    if status.state == "cancelled" and not run.failure_reason:
        fields["outcome"] = RunState.CANCELLED
    return engine.Move(RunState.COLLECTING, fields)


def _progress_write(run: Run, status: RunnerStatus, last_lines: Sequence[str]) -> None:
    run.probe = status.probe or ""
    run.progress_ratio = max(run.progress_ratio, status.progress)
    run.runner_s = status.monotonic_s
    run.live = {
        **{key: value for key, value in run.live.items() if key != "silent_since"},
        "state": status.state,
        "variant": status.variant,
        "repeat": status.repeat,
        "step": status.step,
        "steps": status.steps,
        "quiet_wait_s": status.quiet_wait_s,
        "last_lines": list(last_lines) or run.live.get("last_lines", []),
        "read_at": clock.now().isoformat(),
    }
    run.save(update_fields=["probe", "progress_ratio", "runner_s", "live"])


def _orders(step: Step, plan: Plan, status: RunnerStatus, *, has_news: bool) -> set[str]:
    """What the runner is to do now: end, or leave out the rest of a series."""
    run = step.run
    if run.is_cancel_requested:
        return {"cancel"}
    if step.deadline_at is not None and clock.now() > step.deadline_at:
        detail = f"the runner did not finish within {plan.deadline_s:.0f} s"
        Run.objects.filter(pk=run.pk).update(**engine.failed(run, Reason.TIMEOUT, detail))
        return {"cancel"}
    if status.monotonic_s > plan.profile.time_cap_s:
        return {f"stop/{probe}-{variant}" for probe, variant in plan.series}
    if not has_news or not plan.rule:
        return set()
    values: dict[str, list[float]] = {}
    for metric, value, flags in run.samples.order_by("repeat").values_list(
        "metric", "value", "flags"
    ):
        if DISTURBED not in flags:
            values.setdefault(metric, []).append(value)
    return {
        f"stop/{probe}-{variant}"
        for (probe, variant), rule in plan.rule.items()
        if is_settled(values.get(series(probe, variant).metric, []), rule)
    }


def _after_silence(one: Followed, error: DriverError) -> engine.Move | None:
    """The host does not answer: wait for it, but not for ever. The runner does not need us."""
    one.next_at = time.monotonic() + SILENT_PERIOD_S
    with fenced(one.claim) as step:
        run = step.run
        since = parse_datetime(str(run.live.get("silent_since", ""))) or clock.now()
        if "silent_since" not in run.live:
            log.warning("run %s on %s does not answer: %s", run.pk, run.host.name, error)
        if not error.retryable:
            return engine.refused(run, error)
        if run.is_cancel_requested:
            return engine.Move(RunState.TEARING_DOWN, {"outcome": RunState.CANCELLED})
        if clock.now() - since > engine.lost_after():
            fields = engine.failed(run, error.reason, error.detail, outcome=RunState.LOST)
            return engine.Move(RunState.TEARING_DOWN, fields, event=error.detail)
        run.live = {**run.live, "silent_since": since.isoformat()}
        run.save(update_fields=["live"])
        Step.objects.filter(pk=step.pk).update(last_error=str(error)[:2000])
    return None
