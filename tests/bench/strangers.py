"""Strangers who ask for as much as they may: `./rackrate bench strangers`. Prints one JSON document.

Eight clients, each a process with an address of its own and without a token, ask for one expensive
thing after another as fast as it is answered or refused, in the catalog of _ranking_data.py. Of each
thing, and of all mixed:

- `answered`, `refused`: how many requests got what they asked for, and how many a refusal by 4xx or
  503; anything else ends the bench;
- `home_ms`: how soon the first page was there meanwhile, for somebody else; `home_refused`: or was not.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import http.client
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlsplit

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db import connections

from backend.accounts.services.workspaces import default_workspace
from backend.api.examples import EXAMPLES
from backend.benchmarks.services.demo import demo_remove
from backend.catalog.models import Offer
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.scenarios import scenario_create
from tests.bench import _ranking_data
from tests.bench.load import spread_ms
from tests.pure.scenarios.documents import all_of, price, startup

CLIENTS = 8
ASKED_S = 8
ALL_S = 40
READ_EVERY_S = 0.1
READERS = 200
PATIENCE_S = 60
CLOSED = 499
_reader = count()
YEAR = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}
SORTED = "sort=price,-score,ram_gib,-vcpu,provider,region,-value_per_cost,offer"


@dataclass(frozen=True)
class Asked:
    """One request; `{n}` in its address or body makes it another one each time."""

    address: str
    body: str = ""

    def send(self, place: http.client.HTTPConnection, number: int) -> int:
        """Its status, with the answer read whole."""
        address, body = (text.replace("{n}", str(number)) for text in (self.address, self.body))
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        place.request("POST" if body else "GET", address, body=body or None, headers=headers)
        answer = place.getresponse()
        answer.read()
        return answer.status


def expensive() -> dict[str, Asked]:
    """What costs the server much, by name."""
    template = TEMPLATES["startup"]
    kept = scenario_create(
        workspace=default_workspace(),
        document=template.document,
        actor="bench",
        template=template.key,
    )
    slugs = ",".join(Offer.objects.order_by("pk").values_list("slug", flat=True)[:10])
    year = startup(
        *(all_of(f"{n}", price("0.4")) for n in range(3)),
        horizon=YEAR,
        policy={"kind": "hpa", "warmup_s": 300},
        uncertainty={"draws": 1000, "demand_growth_cv": "0.3"},
    )  # just below what a stranger may ask for
    page = "/api/v1/rankings?per_page=250"
    return {
        "simulate": Asked("/api/v1/scenarios/simulate", json.dumps({**year, "name": "{n}"})),
        "requirements": Asked(
            "/api/v1/requirements/solve", json.dumps(EXAMPLES["requirements_solve"])
        ),
        "requirements_page": Asked("/requirements/?target=cmips_score:{n}"),
        "contention": Asked("/api/v1/contention", json.dumps(EXAMPLES["contention_solve"])),
        "map": Asked(f"/scenarios/{kept.slug}/map/"),
        "curves": Asked(f"/scenarios/{kept.slug}/curves/"),
        "csv": Asked("/api/v1/rankings.csv"),
        "xlsx": Asked("/api/v1/rankings.xlsx"),
        "prices_csv": Asked("/api/v1/prices.csv?provider=maker-1"),
        "samples_csv": Asked("/api/v1/samples.csv"),
        "frontier": Asked("/frontier/?score__gte={n}"),
        "compare": Asked(f"/compare/?o={slugs}"),
        "search": Asked("/search?q=processor+{n}"),
        "rankings": Asked(f"{page}&{SORTED}&price__lte={{n}}"),
        "bases": Asked(f"{page}&period=month&currency=EUR&hours_per_month={{n}}"),
        "offers_page": Asked(f"/offers/?per_page=250&{SORTED}&price__lte={{n}}"),
        "far_page": Asked("/api/v1/prices?per_page=250&page=1000"),
    }


def ask(url: str, things: Sequence[Asked], client: int, seconds: float) -> Counter[int]:
    """Ask one after another for so long; how often each status came."""
    place, source = urlsplit(url), (f"127.0.0.{client + 2}", 0)
    statuses: Counter[int] = Counter()
    until, number = time.monotonic() + seconds, client
    connection = http.client.HTTPConnection(
        place.hostname or "", place.port, timeout=PATIENCE_S, source_address=source
    )
    while time.monotonic() < until:
        thing = things[number % len(things)]
        try:
            statuses[thing.send(connection, 100 + number % 600)] += 1
        except (ConnectionError, http.client.RemoteDisconnected):
            # A body that is refused is not read, and the connection ends.
            statuses[CLOSED] += 1
            connection.close()
        number += CLIENTS + 1
    return statuses


def meanwhile(
    pool: ProcessPoolExecutor, url: str, things: Sequence[Asked], seconds: float
) -> dict[str, Any]:
    """What the strangers got, and how soon the first page was there for somebody else."""
    place, home = urlsplit(url), Asked("/")
    clients = range(CLIENTS if things else 0)
    asked = [pool.submit(ask, url, things, client, seconds) for client in clients]
    times: list[float] = []
    refused = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # Somebody else each time, as nobody reads it ten times a second.
        source = (f"127.0.2.{next(_reader) % READERS + 1}", 0)
        reader = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=PATIENCE_S, source_address=source
        )
        began = time.perf_counter()
        status = home.send(reader, 0)
        reader.close()
        times.append(time.perf_counter() - began)
        refused += status != http.client.OK
        time.sleep(READ_EVERY_S)
    statuses = sum((one.result() for one in asked), Counter[int]())
    broken = [one for one in statuses if one >= 500 and one != http.client.SERVICE_UNAVAILABLE]
    if broken:
        raise SystemExit(f"answers: {dict(statuses)}")
    return {
        "home_ms": spread_ms(times),
        "home_refused": refused,
        "answered": statuses.pop(http.client.OK, 0),
        "refused": {str(status): count for status, count in sorted(statuses.items())},
    }


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    if not url:
        raise SystemExit("RACKRATE_URL names no web server; ./rackrate bench strangers starts one")
    demo_remove()
    rows = _ranking_data.load()
    things = expensive()
    connections.close_all()
    found: dict[str, Any] = {}
    # Forked: they share nothing but what they ask for.
    with ProcessPoolExecutor(CLIENTS, mp_context=get_context("fork")) as pool:
        # Every process has its list, and how soon the page is there without strangers.
        meanwhile(pool, url, [], 5)
        found["nobody"] = meanwhile(pool, url, [], ASKED_S)
        print("nobody", json.dumps(found["nobody"]), file=sys.stderr)
        for name, thing in things.items():
            found[name] = meanwhile(pool, url, [thing], ASKED_S)
            print(name, json.dumps(found[name]), file=sys.stderr)
        found["all"] = meanwhile(pool, url, list(things.values()), ALL_S)
    worst = max(one["home_ms"]["p95"] for one in found.values())
    print(json.dumps({**rows, "home_p95_ms": worst, **found, "load": os.getloadavg()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
