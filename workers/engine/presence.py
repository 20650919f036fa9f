"""Which machine this process works on, and how a Celery worker says that it is there.

A `local` host is such a machine. Its steps go to a queue that only the workers there read, and they
are claimed only by who sees the same files and processes.
"""

import logging
import time

from celery.signals import heartbeat_sent, worker_ready, worker_shutdown
from celery.worker.consumer import Consumer
from django.conf import settings
from django.db import DatabaseError, connection

from backend.benchmarks.services.workers import instance, worker_left, worker_seen
from backend.core.queue import worker_queue

PERIOD_S = 10.0
log = logging.getLogger(__name__)


class Presence:
    """Says that this process is there, every few seconds when asked often."""

    def __init__(self) -> None:
        self._next_at = 0.0
        self._is_ours: bool | None = None

    def say(self) -> bool:
        """True if the runs on this machine are ours."""
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PERIOD_S
            is_ours = worker_seen(worker_id=settings.WORKER_ID, instance=instance())
            # Once, not every ten seconds: two workers with one WORKER_ID are a fault of the set-up that
            # stays.
            if not is_ours and self._is_ours is not False:
                log.warning(
                    "WORKER_ID %s belongs to another worker: no run on this machine is done here",
                    settings.WORKER_ID,
                )
            self._is_ours = is_ours
        return bool(self._is_ours)


class WorkerPresence:
    """Presence of a Celery worker: its main process reads the machine's own queue while that is
    ours."""

    def __init__(self) -> None:
        self._presence = Presence()
        self._consumer: Consumer | None = None

    def begin(self, sender: Consumer, **_: object) -> None:
        self._consumer = sender
        self.look()

    def look(self, **_: object) -> None:
        if self._consumer is None:
            return
        queue = worker_queue(settings.WORKER_ID)
        try:
            is_ours = self._presence.say()
        except DatabaseError as error:
            log.warning("cannot say that this worker is there: %s", error)
            return
        finally:
            connection.close()  # the children that are forked later must not share it
        if is_ours:
            # At run time, as only the database knows whether the name is ours; adding it twice does
            # nothing.
            self._consumer.add_task_queue(queue)
        elif queue in self._consumer.app.amqp.queues.consume_from:
            self._consumer.cancel_task_queue(queue)

    def end(self, **_: object) -> None:
        try:
            worker_left(worker_id=settings.WORKER_ID, instance=instance())
        except DatabaseError as error:
            log.warning("cannot say that this worker has left: %s", error)
        finally:
            connection.close()


_worker = WorkerPresence()


def follow_worker() -> None:
    """Say with each heartbeat of this process's Celery worker that it is there."""
    worker_ready.connect(_worker.begin)
    heartbeat_sent.connect(_worker.look)
    worker_shutdown.connect(_worker.end)
