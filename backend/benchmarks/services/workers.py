"""Which machines have workers: every worker says now and then that it is there.

All times are PostgreSQL's.
"""

import datetime as dt
import socket
from functools import cache
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from backend.benchmarks.models import Host, Worker

LOCAL_DRIVER = "local"
# A worker that has not been seen for so long is not there, and its id is free.
ALIVE_S = 60


@cache
def instance() -> str:
    """Identifies this machine or container, since its start, among all others."""
    # Containers of one machine share its boot and perhaps a name, but never a process namespace.
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()} {boot_id}"


def workers_alive() -> QuerySet[Worker]:
    """Machines whose workers were seen lately."""
    return Worker.objects.filter(seen_at__gt=Now() - dt.timedelta(seconds=ALIVE_S))


@transaction.atomic
def worker_get(*, worker_id: str) -> Worker:
    """The machine of that id. Local hosts from before there were ids belong to the first one."""
    worker, _ = Worker.objects.get_or_create(pk=worker_id)
    Host.objects.filter(driver=LOCAL_DRIVER, worker=None).update(worker=worker)
    return worker


def worker_seen(*, worker_id: str, instance: str) -> bool:
    """Note that a worker is there; False while the id belongs to another machine or container."""
    worker_get(worker_id=worker_id)
    is_free = Q(instance=instance) | ~Q(pk__in=workers_alive())
    seen = Worker.objects.filter(is_free, pk=worker_id)
    return bool(seen.update(instance=instance, seen_at=Now()))


def worker_left(*, worker_id: str, instance: str) -> None:
    """Let another container have the id at once; a second worker here says again that it is there."""
    # As if it had been silent for long; no row is deleted, for hosts refer to it.
    over = Now() - dt.timedelta(seconds=ALIVE_S)
    Worker.objects.filter(pk=worker_id, instance=instance).update(seen_at=over)
