"""Takes runs from state to state: one step at a time, under a lease, with fenced writes.

A step looks at the run, does its remote work without a transaction, and writes the outcome in one
fenced transaction that also creates the next step. Nobody sleeps: what has to wait gets a due time.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from backend.benchmarks.models import Host, HostState, Run, RunState, Step, Tick
from backend.benchmarks.services import host_private_key, run_finish
from backend.benchmarks.transitions import TRANSITIONS, StaleState, move
from backend.common import clock
from backend.common.queue import Task, enqueue
from backend.domain.errors import ProbeError, Reason
from backend.domain.profiles import PROFILES
from workers import pipeline
from workers.driver import DriverError, HostKeyChanged, Target, Transport
from workers.leases import (
    Claim,
    LeaseLost,
    claim_due,
    fenced,
    has_due_polls,
    lease_end,
    release,
    renewed,
)
from workers.probes.registry import Plan, plan, plan_script
from workers.registry import driver
from workers.results import offer_facts_record, readings_store, run_failure

log = logging.getLogger(__name__)
T = TypeVar("T")
Dispatch = Callable[[Claim | None], None]
"""Sends a claimed step on; None asks for a poller."""

MAX_ATTEMPTS = 4
MAX_BACKOFF_S = 300
BUSY_RETRY_S = 2
LOST_AFTER_LEASES = 5
"""A host that is silent for this many leases (10 minutes by default) is lost."""


@dataclass(frozen=True)
class Move:
    """The outcome of a step: the next state, and what else is written about the run."""

    target: RunState
    fields: Mapping[str, object] = field(default_factory=dict)
    event: str = ""
    effect: Callable[[], None] | None = None
    """Further rows to write, in the same fenced transaction."""


@dataclass(frozen=True)
class Wait:
    """The outcome of a step that found nothing to do yet."""

    seconds: float
    why: str
    is_progress: bool = False
    """Whether nothing went wrong, so that the attempts start anew."""


# --- helpers of steps ---------------------------------------------------------------------------


def step_seconds() -> float:
    """How long one step may work: well within its lease."""
    return 0.75 * settings.LEASE_S


def lost_after() -> dt.timedelta:
    return LOST_AFTER_LEASES * lease_end()


def target_of(host: Host) -> Target:
    """How to log in to the host."""
    return Target(
        address=host.address,
        port=host.port,
        username=host.username,
        private_key=host_private_key(host=host),
        host_key=host.host_key,
        is_private_allowed=settings.SSH_ALLOW_PRIVATE,
    )


def plan_of(run: Run) -> Plan:
    """What the run measures; its directory is known once the target was looked at."""
    return plan(
        PROFILES[run.profile], run.probes, run.parameters, run_directory=run.live["directory"]
    )


def on_target(run: Run, work: Callable[[Transport], Coroutine[Any, Any, T]]) -> T:
    """Log in, do the work, let go; DriverError(timeout) when the step's time is over."""
    machine, target = driver(run.host.driver), target_of(run.host)

    async def connected() -> T:
        async with asyncio.timeout(step_seconds()):
            transport = await machine.connect(target)
            try:
                return await work(transport)
            finally:
                await transport.close()

    try:
        return asyncio.run(connected())
    except TimeoutError:
        raise DriverError(
            Reason.TIMEOUT, f"the step took more than {step_seconds():g} s", retryable=True
        ) from None


def failed(
    run: Run, reason: Reason, detail: str, *, outcome: RunState = RunState.FAILED
) -> dict[str, object]:
    """Fields that record why a run fails; the first reason stays."""
    if run.failure_reason:
        return {}
    return {"outcome": outcome, "failure_reason": reason, "failure_detail": detail[:2000]}


# --- what each state does ----------------------------------------------------------------------


def begin(run: Run, step: Step) -> Move:
    """The host is free and trusted: take it. Machines of one's own need no budget and no launch."""
    if run.host.state != HostState.TRUSTED:
        return Move(RunState.FAILED, failed(run, Reason.AUTH, "the host key is not approved"))
    return Move(RunState.REACHABLE, {"started_at": clock.now()})


def identify(run: Run, step: Step) -> Move:
    """Look at the target: architecture, boot, space, whether programs may run."""
    found = on_target(run, lambda transport: pipeline.identify(transport, str(run.pk)))
    live = {"directory": found.directory, "arch": found.arch}
    return Move(RunState.PREPARED, {"boot_id": found.boot_id, "live": live})


