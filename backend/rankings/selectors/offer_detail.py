"""An offer among all, with its prices and what was measured on it."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from django.db.models import QuerySet

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.models import Sample
from backend.benchmarks.selectors.samples import of_offer, visible_samples
from backend.benchmarks.selectors.scores import metrics_of_many_methods, score_groups
from backend.benchmarks.services.summaries import summary_scores
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import NEWEST_FIRST, end_of, has_begun
from backend.catalog.selectors.data_changes import require_unchanged
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.offers import offers_visible
from backend.core import clock
from backend.measure.metrics import BESIDE, METRICS
from backend.rankings.selectors.parameters import RANKING_METRICS
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.scores import Score, for_reader

PRICES_SHOWN = 100
SAMPLES_SHOWN = 200


@dataclass(frozen=True)
class OfferDetail:
    """An offer with its row among all, its prices and what was measured on it."""

    offer: Offer
    query: RankingQuery
    """Query that the row is ranked by."""
    row: RankingRow | None
    everyone: Sequence[RankingRow]
    """The rows of all offers, ranked ones first."""
    prices: Sequence[PriceObservation]
    summaries: Sequence[Score]
    earlier: Sequence[Score]
    """Scores of older methods or hardware, newest first: history that no longer ranks."""
    samples: Sequence[Sample]
    beside: Sequence[Sample]
    """Scores of variants that are shown beside the ones that rank."""


def offer_detail(
    slug: str,
    query: RankingQuery,
    *,
    is_metric_given: bool = True,
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
) -> OfferDetail:
    """Everything about one offer; its row is ranked among all, or all that can be
    bought where the query says so and it can. Where the metric of the query was not
    asked for and the offer lacks it, that of its newest figure takes its place, since the
    market's metric says nothing about such an offer. Raises Offer.DoesNotExist, and StateGone where
    the offer has changed since a state that is held on to."""
    offer = offers_visible(workspace_slug).get(slug=slug)
    if stamp:
        require_unchanged(stamp, [offer.pk])
    day = query.as_of or clock.now().date()
    prices = offer.prices.filter(has_begun(day), is_published=True)
    known: dict[str, dt.datetime] = {}
    if query.as_of is not None:
        prices = prices.filter(observed_at__lt=end_of(query.as_of))
        known = {"measured_at__lt": end_of(query.as_of)}
    samples = (
        visible_samples(Sample.objects.filter(of_offer(offer.pk), **known), workspace_slug)
        .select_related("run", "evidence", "host")
        .defer("evidence__raw_gzip", "evidence__series")
        .order_by("-measured_at", "id")
    )
    newest = list(samples[:SAMPLES_SHOWN])
    are_many = len(newest) == SAMPLES_SHOWN
    by_metric = {
        key: [for_reader(sample, offer, workspace_slug) for sample in group]
        for key, group in _groups(offer, known, are_many=are_many).items()
    }
    if not is_metric_given:
        query = replace(query, metric=_own_metric(by_metric, query.metric))
    kept = tuple(condition for condition in query.filters if condition.column == "available")
    others = replace(query, filters=() if offer.discontinued_on else kept, q="")
    everyone = ranking(others, workspace_slug=workspace_slug, stamp=stamp)
    groups = [by_metric[key] for key in METRICS if by_metric.get(key)]
    return OfferDetail(
        offer=offer,
        query=query,
        row=everyone.row(slug),
        everyone=everyone.everyone,
        prices=list(prices.order_by(*NEWEST_FIRST, "purchase_model")[:PRICES_SHOWN]),
        summaries=[of[0] for of in groups],
        earlier=[score for of in groups for score in of[1:]],
        samples=newest,
        beside=list(_beside(samples, by_metric)[:SAMPLES_SHOWN]),
    )


def _groups(
    offer: Offer, known: Mapping[str, dt.datetime], *, are_many: bool
) -> dict[str, list[Score]]:
    """Metric → its scores, the newest first. Where samples are many they are as stored, but for what
    is of an earlier day and where some samples may be of an earlier method or machine."""
    if known or not are_many:
        return score_groups(offer.pk, **known)
    newest = {score.metric.key: [score] for _, score in summary_scores(offer_id=offer.pk)}
    mixed = metrics_of_many_methods(offer.pk)
    return newest | (score_groups(offer.pk, metric__in=mixed) if mixed else {})


def _own_metric(by_metric: Mapping[str, Sequence[Score]], otherwise: str) -> str:
    fit = {
        key: by_metric[key][0].measured_at
        for key in RANKING_METRICS
        if by_metric.get(key) and not by_metric[key][0].is_unfit
    }
    # `max` takes the first of those as new, so that the same figures always give the same page.
    return otherwise if otherwise in fit or not fit else max(fit, key=lambda key: fit[key])


def _beside(samples: QuerySet[Sample], scored: Iterable[str]) -> QuerySet[Sample]:
    """Our own measurements in variants that are shown beside the scores that there are."""
    metrics = BESIDE.keys() & set(scored)
    variants = set(chain.from_iterable(BESIDE[key] for key in metrics))
    # Without variants Django asks the database nothing.
    return samples.filter(metric__in=metrics, variant__in=variants, run__isnull=False)
