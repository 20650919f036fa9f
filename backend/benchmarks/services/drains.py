"""Draining: no run begins any more, and those under way go on to their end.

Everybody who claims steps looks at the rows (services.leases), so that it counts for all workers
at once, also for those that start later.
"""

from collections import Counter

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from backend.benchmarks.models import TERMINAL_STATES, Drain, Run, RunState, Step, Worker
from backend.foundation.errors import InvalidValue


def drain_begin(*, worker_id: str | None) -> None:
    """Let no run begin: none at all, or none on the machine of that worker. Raises InvalidValue."""
    if worker_id is not None and not Worker.objects.filter(pk=worker_id).exists():
        raise InvalidValue("/worker", f"no worker has the WORKER_ID {worker_id}")
    Drain.objects.get_or_create(worker_id=worker_id)


def drain_end(*, worker_id: str | None) -> None:
    """Let runs begin again; nothing happens where they may."""
    Drain.objects.filter(worker=worker_id).delete()


def active_runs(*, worker_id: str | None) -> Counter[str]:
    """How many runs have begun and not ended, by state: all, or those on the worker's machine."""
    # A step that was claimed before the drain began is done by whoever has its message.
    claimed = Step.objects.filter(run=OuterRef("pk"), finished_at=None, lease_until__gt=Now())
    runs: QuerySet[Run] = Run.objects.exclude(state__in=TERMINAL_STATES).order_by()
    runs = runs.filter(~Q(state=RunState.QUEUED) | Exists(claimed))
    if worker_id is not None:
        runs = runs.filter(Q(host__worker=worker_id) | Q(peer__worker=worker_id))
    return Counter(runs.values_list("state", flat=True))