def prepare(run: Run, step: Step) -> Move | Wait:
    """Bring runner, probes and plan, and start the runner detached."""
    planned, directory = plan_of(run), run.live["directory"]

    async def work(transport: Transport) -> str | None:
        files = await pipeline.bundle(
            run.live["arch"],
            planned.programs,
            plan_script(planned),
            build_dir=settings.PROBE_BUILD_DIR,
        )
        await pipeline.prepare(transport, directory, files)
        return await pipeline.start(transport, directory)

    other = on_target(run, work)
    if other is not None:
        return Wait(BUSY_RETRY_S, f"{other} is measuring on this machine", is_progress=True)
    live = {**run.live, "expected_s": planned.expected_s}
    return Move(RunState.RUNNING, {"live": live})


def collect(run: Run, step: Step) -> Move:
    """Take over every result that is not stored yet, and judge the run."""
    snapshot = on_target(run, lambda t: pipeline.read_all(t, run.live["directory"]))
    damage = pipeline.damaged(snapshot)
    readings = [
        pipeline.reading(result, damage.get(result.name, "")) for result in snapshot.results
    ]
    fields: dict[str, object] = {}
    if snapshot.status is not None:
        fields["runner_s"] = snapshot.status.monotonic_s
    failure = run_failure(snapshot, readings)
    if failure is not None:
        fields |= failed(run, *failure)
    return Move(RunState.PARSED, fields, effect=lambda: readings_store(run, readings))


def conclude(run: Run, step: Step) -> Move:
    """What the inventory said about a machine of one's own becomes its offer's figures."""
    return Move(RunState.TEARING_DOWN, effect=lambda: offer_facts_record(run))


def tear_down(run: Run, step: Step) -> Move:
    """End what still runs on the target, remove our directory, and see that both are gone."""
    directory = run.live.get("directory")
    if directory:
        on_target(run, lambda transport: pipeline.teardown(transport, directory))
    return Move(RunState.VERIFIED_GONE)


def finish(run: Run, step: Step) -> Move:
    """The end that the run was heading for."""
    return Move(RunState(run.outcome))


HANDLERS: Mapping[RunState, Callable[[Run, Step], Move | Wait]] = {
    RunState.QUEUED: begin,
    RunState.REACHABLE: identify,
    RunState.PREPARED: prepare,
    RunState.COLLECTING: collect,
    RunState.PARSED: conclude,
    RunState.TEARING_DOWN: tear_down,
    RunState.VERIFIED_GONE: finish,
}
BEFORE_TEARDOWN = frozenset(
    state for state, following in TRANSITIONS.items() if RunState.TEARING_DOWN in following
)
CANCELLABLE = BEFORE_TEARDOWN - {RunState.RUNNING, RunState.COLLECTING, RunState.PARSED}
"""States in which a cancelled run has nothing measured to bring home."""


# --- running a step ----------------------------------------------------------------------------


def run_step(claim: Claim, dispatch: Dispatch) -> None:
    """Do one step of which we hold the claim, whatever happens store its outcome, and go on.

    A message that comes late or twice finds its claim gone and changes nothing.
    """
    try:
        step = renewed(claim)
        try:
            outcome = _worked(step)
        except DriverError as error:
            outcome = _after_error(step, error)
        except ProbeError as error:
            outcome = _after_error(step, DriverError(Reason.BUG, str(error), retryable=False))
        _write(claim, outcome, dispatch)
    except (LeaseLost, StaleState) as lost:
        log.info("dropped: %s", lost)
    except Exception as error:  # the outermost wrapper stores the reason
        log.exception("step %s failed", claim.step_id)
        crashed(claim, error, dispatch)


def _worked(step: Step) -> Move | Wait:
    run, state = step.run, RunState(step.state)
    if step.state != run.state and not run.is_finished:
        raise StaleState(f"step {step.state} of a run in {run.state}")
    if state in CANCELLABLE and run.is_cancel_requested:
        return Move(RunState.TEARING_DOWN, {"outcome": RunState.CANCELLED})
    if state in BEFORE_TEARDOWN | {RunState.QUEUED} and step.attempt > MAX_ATTEMPTS:
        return _given_up(
            step, Reason.BUG, f"gave up after {MAX_ATTEMPTS} attempts: {step.last_error}"
        )
    return HANDLERS[state](run, step)


def _after_error(step: Step, error: DriverError) -> Move | Wait:
    """Try again later while that makes sense, else the named failure, through the teardown."""
    run, state = step.run, RunState(step.state)
    log.warning("run %s on %s, %s: %s", run.pk, run.host.name, state, error)
    if isinstance(error, HostKeyChanged):
        _distrust(run.host, error.presented)
    if state == RunState.TEARING_DOWN:
        return _after_failed_teardown(step, error)
    if error.retryable and step.attempt < MAX_ATTEMPTS:
        return Wait(_backoff_s(step), str(error))
    return _given_up(step, error.reason, error.detail)


def refused(run: Run, error: DriverError) -> Move:
    """A running run whose host does not let us in any more."""
    if isinstance(error, HostKeyChanged):
        _distrust(run.host, error.presented)
    fields = failed(run, error.reason, error.detail)
    return Move(RunState.TEARING_DOWN, fields, event=error.detail)


