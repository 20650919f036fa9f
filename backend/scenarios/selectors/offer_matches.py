"""Offers that words mean, each with its price and a score, to choose from for an option."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.benchmarks.selectors.scores import Score
from backend.benchmarks.services.summaries import summary_scores
from backend.catalog.models import HardwareModel, Offer
from backend.catalog.selectors.offers import offers_visible, offers_with_words
from backend.measure.metrics import CPU_METRICS
from backend.scenarios.selectors.resolving import NamedPrice, prices_by_name

MOST_MATCHES = 8
# More are priced than shown, for those with a price come first; a word like a provider's name fits
# thousands, and not all of them can be.
MOST_CONSIDERED = 200


@dataclass(frozen=True)
class OfferMatch:
    """An offer with its price under a term and a score; each None where it is not known."""

    offer: Offer
    price: NamedPrice | None
    score: Score | None


def offer_matches(
    words: str,
    *,
    term: str,
    currency: str,
    metric: str = "",
    workspace_slug: str = DEFAULT_WORKSPACE,
    today: dt.date,
) -> list[OfferMatch]:
    """The first offers that have every word in their name, provider or region; those with a price
    under the term come first. None for no words."""
    if not words.split():
        return []
    offers = offers_with_words(words, workspace_slug)
    rows = list(offers.order_by("slug")[:MOST_CONSIDERED])
    price = {"term": term, **({"currency": currency} if currency else {})}
    options = [{"parts": [{"price": {"offer": row.slug, **price}}]} for row in rows]
    prices = prices_by_name({"options": options}, workspace_slug=workspace_slug, today=today)
    by_offer = {price.offer.pk: price for price in prices.values()}
    # The sort is stable: within both kinds the order by slug stays.
    rows.sort(key=lambda offer: offer.pk not in by_offer)
    shown = rows[:MOST_MATCHES]
    scores = scores_of_offers((offer.pk for offer in shown), metric)
    return [OfferMatch(offer, by_offer.get(offer.pk), scores.get(offer.pk)) for offer in shown]


def scores_of_offers(offer_ids: Iterable[UUID], metric: str = "") -> dict[UUID, Score]:
    """A score of each offer: of the metric, or where none is asked for the newest of its CPU."""
    metrics = {metric} if metric else CPU_METRICS
    scores: dict[UUID, Score] = {}
    for pk, score in summary_scores(offer_id__in=list(offer_ids), metric__in=metrics):
        if pk not in scores or scores[pk].measured_at < score.measured_at:
            scores[pk] = score
    return scores


def offer_names(slugs: Iterable[str], workspace_slug: str = DEFAULT_WORKSPACE) -> dict[str, str]:
    """Names of offers by slug; those that are not known are left out."""
    rows = offers_visible(workspace_slug).filter(slug__in=list(slugs)).order_by("slug")
    return {row.slug: row.name for row in rows}


def is_own_hardware(slug: str) -> bool:
    """True for an offer that a cost model of own hardware prices."""
    return HardwareModel.objects.filter(offer__slug=slug).exists()
