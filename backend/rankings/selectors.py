"""Rankings of offers under a query, with everything that a reader needs to check them."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from backend.accounts.selectors import DEFAULT_WORKSPACE
from backend.benchmarks.models import Sample
from backend.catalog import selectors as catalog
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors import DataStamp, PriceBasis
from backend.common import clock
from backend.domain.metrics import METRICS, Metric
from backend.domain.ranking import Candidate, RankedRow, ranked, sorted_none_last
from backend.rankings import query as parameters
from backend.rankings.cache import StampedCache
from backend.rankings.columns import COLUMNS_V1
from backend.rankings.filters import PLACE_COLUMNS, VALUE_COLUMNS, has_words, is_kept
from backend.rankings.query import DEFAULT_SORT, Filter, InvalidParameters, RankingQuery
from backend.rankings.rows import BaseRow, Context, RankingRow, base_row
from backend.rankings.scores import DISTURBED, Score, offer_scores, scores

__all__ = [
    "COLUMNS_V1",
    "InvalidParameters",
    "OfferDetail",
    "Ranking",
    "RankingQuery",
    "RankingRow",
    "offer_detail",
    "query_from",
    "ranking",
]

SAMPLES_SHOWN = 200
PRICES_SHOWN = 100
_cache = StampedCache()


@dataclass(frozen=True)
class Ranking:
    """All rows in order; the caller pages. `unscored` are offers without a score, unranked."""

    rows: Sequence[RankingRow]
    unscored: Sequence[RankingRow]
    basis: Mapping[str, Any]
    data_version: int
    metric: Metric
    unpriced_count: int

    @property
    def count(self) -> int:
        """Rows that are ranked or listed with a score."""
        return len(self.rows)

    @property
    def without_score_count(self) -> int:
        """Offers that pass the filters and have no score for the metric."""
        return len(self.unscored)


@dataclass(frozen=True)
class OfferDetail:
    """One offer with its place among all, its prices and what was measured on it."""

    offer: Offer
    row: RankingRow | None
    prices: Sequence[PriceObservation]
    summaries: Sequence[Score]
    samples: Sequence[Sample]


def query_from(
    params: Mapping[str, Sequence[str]], *, also_known: frozenset[str] = frozenset()
) -> tuple[RankingQuery, list[str]]:
    """The query that request parameters ask for, and warnings (see rankings.query).

    Raises InvalidParameters.
    """
    stamp = catalog.data_stamp()
    currencies = _cache.get(stamp, "currencies", catalog.currencies)
    return parameters.query_from(params, currencies=currencies, also_known=also_known)


def ranking(query: RankingQuery, *, workspace_slug: str = DEFAULT_WORKSPACE) -> Ranking:
    """The ranked list of the offers that the query keeps, sorted as it asks.

    Computed once for a state of the data and a day (prices grow stale), then held.
    """
    stamp = catalog.data_stamp()
    today = clock.now().date()
    shared = replace(query, page=1, per_page=1, cols=())
    key = ("ranking", shared, today, workspace_slug)
    return _cache.get(stamp, key, lambda: _ranking(shared, stamp, today, workspace_slug))


def offer_detail(
    slug: str, query: RankingQuery, *, workspace_slug: str = DEFAULT_WORKSPACE
) -> OfferDetail:
    """Everything about one offer; its row is placed among all offers. Raises Offer.DoesNotExist."""
    offer = catalog.offers_visible(workspace_slug).get(slug=slug)
    everyone = ranking(replace(query, filters=(), q=""), workspace_slug=workspace_slug)
    rows = (*everyone.rows, *everyone.unscored)
    return OfferDetail(
        offer=offer,
        row=next((row for row in rows if row.offer_id == slug), None),
        prices=list(
            offer.prices.filter(is_published=True).order_by("-observed_at", "purchase_model")[
                :PRICES_SHOWN
            ]
        ),
        summaries=offer_scores(offer.pk),
        samples=list(
            offer.samples.select_related("run", "evidence", "host")
            .defer("evidence__raw_gzip", "evidence__series")
            .order_by("-measured_at", "id")[:SAMPLES_SHOWN]
        ),
    )


# --- the parts of a ranking, each held on its own ---------------------------------------------


def _base_rows(
    query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str
) -> list[BaseRow]:
    """Every visible offer with its price under the basis and its score."""
    metric = METRICS[query.metric]
    prices_of = PriceBasis(query.term, query.basis, query.currency, query.period, query.as_of)
    offers: list[Offer] = _cache.get(
        stamp, ("offers", workspace_slug), lambda: list(catalog.offers_visible(workspace_slug))
    )
    newest = _cache.get(
        stamp,
        # A list that is read and tells nothing new is no change of the data, but makes it newer.
        ("prices", query.term, query.as_of, today),
        lambda: catalog.newest_prices(prices_of),
    )
    prices = catalog.chosen_prices(newest, prices_of)
    rates = _cache.get(stamp, ("rates", query.as_of), lambda: catalog.rate_table(query.as_of))
    scored = _cache.get(stamp, ("scores", metric.key), lambda: scores(metric))
    shared = Context(query, rates, query.as_of or today, stamp.number)
    return [base_row(offer, prices.get(offer.pk), scored.get(offer.pk), shared) for offer in offers]


def _ranking(query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str) -> Ranking:
    unsorted = replace(query, filters=(), q="", sort=DEFAULT_SORT)
    everyone = _cache.get(
        stamp,
        ("base", unsorted, today, workspace_slug),
        lambda: _base_rows(unsorted, stamp, today, workspace_slug),
    )
    before, by_value, by_place = _stages(query.filters)
    listed = [
        row for row in everyone if has_words(row.text, query.q) and is_kept(row.cells, before)
    ]
    metric = METRICS[query.metric]
    rows = _ranked_rows(listed, metric)
    if by_value:
        kept = {row.offer_id for row in rows if is_kept(vars(row), by_value)}
        rows = _ranked_rows([row for row in listed if row.offer.slug in kept], metric)
    if by_place:
        rows = [row for row in rows if is_kept(vars(row), by_place)]
    rows = _in_order(rows, query.sort)
    unscored = [_row(base, None, base.missing) for base in listed if base.score is None]
    unscored = [row for row in unscored if is_kept(vars(row), [*by_value, *by_place])]
    unpriced_count = sum(row.price is None for row in rows)
    return Ranking(
        rows=rows,
        unscored=sorted_none_last(unscored, _sort_keys(query.sort), attrgetter("offer_id")),
        basis=_basis(query, metric, unpriced_count, len(unscored)),
        data_version=stamp.number,
        metric=metric,
        unpriced_count=unpriced_count,
    )


def _stages(
    filters: Iterable[Filter],
) -> tuple[list[Filter], list[Filter], list[Filter]]:
    """Conditions on what is known before ranking, on a row's value, and on its place."""
    before: list[Filter] = []
    by_value: list[Filter] = []
    by_place: list[Filter] = []
    for condition in filters:
        if condition.column in VALUE_COLUMNS:
            by_value.append(condition)
        elif condition.column in PLACE_COLUMNS:
            by_place.append(condition)
        else:
            before.append(condition)
    return before, by_value, by_place


