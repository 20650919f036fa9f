"""The published scores of real work, by machine type: fixtures/published/sparecores.

A score is of a type, not of a region. A type that was measured on several models of CPU is a mixture
with shares, as a buyer draws one of them.
"""

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

from backend.benchmarks.selectors.inspector_table import Machine, Row, inspector_rows
from backend.benchmarks.selectors.scores import UNLIKE_PEERS
from backend.benchmarks.services.machine_families import machine_family
from backend.foundation.attributions import INSPECTOR_LICENCE
from backend.measure.metrics import BURSTABLE_CPU_CV, metric
from backend.measure.metrics.general_performance import MAX_WEB_VCPUS, MEGA
from backend.measure.mixtures import TypeRuns
from backend.measure.spreads import family_spreads
from backend.measure.stats import SATURATED, PublishedGroup, pool_groups

SOURCE = (
    "Spare Cores Inspector Data, https://github.com/SpareCores/sc-inspector-data/tree/main/data"
)
PER_MINUTE = 1 / 60


class ScoreSeries(NamedTuple):
    """A metric of the table in our terms."""

    metric: str
    variant: str
    factor: float = 1.0
    """Our unit = theirs × factor."""
    parts: tuple[str, ...] = ()
    """Metrics of the table that tell how the parts of a mean spread, one a family."""


REDIS, CRYPTO, WEB = "redis_set_p16", "openssl_sha512_16k_all", "web_64k"
SERIES: Mapping[str, ScoreSeries] = MappingProxyType(
    {
        "derived_general_noweb": ScoreSeries(
            "general_performance", "standard", parts=(REDIS, CRYPTO)
        ),
        "derived_general_cpu": ScoreSeries(
            "general_performance", "with_web", parts=(REDIS, CRYPTO, WEB)
        ),
        "derived_single_thread": ScoreSeries(
            "single_thread_performance", "standard", parts=("gzip5_compress_1core",)
        ),
        WEB: ScoreSeries("web_requests_per_s", "64k"),
        "web_1k": ScoreSeries("web_requests_per_s", "1k"),
        REDIS: ScoreSeries("redis_set_per_s", "p16"),
        "redis_set_p1": ScoreSeries("redis_set_per_s", "p1"),
        "gzip5_compress_percore": ScoreSeries("compression_bytes_per_s", "gzip,5,multi", MEGA),
        "zstd7_compress_percore": ScoreSeries("compression_bytes_per_s", "zstd,7,multi", MEGA),
        "llm_smollm135m_prompt128": ScoreSeries("llm_tokens_per_s", "prompt128"),
        "llm_smollm135m_gen128": ScoreSeries("llm_tokens_per_s", "gen128"),
        "bwmem_rd_64MB_all": ScoreSeries("bw_mem_bytes_per_s", "rd,64", MEGA),
        "membench_latency_max": ScoreSeries("membench_latency_ns", "largest"),
        "pgbench_rocpu": ScoreSeries("pgbench_read_per_s", "peak", PER_MINUTE),
    }
)


@dataclass(frozen=True)
class TypeScore:
    """A metric of one machine type; `columns` are those of a sample."""

    machine: Machine
    spread: float | None
    """Between machines of the type (ratio), from repeated public runs; None where nobody knows it."""
    columns: Mapping[str, Any]


def type_scores(folder: Path) -> Iterator[TypeScore]:
    """Every score of every machine type. Raises InvalidValue where the table is missing."""
    table = _ScoresTable(folder)
    for name in SERIES:
        yield from table.scores(name)


