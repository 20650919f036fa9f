"""What to buy: the best value for a need, what is too close to it to call, and one's own machines."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import takewhile

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.selectors.data_version import DataStamp
from backend.common.rest.parameters import InvalidParameters
from backend.domain.conclusions import MOST_NAMES, listed, percent
from backend.domain.ranking import break_even_price
from backend.domain.stats import DISTURBED
from backend.domain.texts import joined, number
from backend.domain.texts import text as _
from backend.rankings.selectors.listing import by_rank
from backend.rankings.selectors.query import Filter, RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.rows import RankingRow

# The parameters of a need, and the filter of the ranking that each stands for.
NEEDS = {"vcpu": "vcpu__gte", "ram": "ram_gib__gte", "budget": "price__lte"}
OWN = "own"


@dataclass(frozen=True)
class OwnStanding:
    """A machine of one's own among the offers that meet the need, whatever its own size."""

    row: RankingRow
    rank: int | None
    """None without a price."""
    break_even_price: Decimal
    """Below it the machine is better value than all of them; in the ranking's period and currency."""


@dataclass(frozen=True)
class BestBuy:
    """The offers that meet a need, and what they come to."""

    ranking: Ranking
    best: RankingRow | None
    ties: Sequence[RankingRow]
    """Other offers in the tie group of the best, in their order."""
    own: Sequence[OwnStanding]
    sentence: str


def as_filters(params: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of a ranking that those of a need stand for."""
    return {NEEDS.get(name, name): list(values) for name, values in params.items()}


def by_need(errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Errors of these parameters under the names of the need."""
    names = {column: name for name, column in NEEDS.items()}
    return [(names.get(name, name), detail) for name, detail in errors]


def need_query(
    params: Mapping[str, Sequence[str]], *, workspace_slug: str = DEFAULT_WORKSPACE
) -> tuple[RankingQuery, list[str]]:
    """The query of a need, and warnings. Raises InvalidParameters, by the names of the need."""
    try:
        return query_from(as_filters(params), workspace_slug=workspace_slug)
    except InvalidParameters as error:
        raise InvalidParameters(by_need(error.errors)) from None


def answer(
    query: RankingQuery,
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
    has_rank_bounds: bool = True,
) -> BestBuy:
    """The best value under a query, with what ties and where own machines stand."""

    def ranked_by(asked: RankingQuery) -> Ranking:
        return ranking(
            asked, workspace_slug=workspace_slug, stamp=stamp, has_rank_bounds=has_rank_bounds
        )

    offers = ranked_by(query)
    # Listed without a rank are those without a price and the unfit. No more rows are made than are
    # looked at: thousands of them take as many tenths of a millisecond.
    ranked = by_rank(offers.rows)
    best = ranked[0] if ranked else None
    # Who buys should know every offer that may as well be the best.
    others = (ranked[position] for position in range(1, len(ranked)))
    ties = list(takewhile(lambda row: best and row.tie_group == best.tie_group, others))
    # What a machine is worth depends on no other offer, so nobody else has to be ranked again.
    by_themselves = replace(query, filters=(Filter("provider", "=", (OWN,)),), q="")
    mine = ranked_by(by_themselves)
    standings = (_standing(row, ranked, offers) for row in mine.rows)
    own = [one for one in standings if one is not None]
    return BestBuy(offers, best, ties, own, _sentence(best, ties, own))


def _standing(row: RankingRow, ranked: Sequence[RankingRow], offers: Ranking) -> OwnStanding | None:
    """None for a figure that takes no rank, and where there is nothing to compare it with."""
    others = (one.value_per_cost for one in ranked[:2] if one.offer_id != row.offer_id)
    most = next(others, None)
    # A figure that takes no rank has no price at which it would.
    is_unfit = row.price is not None and row.value_per_cost is None
    if row.score is None or row.source == "published" or is_unfit or most is None:
        return None
    mine = row.value_per_cost
    # Among the offers that meet the need, of which the machine itself may be none.
    rank = None if mine is None else 1 + bisect_left(ranked, _by_value(row), key=_by_value)
    return OwnStanding(row, rank, break_even_price(row.score, most, offers.metric))


def _by_value(row: RankingRow) -> Decimal:
    """The larger the value, the earlier in the order of ranks; all that are ranked have one."""
    return (row.order_value or Decimal()).copy_negate()


def _sentence(
    best: RankingRow | None, ties: Sequence[RankingRow], own: Sequence[OwnStanding]
) -> str:
    if best is None:
        return _("No offer with a price and a figure meets this.")
    said = [_best_words(best)]
    if ties:
        said.append(_("Too close to call: {names}.", names=listed([_named(row) for row in ties])))
    if standings := [_standing_words(one, best) for one in own[:MOST_NAMES]]:
        said.append(_("Of your own machines, {list}.", list=joined("; ", standings)))
    return joined(" ", said)


def _standing_words(one: OwnStanding, best: RankingRow) -> str:
    said = {"name": one.row.offer, "cost": _cost(one.break_even_price, best)}
    standing = (
        _("{name} is the best value below {cost}, by repeats that other work disturbed", **said)
        if DISTURBED in one.row.flags.split()
        else _("{name} is the best value below {cost}", **said)
    )
    if not one.rank:
        return standing
    return _(
        "{standing}, at {cost} it takes rank {rank}",
        standing=standing,
        cost=_cost(one.row.price, best),
        rank=one.rank,
    )


def _best_words(row: RankingRow) -> str:
    """The best offer, and how far its value may lie from its figure where that is known."""
    value, low, high = (
        row.value_per_cost,
        row.value_per_cost_ci95_low,
        row.value_per_cost_ci95_high,
    )
    said = {"name": _named(row), "cost": _cost(row.price, row)}
    # An interval without a width is one that nobody knows.
    if not (value and low and high and low < high):
        return _("Best value today: {name} at {cost}.", **said)
    return _(
        "Best value today: {name} at {cost} (95 % interval of its value: from {less} less to"
        " {more} more).",
        **said,
        less=percent(float(1 - low / value)),
        more=percent(float(high / value - 1)),
    )


def _named(row: RankingRow) -> str:
    return f"{row.offer} ({row.region})" if row.region else row.offer


def _cost(amount: Decimal | None, row: RankingRow) -> str:
    """An amount with the digits that its period needs: hours cost little."""
    digits = 4 if row.period == "hour" else 2
    shown = number(f"{amount or 0:,.{digits}f}")
    return joined("", (shown, " ", row.currency, "/", row.period))
