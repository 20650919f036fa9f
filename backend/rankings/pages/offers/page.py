"""Parts of an offer's page: its value for the money, its whole cost, and offers much like it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from backend.catalog.selectors.rates import currencies
from backend.measure.credits import UNLIMITED
from backend.measure.stats import UNFIT
from backend.rankings.pages.ranking.views import RankingRequest
from backend.rankings.selectors.breakdown import PriceBreakdown, price_breakdown
from backend.rankings.selectors.listing import mark_rows
from backend.rankings.selectors.offer_detail import OfferDetail
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.region_prices import TERM_GROUPS, RegionPrices, region_prices
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.similar import similar_offers
from backend.site import charts, figures, state, words
from backend.site.basis_form import BasisForm
from backend.site.language import _, lazy, localize
from backend.site.words import MISSING


@dataclass(frozen=True)
class PartLine:
    """A part of the price in words."""

    label: str
    amount: str
    title: str
    is_in_basis: bool


@dataclass(frozen=True)
class StandingLine:
    """A figure that a ranking has of the offer, in the units of the page."""

    label: str
    shown: str
    unit: str
    interval: str
    missing: str
    """Text where the figure is not known."""


@dataclass(frozen=True)
class RegionLine:
    """A region of the machine type and its prices, one for each group of terms in the table."""

    slug: str
    region: str
    prices: Sequence[str]


# Heads of the table of prices by region.
GROUP_LABELS = {
    "on_demand": lazy("On demand"),
    "spot": lazy("Spot"),
    "1y": lazy("1 year"),
    "3y": lazy("3 years"),
}


@dataclass(frozen=True)
class SimilarLine:
    """An offer that is much alike, figures in the units of the page."""

    row: RankingRow
    label: str
    score: str
    value: str
    price: str
    compare_url: str


def offer_context(detail: OfferDetail, requested: RankingRequest) -> dict[str, Any]:
    """Context of the parts; None and empty where there is nothing to say."""
    query, params = requested.query, requested.sound
    form = BasisForm(
        params,
        currencies=sorted(currencies()),
        scored={score.metric.key for score in detail.summaries},
        errors=requested.errors,
    )
    is_unlimited = bool(detail.row and detail.row.credit_mode == UNLIMITED)
    breakdown = price_breakdown(
        detail.offer,
        query,
        is_unlimited=is_unlimited,
        stamp=requested.stamp,
    )
    basis = {k: v for k, v in params.items() if k in state.SELECTORS | state.QUESTION}
    rows = similar_offers(detail.row, detail.everyone) if detail.row else []
    of_type = (
        region_prices(
            detail.offer, detail.everyone, query, requested.stamp, has_surplus=is_unlimited
        )
        if detail.prices
        else []
    )
    groups = [group for group in TERM_GROUPS if any(group in each.prices for each in of_type)]
    return {
        "price_terms": [GROUP_LABELS[group] for group in groups],
        "regions": [_region_line(prices, groups, query.period) for prices in of_type],
        "form": form,
        "hidden": state.pairs(params.keys() - form.fields.keys(), params),
        "standing": _standing(detail, query, params),
        "metric_label": query.ranking_metric.label,
        "ranking_url": reverse("offers") + state.query(basis),
        "data_version": detail.row and detail.row.data_version,
        "breakdown": breakdown,
        "parts": _parts(breakdown, query) if breakdown else [],
        "total": _money(breakdown) if breakdown else "",
        "similar": _similar(detail.offer.slug, rows, query, basis),
        # Of these rows alone: those of the whole ranking may lie orders of magnitude away.
        "similar_unit": _scale(rows, query).unit,
        "compare_url": _compare(basis, [detail.offer.slug, *(row.offer_id for row in rows)]),
    }


def _region_line(prices: RegionPrices, groups: Sequence[str], period: str) -> RegionLine:
    region = prices.offer.region
    shown = [figures.money(prices.prices.get(group), period) for group in groups]
    return RegionLine(prices.offer.slug, str(region.name or region.code) if region else "", shown)


def _standing(detail: OfferDetail, query: RankingQuery, params: state.Params) -> list[StandingLine]:
    """Score, price, value per cost and rank of the offer; what lacks says why."""
    row = detail.row
    if row is None:
        return []
    metric, cost = query.ranking_metric, state.cost(params)
    scale = figures.scale(metric.unit, [row.score] if row.score else [])
    values = (row.value_per_cost, row.value_per_cost_ci95_low, row.value_per_cost_ci95_high)
    value = figures.value_scale(scale, metric.better, cost, values)
    ranked = int(mark_rows(detail.everyone, "rank", lambda rank: rank is not None).sum())
    rank = (
        _("{rank} of {ranked}", rank=localize(f"{row.rank:,}"), ranked=localize(f"{ranked:,}"))
        if row.rank
        else ""
    )
    ranks = f"{row.rank_low} – {row.rank_high}" if row.rank_low != row.rank_high else ""
    ends = figures.ends(scale, row.score_ci95_low, row.score_ci95_high)
    return [
        StandingLine(_("Score"), scale.text(row.score), scale.unit, ends, _("not measured")),
        StandingLine(_("Price"), figures.money(row.price, row.period), cost, "", MISSING["price"]),
        StandingLine(
            _("Value per cost"),
            value.text(row.value_per_cost),
            value.unit,
            figures.ends(value, *values[1:]),
            _why_unranked(row),
        ),
        StandingLine(_("Rank"), rank, "", ranks, "none"),
    ]


def _why_unranked(row: RankingRow) -> str:
    """Why there is no value per cost."""
    if row.score is None or row.price is None:
        return _("no price or no score")
    unfit = [words.flag(flag)[0] for flag in row.flags.split() if flag in UNFIT]
    if unfit:
        return _("not ranked, result flagged: {flags}", flags=", ".join(map(str, unfit)))
    return _("not ranked for this payment option")


def _parts(breakdown: PriceBreakdown, query: RankingQuery) -> list[PartLine]:
    amounts = {
        "disk": figures.quantity(query.basis_disk_gb),
        "ip": figures.quantity(query.basis_ipv4),
        "egress": figures.quantity(query.basis_egress_gb),
    }
    lines = []
    for part in breakdown.parts:
        label = words.basis_part(part.name, amounts.get(part.name, ""))
        amount = figures.money(part.amount, breakdown.period) if part.amount else ""
        # Two kinds of nothing: an amount of zero is in the price already, None nobody has stated.
        nothing = _("no price known") if part.amount is None else _("included")
        # capitalize() would make "ipv4" of "IPv4".
        label = label[0].upper() + label[1:]
        lines.append(
            PartLine(label, amount or nothing, figures.plain(part.amount), part.is_in_basis)
        )
    return lines


def _money(breakdown: PriceBreakdown) -> str:
    return figures.money(breakdown.total, breakdown.period) or _("unknown")


def _scale(rows: Sequence[RankingRow], query: RankingQuery) -> figures.UnitScale:
    return figures.scale(query.ranking_metric.unit, (row.score for row in rows if row.score))


def _similar(
    slug: str, rows: Sequence[RankingRow], query: RankingQuery, basis: state.Params
) -> list[SimilarLine]:
    scale = _scale(rows, query)
    values = (row.value_per_cost for row in rows)
    value = figures.value_scale(scale, query.ranking_metric.better, state.cost(basis), values)
    return [
        SimilarLine(
            row=row,
            label=charts.row_label(row),
            score=scale.text(row.score) or _("not measured"),
            value=value.text(row.value_per_cost) or _("unknown"),
            price=figures.money(row.price, row.period) or _("no price"),
            compare_url=_compare(basis, [slug, row.offer_id]),
        )
        for row in rows
    ]


def _compare(basis: state.Params, slugs: Sequence[str]) -> str:
    return reverse("compare") + state.query(basis, o=",".join(slugs))
