"""What size costs: `./rackrate bench scale`. Prints one JSON document.

The same figures at 10,080 offers with 100,800 prices and at 100,080 with 1,000,800
(_scale_data.py), through the real web server, and their ratio:

- `page_ms`, `html_ms`, `csv_s`: as of `bench ranking`, of a ranking that is there already;
- `page_per_s`: the JSON page by eight clients at once;
- `first_s`: the slowest first request of a new basis or filter, whose prices nobody has read yet;
- `change_s`: the slowest request of each of them after one price changed, its refresh included;
- `html_change_s`: the HTML page likewise, the median of some;
- `screening_s`: every offer of one provider under a load of a year of minutes, the cheapest 50;
- `search_ms`: a page of what holds two words, each request other words;
- `web_mb`, `web_screened_mb`: the largest web process afterwards (its own memory, VmRSS), without and
  with the offers of the load.

Not timed alone, as it is the database's: `load_s`, making the rows.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from backend.accounts.models import Workspace
from backend.accounts.services.tokens import token_create
from backend.benchmarks.services.demo import demo_remove
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.bench import _scale_data
from tests.bench.ranking import PAGE, Reader, _firsts, _per_second, _spread

# Offers, and the types that make them.
SIZES = {10_080: 56, 100_080: 556}
BASES = ("period=month", "currency=EUR", "term=reserved_1y", "term=spot", "hours_per_month=700")
FILTERS = ("provider=maker-1", "vcpu__gte=8", "price__lte=1", "sort=price,-score", "q=type7")
# Of a load of a year of minutes: a sixth of the smaller catalog, 1,680 offers of 56 sizes; of the
# larger one 16,680 of 556.
SCREENING = "/api/v1/scenarios/year/screening?provider=maker-1"
YEAR = {
    **TEMPLATES["startup"].document,
    "name": "Year",
    "horizon": {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60},
    "capacity": {"metric": "cmips_score", "units_per_score": "0.001"},
    "options": [
        {
            "name": "known",
            "parts": [
                {
                    "role": "all",
                    "capacity": "1",
                    "price": {
                        "amount": "0.4",
                        "currency": "USD",
                        "unit": "hour",
                        "billing": "per_second",
                    },
                }
            ],
        }
    ],
}
RUNS = 5
PAGES = 200


def figures(url: str, token: str) -> dict[str, Any]:
    reader = Reader(url, token)
    firsts = _firsts(url, token, [f"{PAGE}&{one}" for one in ("", *BASES, *FILTERS)])
    for _ in range(20):
        Reader(url, token).get(PAGE)
        Reader(url, "").get("/offers/")
    page = [reader.seconds(PAGE) for _ in range(PAGES)]
    return {
        "first_s": firsts,
        "page_ms": _spread(page),
        "page_per_s": round(_per_second(url, token)),
        "html_ms": _spread([reader.seconds("/offers/") for _ in range(PAGES // 10)]),
        "csv_s": _median([reader.seconds("/api/v1/rankings.csv") for _ in range(RUNS)]),
        "change_s": _changes(reader),
        "html_change_s": _median([_changed(reader, n, "/offers/") for n in range(RUNS)]),
        "search_ms": round(
            _median([reader.seconds(f"{PAGE}&q=type{n}+region-{n}") for n in range(3, 20)]) * 1e3
        ),
        # Before the offers of a load, which take room of their own.
        "web_mb": _web_mb(),
        "screening_s": _median([reader.seconds(SCREENING) for _ in range(RUNS)]),
        "web_screened_mb": _web_mb(),
    }


def _median(seconds: list[float]) -> float:
    return round(statistics.median(seconds), 3)


def _changes(reader: Reader) -> dict[str, Any]:
    """The slowest of a few requests of each address, each the first one after a change."""
    took: dict[str, list[float]] = {}
    for number, address in enumerate((*BASES, *FILTERS, "") * RUNS):
        took.setdefault(address, []).append(_changed(reader, number, f"{PAGE}&{address}"))
    slowest = {address: round(max(seconds), 2) for address, seconds in took.items()}
    at = max(slowest, key=lambda one: slowest[one])
    p50 = _median([one for seconds in took.values() for one in seconds])
    return {"p50": p50, "max": slowest[at], "at": at, "each": slowest}


def _changed(reader: Reader, number: int, address: str) -> float:
    """One price becomes another one, as a quote does; the seconds of the next request."""
    offer = Offer.objects.order_by("slug")[number * 100]
    price = PriceObservation.objects.filter(offer=offer, purchase_model="on_demand").latest(
        "observed_at"
    )
    price.pk = None
    price._state.adding = True
    price.amount += Decimal("0.000001")
    price.observed_at = clock.now()
    price.save(force_insert=True)
    data_version_bump()
    return reader.seconds(address)


def _web_mb() -> int:
    """Memory of the largest process of the web server of this stack."""
    database = os.environ["DATABASE_URL"].encode()
    sizes = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = (
                b"granian" in (process / "cmdline").read_bytes()
                and database in (process / "environ").read_bytes()
            )
            if is_ours:
                status = (process / "status").read_text()
                sizes.append(int(status.partition("VmRSS:")[2].split()[0]) // 1024)
        # Other people's processes, and those that are gone.
        except (OSError, IndexError):
            continue
    return max(sizes)


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    if not url:
        raise SystemExit("RACKRATE_URL names no web server; ./rackrate bench scale starts one")
    demo_remove()
    _scale_data.begin()
    workspace, owner = Workspace.objects.get(slug="default"), factories.owner()
    token = token_create(workspace=workspace, owner=owner, name="bench", scope="read")[1]
    scenario_create(workspace=workspace, document=YEAR, actor="bench")
    found: dict[int, dict[str, Any]] = {}
    first = 0
    for offers, types in SIZES.items():
        began = time.perf_counter()
        _scale_data.grow(first, types - 1)
        loaded = {"load_s": round(time.perf_counter() - began, 1)}
        first = types
        found[offers] = loaded | figures(url, token)
        print(json.dumps(found[offers]), file=sys.stderr)
    few, many = found.values()
    print(json.dumps({**found, "growth": _growth(few, many)}, indent=1))
    return 0


def _growth(few: Mapping[str, Any], many: Mapping[str, Any]) -> dict[str, float]:
    """How many times as much ten times the offers cost."""

    def figure(of: Mapping[str, Any], name: str) -> float:
        value = of[name]
        return float(value.get("p50", value.get("max", 0)) if isinstance(value, dict) else value)

    names = (
        "first_s",
        "page_ms",
        "html_ms",
        "csv_s",
        "change_s",
        "html_change_s",
        "search_ms",
        "web_mb",
    )
    return {name: round(figure(many, name) / (figure(few, name) or 1), 1) for name in names}


if __name__ == "__main__":
    sys.exit(main())
