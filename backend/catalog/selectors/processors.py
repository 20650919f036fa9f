"""Cores and threads of processors (fixtures/catalog/processors.csv), for servers rented whole."""

import csv
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

TABLE = "catalog/processors.csv"
# "Intel® Xeon® W-2145 CPU @ 3.70GHz" is the "Intel Xeon W-2145"; several may stand as "2 x AMD EPYC 7502".
SURPLUS = re.compile(r"\(r\)|\(tm\)|®|™|@.*|\b(?:cpu|processor|[0-9]+-core)\b|[\s-]+")
COUNTED = re.compile(r"^\s*([0-9]+)\s*[x×]\s*")


def processor_figures(cpu_model: str, processor_count: int | None = None) -> Mapping[str, Any]:
    """Fields of Offer for a whole server with such processors; empty for unknown models.

    The count may also stand before the name.
    """
    name = cpu_model.casefold()
    if counted := COUNTED.match(name):
        name, processor_count = name[counted.end() :], int(counted[1])
    threads = _threads_by_name(settings.FIXTURE_DIR).get(SURPLUS.sub("", name))
    if threads is None:
        return {}
    total = threads * (processor_count or 1)
    return {"vcpu_count": Decimal(total), "thread_count": total, "is_vcpu_derived": True}


@lru_cache(maxsize=1)
def _threads_by_name(folder: Path) -> Mapping[str, int]:
    with (folder / TABLE).open(encoding="utf-8", newline="") as lines:
        return {
            SURPLUS.sub("", row["cpu_model"].casefold()): int(row["threads"])
            for row in csv.DictReader(lines)
        }
