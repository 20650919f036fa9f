"""The answer to a need: the best value or the cheapest, the others that may be it, and one's own
machines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.discounts import no_discounts
from backend.core.rest.parameters import InvalidParameters, boolean, one_of
from backend.foundation.texts import join_texts, number
from backend.foundation.texts import text as _
from backend.foundation.units import EXACT, exact_decimal
from backend.measure.metrics import Metric
from backend.measure.stats import DISTURBED
from backend.money.pricing.discounts import Discount
from backend.providers.registry import provider
from backend.rankings.calc.best import draw_seed
from backend.rankings.calc.conclusions import (
    MOST_NAMES,
    Certainty,
    Conclusion,
    likely_best,
    price_words,
    ratio_interval,
    three_digits,
)
from backend.rankings.calc.ranking import break_even_price
from backend.rankings.selectors.candidates import BestChoice, Candidate, Candidates, choose_best
from backend.rankings.selectors.coverage import ProviderCoverage, market_coverage
from backend.rankings.selectors.listing import by_rank, floats, rows_at
from backend.rankings.selectors.on_sale import (
    NotOnSale,
    asks_for_burstable,
    left_out_words,
    rows_on_sale,
    stock_words,
)
from backend.rankings.selectors.query import DEFAULT_SORT, Filter, RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.rows import RankingRow

# The parameters of a need, and the filter of the ranking that each stands for.
NEEDS = {"vcpu": "vcpu__gte", "ram": "ram_gib__gte", "budget": "price__lte"}
VALUE, CHEAPEST = "value", "cheapest"
GOALS = (VALUE, CHEAPEST)
# What the server is for, and the metric of the work that is nearest to it. A build waits for its longest
# step, which is one thread; analytics read more memory than a cache holds.
USES: Mapping[str, str] = MappingProxyType(
    {
        "web": "web_requests_per_s",
        "database": "redis_set_per_s",
        "build": "single_thread_performance",
        "compute": "general_performance",
        "analytics": "bw_mem_bytes_per_s",
    }
)
OPTIONS = frozenset({"goal", "use", "burstable"})
# With the goal of the cheapest, the next ones by price.
NEXT_BY_PRICE = 2
OWN = "own"


@dataclass(frozen=True)
class NeedOptions:
    """Options of a need beside the filters of a ranking."""

    goal: str = VALUE
    has_burstable: bool = False


@dataclass(frozen=True)
class OwnStanding:
    """A machine of one's own among the offers that meet the need, whatever its own size."""

    row: RankingRow
    rank: int | None
    """Among the candidates; None without a price."""
    break_even_price: Decimal
    """Below it the machine is the best value; in the ranking's period and currency."""
    break_even_low: Decimal
    break_even_high: Decimal


@dataclass(frozen=True)
class BestBuy:
    """The offers on sale that meet a need, and the conclusion."""

    ranking: Ranking
    options: NeedOptions
    candidates: Candidates
    """Offers with a value per cost, the best first."""
    best: Candidate | None
    contenders: Sequence[Candidate]
    cheapest: Candidate | None
    without_score_count: int
    own: Sequence[OwnStanding]
    coverage: Sequence[ProviderCoverage]
    left_out: Mapping[NotOnSale, int]
    named_of: Callable[[Sequence[RankingRow]], Sequence[RankingRow]]
    """The rows of another list that the answer may name."""

    @cached_property
    def conclusion(self) -> Conclusion:
        return _conclusion(self)

    @property
    def rivals(self) -> list[Candidate]:
        """Contenders other than the best."""
        return [it for it in self.contenders if self.best is None or it.row != self.best.row]

    @property
    def sentence(self) -> str:
        """All of the conclusion as one text."""
        parts = (self.conclusion.sentence, self.conclusion.detail)
        return join_texts(" ", [part for part in parts if part])


