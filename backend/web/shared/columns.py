"""The columns of the ranking as its page shows them: words, groups, and which are shown first."""

from collections.abc import Iterable, Mapping

from backend.common.rest.table import Kind
from backend.rankings.selectors.columns import COLUMN, COLUMNS

# Shown until a person chooses: cells of these carry their interval, tie, term, day and source.
STANDARD = (
    "rank",
    "offer",
    "provider",
    "kind",
    "region",
    "vcpu",
    "ram_gib",
    "score",
    "price",
    "value_per_cost",
    "cup",
    "flags",
    "measured_at",
)
ALWAYS = "offer"
LABELS: Mapping[str, str] = {
    "offer_id": "Identifier",
    "provider": "Provider",
    "offer": "Offer",
    "kind": "Kind",
    "region": "Region",
    "arch": "Architecture",
    "vcpu": "vCPU",
    "vcpu_kind": "vCPU kind",
    "threads": "Threads",
    "ram_gib": "RAM",
    "disk_gb": "Disk",
    "disk_kind": "Disk kind",
    "price": "Price",
    "currency": "Currency",
    "period": "Period",
    "hours_per_month": "Hours a month",
    "price_basis": "Price holds",
    "price_term": "Price term",
    "price_usd_hour": "Price, USD/hour",
    "price_observed_on": "Price observed",
    "fx_rate": "Exchange rate",
    "fx_date": "Day of the rate",
    "metric": "Metric",
    "score": "Score",
    "score_ci95_low": "Score, 95 % low",
    "score_ci95_high": "Score, 95 % high",
    "score_n_instances": "Machines",
    "score_n_repeats": "Repeats",
    "interval_basis": "Interval from",
    "cup": "CUP",
    "value_per_cost": "Value per cost",
    "value_per_cost_ci95_low": "Value, 95 % low",
    "value_per_cost_ci95_high": "Value, 95 % high",
    "rank": "Rank",
    "rank_low": "Best place",
    "rank_high": "Worst place",
    "tie_group": "Tie group",
    "pareto": "Pareto front",
    "measured_at": "Source",
    "method_version": "Method",
    "source": "Origin",
    "result_url": "Result",
    "data_version": "Data version",
    "flags": "Notes",
    "missing": "Missing",
    "price_zone": "Price zone",
}
# What a filter on a column is called where the head of its cells says something wider.
FILTER_LABELS: Mapping[str, str] = {
    "measured_at": "Measured at",
    "price_term": "Term of the price",
}
UNITS: Mapping[str, str] = {"ram_gib": "GiB", "disk_gb": "GB"}
# Figures are read best first, so a first click on these sorts downwards.
DESCENDING_FIRST = frozenset(
    {
        *("score", "score_ci95_low", "score_ci95_high", "score_n_instances", "score_n_repeats"),
        *("value_per_cost", "value_per_cost_ci95_low", "value_per_cost_ci95_high"),
        *("vcpu", "threads", "ram_gib", "disk_gb", "measured_at", "price_observed_on", "pareto"),
    }
)
RANGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Most used", ("vcpu", "ram_gib", "disk_gb", "price", "score", "value_per_cost")),
    (
        "All other figures",
        tuple(
            column.name
            for column in COLUMNS
            if column.kind.is_ordered
            and column.name
            not in {"vcpu", "ram_gib", "disk_gb", "price", "score", "value_per_cost"}
            | {"hours_per_month", "data_version"}
        ),
    ),
)
"""Columns with a field for each bound, by group; the others are asked for in the conditions box."""


def label(name: str) -> str:
    """Words of a column; its name where it has none."""
    return LABELS.get(name, name.replace("_", " "))


def filter_label(name: str) -> str:
    """Words of a filter on a column, with its unit."""
    unit = UNITS.get(name)
    words = FILTER_LABELS.get(name, label(name))
    return f"{words} ({unit})" if unit else words


def is_number(name: str) -> bool:
    """Whether cells are figures, aligned to the right."""
    return COLUMN[name].kind.is_numeric


def is_sortable(name: str) -> bool:
    """Whether an order by the column says something: not so for lists of marks."""
    return COLUMN[name].kind is not Kind.WORDS


def shown(wanted: Iterable[str]) -> tuple[str, ...]:
    """Columns of a table: those wanted that exist, once each, never without the offer's name."""
    names = tuple(dict.fromkeys(name for name in wanted if name in COLUMN))
    if not names:
        return STANDARD
    return names if ALWAYS in names else (ALWAYS, *names)
