"""Spearman's rank correlation: how far two metrics put machines into the same order."""

from collections.abc import Sequence
from statistics import correlation

# Of two values any order agrees or disagrees wholly.
MIN_PAIRS = 3


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """−1 to 1 (ratio); None of fewer than three pairs, or where all values of a side are equal."""
    if len(first) < MIN_PAIRS or min(len(set(first)), len(set(second))) < 2:
        return None
    return correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    """Equal values share the mean of their ranks."""
    order = sorted(values)
    first_of: dict[float, int] = {}
    count_of: dict[float, int] = {}
    for rank, value in enumerate(order):
        first_of.setdefault(value, rank)
        count_of[value] = count_of.get(value, 0) + 1
    return [first_of[value] + (count_of[value] - 1) / 2 for value in values]