class _ScoresTable:
    """The rows by metric and machine, and what they tell of the spread between machines."""

    def __init__(self, folder: Path) -> None:
        names = SERIES.keys() | {part for series in SERIES.values() for part in series.parts}
        self.rows = inspector_rows(folder, names)
        machines = {machine for by_machine in self.rows.values() for machine in by_machine}
        self.families = {machine: machine_family(*machine) for machine in machines}
        self.spreads = {name: self._spreads(name) for name in names - _means()}
        self.shares = self._shares()

    def scores(self, name: str) -> Iterator[TypeScore]:
        """The scores by one metric of the table."""
        peers = self._peers(name)
        for machine, rows in self.rows[name].items():
            is_too_large = WEB in SERIES[name].parts and float(rows[0]["vcpu"]) > MAX_WEB_VCPUS
            if is_too_large:
                continue
            flags = self._flags(name, machine, rows)
            spread = self._spread(name, machine, flags)
            columns = self._columns(name, machine, rows, spread, peers)
            shown = [flag for flag in (SATURATED, UNLIKE_PEERS) if flag in flags]
            yield TypeScore(machine, spread, {**columns, "flags": shown})

    def _spreads(self, name: str) -> Mapping[str, float]:
        return family_spreads(
            TypeRuns(
                provider=machine[0],
                family=self.families[machine],
                cpu_model=row["cpu_model"],
                vcpus=float(row["vcpu"]),
                count=int(row["runs"]),
                low=float(row["min"] or row["value"]),
                median=float(row["value"]),
                high=float(row["max"] or row["value"]),
            )
            for machine, rows in self.rows[name].items()
            for row in rows
            if "b" not in row["flags"] and self.families[machine]
        )

    def _shares(self) -> Mapping[Machine, Mapping[str, int]]:
        """Machine → CPU model → runs on it, by the metric that saw most of them."""
        shares: dict[Machine, dict[str, int]] = defaultdict(dict)
        for by_machine in self.rows.values():
            for machine, rows in by_machine.items():
                seen = shares[machine]
                for row in rows:
                    if model := row["cpu_model"]:
                        seen[model] = max(seen.get(model, 0), int(row["runs"] or 1))
        return shares

    def _peers(self, name: str) -> Mapping[tuple[str, str], float]:
        """Family and CPU model → the usual figure for each vCPU."""
        figures: dict[tuple[str, str], list[float]] = defaultdict(list)
        for machine, rows in self.rows[name].items():
            for row in rows:
                key = self.families[machine], row["cpu_model"]
                figures[key].append(float(row["value"]) / float(row["vcpu"]))
        return {key: median(values) for key, values in figures.items()}

    def _flags(self, name: str, machine: Machine, rows: Sequence[Row]) -> set[str]:
        parts = [self.rows[part].get(machine, []) for part in SERIES[name].parts[:1]]
        stated = {flag for row in rows for flag in row["flags"]}
        stated |= {flag for part in parts for row in part for flag in row["flags"] if flag == "o"}
        names = {"s": SATURATED, "o": UNLIKE_PEERS, "b": "shared"}
        return {names[flag] for flag in stated & names.keys()}

    def _spread(self, name: str, machine: Machine, flags: set[str]) -> float | None:
        if "shared" in flags:
            return BURSTABLE_CPU_CV
        family = self.families[machine]
        parts = SERIES[name].parts or (name,)
        known = [self.spreads[part].get(family) for part in parts]
        spreads = [spread for spread in known if spread is not None]
        # Errors of the families of a mean are taken as independent.
        spread = math.hypot(*spreads) / len(spreads) if spreads else None
        # It may be a machine of another speed, or a bad day: as uncertain as a shared CPU.
        return max(spread or 0.0, BURSTABLE_CPU_CV) if UNLIKE_PEERS in flags else spread

    def _columns(
        self,
        name: str,
        machine: Machine,
        rows: Sequence[Row],
        spread: float | None,
        peers: Mapping[tuple[str, str], float],
    ) -> Mapping[str, Any]:
        series, models = SERIES[name], self.shares[machine]
        described = [self._describing_row(name, machine, row) for row in rows]
        pooled = pool_groups(
            [
                PublishedGroup(float(row["value"]), spread or 0.0, int(runs["runs"] or 1))
                for row, runs in zip(rows, described, strict=True)
            ]
        )
        reached = [float(row[end]) for row in rows for end in ("min", "max") if row[end]]
        if len(models) > 1:
            reached += [float(row["value"]) for row in rows]
            reached += self._of_other_models(machine, float(rows[0]["vcpu"]), peers)
        newest = max(described, key=lambda row: row["date"][-10:])
        return {
            "metric": series.metric,
            "variant": series.variant,
            "value": pooled.mean * series.factor,
            "unit": metric(series.metric).unit,
            "parameters": {"cpu_models": models, **_groups(rows)},
            "source_note": f"{SOURCE}/{rows[0]['vendor']}/{machine[1]}",
            "published_count": pooled.count,
            "published_low": min(reached) * series.factor if reached else None,
            "published_high": max(reached) * series.factor if reached else None,
            "licence": INSPECTOR_LICENCE,
            "method_version": newest["tool_version"],
            "measured_at": dt.datetime.combine(
                dt.date.fromisoformat(newest["date"][-10:]), dt.time(), dt.UTC
            ),
        }

    def _of_other_models(
        self, machine: Machine, vcpus: float, peers: Mapping[tuple[str, str], float]
    ) -> list[float]:
        """Figures that other types of its family have on the models that the type was seen on."""
        family = self.families[machine]
        keys = [(family, model) for model in self.shares[machine]]
        return [vcpus * peers[key] for key in keys if family and key in peers]

    def _describing_row(self, name: str, machine: Machine, row: Row) -> Row:
        """The row that has the day and the runs: of a mean, that of its first part."""
        if row["date"]:
            return row
        parts = self.rows[SERIES[name].parts[0]][machine]
        return next((part for part in parts if part["cpu_model"] == row["cpu_model"]), parts[0])


def _means() -> set[str]:
    return {name for name, series in SERIES.items() if series.parts}


def _groups(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Each row of a type that was measured on several models of CPU, as the table states it."""
    names = ("cpu_model", "value", "runs", "min", "max", "date")
    return (
        {"groups": [{name: row[name] for name in names} for row in rows]} if len(rows) > 1 else {}
    )
