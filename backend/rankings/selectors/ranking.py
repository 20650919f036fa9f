"""Rankings of offers under a query, with everything that a reader needs to check them."""

import datetime as dt
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.conf import settings

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.services.summaries import scores_read
from backend.catalog.selectors.current_prices import current_prices_of, newest_prices
from backend.catalog.selectors.data_changes import OFFERS, PRICES, SUMMARIES, read_of
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.catalog.selectors.discounts import no_discounts
from backend.catalog.selectors.extras import Tariffs, tariffs
from backend.catalog.selectors.rates import ALWAYS_KNOWN, currencies, rate_table
from backend.core import clock
from backend.core.rest.parameters import InvalidParameters
from backend.core.shared_files import SharedFiles
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS, Metric
from backend.money.amounts import Floats
from backend.money.money import RateTable
from backend.money.pricing.discounts import Discount
from backend.rankings.calc.mix import MixPart, mix_shares
from backend.rankings.selectors.basis_table import BasisTable
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.listing import (
    Listing,
    RankedLists,
    join_lists,
    meeting,
    rank_lists,
    row_of_offer,
)
from backend.rankings.selectors.mix import Mix, mix
from backend.rankings.selectors.offer_table import OfferTable
from backend.rankings.selectors.parsing import parse_query
from backend.rankings.selectors.price_table import PriceTable
from backend.rankings.selectors.prices import NOTHING, Context
from backend.rankings.selectors.query import CONTRACT, DEFAULT_SORT, RANKED, RankingQuery
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.score_table import ScoreTable
from backend.rankings.selectors.scores import scores_by_metric, scores_seen
from backend.rankings.selectors.stated_basis import basis_words, mix_words
from backend.rankings.selectors.sustained import mix_ratio_under_load, ratio_under_load

# About; a hundred thousand offers take 9 MB, their prices of a term 5 MB, each basis of them 14
# MB, and a list 3 MB.
MOST_BYTES = 50_000_000
# Tables of a data state and all lists made of them: memory of a web process is what limits them.
_cache = StampedCache(MOST_BYTES)
# Lists that a new state is given before it is shown: the longest of those last asked for, as short
# ones are made in no time.
MOST_ANEW, MOST_ASKED = 4, 200
MOST_BYTES_OF_TABLES = 24_000_000
# The tables of the newest state once more, mostly the very same: the next one is made of them.
_tables = KnownTables(MOST_BYTES_OF_TABLES, SharedFiles(settings.SHARED_TABLES_DIR))


class ListKey(NamedTuple):
    """Key of a list within one state of the data."""

    query: RankingQuery
    today: dt.date
    workspace_slug: str
    has_rank_bounds: bool


# Those that readers asked for since a state was given its own.
_asked: deque[ListKey] = deque(maxlen=MOST_ASKED)


@dataclass(frozen=True)
class Ranking:
    """All rows in order; the caller pages. `unscored` are offers without a score, unranked."""

    rows: Sequence[RankingRow]
    """A Listing, of which the rows that are looked at are made."""
    unscored: Sequence[RankingRow]
    basis: Mapping[str, Any]
    data_version: int
    metric: Metric
    unpriced_count: int

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self._listings)

    @property
    def holds(self) -> Sequence[Any]:
        return [rows.basis for rows in self._listings]

    @property
    def _listings(self) -> list[Listing]:
        return [rows for rows in (self.rows, self.unscored) if isinstance(rows, Listing)]

    @property
    def everyone(self) -> Sequence[RankingRow]:
        """All rows, those without a score last."""
        return join_lists(self.rows, self.unscored)

    def row(self, slug: str) -> RankingRow | None:
        """The row of an offer; None where the filters leave it out."""
        return row_of_offer(self.everyone, slug)

    @property
    def count(self) -> int:
        """Rows that are ranked or listed with a score."""
        return len(self.rows)

    @property
    def without_score_count(self) -> int:
        """Offers that pass the filters and have no score for the metric."""
        return len(self.unscored)


