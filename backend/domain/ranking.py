"""One ranking of offers by value per cost under one metric.

The order is total: rows with a value first, best first; then rows without a price; then unfit rows
(disturbed, or measured from a cache); then rows without a score. Within those without a price and
the unfit the better score comes first, and equal rows follow their offer id. Unfit rows are shown
and never compared: they hold no rank, value, tie group or point on the Pareto front, and they keep
nobody off it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from backend.domain.cmips import cup
from backend.domain.draws import common_draws, rank_bounds, spreads, tie_groups
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


@dataclass(frozen=True, slots=True)
class Worth:
    """What an offer comes to by itself, whoever else is listed."""

    value_per_cost: Decimal
    low: Decimal
    high: Decimal
    cup: Decimal | None


class Candidate(Protocol):
    """What is read of an offer to rank it, whatever else its row says.

    `price` is for the period and basis of the ranking; None is an unknown price, never zero.
    `worth` is None without a score or price, and for an unfit score.
    """

    @property
    def offer_id(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def price(self) -> Decimal | None: ...
    @property
    def is_unfit(self) -> bool: ...
    @property
    def worth(self) -> Worth | None: ...


Entry = TypeVar("Entry", bound=Candidate)


@dataclass(frozen=True)
class Standing:
    """How a candidate stands among the others, named as the columns; None where not compared."""

    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    tie_group: int | None = None
    pareto: bool | None = None


NOT_COMPARED = Standing()


def value_per_cost(score: float, price: Decimal, metric: Metric) -> Decimal:
    """score / price, or 1 / (score × price) where lower is better; 34 digits, higher is better."""
    exact = exact_decimal(score)
    if metric.is_higher_better:
        return EXACT.divide(exact, price)
    # Not score × price: of two values the higher has to be the better everywhere.
    return EXACT.divide(Decimal(1), EXACT.multiply(exact, price))


def break_even_price(score: float, best: Decimal, metric: Metric) -> Decimal:
    """The price at which a score is worth as much per cost as the `best`; 34 digits."""
    # The price stands where the value per cost stood: value = score / price, price = score / value.
    return value_per_cost(score, best, metric)


def worth(
    score: Summary, price: Decimal | None, price_per_hour: Decimal | None, metric: Metric
) -> Worth | None:
    """Value, bounds and CUP; None without a price. CUP needs the price of an hour in the same
    currency, whatever the period.

    Raises InvalidValue for a score or price that is not above zero.
    """
    for field, amount in (
        ("score", score.value),
        ("price", price),
        ("price_per_hour", price_per_hour),
    ):
        # A price of zero would be worth infinitely much, and rank first.
        if amount is not None and not amount > 0:
            raise InvalidValue(field, f"{amount} is not above zero")
    if price is None:
        return None
    # The ends change places where a lower score is better.
    ends = [value_per_cost(s, price, metric) for s in (score.ci95_low, score.ci95_high)]
    return Worth(
        value_per_cost(score.value, price, metric),
        min(ends),
        max(ends),
        _cup(score.value, price_per_hour, metric),
    )


def _cup(score: float, price_per_hour: Decimal | None, metric: Metric) -> Decimal | None:
    # CUP is defined by the articles for CMIPS and an hour only.
    if metric.key != CUP_METRIC or price_per_hour is None:
        return None
    return cup(price_per_hour, score)


def ranked(candidates: Sequence[Entry], metric: Metric) -> list[tuple[Entry, Standing]]:
    """The candidates in the order described above, each with its standing.

    `rank` is a competition rank (1, 2, 2, 4) by exact value; rank bounds and tie groups come from
    the intervals of the scores (domain.draws). Raises InvalidValue for an offer listed twice.
    """
    # Twice the same offer would tie with itself and move all ranks behind it.
    seen: set[str] = set()
    for one in candidates:
        if one.offer_id in seen:
            raise InvalidValue("offer_id", f"{one.offer_id} is listed twice")
        seen.add(one.offer_id)
    others = [one for one in candidates if one.worth is None]
    return [
        *_compared([(one, one.worth) for one in candidates if one.worth is not None], metric),
        *((one, NOT_COMPARED) for one in _by_score(others, metric)),
    ]


def _in_order(
    rows: Iterable[tuple[Entry, Worth]], metric: Metric
) -> list[tuple[int, Entry, Worth]]:
    """Rows with their competition rank, best value first; rows of one value by offer id."""
    same = SAME_MIX_RATIO if metric is MIX else SAME_VALUE_RATIO
    ranks: list[tuple[int, Entry, Worth]] = []
    leader = Decimal(0)
    by_value = sorted(rows, key=lambda row: -row[1].value_per_cost)
    for position, (one, its) in enumerate(by_value, start=1):
        # Compared with the first of a group, so that equal by a hair does not add up along a chain.
        if ranks and leader - its.value_per_cost <= leader * same:
            ranks.append((ranks[-1][0], one, its))
        else:
            ranks.append((position, one, its))
            leader = its.value_per_cost
    return sorted(ranks, key=lambda row: (row[0], row[1].offer_id))


def _compared(rows: Iterable[tuple[Entry, Worth]], metric: Metric) -> list[tuple[Entry, Standing]]:
    # Before the draws: they are taken in this order, and must be the same for the same list.
    ordered = _in_order(rows, metric)
    of = spreads(
        [float(its.value_per_cost) for _, _, its in ordered],
        [float(its.low) for _, _, its in ordered],
        [float(its.high) for _, _, its in ordered],
    )
    bounds = rank_bounds(common_draws(of), [rank for rank, _, _ in ordered])
    groups = tie_groups(of)
    front = _pareto([one for _, one, _ in ordered], metric)
    return [
        (one, Standing(rank, low, high, group, one.offer_id in front))
        for (rank, one, _), (low, high), group in zip(ordered, bounds, groups, strict=True)
    ]


def _by_score(candidates: Iterable[Entry], metric: Metric) -> list[Entry]:
    """Those without a price, the unfit, and those without a score."""
    direction = -1 if metric.is_higher_better else 1

    def order(one: Entry) -> tuple[int, float, str]:
        if one.score is None:
            return 2, 0, one.offer_id
        return int(one.is_unfit), direction * one.score, one.offer_id

    return sorted(candidates, key=order)


def _pareto(candidates: Sequence[Entry], metric: Metric) -> set[str]:
    """Offer ids on the front of price and score."""
    direction = -1 if metric.is_higher_better else 1
    # Exact decimals and floats as they are stored: rounding would put offers on a front that they are not
    # on.
    points = [(one.price, direction * one.score) for one in candidates if one.score]
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
    # Sorting is stable, so the last key goes first.
    for value_of, is_descending in reversed(keys):
        known = [row for row in ordered if value_of(row) is not None]
        unknown = [row for row in ordered if value_of(row) is None]
        ordered = sorted(known, key=value_of, reverse=is_descending) + unknown
    return ordered
