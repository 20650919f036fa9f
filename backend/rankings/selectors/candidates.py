"""A buyer's choices: rows of one provider, type and price are one candidate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from backend.benchmarks.selectors.scores import DERIVED
from backend.measure.pairwise import NO_FIGURE, log_sigmas, merge_equal
from backend.money.amounts import Floats, Ints, codes_of
from backend.rankings.calc.best import best_probabilities, smallest_set
from backend.rankings.selectors.listing import cells, floats, mark_rows, rows_at, select_rows
from backend.rankings.selectors.rows import RankingRow


@dataclass(frozen=True)
class Candidate:
    """A choice: the row of its best region, and all regions that sell it at this price."""

    row: RankingRow
    regions: tuple[str, ...]
    p_best: float | None = None
    """Probability of being the best value; None where value was not compared."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of priced rows, in the order of the first row of each."""

    _priced: Sequence[RankingRow]
    _numbers: Ints
    """Candidate of each row, by its position in `rows`."""
    rows: Sequence[RankingRow]

    @classmethod
    def of(cls, listing: Sequence[RankingRow]) -> "Candidates":
        """Candidates of a list; rows without a price are left out."""
        priced = select_rows(listing, ~np.isnan(floats(listing, "price")))
        prices = np.unique(merge_equal(floats(priced, "price")), return_inverse=True)[1]
        codes, first = codes_of(
            cells(priced, "provider").codes, cells(priced, "offer").codes, prices
        )
        # Codes follow the values; candidates are numbered by the first row of each.
        order = np.argsort(first)
        numbers = np.argsort(order)[codes]
        return cls(priced, numbers, rows_at(priced, first[order]))

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, position: int, p_best: float | None = None) -> Candidate:
        members = rows_at(self._priced, np.flatnonzero(self._numbers == position))
        regions = {row.region for row in members if row.region}
        return Candidate(self.rows[position], tuple(sorted(regions)), p_best)

    @cached_property
    def values(self) -> Floats:
        """Value per cost by candidate; NaN is unknown."""
        return floats(self.rows, "value_per_cost")


@dataclass(frozen=True)
class BestChoice:
    """The candidate of the best value, and the smallest set that holds the best with 95 %."""

    best: Candidate | None
    contenders: Sequence[Candidate]

    @property
    def rivals(self) -> Sequence[Candidate]:
        """The contenders but for the best by value."""
        return [
            contender
            for contender in self.contenders
            if self.best and contender.row != self.best.row
        ]


def choose_best(candidates: Candidates, seed: int) -> BestChoice:
    """The best of candidates that all have a value per cost, highest first."""
    if not len(candidates):
        return BestChoice(None, ())
    low, high = (floats(candidates.rows, f"value_per_cost_ci95_{end}") for end in ("low", "high"))
    # An interval that reaches to zero has the width of its upper half on both sides.
    low = np.where(low > 0, low, candidates.values**2 / high)
    probabilities = best_probabilities(
        candidates.values, log_sigmas(low, high), _source_figures(candidates.rows), seed
    )
    contenders = [
        candidates.at(at, float(probabilities[at])) for at in smallest_set(probabilities).tolist()
    ]
    return BestChoice(candidates.at(0, float(probabilities[0])), contenders)


def _source_figures(rows: Sequence[RankingRow]) -> Ints:
    """Number of the source figure by row; NO_FIGURE for a measurement of the offer itself."""
    scores = np.unique(floats(rows, "score"), return_inverse=True)[1]

    def numbers(*names: str) -> Ints:
        return codes_of(*(cells(rows, name).codes for name in names), scores)[0]

    # A published figure is one for a type in all its regions, a derived one for a processor.
    derived, published = numbers("hardware"), numbers("provider", "offer")
    is_derived = mark_rows(rows, "flags", lambda flags: DERIVED in flags.split())
    is_published = mark_rows(rows, "source", lambda source: source == "published")
    of_type = np.where(is_published, published + derived.max(initial=0) + 1, NO_FIGURE)
    figures: Ints = np.where(is_derived, derived, of_type)
    return figures
