"""Offers of about the same size and speed as one, of other types."""

from collections.abc import Mapping, Sequence

import numpy as np

from backend.money.amounts import CLOSE, Floats, codes_of
from backend.rankings.calc.comparison import UNKNOWN_DISTANCE, distance
from backend.rankings.selectors.basis_table import FIGURES
from backend.rankings.selectors.listing import cells, floats, mark_rows, rows_at, select_rows
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
    others = list(_nearest(_types(everyone, row), own))
    others.sort(key=lambda other: (distance(own, _traits(other)), other.offer_id))
    return others[:MOST_SIMILAR]


def _types(rows: Sequence[RankingRow], own: RankingRow) -> Sequence[RankingRow]:
    """The first row of each other type that the same programs run on."""
    others = select_rows(
        rows, mark_rows(rows, "arch", lambda arch: own.arch is None or arch in {None, own.arch})
    )
    providers, names = cells(others, "provider"), cells(others, "offer")
    is_same = providers.meets(lambda name: name == own.provider) & names.meets(
        lambda name: name == own.offer
    )
    _, first = codes_of(providers.codes, names.codes)
    first.sort()
    return rows_at(others, first[~is_same[first]])


def _nearest(rows: Sequence[RankingRow], own: Mapping[str, float | None]) -> Sequence[RankingRow]:
    """The rows among which the nearest are: thousands are compared without making them."""
    if len(rows) <= MOST_SIMILAR:
        return rows
    squares = np.zeros(len(rows))
    for name, value in own.items():
        if value is not None:
            ratios = np.log(_trait(rows, name) / value)
            squares += np.nan_to_num(ratios, nan=UNKNOWN_DISTANCE) ** 2
    # A little farther, since these are not worked out to the last position.
    farthest = np.partition(squares, MOST_SIMILAR - 1)[MOST_SIMILAR - 1] * (1 + CLOSE) + CLOSE
    return select_rows(rows, squares <= farthest)


def _trait(rows: Sequence[RankingRow], name: str) -> Floats:
    """A trait by row; NaN is unknown, and so is none at all."""
    if name in FIGURES:
        values = floats(rows, name)
        return np.where(values == 0, np.nan, values)
    of = cells(rows, name)
    return np.array([value or np.nan for value in of.values], np.float64)[of.codes]


def _traits(row: RankingRow) -> dict[str, float | None]:
    return {name: float(value) if (value := getattr(row, name)) else None for name in TRAITS}
