"""Takes runs from state to state: one step at a time, under a lease, with fenced writes.

A step looks at the run, does its remote work without a transaction, and writes the outcome in one
fenced transaction that also creates the next step. Nobody sleeps: what has to wait gets a due time.
"""

import datetime as dt
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.db import DatabaseError, transaction

from backend.benchmarks.models import Run, RunState, Step
from backend.benchmarks.services.hosts import host_key_distrust
from backend.benchmarks.services.leases import (
    Claim,
    LeaseLost,
    claim_due,
    due_polls,
    fence,
    host_lost_after,
    is_abandoned,
    is_here,
    release,
    renew_lease,
    silence_limit,
)
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.run_notes import event_record
from backend.benchmarks.services.runs import run_finish
from backend.benchmarks.services.steps import (
    step_close,
    step_create_claimed,
    step_create_followed,
    step_put_off,
    tick_record,
)
from backend.benchmarks.services.transitions import TRANSITIONS, StaleState, move
from backend.core import clock
from backend.core.database import is_database_away
from backend.core.logs import log_context
from backend.core.queue import Task, enqueue
from backend.foundation.errors import DriverError, ProbeError, Reason
from backend.providers.registry import provider
from backend.rentals.services.leaks import resource_alarm
from workers.engine import rented_pairs, rented_steps
from workers.engine.steps import HANDLERS, Move, Wait, failing, failure_fields, jitter, plan_of_run
from workers.remote.driver import HostKeyChanged

log = logging.getLogger(__name__)
# Sends a claimed step on; None asks for a poller.
Dispatch = Callable[[Claim | None], None]

# With the waits between them some ten seconds: what lasts longer is for a person to know.
MAX_ATTEMPTS = 4
MAX_BACKOFF_S = 300
# Fixed: the results wait on the host, and a rented one is paid for meanwhile.
COLLECT_RETRY_S = 5
# A full disk is seen to by a person, and nothing is lost meanwhile.
DATABASE_RETRY_S = 30
# Taken from the table of transitions, so that a state that is added there cannot be forgotten here.
BEFORE_TEARDOWN = frozenset(
    state for state, following in TRANSITIONS.items() if RunState.TEARING_DOWN in following
)
# States in which a cancelled run has nothing measured to collect. The later ones keep what they have.
CANCELLABLE = BEFORE_TEARDOWN - {RunState.RUNNING, RunState.COLLECTING, RunState.PARSED}
# States in which a rented machine may be taken away from under a step.
LOGGED_IN = frozenset({RunState.REACHABLE, RunState.PREPARED, RunState.COLLECTING})


# --- running a step ----------------------------------------------------------------------------


def run_step(claim: Claim, dispatch: Dispatch) -> None:
    """Do one step of which we hold the claim, whatever happens store its outcome, and go on.

    A message that comes late or twice finds its claim gone and changes nothing.
    """
    try:
        # Anew, as the message may have waited in the queue for most of its lease.
        step = renew_lease(claim)
        with log_context(run_id=str(step.run_id)):
            try:
                outcome = _work(step)
            except DriverError as error:
                outcome = _after_error(step, error)
            except ProbeError as error:
                # What the host said does not parse, and would not the next time either.
                outcome = _after_error(step, DriverError(Reason.BUG, str(error), retryable=False))
            _write(claim, outcome, dispatch)
    except (LeaseLost, StaleState) as lost:
        # No fault: somebody else has the step by now, and what that one writes is what counts.
        log.info("dropped: %s", lost)
    except Exception as error:  # the outermost wrapper stores the reason
        log.exception("step %s failed", claim.step_id)
        fail_as_bug(claim, error, dispatch)


def _work(step: Step) -> Move | Wait:
    run, state = step.run, RunState(step.state)
    # A finished run is let through: its machine may remain to be ended.
    if step.state != run.state and not run.is_finished:
        raise StaleState(f"step {step.state} of a run in {run.state}")
    if not is_here(run):
        return _elsewhere(step)
    handlers = rented_pairs.handlers_of(run) if run.host.is_rented else HANDLERS
    if state not in handlers:
        raise StaleState(f"a {state} run is followed, not worked on")
    if state in CANCELLABLE and run.is_cancel_requested:
        return Move(RunState.TEARING_DOWN, {"outcome": RunState.CANCELLED})
    # Attempts also count steps whose worker died: one that kills its workers would else go round for ever.
    if state in BEFORE_TEARDOWN | {RunState.QUEUED} and step.attempt > MAX_ATTEMPTS:
        return _give_up(
            step, Reason.BUG, f"stopped after {MAX_ATTEMPTS} attempts: {step.last_error}"
        )
    return handlers[state](run, step)


