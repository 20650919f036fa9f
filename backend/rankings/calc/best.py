"""The probability of each offer of being the best value, and the smallest set that holds the best."""

import hashlib
from collections.abc import Sequence

import numpy as np

from backend.measure.pairwise import NO_FIGURE, is_surely_above, merge_equal
from backend.money.amounts import Floats, Ints

N_DRAWS = 4_000
MAX_CANDIDATES = 500


def draw_seed(data_version: int, canonical_query: str) -> int:
    """The seed of the draws of one question: page and API hand over the same query text."""
    text = f"{data_version}\n{canonical_query}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def best_probabilities(
    values: Sequence[float] | Floats,
    sigmas: Sequence[float] | Floats,
    source_figures: Sequence[int] | Ints,
    seed: int,
) -> Floats:
    """The probability of each row of having the highest value, in the order of the rows.

    `values` are values per cost above zero, higher is better. `sigmas` are their standard deviations
    on the logarithm (pairwise.log_sigmas). `source_figures` numbers the source figure of each row:
    rows of one number share its error, NO_FIGURE (-1) stands for a figure of the row's own.
    4,000 draws over the rows that the highest value is not surely above, at most the 500 highest;
    all others have 0. The probabilities add up to 1. An empty list gives an empty array.
    """
    values = merge_equal(np.asarray(values, float))
    sigmas, figures = np.asarray(sigmas, float), np.asarray(source_figures, np.int64)
    probabilities = np.zeros(values.size)
    if not values.size:
        return probabilities
    rows = _candidates(values, sigmas, figures)
    column = _columns_by_figure(figures[rows])
    errors = np.random.default_rng(seed).standard_normal((N_DRAWS, int(column.max()) + 1))
    drawn = np.log(values[rows]) + sigmas[rows] * errors[:, column]
    is_best = drawn == drawn.max(axis=1, keepdims=True)
    # Rows of one figure and price are drawn equal and share the draw.
    probabilities[rows] = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    return probabilities


def _columns_by_figure(figures: Ints) -> Ints:
    """A column of draws for each source figure and each row without one, in the order of rows."""
    numbers = np.where(figures == NO_FIGURE, figures.max() + 1 + np.arange(figures.size), figures)
    _, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    # By appearance: the draws do not depend on how the figures are numbered.
    columns: Ints = np.argsort(np.argsort(first))[codes]
    return columns


def _candidates(values: Floats, sigmas: Floats, figures: Ints) -> Ints:
    """The rows that the highest value is not surely above, the highest values first."""
    leader = int(np.argmax(values))
    is_same_figure = (figures == figures[leader]) & (figures != NO_FIGURE)
    surely_below = is_surely_above(
        values[leader], values, sigmas[leader], sigmas, is_same_figure=is_same_figure
    )
    rows = np.flatnonzero(~surely_below)
    return rows[np.argsort(-values[rows], kind="stable")][:MAX_CANDIDATES]


def smallest_set(probabilities: Sequence[float] | Floats, share: float = 0.95) -> Ints:
    """The rows of the smallest set that holds the best with the probability `share`, the most
    probable first; empty for an empty list."""
    array = np.asarray(probabilities, float)
    order = np.argsort(-array, kind="stable")
    # A sum of floats may fall short of the share that it means.
    reached = np.cumsum(array[order]) >= share - 1e-9
    return order[: int(np.argmax(reached)) + 1] if array.size else order
