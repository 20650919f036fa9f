"""The published figures under fixtures/published as samples of the offers that they stand for."""

import csv
import datetime as dt
import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from backend.benchmarks.models import Sample, Source
from backend.benchmarks.selectors.scores import DERIVED
from backend.benchmarks.services.machine_families import machine_family
from backend.benchmarks.services.twins import offers_without_twin
from backend.foundation.attributions import INSPECTOR_LICENCE, SPEC_TERMS
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import metric, shares_cpus
from backend.measure.mixtures import Mixture, TypeRuns, mixtures
from backend.measure.spreads import family_spreads
from backend.measure.stats import PublishedGroup, pool_groups

CMIPS_TABLE = "published/cmips_2013.csv"
PASSMARK_TABLE = "published/passmark_2014.csv"
COREMARK_TABLES = "published/coremark_*.csv"
STRESS_NG_TABLE = "published/sparecores/stressng.csv"
SPEC_TABLE = "published/specrate2017_int.csv"
PROCESSORS_TABLE = "published/specrate2017_processors.csv"
WHOLE_SERVERS_TABLE = "published/stressng_processors.csv"
OFFERS_TABLES = "catalog/offers_*.csv"

STRESS_NG = "stress_ng_div16"

Row = Mapping[str, str]
# Provider and the name of a type: a figure of it stands for its offers in every region.
Machine = tuple[str, str]


class SoldOffer(NamedTuple):
    pk: UUID
    shares_cpus: bool


