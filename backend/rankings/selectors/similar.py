"""Offers of about the same size and speed as one, of other types."""

from collections.abc import Iterator, Sequence

from backend.domain.comparison import distance
from backend.rankings.selectors.rows import RankingRow

MOST_SIMILAR = 5
TRAITS = ("vcpu", "ram_gib", "score")


def similar_offers(row: RankingRow, everyone: Sequence[RankingRow]) -> list[RankingRow]:
    """The nearest by vCPU, RAM and score, nearest first; empty where none of these is known.

    Of a type in several regions the first row of `everyone` stands for all.
    """
    own = _traits(row)
    if not any(own.values()):
        return []
    others = list(_types(everyone, row))
    others.sort(key=lambda other: (distance(own, _traits(other)), other.offer_id))
    return others[:MOST_SIMILAR]


def _types(rows: Sequence[RankingRow], own: RankingRow) -> Iterator[RankingRow]:
    """The first row of each other type that the same programs run on."""
    seen = {(own.provider, own.offer)}
    for row in rows:
        kind = row.provider, row.offer
        if kind not in seen and (row.arch is None or own.arch in {None, row.arch}):
            seen.add(kind)
            yield row


def _traits(row: RankingRow) -> dict[str, float | None]:
    return {name: float(value) if (value := getattr(row, name)) else None for name in TRAITS}
