"""One ranking of offers by value per cost under one metric.

The order is total: rows with a value first, best first; then rows without a price; then unfit rows
(disturbed, or measured from a cache). Within the last two the better score comes first, and equal
rows follow their offer id. Unfit rows are shown and never compared: they hold no rank, value, tie
group or place on the Pareto frontier, and they keep nobody off it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any, TypeVar

from backend.domain import stats
from backend.domain.cmips import cup
from backend.domain.errors import InvalidValue
from backend.domain.metrics import Metric
from backend.domain.stats import Summary
from backend.domain.units import EXACT, exact_decimal

Row = TypeVar("Row")

CUP_METRIC = "cmips_score"
# Values closer than this are one value: it is wider than the rounding of the 34-digit context,
# so that offers equal in one currency stay equal in another.
SAME_VALUE_RATIO = Decimal("1e-30")


@dataclass(frozen=True)
class Candidate:
    """An offer with a score for the metric.

    `price` is for the period and basis of the ranking, `price_per_hour` for one hour in the same
    currency (CUP needs it whatever the period); None is an unknown price, never zero.
    `missing` names inputs that the caller could not find.
    """

    offer_id: str
    score: Summary
    price: Decimal | None
    price_per_hour: Decimal | None = None
    is_unfit: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class RankedRow:
    """A candidate and what the ranking says of it; None where nothing can be said."""

    candidate: Candidate
    value_per_cost: Decimal | None = None
    value_per_cost_ci95_low: Decimal | None = None
    value_per_cost_ci95_high: Decimal | None = None
    cup: Decimal | None = None
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    tie_group: int | None = None
    is_pareto: bool | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Valued:
    candidate: Candidate
    price: Decimal
    value: Decimal
    interval: tuple[Decimal, Decimal] | None


def value_per_cost(score: float, price: Decimal, metric: Metric) -> Decimal:
    """score / price, or 1 / (score × price) where lower is better; 34 digits, higher is better."""
    exact = exact_decimal(score)
    if metric.is_higher_better:
        return EXACT.divide(exact, price)
    return EXACT.divide(Decimal(1), EXACT.multiply(exact, price))


def ranked(
    candidates: Iterable[Candidate], metric: Metric, *, seed: int = stats.SEED
) -> list[RankedRow]:
    """All candidates in the order described above, each with its place.

    `rank` is a competition rank (1, 2, 2, 4) by exact value; rank bounds and tie groups come from
    common draws of the score intervals. Raises InvalidValue for a score or price that is not
    above zero, or an offer listed twice.
    """
    everyone = _checked(list(candidates))
    valued = [
        _valued(c, c.price, metric) for c in everyone if c.price is not None and not c.is_unfit
    ]
    unpriced = [c for c in everyone if c.price is None and not c.is_unfit]
    unfit = [c for c in everyone if c.is_unfit]
    return [
        *_placed(_in_order(valued), metric, seed),
        *(_unplaced(c, metric) for c in _by_score(unpriced, metric)),
        *(_unplaced(c, metric) for c in _by_score(unfit, metric)),
    ]


def _checked(candidates: list[Candidate]) -> list[Candidate]:
    seen: set[str] = set()
    for candidate in candidates:
        if candidate.offer_id in seen:
            raise InvalidValue("offer_id", f"{candidate.offer_id} is listed twice")
        seen.add(candidate.offer_id)
        for field, amount in (
            ("score", candidate.score.value),
            ("price", candidate.price),
            ("price_per_hour", candidate.price_per_hour),
        ):
            if amount is not None and not amount > 0:
                raise InvalidValue(field, f"{amount} of {candidate.offer_id} is not above zero")
    return candidates


def _valued(candidate: Candidate, price: Decimal, metric: Metric) -> _Valued:
    score = candidate.score
    interval = None
    if score.ci95_low is not None and score.ci95_high is not None:
        ends = [value_per_cost(s, price, metric) for s in (score.ci95_low, score.ci95_high)]
        interval = (min(ends), max(ends))
    return _Valued(candidate, price, value_per_cost(score.value, price, metric), interval)


def _in_order(rows: Iterable[_Valued]) -> list[tuple[int, _Valued]]:
    """Rows with their competition rank, best value first; rows of one value by offer id."""
    placed: list[tuple[int, _Valued]] = []
    leader = Decimal(0)
    for position, row in enumerate(sorted(rows, key=lambda row: -row.value), start=1):
        if placed and leader - row.value <= leader * SAME_VALUE_RATIO:
            placed.append((placed[-1][0], row))
        else:
            placed.append((position, row))
            leader = row.value
    return sorted(placed, key=lambda place: (place[0], place[1].candidate.offer_id))


def _placed(places: Sequence[tuple[int, _Valued]], metric: Metric, seed: int) -> list[RankedRow]:
    ranks, rows = [rank for rank, _ in places], [row for _, row in places]
    draws = stats.common_draws(
        [float(row.value) for row in rows],
        [row.interval and (float(row.interval[0]), float(row.interval[1])) for row in rows],
        seed=seed,
    )
    bounds = stats.rank_bounds(draws, ranks)
    groups = stats.tie_groups(draws)
    frontier = _pareto(rows, metric)
    return [
        RankedRow(
            candidate=row.candidate,
            value_per_cost=row.value,
            value_per_cost_ci95_low=row.interval and row.interval[0],
            value_per_cost_ci95_high=row.interval and row.interval[1],
            cup=_cup(row.candidate, metric),
            rank=rank,
            rank_low=low,
            rank_high=high,
            tie_group=group,
            is_pareto=row.candidate.offer_id in frontier,
            missing=row.candidate.missing,
        )
        for row, rank, (low, high), group in zip(rows, ranks, bounds, groups, strict=True)
    ]


def _cup(candidate: Candidate, metric: Metric) -> Decimal | None:
    if metric.key != CUP_METRIC or candidate.price_per_hour is None:
        return None
    return cup(candidate.price_per_hour, candidate.score.value)


def _unplaced(candidate: Candidate, metric: Metric) -> RankedRow:
    missing = candidate.missing
    if candidate.price is None and "price" not in missing:
        missing = (*missing, "price")
    return RankedRow(candidate=candidate, missing=missing)


def _by_score(candidates: Iterable[Candidate], metric: Metric) -> list[Candidate]:
    direction = -1 if metric.is_higher_better else 1
    return sorted(candidates, key=lambda c: (direction * c.score.value, c.offer_id))


def _pareto(rows: Iterable[_Valued], metric: Metric) -> set[str]:
    """Offer ids on the frontier: none other costs no more and scores no worse, one strictly.

    From the cheapest up, a price level adds its best score if that beats all cheaper ones.
    """
    direction = -1 if metric.is_higher_better else 1
    order = sorted(
        (row.price, direction * row.candidate.score.value, row.candidate.offer_id) for row in rows
    )
    frontier: set[str] = set()
    best = float("inf")
    for _, level in groupby(order, lambda point: point[0]):
        points = list(level)
        top = points[0][1]
        if top < best:
            frontier.update(offer_id for _, score, offer_id in points if score == top)
            best = top
    return frontier


def sorted_none_last(
    rows: Iterable[Row],
    keys: Sequence[tuple[Callable[[Row], Any], bool]],
    identity: Callable[[Row], str],
) -> list[Row]:
    """Rows sorted by several keys, pairs (value of a row, is_descending), the first foremost.

    Rows whose value is None come last in both directions; rows equal in every key follow
    `identity`, so the order is total. Give `is_unfit` as the first key of a ranking.
    """
    ordered = sorted(rows, key=identity)
    for value_of, is_descending in reversed(keys):
        known = [row for row in ordered if value_of(row) is not None]
        unknown = [row for row in ordered if value_of(row) is None]
        ordered = sorted(known, key=value_of, reverse=is_descending) + unknown
    return ordered
