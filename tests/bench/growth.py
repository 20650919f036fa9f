"""What a year of measuring every night costs: `./rackrate bench growth`. Prints one JSON document.

20 machines of one's own are measured with the standard profile every night for a year (_growth_data.py),
in the catalog of _ranking_data.py: a tenth of what 200 machines make. GROWTH_NIGHTS takes another
number of nights.

- `rows`, `mb`: of each table of runs, with its indexes and what is stored apart;
  `gb_of_200_hosts`: ten times all of them, for a year;
- `pages`: how soon pages and lists are there after the first night and after the year, in ms;
- `refresh_ms`: what one more result of a machine costs before the next ranking, then and then;
- `night`: after one more night, written as workers write it: rows that are dead, tables that
  autovacuum has been to, and how long that took;
- `retention`: what went, how long it took, and the size of the tables before and after.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import datetime as dt
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

import httpx
from django.conf import settings
from django.db import connection
from django.db.models import Model
from django.db.models.functions import Now
from django.test import Client

from backend.benchmarks.models import Event, Evidence, Host, Run, RunState, Sample, Step
from backend.benchmarks.services.demo import demo_remove
from backend.benchmarks.services.leases import claim_of
from backend.benchmarks.services.progress import Progress, progress_write
from backend.benchmarks.services.summaries import summaries_refresh
from backend.core import clock
from tests import factories
from tests.bench import _growth_data, _ranking_data
from tests.bench.load import spread_ms
from workers import retention

HOSTS = 20
NIGHTS = int(os.environ.get("GROWTH_NIGHTS", "365"))
TABLES: Sequence[type[Model]] = (Run, Step, Event, Evidence, Sample)
LOADS = 20
# Of a run's progress in a night: two a second.
WRITES = 1_500
VACUUM_WITHIN_S = 150
# Shorter than by default, so that within a year something goes.
KEPT_DAYS = {"RETAIN_STEPS_DAYS": 90, "RETAIN_EVENTS_DAYS": 180, "RETAIN_SERIES_DAYS": 90}
# One run of so many counts no longer.
EXCLUDED_PART = 20


def sizes() -> dict[str, dict[str, int]]:
    found = {}
    with connection.cursor() as cursor:
        for model in TABLES:
            table = model._meta.db_table
            cursor.execute("SELECT pg_total_relation_size(%s), pg_indexes_size(%s)", [table] * 2)
            total, indexes = cursor.fetchone()
            found[table] = {
                "rows": model._default_manager.count(),
                "mb": total // 10**6,
                "of_which_indexes": indexes // 10**6,
            }
    return found


def pages(url: str, run: Run) -> dict[str, Any]:
    """How soon each page and list is there for an admin."""
    client = Client()
    client.force_login(factories.owner())
    cookies = {
        settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value,
    }
    offer = f"/offers/{run.offer.slug}"
    addresses = {
        "run": f"/runs/{run.pk}/",
        "runs": "/runs/",
        "runs_last": f"/runs/?page={-(-Run.objects.count() // 50)}",
        "host": f"/hosts/{run.host_id}/",
        "hosts": "/hosts/",
        "offer": f"{offer}/",
        "score": f"{offer}/scores/cmips_score/",
        "metric": "/metrics/cmips_score/",
        "ranking": "/offers/",
        "answer": "/",
        "operations": "/operations/",
        "api_runs": "/api/v1/runs",
        "api_run": f"/api/v1/runs/{run.pk}",
        "api_runs_of_host": f"/api/v1/runs?host={run.host_id}",
        "api_samples": "/api/v1/samples",
        "api_samples_of_run": f"/api/v1/samples?run={run.pk}",
        "api_samples_of_offer": f"/api/v1/samples?offer={run.offer.slug}&metric=cmips_score",
        "api_evidence": f"/api/v1/evidence?run={run.pk}",
        "api_evidence_all": "/api/v1/evidence",
        "api_hosts": "/api/v1/hosts",
        "prometheus": "/metrics-prometheus",
    }
    with httpx.Client(base_url=url, cookies=cookies, timeout=120) as browser:
        return {name: _times(browser, address) for name, address in addresses.items()}


def _times(browser: httpx.Client, address: str) -> dict[str, float]:
    times = []
    for number in range(LOADS + 4):
        began = time.perf_counter()
        answer = browser.get(address)
        # Each of the server's processes has been asked once before.
        if number >= 4:
            times.append(time.perf_counter() - began)
        if answer.status_code != httpx.codes.OK:
            raise SystemExit(f"{address} answers {answer.status_code}: {answer.text[:300]}")
    return spread_ms(times)


def refresh_ms(run: Run) -> float:
    """One result more of each metric, and its summaries."""
    Sample.objects.filter(run=run, repeat=0).update(measured_at=clock.now())
    began = time.perf_counter()
    summaries_refresh()
    return round((time.perf_counter() - began) * 1e3)


# --- one more night ---------------------------------------------------------------------------


def night() -> dict[str, Any]:
    """Twenty runs at once, as the poller writes them, and what autovacuum makes of it."""
    since, repeats, steps = clock.now(), _growth_data.repeats(), []
    for host in Host.objects.filter(name__startswith="rack-"):
        run = factories.run(
            host, profile=_growth_data.PROFILE, state=RunState.RUNNING, started_at=since
        )
        # Far from due, so that no worker takes it.
        due_at = since + dt.timedelta(days=1)
        steps.append(
            Step.objects.create(run=run, state=RunState.RUNNING, lease_token=1, next_due_at=due_at)
        )
    began = time.perf_counter()
    for number in range(WRITES):
        fields = {
            "probe": "cmips", "progress_ratio": number / WRITES, "runner_s": number / 2,
            "live": {"state": "running", "step": number, "last_lines": ["score 1"] * 8},
        }  # fmt: skip
        # A result every so often, the others only say how far the run is.
        each = WRITES // len(repeats)
        fresh = repeats[number // each : number // each + 1] if number % each == 0 else []
        progress_write(Progress(claim_of(step), fields, list(fresh)) for step in steps)
    written_s = time.perf_counter() - began
    Run.objects.filter(steps__in=steps).update(state=RunState.DONE, finished_at=Now())
    Step.objects.filter(pk__in=[step.pk for step in steps]).update(finished_at=Now())
    dead = _dead()
    began = time.perf_counter()
    while time.perf_counter() < began + VACUUM_WITHIN_S and _seen_to(since) < {Run._meta.db_table}:
        time.sleep(1)
    return {
        "writes": WRITES,
        "written_s": round(written_s, 1),
        "dead": dead,
        "vacuumed": sorted(_seen_to(since)),
        "within_s": round(time.perf_counter() - began),
        "dead_after": _dead(),
    }


def _dead() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE relname = ANY(%s)",
            [[model._meta.db_table for model in TABLES]],
        )
        return dict(cursor.fetchall())


def _seen_to(since: dt.datetime) -> set[str]:
    """The tables that autovacuum has been to."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_stat_user_tables WHERE last_autovacuum > %s", [since]
        )
        return {name for (name,) in cursor.fetchall()}


