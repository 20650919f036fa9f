"""/healthz: the process lives. /readyz: it can do its work."""

import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis import Redis
from redis.exceptions import RedisError

from backend.benchmarks.selectors.engine import tick_age_s
from backend.benchmarks.services.steps import database_writes
from backend.core import clock
from backend.core.hardening import is_from_this_machine
from backend.core.rest.problem import problem
from backend.rentals.selectors.leaks import rental_figures

# A Redis that hangs must not hang the answer that says so.
TIMEOUT_S = 2
# The usual twelve times.
TICK_MAX_AGE_S = 60
# An engine that was never seen is a fault once the schema is older: all services start within it.
FIRST_TICK_WITHIN_S = 120
# Names are looked up in a thread: no option of a library bounds how long that takes.
_lookups = ThreadPoolExecutor(2, thread_name_prefix="lookup")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponseBase:
    """200 when database, schema and queue are there and the engine ticks; 503 naming each part that
    is not well. With ?engine=0, for a balancer, tick and writes are left out: neither a late tick nor
    a full disk must take away every web server, whose pages still read."""
    checks = dict(CHECKS)
    if request.GET.get("engine") == "0":
        del checks["tick"], checks["writes"]
    # All of them: whoever has repaired one must not meet the next only then.
    faults: list[tuple[str, str]] = []
    for name, check in checks.items():
        # What stands in the database is not asked for without it, which would take as long again.
        is_lost = name in IN_DATABASE and ("database", NOT_REACHABLE) in faults
        if fault := "not known" if is_lost else check():
            faults.append((name, fault))
    if faults:
        return problem(503, "; ".join(f"{name}: {fault}" for name, fault in faults), errors=faults)
    state: dict[str, object] = dict.fromkeys(checks, "ok")
    state["tick_age_s"] = tick_age_s()
    # Strangers need not know how many machines are rented.
    if is_from_this_machine(request) or request.user.is_authenticated:
        state |= asdict(rental_figures())
    return JsonResponse(state)


def _database() -> str:
    if connection.connection is None and not _has_address(connection.settings_dict["HOST"]):
        return NOT_REACHABLE
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return NOT_REACHABLE
    return ""


def _writes() -> str:
    return "" if database_writes() else "refused: the disk is full, or the database is read-only"


def _has_address(host: str) -> bool:
    """False where the name has none, or nobody says so within TIMEOUT_S."""
    if not host or host.startswith("/"):  # a socket
        return True
    try:
        _lookups.submit(socket.getaddrinfo, host, None).result(TIMEOUT_S)
    except (OSError, TimeoutError):
        return False
    return True


def _migrations() -> str:
    try:
        missing = _program_migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        return "not known"
    return f"{len(missing)} not applied" if missing else ""


@cache
def _program_migrations() -> frozenset[tuple[str, str]]:
    """Migrations of this program, read once: they change with it, and reading them takes 0.1 s."""
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations)


# A client of its own: that of the cache has no such limits.
def _queue() -> str:
    if not _has_address(urlsplit(settings.REDIS_URL).hostname or ""):
        return NOT_REACHABLE
    client = Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S
    )
    try:
        client.ping()
    except RedisError:
        return NOT_REACHABLE
    finally:
        client.close()
    return ""


def _tick() -> str:
    """Without workers and beat pages answer well, and nothing is measured or ended any more."""
    try:
        age_s = tick_age_s()
        schema_age_s = _schema_age_s() if age_s is None else 0
    except DatabaseError:
        return "not known"
    if age_s is None:
        is_late = schema_age_s > FIRST_TICK_WITHIN_S
        return "none has ever come: start beat and a worker" if is_late else ""
    return f"the last one was {age_s:.0f} s ago" if age_s > TICK_MAX_AGE_S else ""


def _schema_age_s() -> float:
    """Seconds since the newest migration was applied."""
    newest = MigrationRecorder(connection).migration_qs.aggregate(at=Max("applied"))["at"]
    return (clock.now() - newest).total_seconds() if newest else 0.0


NOT_REACHABLE = "not reachable"
IN_DATABASE = frozenset({"writes", "migrations", "tick"})
CHECKS: Mapping[str, Callable[[], str]] = {
    "database": _database,
    "writes": _writes,
    "migrations": _migrations,
    "redis": _queue,
    "tick": _tick,
}