def _elsewhere(step: Step) -> Move | Wait:
    """A run on the machine of another worker is never touched, only ended when none is there."""
    if not is_abandoned(step):
        raise StaleState(f"run {step.run_id} is on the machine of another worker")
    why = (
        f"no worker with the WORKER_ID {step.run.worker} has been there for "
        f"{silence_limit().total_seconds():.0f} s"
    )
    error = DriverError(Reason.UNREACHABLE, why, retryable=True)
    if step.state == RunState.TEARING_DOWN:
        return _after_failed_teardown(step, error)
    if step.state in {RunState.RUNNING, RunState.COLLECTING}:
        return failing(step.run, error.reason, why, outcome=RunState.LOST)
    return _give_up(step, error.reason, why)


def _after_error(step: Step, error: DriverError) -> Move | Wait:
    """Try again later while that makes sense, else the named failure, through the teardown."""
    run, state = step.run, RunState(step.state)
    log.warning("run %s on %s, %s: %s", run.pk, run.host.name, state, error)
    if state == RunState.TEARING_DOWN:
        return _after_failed_teardown(step, error)
    # Spot machines are taken away: asking says so at once, where retries would end as unreachable.
    if state in LOGGED_IN and run.host.is_rented and error.retryable and error.reason != Reason.BUG:
        why = rented_steps.why_ended(run)
        if why is not None:
            return _give_up(step, Reason.INTERRUPTED, why)
    if state == RunState.COLLECTING and error.retryable and error.reason != Reason.BUG:
        return _after_failed_collecting(step, error)
    if error.retryable and step.attempt < MAX_ATTEMPTS:
        return Wait(_backoff_s(step), str(error))
    return _give_up(step, error.reason, error.detail)


def _after_failed_collecting(step: Step, error: DriverError) -> Move | Wait:
    """The results wait on the host: be as patient as while the run was measuring."""
    run = step.run
    # Collecting goes on for a cancelled run while its host answers; a silent one need not be waited
    # for.
    if run.is_cancel_requested:
        return Move(RunState.TEARING_DOWN, {"outcome": RunState.CANCELLED})
    if clock.now() - step.created_at <= host_lost_after():
        return Wait(COLLECT_RETRY_S, str(error), is_progress=True)
    return failing(run, error.reason, error.detail, outcome=RunState.LOST)


def refuse(run: Run, error: DriverError) -> Move:
    """A running run whose host does not let us in any more."""
    if isinstance(error, HostKeyChanged):
        host_key_distrust(host=run.host, pinned=error.pinned, presented=error.presented)
    return failing(run, error.reason, error.detail)


def _give_up(step: Step, reason: Reason, detail: str) -> Move:
    # A queued run has made nothing that a teardown would have to clean.
    target = RunState.FAILED if step.state == RunState.QUEUED else RunState.TEARING_DOWN
    return Move(target, failure_fields(step.run, reason, detail), event=detail)


def _backoff_s(step: Step) -> float:
    # The exponent is capped too: cleaning is tried without limit, and the power would grow to
    # thousands of digits.
    return jitter(min(2 ** min(step.attempt - 1, 20), MAX_BACKOFF_S))


def _after_failed_teardown(step: Step, error: DriverError) -> Move | Wait:
    """Cleaning has no retry limit. The run itself ends when its host stays silent, so that the host is
    not blocked for ever; this step then goes on by itself. A run that measured everything stays done:
    what may remain is an alarm, and takes no result away."""
    run = step.run
    is_over = clock.now() - step.created_at > silence_limit()
    # The engine's part goes on although the run is over: something may still cost money.
    if run.is_finished or (error.retryable and run.outcome != RunState.LOST and not is_over):
        return Wait(_backoff_s(step), str(error))
    is_rented = run.host.is_rented
    what = run.resource if is_rented else f"{run.live.get('directory')} on the host"
    detail = f"{what} may remain: {error.detail}"
    effect = partial(resource_alarm, resource=run.resource, detail=detail) if is_rented else None
    if run.outcome == RunState.DONE:
        return Move(RunState.DONE, event=detail, effect=effect)
    fields = failure_fields(run, error.reason, error.detail)
    return Move(RunState.LOST, fields, event=detail, effect=effect)


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
    # Everywhere the same order of locks, schedule, step, run: two workers would else wait for each other.
    with transaction.atomic(), _schedule_if_last(claim, outcome), fence(claim) as step:
        run, target = step.run, outcome.target
        if run.is_finished:  # only the teardown outlives its run
            step_close(step=step, error=step.last_error)
            if outcome.effect is not None:
                outcome.effect()
            said = "the machine is gone" if run.host.is_rented else "the host is clean again"
            event_record(run=run, kind="warning", detail=outcome.event or said)
            return
        # The run is over, but what it left behind may still be there: this step stays open to clean
        # it up.
        if step.state == RunState.TEARING_DOWN and not TRANSITIONS[target]:
            step_put_off(step=step)
        else:
            step_close(step=step)
        if outcome.effect is not None:
            outcome.effect()
        for kind, detail in (*outcome.events, ("warning", outcome.event)):
            if detail:
                # Details quote hosts and providers, whose words have no limit of length.
                event_record(run=run, kind=kind, detail=detail[:2000])
        if TRANSITIONS[target]:
            move(run, target, **outcome.fields)
            event_record(run=run, kind="state", detail=target)
            _follow_on(run, target, dispatch)
        else:
            run_finish(run=run, state=target, **outcome.fields)
        log.info("run %s on %s: %s -> %s", run.pk, run.host.name, step.state, target)


