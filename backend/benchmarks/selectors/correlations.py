"""Which metrics put machines into the same order, for each vCPU."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from backend.benchmarks.selectors.inspector_table import Machine, Row, inspector_rows
from backend.foundation.texts import text as _
from backend.measure.metrics import METRICS, Metric
from backend.measure.rank_correlation import rank_correlation

TABLE = "published/sparecores/rankcorr.csv"
# Yardstick of the table: crypto, Redis, web, compression and twelve other kinds of work.
BROAD = "broad6"


class Compared(NamedTuple):
    """A column of the table of correlations as our metric, and its figures in the table of scores."""

    column: str
    metric: str
    score: str


# single_thread_performance is gzip and three more.
COMPARED = (
    Compared("general_noweb", "general_performance", "derived_general_noweb"),
    Compared("redis_p16", "redis_set_per_s", "redis_set_p16"),
    Compared("web_64k", "web_requests_per_s", "web_64k"),
    Compared("gzip5_pc", "compression_bytes_per_s", "gzip5_compress_percore"),
    Compared("gzip5_1c", "single_thread_performance", "derived_single_thread"),
    Compared("llm_prompt", "llm_tokens_per_s", "llm_smollm135m_prompt128"),
    Compared("bwmem_rd", "bw_mem_bytes_per_s", "bwmem_rd_64MB_all"),
    Compared("mem_lat", "membench_latency_ns", "membench_latency_max"),
    Compared("pgbench", "pgbench_read_per_s", "pgbench_rocpu"),
    Compared("sha256", "openssl_sha256_bytes_per_s", "openssl_sha256_16k_all"),
    Compared("div16", "stress_ng_div16", "stressng_div16_all"),
)
PGBENCH = "pgbench_read_per_s"
# The client is a second machine, which limits the largest.
MIN_VCPUS, MAX_VCPUS = 2, 64
# Flags of figures on another model of CPU than the type's main one, and on an unknown one.
OTHER_MODELS = frozenset("xu")


@dataclass(frozen=True)
class Correlation:
    """Rank correlation with another metric, over machine types."""

    label: str
    ratio: float
    type_count: int

    @property
    def tenth(self) -> int:
        """0 to 10, by which a cell is coloured; what disagrees is 0."""
        return max(0, round(self.ratio * 10))


@dataclass(frozen=True)
class CorrelationRow:
    """A metric and its correlations with every metric of the table, in the order of the rows."""

    key: str
    label: str
    cells: Sequence[Correlation]

    @property
    def others(self) -> Sequence[Correlation]:
        """The strongest first, without the metric itself."""
        others = (cell for cell in self.cells if cell.label != self.label)
        return sorted(others, key=lambda cell: -cell.ratio)


@cache
def correlation_rows() -> Sequence[CorrelationRow]:
    """The published table, of the columns that are metrics here."""
    with Path(settings.FIXTURE_DIR, TABLE).open(encoding="utf-8", newline="") as lines:
        rows = {(row["kind"], row["metric"]): row for row in csv.DictReader(lines)}
    labels = {BROAD: _("Broad server work")}
    labels |= {each.column: METRICS[each.metric].label for each in COMPARED}
    keys = {each.column: each.metric for each in COMPARED}
    return [
        CorrelationRow(
            keys.get(name, ""),
            label,
            [
                Correlation(
                    labels[column],
                    float(rows["per_vcpu", name][column]),
                    int(float(rows["n_types", name][column])),
                )
                for column in labels
            ],
        )
        for name, label in labels.items()
    ]


def correlation_row(metric: Metric) -> CorrelationRow | None:
    """Row of one metric; None where the table has none."""
    return next((row for row in correlation_rows() if row.key == metric.key), None)


@cache
def database_correlations() -> Mapping[str, Correlation]:
    """Metric → correlation with what PostgreSQL reaches for each vCPU, over the published types that
    have both figures."""
    rows = inspector_rows(Path(settings.FIXTURE_DIR), {each.score for each in COMPARED})
    figures = {each.metric: _per_vcpu(each, rows[each.score]) for each in COMPARED}
    reference = figures.pop(PGBENCH)
    correlations = {}
    for key, ours in figures.items():
        machines = sorted(ours.keys() & reference.keys())
        ratio = rank_correlation(
            [ours[machine] for machine in machines], [reference[machine] for machine in machines]
        )
        if ratio is not None and METRICS[key].is_higher_better:
            correlations[key] = Correlation(METRICS[PGBENCH].label, ratio, len(machines))
    return correlations


def _per_vcpu(compared: Compared, rows: Mapping[Machine, Sequence[Row]]) -> Mapping[Machine, float]:
    of_one_thread = "single" in compared.metric
    return {
        machine: float(row["value"]) / (1 if of_one_thread else float(row["vcpu"]))
        for machine, of_machine in rows.items()
        for row in of_machine
        if OTHER_MODELS.isdisjoint(row["flags"]) and MIN_VCPUS <= float(row["vcpu"]) <= MAX_VCPUS
    }
