"""What rankings cost: `./rackrate bench ranking`. Prints one JSON document.

Through the real web server, with 6,000 offers and 300,000 prices (_ranking_data.py):

- `page_ms`: a JSON page of 25 rows with the count, one request after the other;
- `page_per_s`: the same, by eight clients at once;
- `first_s`: the first request of each new basis and of each new filter;
- `unchanged_ms`: 304 for a page that the reader has; `html_ms`: the page of the site;
- `csv_s`, `xlsx_s`: all rows with all columns;
- `queries`: database queries of a request; `cpu_ms`: processor time of one within this process,
  with the stack of the web server.

Within this process: `ranked_s`, CPU time of placing 6,000 offers with intervals, ranks and tie
groups; `ratio_to_sort`, the same over sorting them by value per cost.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import datetime as dt
import http.client
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backend.accounts.models import Workspace
from backend.accounts.services.tokens import token_create
from backend.benchmarks.services.demo import demo_remove
from backend.config.frames import with_large_stack
from backend.measure.metrics import METRICS
from backend.measure.stats import summary_of_source
from backend.rankings.calc.ranking import standings
from tests import factories
from tests.bench import _ranking_data
from tests.pure.candidates import RankedOffer, ranking_input

OFFERS = 6000
RUNS = 5
SD_RATIO = 0.02
PAGE = "/api/v1/rankings?per_page=25"
SEQUENTIAL = 300
CLIENTS = 8
# Requests of each of the clients.
EACH = 100
BASES = (
    "period=month",
    "currency=EUR",
    "currency=EUR&period=year&hours_per_month=720",
    "term=monthly",
    "term=reserved_1y",
    "term=savings_3y&period=month",
    "term=spot",
    "hours_per_month=700",
    f"as_of={_ranking_data.NOW.date() - dt.timedelta(days=20)}",
    "metric=coremark_score",
)
FILTERS = (
    "provider=maker-1",
    "provider!=maker-1",
    "vcpu__gte=8",
    "q=processor 3",
    "arch=arm64&kind=cloud",
    "vcpu_kind!=shared,burstable",
    "price__lte=1",
    "value_per_cost__gte=1000",
    "rank__lte=2000",
    "sort=price,-score",
    "ram_gib__lte=64&sort=-ram_gib,price",
)


# --- the web server ---------------------------------------------------------------------------


class Reader:
    """One client with a token, on one connection."""

    def __init__(self, url: str, token: str) -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, address: str, status: int = 200, **headers: str) -> Mapping[str, str]:
        """Read an answer whole; its headers."""
        address = address.replace(" ", "+")
        self._connection.request("GET", address, headers={**self._headers, **headers})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != status:
            raise SystemExit(f"{address} answers {answer.status}: {body[:300]!r}")
        return answer.headers

    def seconds(self, address: str, status: int = 200, **headers: str) -> float:
        began = time.perf_counter()
        self.get(address, status, **headers)
        return time.perf_counter() - began


def web_figures(url: str, token: str) -> dict[str, Any]:
    reader = Reader(url, token)
    for _ in range(20):
        Reader(url, token).get("/api/v1/metrics")  # the processes have begun
    # Each of the server's processes keeps its own: as many first requests as there may be.
    firsts = {
        "new_basis": _firsts(url, token, [f"{PAGE}&{one}" for one in ("", *BASES)]),
        "new_filter": _firsts(url, token, [f"{PAGE}&{one}" for one in FILTERS]),
    }
    for _ in range(40):
        Reader(url, token).get(PAGE)
        Reader(url, "").get("/offers/")
    tag = reader.get(PAGE)["ETag"]
    page = [reader.seconds(PAGE) for _ in range(SEQUENTIAL)]
    unchanged = [reader.seconds(PAGE, 304, **{"If-None-Match": tag}) for _ in range(SEQUENTIAL)]
    html = [reader.seconds("/offers/") for _ in range(SEQUENTIAL // 5)]
    return {
        "page_ms": _spread(page),
        "page_per_s": round(_per_second(url, token)),
        "first_s": firsts,
        "unchanged_ms": _spread(unchanged),
        "html_ms": _spread(html),
        "csv_s": round(min(reader.seconds("/api/v1/rankings.csv") for _ in range(RUNS)), 2),
        "xlsx_s": round(min(reader.seconds("/api/v1/rankings.xlsx") for _ in range(RUNS)), 2),
    }


def _firsts(url: str, token: str, addresses: Sequence[str]) -> dict[str, Any]:
    """The slowest of the first few requests of each address, on connections of their own."""
    slowest = {
        address: max(Reader(url, token).seconds(address) for _ in range(4)) for address in addresses
    }
    address = max(slowest, key=lambda one: slowest[one])
    each = {one.removeprefix(PAGE): round(seconds, 2) for one, seconds in slowest.items()}
    return {"max": round(slowest[address], 2), "at": address.removeprefix(PAGE), "each": each}


def _per_second(url: str, token: str) -> float:
    def read(_: int) -> None:
        reader = Reader(url, token)
        for _turn in range(EACH):
            reader.get(PAGE)

    with ThreadPoolExecutor(CLIENTS) as clients:
        began = time.perf_counter()
        list(clients.map(read, range(CLIENTS)))
        return CLIENTS * EACH / (time.perf_counter() - began)


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    parts = statistics.quantiles(seconds, n=20)
    return {"p50": round(parts[9] * 1e3, 1), "p95": round(parts[18] * 1e3, 1)}


# --- within this process ----------------------------------------------------------------------


def own_figures(token: str) -> dict[str, Any]:
    """Queries and CPU time of requests whose ranking is there already."""
    client = Client(headers={"authorization": f"Bearer {token}", "host": "localhost"})
    found: dict[str, dict[str, Any]] = {"queries": {}, "cpu_ms": {}}
    for name, address in (("page", PAGE), ("html", "/offers/")):
        with CaptureQueriesContext(connection) as first:
            client.get(address)
        with CaptureQueriesContext(connection) as later:
            client.get(address)
        found["queries"][name] = {"first": len(first), "later": len(later)}
        began = time.process_time()
        for _ in range(50):
            client.get(address)
        found["cpu_ms"][name] = round((time.process_time() - began) / 50 * 1e3, 1)
    return found


def candidates() -> list[RankedOffer]:
    """Offers of scores and prices without a pattern, each with an interval of ± 4 %."""
    return [
        RankedOffer(
            offer_id=f"offer-{n}",
            summary=summary_of_source(
                100 + 5000 * math.sin(n) ** 2, SD_RATIO, 30, between_instance_cv=SD_RATIO
            ),
            price=0.01 + 0.9 * math.cos(n * n) ** 2,
        )
        for n in range(OFFERS)
    ]


def cpu_s(work: Callable[[], object]) -> float:
    """Median CPU seconds of a few runs."""
    found = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def placing_figures() -> dict[str, Any]:
    offers, metric = candidates(), METRICS["cmips_score"]
    given = ranking_input(offers, metric)

    def rank_all() -> None:
        made = standings(given, metric)
        assert made.rank_low.size == made.tie_group.size == OFFERS

    placed_s = cpu_s(rank_all)
    sorted_s = cpu_s(lambda: sorted(offers, key=lambda offer: -offer.score / offer.price))
    return {"ranked_s": round(placed_s, 3), "ratio_to_sort": round(placed_s / sorted_s)}


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    if not url:
        raise SystemExit("RACKRATE_URL names no web server; ./rackrate bench ranking starts one")
    demo_remove()
    rows = _ranking_data.load()
    workspace = Workspace.objects.get(slug="default")
    token = token_create(workspace=workspace, owner=factories.owner(), name="bench", scope="read")[
        1
    ]
    found = {
        **rows,
        **web_figures(url, token),
        **with_large_stack(own_figures)(token),
        **placing_figures(),
    }
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