def _given_up(step: Step, reason: Reason, detail: str) -> Move:
    target = RunState.FAILED if step.state == RunState.QUEUED else RunState.TEARING_DOWN
    return Move(target, failed(step.run, reason, detail), event=detail)


def _backoff_s(step: Step) -> float:
    return float(min(2 ** min(step.attempt - 1, 20), MAX_BACKOFF_S))


def _after_failed_teardown(step: Step, error: DriverError) -> Move | Wait:
    """Cleaning has no retry limit. The run itself ends as lost when its host stays silent, so
    that the host is not blocked for ever; this step then goes on by itself."""
    run = step.run
    is_over = clock.now() - step.created_at > lost_after()
    if run.is_finished or (error.retryable and run.outcome != RunState.LOST and not is_over):
        return Wait(_backoff_s(step), str(error))
    detail = f"{run.live.get('directory')} may remain on the host: {error.detail}"
    return Move(RunState.LOST, failed(run, error.reason, error.detail), event=detail)


def _distrust(host: Host, presented: str | None) -> None:
    """The host is refused until a person approves the key that it shows now."""
    changed: dict[str, object] = {"state": HostState.KEY_CHANGED}
    if presented is not None:
        changed |= {"scanned_key": presented, "scanned_at": clock.now()}
    Host.objects.filter(pk=host.pk).update(**changed)


def _write(claim: Claim, outcome: Move | Wait, dispatch: Dispatch) -> None:
    if isinstance(outcome, Wait):
        release(
            claim,
            after_s=outcome.seconds,
            error=outcome.why,
            is_progress=outcome.is_progress,
        )
    else:
        advance(claim, outcome, dispatch)


def advance(claim: Claim, outcome: Move, dispatch: Dispatch) -> None:
    """Write the outcome of a step and claim its successor, in one fenced transaction."""
    with fenced(claim) as step:
        run, target = step.run, outcome.target
        closed = Step.objects.filter(pk=step.pk)
        if run.is_finished:  # only the teardown outlives its run
            closed.update(finished_at=Now(), lease_until=None, next_due_at=None)
            run.events.create(kind="warning", detail="the host is clean again")
            return
        if target == RunState.LOST and step.state == RunState.TEARING_DOWN:
            closed.update(lease_until=None, next_due_at=Now() + lease_end())
        else:
            closed.update(finished_at=Now(), lease_until=None, next_due_at=None, last_error="")
        if outcome.effect is not None:
            outcome.effect()
        if outcome.event:
            run.events.create(kind="warning", detail=outcome.event[:2000])
        if TRANSITIONS[target]:
            move(run, target, **outcome.fields)
            run.events.create(kind="state", detail=target)
            _follow_on(run, target, dispatch)
        else:
            run_finish(run=run, state=target, **outcome.fields)
        log.info("run %s on %s: %s -> %s", run.pk, run.host.name, step.state, target)


def _follow_on(run: Run, state: RunState, dispatch: Dispatch) -> None:
    """The next step, due at once: claimed for whoever gets the message, or left to a poller."""
    if state == RunState.RUNNING:
        deadline = clock.now() + dt.timedelta(seconds=plan_of(run).deadline_s)
        Step.objects.create(run=run, state=state, next_due_at=Now(), deadline_at=deadline)
        transaction.on_commit(lambda: dispatch(None))
        return
    step = Step.objects.create(
        run=run,
        state=state,
        next_due_at=Now(),
        lease_token=1,
        lease_until=Now() + lease_end(),
        attempt=1,
    )
    transaction.on_commit(lambda: dispatch(Claim(step.pk, 1)))


def crashed(claim: Claim, error: Exception, dispatch: Dispatch) -> None:
    """A defect of ours: the step is tried again, and at last the run fails with the reason bug."""
    detail = f"{type(error).__name__}: {error}"
    try:
        step = renewed(claim)
        outcome = _after_error(step, DriverError(Reason.BUG, detail, retryable=True))
        _write(claim, outcome, dispatch)
    except (LeaseLost, StaleState) as lost:
        log.info("dropped: %s", lost)


# --- tick --------------------------------------------------------------------------------------


def tick() -> int:
    """Claim every due step and send it to the workers; returns how many."""
    Tick.objects.update_or_create(pk=1, defaults={"at": clock.now()})
    claims = claim_due(is_polling=False)
    for claim in claims:
        to_queue(claim)
    if has_due_polls():
        to_queue(None)
    return len(claims)


def to_queue(claim: Claim | None) -> None:
    """Dispatch through the broker."""
    if claim is None:
        enqueue(Task.POLL_STEPS)
    else:
        enqueue(Task.RUN_STEP, step_id=claim.step_id, token=claim.token)