@contextmanager
def _schedule_if_last(claim: Claim, outcome: Move) -> Iterator[None]:
    """The end of a run lets others begin: that lock comes before any row of the run."""
    if not TRANSITIONS[outcome.target]:
        workspace_ids = Step.objects.filter(pk=claim.step_id).values_list("run__workspace_id")
        for (workspace_id,) in workspace_ids:
            schedule_lock(workspace_id=workspace_id)
    yield


def _follow_on(run: Run, state: RunState, dispatch: Dispatch) -> None:
    """The next step, due at once: claimed for whoever gets the message, or left to a poller."""
    if state == RunState.RUNNING:
        step_create_followed(run=run, deadline_at=_deadline(run))
        # After the commit: a worker that is faster than the commit would find no step to follow.
        transaction.on_commit(lambda: dispatch(None))
        return
    claim = step_create_claimed(run=run, state=state)
    transaction.on_commit(lambda: dispatch(claim))


def _deadline(run: Run) -> dt.datetime:
    """When the runner is ended: a rented machine does not live longer than it may."""
    deadline = clock.now() + dt.timedelta(seconds=plan_of_run(run).deadline_s)
    if not run.host.is_rented or run.resource.expires_at is None:
        return deadline
    last_login_s = provider(run.resource.account.provider).last_login_s
    # The results must be off a machine before it ends itself.
    return min(deadline, run.resource.expires_at - dt.timedelta(seconds=last_login_s))


def fail_as_bug(claim: Claim, error: Exception, dispatch: Dispatch) -> None:
    """A defect of ours: the step is tried again, and at last the run fails with the reason bug."""
    detail = f"{type(error).__name__}: {error}"
    if is_database_away(error):
        _put_off(claim, detail)
        return
    try:
        # The fault may have come after the lease had run out: then the step is another worker's
        # already.
        step = renew_lease(claim)
        # Retryable: it may have been no more than a broken connection to the database.
        outcome = _after_error(step, DriverError(Reason.BUG, detail, retryable=True))
        _write(claim, outcome, dispatch)
    except (LeaseLost, StaleState) as lost:
        log.info("dropped: %s", lost)


def _put_off(claim: Claim, detail: str) -> None:
    """The database writes nothing, such as on a full disk: the step waits and no attempt counts.

    What was measured waits on the host meanwhile. Where not even that is written the lease ends
    by itself, and the step is taken up then.
    """
    try:
        wait_s = jitter(DATABASE_RETRY_S)
        release(claim, after_s=wait_s, error=detail, is_progress=True)
        log.warning("step %s waits %.0f s for the database", claim.step_id, wait_s)
    except (DatabaseError, LeaseLost) as error:
        log.warning("step %s waits for its lease to end: %s", claim.step_id, error)


# --- tick --------------------------------------------------------------------------------------


def tick() -> int:
    """Claim every due step and send it to the workers; returns how many."""
    # By it a command that waits for runs sees that a worker is there, and does not do the work
    # itself.
    tick_record()
    claims = claim_due(is_polling=False, is_routed=True)
    for claim in claims:
        to_queue(claim)
    # Also without a claim: a poller that died leaves runs that nobody follows.
    to_queue(None)
    return len(claims)


def to_queue(claim: Claim | None) -> None:
    """Dispatch through the broker: to any worker, or to those on the machine of the run."""
    if claim is None:
        for worker_id in due_polls():
            enqueue(Task.POLL_STEPS, worker_id=worker_id)
    else:
        enqueue(Task.RUN_STEP, worker_id=claim.worker_id, step_id=claim.step_id, token=claim.token)
