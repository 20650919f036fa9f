"""One ranking of offers by value per cost under one metric.

The order is total: rows with a value first, best first; then rows without a price; then unfit rows
(disturbed, or measured from a cache). Within the last two the better score comes first, and equal
rows follow their offer id. Unfit rows are shown and never compared: they hold no rank, value, tie
group or place on the Pareto frontier, and they keep nobody off it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from backend.domain import stats
from backend.domain.cmips import cup
from backend.domain.errors import InvalidValue
from backend.domain.metrics import Metric
from backend.domain.mix import MIX, SAME_MIX_RATIO
from backend.domain.pareto import undominated
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


@dataclass(frozen=True, slots=True)
class Worth:
    """What a candidate comes to by itself, whoever else is listed; the bounds may be unknown."""

    value_per_cost: Decimal
    low: Decimal | None
    high: Decimal | None
    cup: Decimal | None


def value_per_cost(score: float, price: Decimal, metric: Metric) -> Decimal:
    """score / price, or 1 / (score × price) where lower is better; 34 digits, higher is better."""
    exact = exact_decimal(score)
    if metric.is_higher_better:
        return EXACT.divide(exact, price)
    return EXACT.divide(Decimal(1), EXACT.multiply(exact, price))


def worth(candidate: Candidate, metric: Metric) -> Worth | None:
    """Value, bounds and CUP of a candidate; None for an unfit one, or one without a price.

    Raises InvalidValue for a score or price that is not above zero.
    """
    score, price = candidate.score, candidate.price
    for field, amount in (
        ("score", score.value),
        ("price", price),
        ("price_per_hour", candidate.price_per_hour),
    ):
        if amount is not None and not amount > 0:
            raise InvalidValue(field, f"{amount} of {candidate.offer_id} is not above zero")
    if price is None or candidate.is_unfit:
        return None
    low = high = None
    if score.ci95_low is not None and score.ci95_high is not None:
        ends = [value_per_cost(s, price, metric) for s in (score.ci95_low, score.ci95_high)]
        low, high = min(ends), max(ends)
    return Worth(value_per_cost(score.value, price, metric), low, high, _cup(candidate, metric))


def _cup(candidate: Candidate, metric: Metric) -> Decimal | None:
    if metric.key != CUP_METRIC or candidate.price_per_hour is None:
        return None
    return cup(candidate.price_per_hour, candidate.score.value)


def ranked_rows(
    everyone: Sequence[tuple[Candidate, Worth | None]], metric: Metric, *, seed: int = stats.SEED
) -> list[RankedRow]:
    """Candidates, whose worth is known already, in that order, each with its rank.

    `rank` is a competition rank (1, 2, 2, 4) by exact value; rank bounds and tie groups come from
    common draws of the score intervals. Raises InvalidValue for an offer listed twice.
    """
    seen: set[str] = set()
    for one, _ in everyone:
        if one.offer_id in seen:
            raise InvalidValue("offer_id", f"{one.offer_id} is listed twice")
        seen.add(one.offer_id)
    unfit = [one for one, _ in everyone if one.is_unfit]
    unpriced = [one for one, its in everyone if its is None and not one.is_unfit]
    return [
        *_priced_rows([(one, its) for one, its in everyone if its is not None], metric, seed),
        *(_unranked_row(one) for one in _by_score(unpriced, metric)),
        *(_unranked_row(one) for one in _by_score(unfit, metric)),
    ]


def _in_order(
    rows: Iterable[tuple[Candidate, Worth]], metric: Metric
) -> list[tuple[int, Candidate, Worth]]:
    """Rows with their competition rank, best value first; rows of one value by offer id."""
    same = SAME_MIX_RATIO if metric is MIX else SAME_VALUE_RATIO
    ranked: list[tuple[int, Candidate, Worth]] = []
    leader = Decimal(0)
    by_value = sorted(rows, key=lambda row: -row[1].value_per_cost)
    for position, (one, its) in enumerate(by_value, start=1):
        if ranked and leader - its.value_per_cost <= leader * same:
            ranked.append((ranked[-1][0], one, its))
        else:
            ranked.append((position, one, its))
            leader = its.value_per_cost
    return sorted(ranked, key=lambda row: (row[0], row[1].offer_id))


def _priced_rows(
    rows: Iterable[tuple[Candidate, Worth]], metric: Metric, seed: int
) -> list[RankedRow]:
    ordered = _in_order(rows, metric)
    draws = stats.common_draws(
        [float(its.value_per_cost) for _, _, its in ordered],
        [
            None if its.low is None or its.high is None else (float(its.low), float(its.high))
            for _, _, its in ordered
        ],
        seed=seed,
    )
    bounds = stats.rank_bounds(draws, [rank for rank, _, _ in ordered])
    groups = stats.tie_groups(draws)
    frontier = _pareto([one for _, one, _ in ordered], metric)
    return [
        RankedRow(
            candidate=one,
            value_per_cost=its.value_per_cost,
            value_per_cost_ci95_low=its.low,
            value_per_cost_ci95_high=its.high,
            cup=its.cup,
            rank=rank,
            rank_low=low,
            rank_high=high,
            tie_group=group,
            is_pareto=one.offer_id in frontier,
            missing=one.missing,
        )
        for (rank, one, its), (low, high), group in zip(ordered, bounds, groups, strict=True)
    ]


def _unranked_row(candidate: Candidate) -> RankedRow:
    missing = candidate.missing
    if candidate.price is None and "price" not in missing:
        missing = (*missing, "price")
    return RankedRow(candidate=candidate, missing=missing)


def _by_score(candidates: Iterable[Candidate], metric: Metric) -> list[Candidate]:
    direction = -1 if metric.is_higher_better else 1
    return sorted(candidates, key=lambda c: (direction * c.score.value, c.offer_id))


def _pareto(candidates: Sequence[Candidate], metric: Metric) -> set[str]:
    """Offer ids on the front of price and score."""
    direction = -1 if metric.is_higher_better else 1
    points = [(one.price, direction * one.score.value) for one in candidates]
    return {candidates[index].offer_id for index in undominated(points)}


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
