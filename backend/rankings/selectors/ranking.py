"""Rankings of offers under a query, with everything that a reader needs to check them."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import Sample
from backend.benchmarks.services import summaries
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors import current_prices as catalog_current_prices
from backend.catalog.selectors import data_version as catalog_data_version
from backend.catalog.selectors import offers as catalog_offers
from backend.catalog.selectors import rates as catalog_rates
from backend.catalog.selectors.current_prices import PriceBasis
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.extras import Tariffs, tariffs
from backend.catalog.services import current_prices
from backend.common import clock
from backend.common.rest.table import json_cell
from backend.domain.metrics import Metric
from backend.domain.ranking import (
    Candidate,
    RankedRow,
    Worth,
    ranked_rows,
    sorted_none_last,
    worth,
)
from backend.rankings.selectors import query as parameters
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.columns import COLUMN, COLUMNS, COLUMNS_V1, Stage
from backend.rankings.selectors.filters import has_words, is_kept
from backend.rankings.selectors.mix import Mix, mix
from backend.rankings.selectors.prices import NOTHING, Context
from backend.rankings.selectors.query import DEFAULT_SORT, Filter, InvalidParameters, RankingQuery
from backend.rankings.selectors.rows import BaseRow, RankingRow, base_row
from backend.rankings.selectors.scores import (
    DISTURBED,
    Score,
    offer_scores,
    scores,
    scores_by_metric,
)

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
NO_VALUE = dict.fromkeys(column.name for column in COLUMNS if column.stage is Stage.VALUE)
_cache = StampedCache(48)
_bases = StampedCache(6)
_lists = StampedCache(24)
"""Six thousand offers under one basis take some 20 MB, and a list of them 6 MB."""


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
    everyone: Sequence[RankingRow]
    """The rows of all offers, ranked ones first."""
    prices: Sequence[PriceObservation]
    summaries: Sequence[Score]
    samples: Sequence[Sample]


def query_from(
    params: Mapping[str, Sequence[str]],
    *,
    also_known: frozenset[str] = frozenset(),
    workspace_slug: str = DEFAULT_WORKSPACE,
) -> tuple[RankingQuery, list[str]]:
    """The query that request parameters ask for, and warnings (see rankings.query).

    Raises InvalidParameters.
    """
    asked = {value.strip().upper() for value in params.get("currency", ())}
    currencies = catalog_rates.ALWAYS_KNOWN
    stamp = None
    if not asked <= currencies:
        stamp = current_stamp()
        currencies = _cache.get(stamp, "currencies", catalog_rates.currencies)
    query, warnings = parameters.query_from(params, currencies=currencies, also_known=also_known)
    if query.base:
        _mix(query, stamp or current_stamp(), workspace_slug)  # says what is wrong with the base
    return query, warnings


def current_stamp() -> DataStamp:
    """The present state of the data, after what is stored was made anew if that was needed."""
    stamp = catalog_data_version.data_stamp()
    if not (current_prices.is_pending(stamp) or summaries.is_pending(stamp)):
        return stamp
    current_prices.prices_refresh()
    summaries.summaries_refresh()
    return catalog_data_version.data_stamp()


def ranking(query: RankingQuery, *, workspace_slug: str = DEFAULT_WORKSPACE) -> Ranking:
    """The ranked list of the offers that the query keeps, sorted as it asks.

    Computed once for a state of the data and a day (prices grow stale), then held.
    """
    stamp = current_stamp()
    today = clock.now().date()
    shared = replace(query, page=1, per_page=1, cols=())
    key = ("ranking", shared, today, workspace_slug)
    return _lists.get(stamp, key, lambda: _ranking(shared, stamp, today, workspace_slug))


def offer_detail(
    slug: str, query: RankingQuery, *, workspace_slug: str = DEFAULT_WORKSPACE
) -> OfferDetail:
    """Everything about one offer; its row is placed among all offers. Raises Offer.DoesNotExist."""
    offer = catalog_offers.offers_visible(workspace_slug).get(slug=slug)
    everyone = ranking(replace(query, filters=(), q=""), workspace_slug=workspace_slug)
    rows = (*everyone.rows, *everyone.unscored)
    return OfferDetail(
        offer=offer,
        row=next((row for row in rows if row.offer_id == slug), None),
        everyone=rows,
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
    metric = query.ranked_metric
    prices_of = PriceBasis(
        query.term, query.machine_basis, query.currency, query.period, query.as_of
    )
    newest = _cache.get(
        stamp,
        # A list that is read and tells nothing new is no change of the data, but makes it newer.
        ("prices", query.term, query.as_of, today),
        lambda: (
            catalog_current_prices.newest_prices
            if query.as_of
            else catalog_current_prices.stored_prices
        )(prices_of),
    )
    prices = catalog_current_prices.chosen_prices(newest, prices_of)
    rates = _cache.get(stamp, ("rates", query.as_of), lambda: catalog_rates.rate_table(query.as_of))
    extras: Tariffs = {}
    if query.wanted != NOTHING:
        extras = _cache.get(stamp, ("extras", query.as_of), lambda: tariffs(query.as_of))
    shared = Context(query, rates, query.as_of or today, stamp.number, extras)
    found = _mix(query, stamp, workspace_slug) if query.weights else None
    lacking = found.lacking if found else {}
    scored = (
        found.scores if found else _cache.get(stamp, ("scores", metric.key), lambda: scores(metric))
    )
    return [
        base_row(
            offer,
            prices.get(offer.pk),
            scored.get(offer.pk),
            shared,
            lacking.get(offer.pk, ()),
        )
        for offer in _offers(stamp, workspace_slug)
    ]


def _offers(stamp: DataStamp, workspace_slug: str) -> list[Offer]:
    return _cache.get(
        stamp,
        ("offers", workspace_slug),
        lambda: list(catalog_offers.offers_visible(workspace_slug)),
    )


def _mix(query: RankingQuery, stamp: DataStamp, workspace_slug: str) -> Mix:
    """The scores of a mix. Raises InvalidParameters for a base that can be none."""

    def compute() -> Mix:
        slugs = {offer.pk: offer.slug for offer in _offers(stamp, workspace_slug)}
        of = scores_by_metric(key for key, _ in query.weights)
        return mix(query.weights, of, slugs, query.base)

    return _cache.get(stamp, ("mix", query.weights, query.base, workspace_slug), compute)


def _ranking(query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str) -> Ranking:
    by_place = _at_stage(query.filters, Stage.RANK)
    others = tuple(condition for condition in query.filters if condition not in by_place)
    listed = replace(query, filters=others, sort=DEFAULT_SORT)
    rows, unscored = _lists.get(
        stamp,
        ("placed", listed, today, workspace_slug),
        lambda: _placed(listed, stamp, today, workspace_slug),
    )
    if by_place:
        rows = [row for row in rows if is_kept(vars(row), by_place)]
        unscored = [row for row in unscored if is_kept(vars(row), by_place)]
    rows = _in_order(rows, query.sort)
    unpriced_count = sum(row.price is None for row in rows)
    metric = query.ranked_metric
    mixed = _mixed(query, _mix(query, stamp, workspace_slug)) if query.weights else {}
    return Ranking(
        rows=rows,
        unscored=sorted_none_last(unscored, _sort_keys(query.sort), attrgetter("offer_id")),
        basis=_basis(query, metric, unpriced_count, len(unscored)) | mixed,
        data_version=stamp.number,
        metric=metric,
        unpriced_count=unpriced_count,
    )


def _at_stage(filters: Iterable[Filter], stage: Stage) -> list[Filter]:
    return [condition for condition in filters if COLUMN[condition.column].stage is stage]


def _placed(
    query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str
) -> tuple[list[RankingRow], list[RankingRow]]:
    """The rows with a score that the filters keep, placed, and those without one."""
    basis = replace(query, filters=(), q="")
    everyone = _bases.get(
        stamp,
        ("base", basis, today, workspace_slug),
        lambda: _worths(_base_rows(basis, stamp, today, workspace_slug), query.ranked_metric),
    )
    before = _at_stage(query.filters, Stage.OFFER)
    by_value = _at_stage(query.filters, Stage.VALUE)
    listed = [
        row
        for row in everyone
        if has_words(row.base.text, query.q)
        and is_kept(row.base.cells, before)
        and (not by_value or is_kept(row.value_cells, by_value))
    ]
    of = {row.candidate.offer_id: row.base for row in listed if row.candidate}
    known = [(row.candidate, row.worth) for row in listed if row.candidate]
    rows = [
        _row(of[place.candidate.offer_id], place, place.missing)
        for place in ranked_rows(known, query.ranked_metric)
    ]
    return rows, [_row(row.base, None, row.base.missing) for row in listed if not row.candidate]


@dataclass(frozen=True, slots=True)
class _Listed:
    """An offer with what ranking needs of it; without a candidate it has no score."""

    base: BaseRow
    candidate: Candidate | None = None
    worth: Worth | None = None

    @property
    def value_cells(self) -> dict[str, Any]:
        its = self.worth
        if its is None:
            return NO_VALUE
        return {
            "cup": its.cup,
            "value_per_cost": its.value_per_cost,
            "value_per_cost_ci95_low": its.low,
            "value_per_cost_ci95_high": its.high,
        }


def _worths(rows: Iterable[BaseRow], metric: Metric) -> list[_Listed]:
    listed = []
    for base in rows:
        if base.score is None:
            listed.append(_Listed(base))
            continue
        candidate = Candidate(
            offer_id=base.offer.slug,
            score=base.score.summary,
            price=base.cells["price"],
            price_per_hour=base.price_per_hour,
            is_unfit=base.score.is_unfit,
            missing=base.missing,
        )
        listed.append(_Listed(base, candidate, worth(candidate, metric)))
    return listed


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
        "basis": ",".join(query.basis),
        "period": query.period,
        "hours_per_month": format(query.hours_per_month, "f"),
        "currency": query.currency,
        "as_of": query.as_of and query.as_of.isoformat(),
        **_amounts(query),
        "operating_system": "linux",
        "tenancy": "shared",
        "unpriced_count": unpriced_count,
        "without_score_count": without_score_count,
    }


def _amounts(query: RankingQuery) -> dict[str, Any]:
    """How much of each extra the basis holds, and the reader's tax; what is not in is left out."""
    wanted, rate = query.wanted, query.tax_rate
    told = {
        "basis_disk_gb": wanted.disk_gb,
        "basis_ipv4": wanted.ipv4_count,
        "basis_egress_gb": wanted.egress_gb,
        "tax_rate": rate,
    }
    return {name: json_cell(value) for name, value in told.items() if value is not None}


def _mixed(query: RankingQuery, found: Mix) -> dict[str, Any]:
    """Weights and baseline of a mix."""
    weights = {key: json_cell(weight) for key, weight in query.weights}
    return {"weights": weights, "base": found.base}