def table_rows(folder: Path, pattern: str) -> Iterator[Row]:
    """The rows of every table that matches. Raises InvalidValue where none does."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InvalidValue("fixtures", f"{folder / pattern} is missing")
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def moment(row: Row) -> dt.datetime:
    """The begin of the day at which a row was true."""
    return dt.datetime.combine(dt.date.fromisoformat(row["as_of"]), dt.time(), dt.UTC)


def build_samples(
    folder: Path, offer_ids: Mapping[str, UUID], sold: Mapping[Machine, Iterable[SoldOffer]]
) -> Iterator[Sample]:
    """A sample of every figure for every offer that it stands for; `offer_ids` are by slug. Those of
    real work are loaded apart (services.published_figures).

    Raises InvalidValue for a missing table or two figures of one type on one model of CPU.
    """
    for row in table_rows(folder, CMIPS_TABLE):
        yield _sample(row, offer_ids[row["slug"]], "cmips_score")
    for row in table_rows(folder, PASSMARK_TABLE):
        yield _sample(row, offer_ids[row["slug"]], "passmark_score")
    yield from _coremark(folder, sold)
    yield from _stress_ng(folder, sold, offer_ids)
    yield from _spec(folder, offer_ids)


def offers_sold() -> dict[Machine, list[SoldOffer]]:
    """Without twins: those get the figures of their lead (services.twins)."""
    offers: dict[Machine, list[SoldOffer]] = {}
    fields = ("provider__slug", "name", "pk", "vcpu_kind", "kind")
    for slug, name, pk, vcpu_kind, kind in offers_without_twin().values_list(*fields):
        offers.setdefault((slug, name), []).append(SoldOffer(pk, shares_cpus(vcpu_kind, kind)))
    return offers


def _coremark(folder: Path, sold: Mapping[Machine, Iterable[SoldOffer]]) -> Iterator[Sample]:
    """A type that was measured on several models of CPU has one figure, of all together."""
    by_machine: dict[Machine, dict[tuple[str, str], Row]] = {}
    for row in table_rows(folder, COREMARK_TABLES):
        machine = row["provider"], row["machine_type"]
        groups = by_machine.setdefault(machine, {})
        model = row["cpu_model"], row.get("numa_nodes", "")
        if model in groups:
            raise InvalidValue("fixtures", f"{machine[1]} has more than one CoreMark score")
        groups[model] = row
    for machine, groups in by_machine.items():
        rows = list(groups.values())
        pooled = pool_groups([_group(row) for row in rows])
        figure = {
            "value": pooled.mean,
            "published_sd_ratio": pooled.sd_ratio,
            "published_count": pooled.count,
            "parameters": {"cpu_models": _counts(rows), "groups": [_cells_of(row) for row in rows]},
        }
        # A pooled figure has one date and one source: those of its newest part.
        newest = max(rows, key=moment)
        for offer in sold.get(machine, ()):
            yield _sample(newest, offer.pk, "coremark_score", **figure)


def _group(row: Row) -> PublishedGroup:
    return PublishedGroup(
        float(row["coremark_score"]), float(row["sd_percent"]) / 100, int(row["sample_count"])
    )


def _counts(rows: Iterable[Row]) -> dict[str, int]:
    """CPU model → results on it."""
    counts: dict[str, int] = {}
    for row in rows:
        model = row["cpu_model"]
        counts[model] = counts.get(model, 0) + int(row["sample_count"])
    return counts


def _cells_of(row: Row) -> dict[str, str]:
    names = ("cpu_model", "numa_nodes", "coremark_score", "sd_percent", "sample_count", "as_of")
    return {name: row[name] for name in names if name in row}


def _stress_ng(
    folder: Path, sold: Mapping[Machine, Iterable[SoldOffer]], offer_ids: Mapping[str, UUID]
) -> Iterator[Sample]:
    """A server that is rented whole has the figure of another one with its processor."""
    servers: dict[Machine, list[str]] = {}
    for row in table_rows(folder, WHOLE_SERVERS_TABLE):
        machine = row["provider"], row["machine_type"]
        servers.setdefault(machine, []).append(row["offer_cpu_model"])
    rented_whole: dict[str, list[UUID]] = {}
    for server in _dedicated_rows(folder):
        if server["cpu_count"] == "1":
            rented_whole.setdefault(server["cpu_model"], []).append(offer_ids[server["slug"]])
    rows = list(table_rows(folder, STRESS_NG_TABLE))
    runs = [_type_runs(row) for row in rows if _family(row)]
    mixed = mixtures(runs)
    spreads = family_spreads(each for each in runs if each.family not in mixed)
    for row in rows:
        machine = row["provider"], row["machine_type"]
        family = _family(row)
        for offer in sold.get(machine, ()):
            # Neighbours on shared CPUs come and go: two runs of a day tell nothing of them.
            spread = None if offer.shares_cpus else spreads.get(family)
            yield from _stress_ng_of(row, offer.pk, [], mixed.get(family), spread)
        for model in servers.get(machine, ()):
            for offer_id in rented_whole.get(model, ()):
                yield from _stress_ng_of(row, offer_id, [DERIVED])


def _family(row: Row) -> str:
    return machine_family(row["provider"], row["machine_type"])


def _type_runs(row: Row) -> TypeRuns:
    return TypeRuns(
        provider=row["provider"],
        family=_family(row),
        cpu_model=row["cpu_model"],
        vcpus=float(row["vcpu_count"]),
        count=int(row["run_count"]),
        low=float(row[f"{STRESS_NG}_min"]),
        median=float(row[STRESS_NG]),
        high=float(row[f"{STRESS_NG}_max"]),
    )


def _of_mixture(row: Row, mixture: Mixture) -> dict[str, Any]:
    """Any of the family's models may be the buyer's: the interval reaches over all of them."""
    vcpus = float(row["vcpu_count"])
    return {
        "value": mixture.mean * vcpus,
        "published_count": len(mixture.runs),
        "published_low": min(mixture.runs) * vcpus,
        "published_high": max(mixture.runs) * vcpus,
        "parameters": {"cpu_models": mixture.cpu_models},
    }


def _stress_ng_of(
    row: Row,
    offer_id: UUID,
    flags: list[str],
    mixture: Mixture | None = None,
    spread: float | None = None,
) -> Iterator[Sample]:
    key = STRESS_NG
    figure = {
        "published_count": int(row["run_count"]),
        "published_sd_ratio": spread,
        "published_low": float(row[f"{key}_min"]),
        "published_high": float(row[f"{key}_max"]),
        "method_version": f"stress-ng {row['stress_ng_version']}",
        "flags": flags,
        "licence": INSPECTOR_LICENCE,
        "parameters": {"cpu_models": {row["cpu_model"]: int(row["run_count"])}},
    }
    of_all = figure | (_of_mixture(row, mixture) if mixture else {})
    yield _sample(row, offer_id, key, **of_all)
    if single := row[f"{key}_single"]:
        alone = figure | {"variant": "single", "published_low": None, "published_high": None}
        yield _sample(row, offer_id, key, value=float(single), **alone)


def _dedicated_rows(folder: Path) -> Iterator[Row]:
    return (row for row in table_rows(folder, OFFERS_TABLES) if row["kind"] == "dedicated")


def _spec(folder: Path, offer_ids: Mapping[str, UUID]) -> Iterator[Sample]:
    """A server that is rented whole has the figure of its processors, as many as it has."""
    key = "specrate2017_int_base"
    processors = {
        row["offer_cpu_model"]: row["processor"] for row in table_rows(folder, PROCESSORS_TABLE)
    }
    results: dict[tuple[str, str], Row] = {}
    for row in table_rows(folder, SPEC_TABLE):
        chosen = row["processor"], row["chips"]
        # One processor with some cores or threads off is another row: the common one stands for it.
        if chosen not in results or int(row["result_count"]) > int(results[chosen]["result_count"]):
            results[chosen] = row
    for offer in _dedicated_rows(folder):
        processor = processors.get(offer["cpu_model"], "")
        result = results.get((processor, offer["cpu_count"]))
        if result is None:
            continue
        yield _sample(
            result,
            offer_ids[offer["slug"]],
            key,
            published_count=int(result["result_count"]),
            published_low=float(result[f"{key}_min"]),
            published_high=float(result[f"{key}_max"]),
            flags=[DERIVED],
            licence=SPEC_TERMS,
            parameters={
                "processor": processor,
                "chips": result["chips"],
                "result_id": result["result_id"],
                "cpu_models": {processor: int(result["result_count"])},
            },
        )


def _sample(row: Row, offer_id: UUID, key: str, **figure: Any) -> Sample:
    measured = metric(key)
    stated = {
        "variant": measured.canonical_variant or "",
        "parameters": {},
        **({} if "value" in figure else {"value": float(row[key])}),
        **figure,
    }
    return Sample(
        offer_id=offer_id,
        metric=key,
        unit=measured.unit,
        source=Source.PUBLISHED,
        source_note=row["source"],
        measured_at=moment(row),
        **stated,
    )