# --- retention --------------------------------------------------------------------------------


def forgotten() -> dict[str, Any]:
    """One pass over a year of rows, of which some runs count no longer."""
    runs = Run.objects.order_by("pk").values_list("pk", flat=True)[::EXCLUDED_PART]
    Sample.objects.filter(run__in=list(runs)).update(excluded_reason="disturbed")
    for name, days in KEPT_DAYS.items():
        setattr(settings, name, days)
    before = sizes()
    gone = {}
    for policy in retention.POLICIES:
        began = time.perf_counter()
        count = retention.forget_old(policy, most=10**9)
        gone[policy.kind] = {"rows": count, "s": round(time.perf_counter() - began, 1)}
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for model in TABLES:
            cursor.execute(f"VACUUM ANALYZE {model._meta.db_table}")
    again = {policy.kind: retention.count_old(policy) for policy in retention.POLICIES}
    return {
        "gone": gone,
        "left_to_go": sum(again.values()),
        "vacuum_s": round(time.perf_counter() - began, 1),
        "mb_before": {table: one["mb"] for table, one in before.items()},
        "mb_after": {table: one["mb"] for table, one in sizes().items()},
    }


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    if not url:
        raise SystemExit("RACKRATE_URL names no web server; ./rackrate bench growth starts one")
    demo_remove()
    catalog = _ranking_data.load()
    machines = _growth_data.hosts(HOSTS)
    first = _growth_data.first_run(machines[0])
    _growth_data.nights(first, range(1, 2))
    summaries_refresh()
    before = {"pages": pages(url, first), "refresh_ms": refresh_ms(first)}
    print(json.dumps(before), file=sys.stderr)
    began = time.perf_counter()
    _growth_data.nights(first, range(2, NIGHTS + 1))
    filled_s = time.perf_counter() - began
    summaries_refresh()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    tables = sizes()
    after = {"pages": pages(url, first), "refresh_ms": refresh_ms(first)}
    print(json.dumps({"tables": tables, **after}), file=sys.stderr)
    total_mb = sum(one["mb"] for one in tables.values())
    found = {
        **catalog,
        "nights": NIGHTS,
        "filled_s": round(filled_s),
        "tables": tables,
        "gb_of_200_hosts": round(total_mb * 200 / HOSTS * 365 / NIGHTS / 1e3, 1),
        "first_night": before,
        "year": after,
        "night": night(),
        "retention": forgotten(),
        "load": os.getloadavg(),
    }
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