def query_from(
    params: Mapping[str, Sequence[str]],
    *,
    also_known: frozenset[str] = frozenset(),
    workspace_slug: str = DEFAULT_WORKSPACE,
    discounts: Callable[[], Sequence[Discount]] = no_discounts,
) -> tuple[RankingQuery, list[str]]:
    """The query that request parameters ask for, and warnings; `discounts` reads the contract of a
    reader who may see it.

    Raises InvalidParameters.
    """
    requested = {value.strip().upper() for value in params.get("currency", ())}
    known = ALWAYS_KNOWN
    stamp = None
    # The table of rates is read only for codes that are not always known.
    if not requested <= known:
        stamp = data_stamp()
        known = currencies_with_rate(stamp, *requested)
    query, warnings = parse_query(params, currencies=known, also_known=also_known)
    if query.base:
        _mix(query, stamp or data_stamp(), workspace_slug)  # says what is wrong with the base
    if CONTRACT in query.basis:
        query = replace(query, discounts=tuple(discounts()))
    return query, warnings


def currencies_with_rate(stamp: DataStamp, *codes: str) -> frozenset[str]:
    """Currencies of which a rate is known; the database is not read where all `codes` always are."""
    if ALWAYS_KNOWN.issuperset(codes):
        return ALWAYS_KNOWN
    return _cache.get(stamp, "currencies", lambda: read_of(stamp, currencies))


def rates_of_day(stamp: DataStamp, as_of: dt.date | None) -> RateTable:
    """The exchange rates of a day, None being today, read once for a state of the data."""
    return _cache.get(stamp, ("rates", as_of), lambda: read_of(stamp, lambda: rate_table(as_of)))


def ranking(
    query: RankingQuery,
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
    has_rank_bounds: bool = True,
) -> Ranking:
    """The ranked list of the offers that the query keeps, sorted as it asks.

    Computed once for a state of the data and a day (prices grow stale), then cached.
    Edges call `current_stamp` before, and may hand it on. Whoever shows nowhere between which ranks
    a row lies asks for rows without that: it takes longer than all the rest.
    """
    present = stamp or data_stamp()
    # Every page and every choice of columns shows the same list.
    # What changes the page and not the list must not be part of its key.
    shared = replace(query, page=1, per_page=1, cols=())
    key = ListKey(shared, clock.now().date(), workspace_slug, has_rank_bounds)
    _asked.append(key)
    return _list(key, present)


def ratios_under_load(
    offer_ids: Sequence[UUID], metric: str, *, workspace_slug: str
) -> dict[UUID, float]:
    """By offer the share of its score that it holds under load at its list price."""
    stamp = data_stamp()
    offers = _offers(stamp, workspace_slug)
    scores = _scores(RankingQuery(metric=metric), stamp, workspace_slug, offers)
    numbers = offers.numbers(b"".join(offer_id.bytes for offer_id in offer_ids)).tolist()
    ratios = ratio_under_load(scores)
    return {
        offer_id: float(ratios[number])
        for offer_id, number in zip(offer_ids, numbers, strict=True)
        if number >= 0
    }


def rank_anew(stamp: DataStamp) -> None:
    """Make of a new state the longest lists that were asked for last, so that nobody waits for them."""
    asked, today = dict.fromkeys(reversed(_asked.copy())), clock.now().date()
    _asked.clear()
    for key in sorted(asked, key=_length, reverse=True)[:MOST_ANEW]:
        # What the new data make impossible is said to whoever asks for it.
        with suppress(InvalidParameters, InvalidValue):
            _list(key._replace(today=today), stamp)


def _length(key: ListKey) -> int:
    """Length of the list as it was last made."""
    known = _cache.last_requested(key)
    return 0 if known is None else len(known.rows) + len(known.unscored)


# --- the parts of a ranking, each cached on its own ---------------------------------------------


