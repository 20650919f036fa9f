"""Steps of a run: closed, put off and followed by the next; to be called within the step's fence."""

import datetime as dt

from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now

from backend.benchmarks.models import Run, RunState, Step, Tick
from backend.benchmarks.services.leases import Claim, lease_end
from backend.core import clock
from backend.core.queue import Task, enqueue

# More rows than that memory holds, so PostgreSQL writes them to its disk.
WRITTEN_ROWS, WORK_MEMORY = 20_000, "64kB"


def step_close(*, step: Step, error: str = "") -> None:
    """Nobody works on it any more."""
    Step.objects.filter(pk=step.pk).update(
        finished_at=Now(), lease_until=None, next_due_at=None, last_error=error
    )


def step_put_off(*, step: Step) -> None:
    """The teardown of a lost run is due again after a lease: it goes on for as long as it takes."""
    Step.objects.filter(pk=step.pk).update(lease_until=None, next_due_at=Now() + lease_end())


def step_wake(*, run: Run) -> None:
    """Wake the run's step, as something it waits for may have come, unless somebody works on it."""
    waiting = run.steps.filter(finished_at=None, lease_until=None)
    if waiting.exclude(state=RunState.RUNNING).update(next_due_at=Now()):
        enqueue(Task.TICK)


def step_create_followed(*, run: Run, deadline_at: dt.datetime) -> None:
    """The step of a running run, which the next poller claims."""
    Step.objects.create(run=run, state=RunState.RUNNING, next_due_at=Now(), deadline_at=deadline_at)


def step_create_claimed(*, run: Run, state: RunState) -> Claim:
    """The next step with its claim, for whoever gets the message."""
    # Claimed as it is made, for whoever gets the message; should that be lost, the lease runs out.
    step = Step.objects.create(
        run=run,
        state=state,
        next_due_at=Now(),
        lease_token=1,
        lease_until=Now() + lease_end(),
        attempt=1,
    )
    return Claim(step.pk, 1, run.worker.pk if run.worker else None)


def silence_record(*, run: Run, step: Step, error: str) -> None:
    """The host of a running run does not answer: `run.live` says since when."""
    run.save(update_fields=["live"])
    Step.objects.filter(pk=step.pk).update(last_error=error[:2000])


def database_writes() -> bool:
    """False where a row, or some hundred kilobytes on its disk, cannot be written; all is taken back.

    A full disk still reads, and still writes a row into a page that has room.
    """
    try:
        with transaction.atomic():
            # Beside the row of tick_record, whose number the sequence of a new database gives again.
            Tick.objects.create(pk=0, at=clock.now())
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('work_mem', %s, true)", [WORK_MEMORY])
                cursor.execute("SELECT count(*) FROM generate_series(1, %s)", [WRITTEN_ROWS])
            transaction.set_rollback(True)
    except DatabaseError:
        return False
    return True


def tick_record() -> None:
    """Somebody looks after due steps, as of now."""
    Tick.objects.update_or_create(pk=1, defaults={"at": clock.now()})
