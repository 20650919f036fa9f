"""What importing full-size price lists costs: `./rackrate bench prices`. Prints one JSON document.

- `aws_csv`, `aws_json`: a region's offer file of 50,969 SKUs, of which 614 are the right ones;
- `azure`: 70,000 prices of 50 regions, in pages as the interface answers them;
- each first and `again`: rows, seconds and peak memory of `import_prices`, and the rows that it
  changed. `wrong`, `duplicates`, `zeros`: types whose on-demand price is not the right one, that
  have two, or whose price is zero.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db import connection
from django.db.models import Count
from django.test.utils import setup_databases, teardown_databases

from backend.catalog.models import Offer, PriceFeed, PriceObservation, UnpricedType
from backend.catalog.selectors.current_prices import newest_prices
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.price_choice import PriceBasis
from tests.bench import _price_files as files

MANAGE = Path(__file__).parents[2] / "manage.py"
MB = 1_000_000
KB = 1024


def imported(provider: str, paths: Sequence[Path]) -> dict[str, Any]:
    """The counts of one import in a process of its own, its wall time and peak memory."""
    database = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(MANAGE), "import_prices", provider, "--json", *map(str, paths)],
        env={**os.environ, "DATABASE_URL": database._replace(path=f"/{name}").geturl()},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"import_prices {provider} ended with {process.returncode}")
    [report] = json.loads(told).values()
    return {
        "seconds": round(time.monotonic() - began, 1),
        "peak_mb": round(used.ru_maxrss * KB / MB),
        "priced": report["priced"],
        "published": report["published"],
        "quarantined": report["quarantined"],
        "unpriced": report["unpriced"],
    }


def both(provider: str, paths: Sequence[Path]) -> dict[str, Any]:
    """The list, and the same list again: what it changed then."""
    first = imported(provider, paths)
    state = _state()
    again = imported(provider, paths)
    size = sum(path.stat().st_size for path in paths)
    return {
        "file_mb": round(size / MB),
        **first,
        "again": {
            "seconds": again["seconds"],
            "peak_mb": again["peak_mb"],
            "published": again["published"],
            "changed": sum(before != now for before, now in zip(state, _state(), strict=True)),
        },
    }


def _state() -> list[object]:
    """Hashes of everything that an import of the same list must leave as it is."""
    found: list[object] = [data_version()]
    with connection.cursor() as cursor:
        for model in (PriceObservation, Offer, UnpricedType):
            # Not read here: a child's peak memory counts that of its parent when it began.
            cursor.execute(
                "SELECT md5(string_agg(row::text, ',' ORDER BY row.id)) "
                f'FROM "{model._meta.db_table}" AS row'
            )
            found += cursor.fetchone()
    return found


def correctness(right: dict[str, str]) -> dict[str, int]:
    """How the on-demand prices compare with the right ones."""
    rows = PriceObservation.objects.filter(purchase_model="on_demand", is_published=True)
    each = dict(rows.order_by().values_list("offer__name").annotate(count=Count("pk")))
    found = dict(rows.values_list("offer__name", "amount"))
    wrong = [name for name, amount in right.items() if found.get(name) != Decimal(amount)]
    return {
        "types": len(found),
        "wrong": len(wrong),
        "duplicates": sum(count > 1 for count in each.values()),
        "zeros": rows.filter(amount__lte=0).count(),
        "types_without_price_or_reason": _unexplained(),
    }


def _unexplained() -> int:
    reasons = set(UnpricedType.objects.values_list("name", "region"))
    bare = Offer.objects.filter(prices=None).values_list("name", "region__code")
    return len(set(bare) - reasons)


def ranked_s() -> float:
    """Reading the prices that a ranking needs from all observations."""
    began = time.perf_counter()
    list(newest_prices(PriceBasis()))
    return round(time.perf_counter() - began, 2)


def cleared() -> None:
    """An empty catalog for the next list."""
    for model in (PriceObservation, PriceFeed, Offer):
        model.objects.all().delete()


def main() -> int:
    databases = setup_databases(verbosity=0, interactive=False)
    found: dict[str, Any] = {}
    try:
        with tempfile.TemporaryDirectory() as given:
            folder = Path(given)
            for name, write in (("aws_csv", files.aws_csv), ("aws_json", files.aws_json)):
                path = folder / name
                write(path)
                found[name] = both("aws", [path]) | correctness(files.aws_right())
                path.unlink()
                cleared()
            found["azure"] = both("azure", files.azure_pages(folder))
            found["azure"]["newest_prices_s"] = ranked_s()
    finally:
        teardown_databases(databases, verbosity=0)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
