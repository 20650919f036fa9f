"""Hand work to a worker by task name, after the transaction has committed."""

from enum import StrEnum
from functools import partial

from django.conf import settings
from django.db import transaction
from redis import Redis
from redis.exceptions import RedisError

from backend.config.celery import app

# A broker that hangs must not hang who asks how it is.
TIMEOUT_S = 2


class Task(StrEnum):
    """Every task that code outside the workers may ask for; each exists in workers.tasks."""

    TICK = "workers.tick"
    RUN_STEP = "workers.run_step"
    POLL_STEPS = "workers.poll_steps"
    SCAN_HOST = "workers.scan_host"
    SEND_NOTICES = "workers.send_notices"
    CHECK_ACCOUNT = "workers.check_account"
    FETCH_PRICES = "workers.fetch_prices"
    READ_BILLS = "workers.read_bills"
    SIMULATE_JOB = "workers.simulate_job"


def common_queues() -> list[str]:
    """The queues that any worker may take from."""
    routes: dict[str, dict[str, str]] = app.conf.task_routes
    return sorted({app.conf.task_default_queue, *(route["queue"] for route in routes.values())})


def queue_lengths() -> dict[str, int] | None:
    """Queue → messages that no worker took yet; None while the broker does not answer."""
    client = Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S
    )
    try:
        return {queue: client.llen(queue) for queue in common_queues()}
    except RedisError:
        return None
    finally:
        client.close()


def worker_queue(worker_id: str) -> str:
    """The queue of the workers on one machine."""
    return f"local.{worker_id}"


def enqueue(task: Task, *, worker_id: str | None = None, **arguments: object) -> None:
    """Send the task on commit, to any worker or to those of one machine.

    Arguments are ids and counters, never secrets.

    A lost message is harmless, and so is a broker that is down (robust: logged, not raised): the
    tick finds every due step again.
    """
    # By name: the web process must not import the workers, which load the libraries of clouds.
    send = partial(app.send_task, task.value, kwargs=arguments)
    if worker_id is not None:
        send = partial(send, queue=worker_queue(worker_id))
    # A worker that is faster than the commit would look for a row that is not there yet.
    transaction.on_commit(send, robust=True)