def _basis_table(
    query: RankingQuery,
    stamp: DataStamp,
    today: dt.date,
    workspace_slug: str,
) -> BasisTable:
    """Every visible offer with its price under the basis and its score, not yet compared."""
    offers = _offers(stamp, workspace_slug)
    prices = _prices(query, stamp, today, workspace_slug, offers)
    chosen = prices.chosen(query.price_basis)
    rates = rates_of_day(stamp, query.as_of)
    extras: Tariffs = {}
    # Most readers ask for the machine alone.
    if query.extra_amounts != NOTHING:
        extras = _cache.get(
            stamp,
            ("extras", query.as_of),
            lambda: read_of(stamp, lambda: tariffs(query.as_of)),
        )
    of = _scores(query, stamp, workspace_slug, offers)
    # Where no price at all is net, those of unknown tax are like each other and may be compared.
    is_beside_net = prices.has_known_tax(chosen[~np.isnan(of.value)])
    # Rented servers of Europe often state gross prices only: among themselves they compare.
    is_tax_ranked = query.tax_unknown == RANKED or not is_beside_net
    day = query.as_of or today
    shared = Context(query, rates, day, extras, is_tax_ranked)
    lacking = _mix(query, stamp, workspace_slug).lacking if query.weights else {}
    ratio = _ratio_under_load(query, stamp, workspace_slug, offers, of)
    return BasisTable(offers, prices, of, shared, chosen, stamp.number, lacking, ratio)


def _ratio_under_load(
    query: RankingQuery,
    stamp: DataStamp,
    workspace_slug: str,
    offers: OfferTable,
    scores: ScoreTable,
) -> Floats:
    if not query.weights:
        return ratio_under_load(scores)
    # Each part of a mix is slowed before the mean.
    shares = mix_shares([MixPart(METRICS[key], weight) for key, weight in query.weights])
    single = (replace(query, weights=(), metric=key) for key, _ in query.weights)
    tables = [_scores(part, stamp, workspace_slug, offers) for part in single]
    return mix_ratio_under_load(list(zip(tables, shares, strict=True)))


def _scores(
    query: RankingQuery, stamp: DataStamp, workspace_slug: str, offers: OfferTable
) -> ScoreTable:
    metric = query.ranking_metric
    if query.weights:
        mixed = _mix(query, stamp, workspace_slug)
        return ScoreTable.of(mixed.scores.items(), metric, offers)
    # By the very table whose rows it numbers: the data may change between two readings.
    return _cache.get(
        stamp,
        ("scores", metric.key, query.as_of, id(offers)),
        lambda: read_of(
            stamp,
            lambda: _score_table(metric, query.as_of, workspace_slug, offers, stamp),
            (SUMMARIES, metric.key),
        ),
    )


def _score_table(
    metric: Metric,
    as_of: dt.date | None,
    workspace_slug: str,
    offers: OfferTable,
    stamp: DataStamp,
) -> ScoreTable:
    def patched(old: ScoreTable, changed: AbstractSet[UUID]) -> ScoreTable | None:
        # Its rows are numbers in the table of offers: of another one they are other offers.
        if old.table is not offers:
            return None
        if not changed:
            return old
        return old.patched(scores_seen(metric, None, workspace_slug, changed), changed)

    def read() -> ScoreTable:
        if as_of is None and workspace_slug == DEFAULT_WORKSPACE:
            return ScoreTable.read(scores_read(metric.key), metric, offers)
        return ScoreTable.of(scores_seen(metric, as_of, workspace_slug), metric, offers)

    if as_of:
        return read()
    key = ("scores", metric.key, workspace_slug)
    known = {**offers.as_known, f"metric {metric.key}": metric}
    return _tables.get(key, (SUMMARIES, metric.key), stamp.position, read, patched, known=known)


def _prices(
    query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str, offers: OfferTable
) -> PriceTable:
    basis = query.price_basis

    def patched(old: PriceTable, changed: AbstractSet[UUID]) -> PriceTable | None:
        if old.table is not offers:
            return None
        return old.patched(current_prices_of(basis, changed), changed) if changed else old

    def read() -> PriceTable:
        rows = newest_prices(basis) if query.as_of else current_prices_of(basis)
        return PriceTable.of(rows, offers)

    def table() -> PriceTable:
        if query.as_of:
            return read()
        # Of a day, as prices expire with it.
        key = ("prices", query.term, today, workspace_slug)
        return _tables.get(key, (PRICES, ""), stamp.position, read, patched, known=offers.as_known)

    # A list that was read and is unchanged is no change of the data, but makes prices newer.
    return _cache.get(
        stamp,
        ("prices", query.term, query.as_of, today, id(offers)),
        lambda: read_of(stamp, table, (PRICES, "")),
    )


