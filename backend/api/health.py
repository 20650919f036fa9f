"""/healthz: the process lives. /readyz: it can do its work."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis import Redis
from redis.exceptions import RedisError

from backend.benchmarks.selectors.engine import tick_age_s
from backend.common.rest.problem import problem
from backend.rentals.selectors.leaks import rental_figures

# A Redis that hangs must not hang the answer that says so.
TIMEOUT_S = 2
# The usual twelve times.
TICK_MAX_AGE_S = 60


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponseBase:
    """200 when database, schema and queue are there and the engine ticks; 503 naming each part that
    is not well. With ?engine=0, for a balancer, the tick is left out: one that is late must not take
    away every web server, which then say nothing of it either."""
    checks = dict(CHECKS)
    if request.GET.get("engine") == "0":
        del checks["tick"]
    # All of them: whoever has repaired one must not meet the next only then.
    faults = [(name, fault) for name, check in checks.items() if (fault := check())]
    if faults:
        return problem(503, "; ".join(f"{name}: {fault}" for name, fault in faults), errors=faults)
    state: dict[str, object] = dict.fromkeys(checks, "ok")
    return JsonResponse(state | {"tick_age_s": tick_age_s()} | asdict(rental_figures()))


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "not reachable"
    return ""


def _migrations() -> str:
    try:
        missing = _known_migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        # Without a database; which of the two is the cause stands beside it.
        return "not known"
    return f"{len(missing)} not applied" if missing else ""


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Those of this program, read once: they change with it, and reading them takes 0.1 s."""
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations)


# A client of its own: that of the cache has no such limits.
def _queue() -> str:
    client = Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S
    )
    try:
        client.ping()
    except RedisError:
        return "not reachable"
    finally:
        client.close()
    return ""


def _tick() -> str:
    """Without workers and beat pages answer well, and nothing is measured or ended any more."""
    try:
        age_s = tick_age_s()
    except DatabaseError:
        return "not known"
    # One that never came is that of an installation without an engine, or of one that just begins.
    is_old = age_s is not None and age_s > TICK_MAX_AGE_S
    return f"the last one was {age_s:.0f} s ago" if is_old else ""


CHECKS: Mapping[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "redis": _queue,
    "tick": _tick,
}
