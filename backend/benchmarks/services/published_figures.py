"""The published scores of real work in their load form: a row a machine type, metric and variant.

`build_fixtures` makes it, and loading copies it into the database: to read the table of scores and to
make an object of each figure takes longer than everything else that a first start loads.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.db import connection

from backend.benchmarks.services.published_scores import type_scores
from backend.benchmarks.services.published_tables import Machine, Row, SoldOffer, table_rows
from backend.catalog.services.fact_tables import compress_table
from backend.measure.metrics import BURSTABLE_CPU_CV, CPU_METRICS

TABLE = "published/sparecores/figures.csv.gz"
# What identifies a published figure beside its offer, and what a newer table may correct.
KEYS = ("metric", "variant", "source_note")
STATED = ("value", "unit", "parameters", "flags", "published_count", "published_low",
          "published_high", "licence", "method_version", "measured_at")  # fmt: skip
MISSING = dict.fromkeys(("published_count", "published_low", "published_high"))
COLUMNS = ("provider", "machine_type", "spread", *KEYS, *STATED)
FIGURE = ("offer_id", "published_sd_ratio", *KEYS, *STATED)
STAGE = f"""
CREATE TEMPORARY TABLE figures ON COMMIT DROP AS
SELECT {", ".join(FIGURE)} FROM benchmarks_sample WITH NO DATA
"""  # noqa: S608 - names of our own columns only
COPY = f"COPY figures ({', '.join(FIGURE)}) FROM STDIN"
CORRECTED = ("published_sd_ratio", *STATED)
STORE = f"""
WITH stored AS (
    INSERT INTO benchmarks_sample AS known ({", ".join(FIGURE)}, source, repeat, excluded_reason)
    SELECT {", ".join(FIGURE)}, 'published', 0, '' FROM figures
    ON CONFLICT (offer_id, {", ".join(KEYS)}) WHERE source = 'published' DO UPDATE
    SET {", ".join(f"{name} = EXCLUDED.{name}" for name in CORRECTED)}
    WHERE ({", ".join(f"known.{name}" for name in CORRECTED)})
        IS DISTINCT FROM ({", ".join(f"EXCLUDED.{name}" for name in CORRECTED)})
    -- A row that was there before has a last transaction.
    RETURNING xmax = 0 AS is_new
)
SELECT count(*) FROM stored WHERE NOT is_new
"""  # noqa: S608 - names of our own columns only


def figures_build(folder: Path) -> int:
    """Write the load form; how many rows it has. Raises InvalidValue where the table is missing."""
    rows = [
        {
            "provider": score.machine[0],
            "machine_type": score.machine[1],
            "spread": score.spread,
            **score.columns,
            "parameters": json.dumps(score.columns["parameters"], ensure_ascii=False),
            "flags": f"{{{','.join(score.columns['flags'])}}}",
        }
        for score in type_scores(folder)
    ]
    (folder / TABLE).write_bytes(compress_table(COLUMNS, rows))
    return len(rows)


def figures_load(folder: Path, sold: Mapping[Machine, Iterable[SoldOffer]]) -> int:
    """Store the figures of these offers; how many stored ones were corrected."""
    with connection.cursor() as cursor:
        cursor.execute(STAGE)
        with cursor.copy(COPY) as copy:
            for row in table_rows(folder, TABLE):
                figure = [row[name] or MISSING.get(name, "") for name in (*KEYS, *STATED)]
                for offer in sold.get((row["provider"], row["machine_type"]), ()):
                    copy.write_row((offer.pk, _spread(row, offer), *figure))
        cursor.execute(STORE)
        corrected: int = cursor.fetchone()[0]
        cursor.execute("DROP TABLE figures")
    return corrected


def _spread(row: Row, offer: SoldOffer) -> str | None:
    is_small = float(row["spread"] or 0) <= BURSTABLE_CPU_CV
    if offer.shares_cpus and row["metric"] in CPU_METRICS and is_small:
        # Neighbours come and go: the stated spread says more than runs of a day.
        return None
    return row["spread"] or None