def _offers(stamp: DataStamp, workspace_slug: str) -> OfferTable:
    def unchanged(old: OfferTable, changed: AbstractSet[UUID]) -> OfferTable | None:
        return None if changed else old

    def read() -> OfferTable:
        return OfferTable.read(workspace_slug)

    key = ("offers", workspace_slug)
    return _cache.get(
        stamp,
        key,
        lambda: read_of(
            stamp,
            lambda: _tables.get(key, (OFFERS, ""), stamp.position, read, unchanged, known={}),
            (OFFERS, ""),
        ),
    )


def _mix(query: RankingQuery, stamp: DataStamp, workspace_slug: str) -> Mix:
    """The scores of a mix. Raises InvalidParameters for a base that can be none."""

    def compute() -> Mix:
        slugs = _offers(stamp, workspace_slug).slug_by_key()
        of = scores_by_metric((key for key, _ in query.weights), query.as_of)
        return mix(query.weights, of, slugs, query.base)

    return _cache.get(
        stamp,
        ("mix", query.weights, query.base, query.as_of, workspace_slug),
        lambda: read_of(stamp, compute, *((SUMMARIES, key) for key, _ in query.weights)),
    )


def _list(key: ListKey, stamp: DataStamp) -> Ranking:
    return _cache.get(stamp, key, lambda: _ranking(key, stamp))


def _ranking(key: ListKey, stamp: DataStamp) -> Ranking:
    query, today, workspace_slug, has_rank_bounds = key
    # Filters by rank, tie group or front choose among rows that were ranked with all others: to
    # rank what is left would change the very figures that were asked for.
    by_rank = [condition for condition in query.filters if COLUMN[condition.column].needs_ranking]
    others = tuple(condition for condition in query.filters if condition not in by_rank)
    listed = replace(query, filters=others, sort=DEFAULT_SORT)
    both = _rank_lists(listed, stamp, today, workspace_slug)
    rows = both.scored.kept(by_rank).sort_by(query.sort)
    unscored = both.unscored.kept(by_rank).sort_by(query.sort, is_ranked=False)
    if not has_rank_bounds:
        rows, unscored = rows.without_rank_bounds(), unscored.without_rank_bounds()
    unpriced_count = rows.unknown_count("price")
    metric = query.ranking_metric
    of_mix = mix_words(query, _mix(query, stamp, workspace_slug)) if query.weights else {}
    return Ranking(
        rows=rows,
        unscored=unscored,
        basis=basis_words(query, metric, unpriced_count, len(unscored)) | of_mix,
        data_version=stamp.number,
        metric=metric,
        unpriced_count=unpriced_count,
    )


def _rank_lists(
    query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str
) -> RankedLists:
    """The rows with a score that the filters keep, in the ranking's order, and those without."""
    key = ("ranked", query, today, workspace_slug)
    return _cache.get(stamp, key, lambda: _rank(query, stamp, today, workspace_slug))


def _rank(
    query: RankingQuery, stamp: DataStamp, today: dt.date, workspace_slug: str
) -> RankedLists:
    # Filters change nothing of a row, so all lists under a basis share its rows.
    basis = replace(query, filters=(), q="")
    everyone = _cache.get(
        stamp,
        ("basis", basis, today, workspace_slug),
        lambda: _basis_table(basis, stamp, today, workspace_slug),
    )
    kept = everyone.offers.with_words(query.q)
    for condition in query.filters:
        kept &= meeting(everyone.column(condition.column), condition)
    # Filters that hide nothing, as of what can be bought.
    if basis != query and kept.all():
        return _rank_lists(basis, stamp, today, workspace_slug)
    return rank_lists(everyone, np.flatnonzero(kept), query.ranking_metric)