@dataclass(frozen=True)
class BestOfRanking:
    """The candidates of a ranking that are on sale, the best of them, and what stays out."""

    candidates: Candidates
    choice: BestChoice
    left_out: Mapping[NotOnSale, int]


def as_filters(params: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of a ranking that those of a need stand for: a metric that is named comes before
    that of the use."""
    named = {
        NEEDS.get(name, name): list(values)
        for name, values in params.items()
        if name not in OPTIONS
    }
    metric = USES.get(_last(params, "use"))
    return {"metric": [metric], **named} if metric else named


def _last(params: Mapping[str, Sequence[str]], name: str) -> str:
    """The last text that is not empty."""
    return next((text.strip() for text in reversed(params.get(name, ())) if text.strip()), "")


def by_need(errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Errors of these parameters under the names of the need."""
    names = {column: name for name, column in NEEDS.items()}
    return [(names.get(name, name), detail) for name, detail in errors]


def need_options(
    params: Mapping[str, Sequence[str]],
) -> tuple[NeedOptions, list[tuple[str, str]]]:
    """The options among the parameters of a need, and what is wrong with them."""
    readers: dict[str, Callable[[str], object]] = {
        "goal": one_of(GOALS),
        "use": one_of(tuple(USES)),
        "burstable": boolean,
    }
    read: dict[str, object] = {}
    errors: list[tuple[str, str]] = []
    for name, reader in readers.items():
        if text := _last(params, name):
            try:
                read[name] = reader(text)
            except ValueError as error:
                errors.append((name, str(error)))
    options = NeedOptions(str(read.get("goal", VALUE)), bool(read.get("burstable", False)))
    return options, errors


def need_query(
    params: Mapping[str, Sequence[str]],
    *,
    defaults: Mapping[str, Sequence[str]],
    workspace_slug: str = DEFAULT_WORKSPACE,
    discounts: Callable[[], Sequence[Discount]] = no_discounts,
) -> tuple[RankingQuery, NeedOptions, list[str]]:
    """The query of a need, its options, and warnings; `defaults` are parameters of a ranking.

    Raises InvalidParameters, by the names of the need.
    """
    options, wrong = need_options(params)
    try:
        query, warnings = query_from(
            {**defaults, **as_filters(params)}, workspace_slug=workspace_slug, discounts=discounts
        )
    except InvalidParameters as error:
        raise InvalidParameters([*wrong, *by_need(error.errors)]) from None
    if wrong:
        raise InvalidParameters(wrong)
    return query, options, warnings


def answer(
    query: RankingQuery,
    options: NeedOptions = NeedOptions(),
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
    has_rank_bounds: bool = True,
) -> BestBuy:
    """The answer to a query: the best, its rivals, the cheapest, and where own machines stand."""

    def ranked_by(asked: RankingQuery) -> Ranking:
        return ranking(
            asked, workspace_slug=workspace_slug, stamp=stamp, has_rank_bounds=has_rank_bounds
        )

    offers = ranked_by(query)
    has_burstable = options.has_burstable or asks_for_burstable(query)
    on_sale_of = partial(rows_on_sale, query=query, has_burstable=has_burstable)
    on_sale, left_out = on_sale_of(offers.everyone)
    candidates = Candidates.of(by_rank(on_sale))
    by_value = choose_best(candidates, _seed(offers, query))
    by_price = _cheapest_candidates(on_sale)
    cheapest = by_price[0] if by_price else None
    best, contenders = by_value.best, by_value.contenders
    if options.goal == CHEAPEST:
        best, contenders = cheapest, by_price[1:]
    # What a machine is worth depends on no other offer, so nobody else has to be ranked again.
    mine = ranked_by(replace(query, filters=(Filter("provider", "=", (OWN,)),), q=""))
    standings = (_standing(row, candidates, offers.metric) for row in mine.rows)
    return BestBuy(
        ranking=offers,
        options=options,
        candidates=candidates,
        best=best,
        contenders=contenders,
        cheapest=cheapest,
        without_score_count=int(np.isnan(floats(on_sale, "score")).sum()),
        own=[standing for standing in standings if standing is not None],
        coverage=market_coverage(on_sale, workspace_slug),
        left_out=left_out,
        named_of=lambda rows: on_sale_of(rows)[0],
    )


def best_of_ranking(ranked: Ranking, query: RankingQuery) -> BestOfRanking:
    """The best value of a ranking, as the answer to the same query names it."""
    on_sale, left_out = rows_on_sale(ranked.rows, query, has_burstable=asks_for_burstable(query))
    candidates = Candidates.of(by_rank(on_sale))
    return BestOfRanking(candidates, choose_best(candidates, _seed(ranked, query)), left_out)


def _seed(ranked: Ranking, query: RankingQuery) -> int:
    """A seed for a question: paging, order, columns and the order of filters are none of it."""
    filters = tuple(sorted(query.filters, key=repr))
    question = replace(query, page=1, per_page=1, cols=(), sort=DEFAULT_SORT, filters=filters)
    return draw_seed(ranked.data_version, repr(question))


def _cheapest_candidates(on_sale: Sequence[RankingRow]) -> list[Candidate]:
    """The candidate of the lowest price and those that follow it, with or without a score."""
    prices = floats(on_sale, "price")
    # Of equal prices the first in the order of the list, which has the better value first.
    order = np.argsort(prices, kind="stable")[: int((~np.isnan(prices)).sum())]
    candidates = Candidates.of(rows_at(on_sale, order))
    return [candidates.at(n) for n in range(min(len(candidates), 1 + NEXT_BY_PRICE))]


def _standing(row: RankingRow, candidates: Candidates, metric: Metric) -> OwnStanding | None:
    """None for a figure that takes no rank, and where there is nothing to compare it with."""
    others = (other for other in candidates.rows[:2] if other.offer_id != row.offer_id)
    best = next(others, None)
    # A figure that takes no rank has no price at which it would.
    is_unfit = row.price is not None and row.value_per_cost is None
    if row.score is None or row.source == "published" or is_unfit or best is None:
        return None
    # A candidate has a value.
    price = break_even_price(row.score, best.value_per_cost or Decimal(1), metric)
    low, high = _interval_ratios(row, best, metric)
    mine = row.value_per_cost
    # Among the offers that meet the need, of which the machine itself may be none.
    rank = None if mine is None else 1 + int((candidates.values > float(mine)).sum())
    return OwnStanding(row, rank, price, EXACT.multiply(price, low), EXACT.multiply(price, high))


def _floats(*ends: Decimal | float | None) -> tuple[float, float, float]:
    value, low, high = (float(end or 0) for end in ends)
    return value, low, high


def _interval_ratios(row: RankingRow, best: RankingRow, metric: Metric) -> tuple[Decimal, Decimal]:
    """The ends of a break-even price over that price, of the errors of both figures."""
    score = (row.score, row.score_ci95_low, row.score_ci95_high)
    value = (best.value_per_cost, best.value_per_cost_ci95_low, best.value_per_cost_ci95_high)
    first, second = _floats(*score), _floats(*value)
    if not (min(first) > 0 and min(second) > 0):
        return Decimal(1), Decimal(1)
    if not metric.is_higher_better:
        first = (1 / first[0], 1 / first[2], 1 / first[1])
    ratio, low, high = ratio_interval(first, second)
    return exact_decimal(low / ratio), exact_decimal(high / ratio)


# --- the sentence -------------------------------------------------------------------------------


def _conclusion(buy: BestBuy) -> Conclusion:
    if buy.best is None:
        return _nothing(buy)
    choices = (buy.best, *buy.contenders, *filter(None, [buy.cheapest]))
    detail = [stock_words(choice.row for choice in choices), left_out_words(buy.left_out)]
    if count := buy.without_score_count:
        detail.append(_("{n} more have no score.", n=number(f"{count:,}")))
    detail += [_standing_words(machine, buy.best.row) for machine in buy.own[:MOST_NAMES]]
    if buy.options.goal == CHEAPEST:
        said = Conclusion(
            _cheapest_words(buy.best.row, _name_with_price(buy.best)), Certainty.CLEAR
        )
    else:
        names = [candidate_name(rival) for rival in buy.rivals]
        said = likely_best(_name_with_price(buy.best), buy.best.p_best or 0, names)
        parts = (said.sentence, _least_of(buy.contenders, buy.best), _cheapest_beside(buy))
        said = replace(said, sentence=join_texts(" ", [part for part in parts if part]))
    return replace(said, detail=join_texts(" ", [part for part in detail if part]))


def _nothing(buy: BestBuy) -> Conclusion:
    """No offer has a score: the cheapest, where there is one, and the way out."""
    detail = left_out_words(buy.left_out)
    if buy.cheapest is None:
        sentence = (
            _("No answer yet: every server that meets this is excluded.")
            if detail
            else _("No server on sale meets this. Ask for less, or remove a filter.")
        )
        return Conclusion(sentence, Certainty.UNKNOWN, detail)
    sentence = _(
        "No server that meets this has a score, so the best value is not known. The cheapest is"
        " {name}. Choose another metric, or measure one.",
        name=_name_with_price(buy.cheapest),
    )
    warned = join_texts(" ", [part for part in (stock_words([buy.cheapest.row]), detail) if part])
    return Conclusion(sentence, Certainty.UNKNOWN, warned)


def _least_of(contenders: Sequence[Candidate], best: Candidate) -> str:
    """The cheapest of servers that may all be the best value."""
    least = min(
        contenders, key=lambda candidate: candidate.row.price or Decimal("Infinity"), default=best
    )
    if least.row == best.row:
        return ""
    return _("Of these, {name} costs the least.", name=_name_with_price(least))


def _cheapest_beside(buy: BestBuy) -> str:
    if buy.cheapest is None or buy.best is None:
        return ""
    if buy.cheapest.row.offer_id == buy.best.row.offer_id:
        return _("The best value is also the cheapest.")
    return _cheapest_words(buy.cheapest.row, _name_with_price(buy.cheapest))


def _cheapest_words(row: RankingRow, name: str) -> str:
    if row.score is None:
        return _("The cheapest is {name}; its speed is not known yet.", name=name)
    return _("The cheapest is {name}.", name=name)


def _standing_words(standing: OwnStanding, best: RankingRow) -> str:
    said = [
        _(
            "Your server “{name}” would be the best value below {cost} (95% interval: "
            "{low} to {high}).",
            name=standing.row.offer,
            cost=_cost(standing.break_even_price, best),
            low=three_digits(standing.break_even_low),
            high=three_digits(standing.break_even_high),
        )
    ]
    if DISTURBED in standing.row.flags.split():
        said.append(_("Other programs were running while it was measured."))
    if standing.rank and standing.row.price is not None:
        price = _cost(standing.row.price, best)
        said.append(_("At {cost} it takes rank {rank}.", cost=price, rank=standing.rank))
    return join_texts(" ", said)


def candidate_name(candidate: Candidate) -> str:
    """A candidate as a sentence names it: its provider, type and place."""
    row = candidate.row
    name = row.offer if row.provider == OWN else f"{provider(row.provider).short_name} {row.offer}"
    if len(candidate.regions) > 1:
        return _("{name} (in {n} regions)", name=name, n=len(candidate.regions))
    return f"{name} ({row.region})" if row.region else name


def _name_with_price(candidate: Candidate) -> str:
    # A candidate has a price.
    cost = _cost(candidate.row.price or Decimal(0), candidate.row)
    return _("{name} at {cost}", name=candidate_name(candidate), cost=cost)


def _cost(amount: Decimal, row: RankingRow) -> str:
    return price_words(amount, row.currency, row.period)