def _ranked_rows(listed: Iterable[BaseRow], metric: Metric) -> list[RankingRow]:
    scored = {base.offer.slug: base for base in listed if base.score is not None}
    candidates = [
        Candidate(
            offer_id=slug,
            score=base.score.summary,
            price=base.cells["price"],
            price_per_hour=base.price_per_hour,
            is_unfit=base.score.is_unfit,
            missing=base.missing,
        )
        for slug, base in scored.items()
        if base.score is not None
    ]
    return [
        _row(scored[place.candidate.offer_id], place, place.missing)
        for place in ranked(candidates, metric)
    ]


def _row(base: BaseRow, place: RankedRow | None, missing: Iterable[str]) -> RankingRow:
    return RankingRow(
        **base.cells,
        cup=place.cup if place else None,
        value_per_cost=place.value_per_cost if place else None,
        value_per_cost_ci95_low=place.value_per_cost_ci95_low if place else None,
        value_per_cost_ci95_high=place.value_per_cost_ci95_high if place else None,
        rank=place.rank if place else None,
        rank_low=place.rank_low if place else None,
        rank_high=place.rank_high if place else None,
        tie_group=place.tie_group if place else None,
        pareto=place.is_pareto if place else None,
        missing=" ".join(missing),
    )


def _in_order(rows: list[RankingRow], sort: Sequence[tuple[str, bool]]) -> list[RankingRow]:
    """Disturbed rows last, then as asked; the default order is the ranking's own."""
    if tuple(sort) == DEFAULT_SORT:
        return rows
    keys = [(lambda row: DISTURBED in row.flags.split(), False), *_sort_keys(sort)]
    return sorted_none_last(rows, keys, attrgetter("offer_id"))


def _sort_keys(sort: Sequence[tuple[str, bool]]) -> list[tuple[Any, bool]]:
    return [(attrgetter(name), is_descending) for name, is_descending in sort]


def _basis(
    query: RankingQuery, metric: Metric, unpriced_count: int, without_score_count: int
) -> dict[str, Any]:
    """What the figures of a list rest on, in words that JSON carries."""
    return {
        "metric": metric.key,
        "unit": metric.unit,
        "better": metric.better,
        "variant": metric.canonical_variant,
        "term": query.term,
        "basis": query.basis,
        "period": query.period,
        "hours_per_month": format(query.hours_per_month, "f"),
        "currency": query.currency,
        "as_of": query.as_of and query.as_of.isoformat(),
        "operating_system": "linux",
        "tenancy": "shared",
        "unpriced_count": unpriced_count,
        "without_score_count": without_score_count,
    }
