"""Hand work to a worker by task name, after the transaction has committed."""

from enum import StrEnum
from functools import partial

from django.db import transaction

from backend.config.celery import app


class Task(StrEnum):
    """Every task that code outside the workers may ask for; each exists in workers.tasks."""

    TICK = "workers.tick"
    RUN_STEP = "workers.run_step"
    POLL_STEPS = "workers.poll_steps"
    SCAN_HOST = "workers.scan_host"
    SEND_NOTICES = "workers.send_notices"
    CHECK_ACCOUNT = "workers.check_account"
    REAP = "workers.reap"
    FETCH_PRICES = "workers.fetch_prices"


def enqueue(task: Task, **arguments: object) -> None:
    """Send the task on commit. Arguments are ids and counters, never secrets.

    A lost message is harmless, and so is a broker that is down (robust: logged, not raised): the
    tick finds every due step again.
    """
    transaction.on_commit(partial(app.send_task, task.value, kwargs=arguments), robust=True)
