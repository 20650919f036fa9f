"""How the page arranges the columns of the ranking: which are shown first, and its filters."""

from collections.abc import Iterable

from backend.rankings.selectors.columns import COLUMN, COLUMNS
from backend.site.language import lazy

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
    "flags",
    "measured_at",
)
ALWAYS = "offer"
MOST_USED_BOUNDS = ("vcpu", "ram_gib", "disk_gb", "price", "score", "value_per_cost")
# Columns with a field for each bound, by group; the others are asked for in the conditions box.
BOUNDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (lazy("Most used"), MOST_USED_BOUNDS),
    (
        lazy("All other figures"),
        tuple(
            column.name
            for column in COLUMNS
            if column.kind.is_ordered and column.has_bounds and column.name not in MOST_USED_BOUNDS
        ),
    ),
)


def shown(names: Iterable[str]) -> tuple[str, ...]:
    """Columns of a table: those named that exist, once each, never without the offer's name."""
    known = tuple(dict.fromkeys(name for name in names if name in COLUMN))
    # A table without a column would be an empty page; a cookie or link may name what is gone.
    if not known:
        return STANDARD
    return known if ALWAYS in known else (ALWAYS, *known)
