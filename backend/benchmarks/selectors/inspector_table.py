"""The table of published scores, by metric and machine type."""

import csv
import gzip
from collections import defaultdict
from collections.abc import Container, Mapping
from pathlib import Path

from backend.foundation.errors import InvalidValue

SCORES_TABLE = "published/sparecores/scores.csv.gz"
# Hetzner Cloud is sold by the provider that also sells dedicated servers.
PROVIDERS = {"hcloud": "hetzner"}

Row = Mapping[str, str]
# Provider and the name of a type.
Machine = tuple[str, str]


def inspector_rows(
    folder: Path, metrics: Container[str]
) -> Mapping[str, Mapping[Machine, list[Row]]]:
    """Metric of the table → machine → a row for each model of CPU.

    Raises InvalidValue where the table is missing.
    """
    path = folder / SCORES_TABLE
    if not path.exists():
        raise InvalidValue("fixtures", f"{path} is missing")
    rows: dict[str, dict[Machine, list[Row]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["metric"] in metrics:
                machine = PROVIDERS.get(row["vendor"], row["vendor"]), row["server"]
                rows[row["metric"]][machine].append(row)
    return rows
