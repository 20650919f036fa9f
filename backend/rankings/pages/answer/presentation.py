"""The first page's view of an answer: the card, runners-up, the picture, ten rows and coverage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.urls import reverse

from backend.foundation.attributions import attributions
from backend.rankings.calc.conclusions import percent_chance, times
from backend.rankings.pages.frontier.page import frontier_chart
from backend.rankings.selectors.answer import CHEAPEST, BestBuy, OwnStanding
from backend.rankings.selectors.candidates import Candidate
from backend.rankings.selectors.coverage import ProviderCoverage
from backend.rankings.selectors.frontier import Frontier
from backend.rankings.selectors.listing import floats, mark_rows, value_counts
from backend.rankings.selectors.rows import RankingRow
from backend.site import figures, state
from backend.site.basis import basis_words, picture
from backend.site.language import count_words as counted_words
from backend.site.offer_lines import OfferLine, offer_lines
from backend.site.price_age import price_banner

ROWS_SHOWN = 10
RUNNERS_UP = 2
MOST_OWN = 3
# Whose prices most readers pay today; the best value is held against the best of theirs.
LARGE_CLOUDS = frozenset({"aws", "azure", "gcp"})
REGIONS_NAMED = 3
# Of the picture, which is half as wide as that of the frontier page.
MOST_POINTS, MOST_DOTS = 60, 400


@dataclass(frozen=True)
class CandidateLine:
    """A candidate as a card or a row of the table shows it."""

    line: OfferLine
    position: int | None
    regions: str
    chance: str
    """Probability of being the best value; empty where it is not known."""


@dataclass(frozen=True)
class OwnLine:
    """A machine of one's own: where it stands, and below which price it is the best value."""

    line: OfferLine
    rank: int | None
    limit: str
    limit_interval: str


@dataclass(frozen=True)
class CloudLine:
    """The best offer of the large clouds, and how many times its value the best of all has."""

    row: RankingRow
    times: str


@dataclass(frozen=True)
class CoverageLine:
    """The offers of a provider in the comparison, in words."""

    provider: str
    regions: str
    offers: str
    newest_price_on: str


def answer_context(its: BestBuy, front: Frontier, params: state.Params) -> dict[str, Any]:
    """The context of an answer; `params` are those of the ranking that it is taken from."""
    metric, cost = its.ranking.metric, state.cost(params)
    basis = basis_words(params, its.candidates.rows)
    scale = figures.scale(metric.unit, floats(its.candidates.rows, "score"))
    own = its.own[:MOST_OWN]

    def lines(rows: Sequence[RankingRow]) -> list[OfferLine]:
        return offer_lines(rows, metric, scale, cost)

    def candidate_lines(candidates: Sequence[Candidate], first: int | None) -> list[CandidateLine]:
        of_rows = lines([candidate.row for candidate in candidates])
        return [
            CandidateLine(
                line,
                None if first is None else first + n,
                _region_words(candidate.regions),
                "" if candidate.p_best is None else percent_chance(candidate.p_best),
            )
            for n, (candidate, line) in enumerate(zip(candidates, of_rows, strict=True))
        ]

    top = [its.candidates.at(n) for n in range(min(ROWS_SHOWN, len(its.candidates)))]
    runners_up = its.rivals[:RUNNERS_UP] or top[1 : 1 + RUNNERS_UP]
    captions = picture(f"answer-{metric.key}", params, basis, its.ranking.data_version)
    drawn = [_point_of(standing) for standing in own]
    coverage = [_coverage_line(line) for line in its.coverage if line.offer_count]
    chart = frontier_chart(front, scale, cost, captions, own=drawn, most=(MOST_POINTS, MOST_DOTS))
    return {
        "conclusion": its.conclusion,
        "metric": metric,
        "basis": basis,
        "cost": cost,
        "units": (scale.unit, figures.value_scale(scale, metric.better, cost).unit),
        "cloud": _cloud_line(its),
        "compare_url": _compare_url([its.best, *runners_up] if its.best else [], params),
        "best": candidate_lines([its.best] if its.best else [], None),
        "runners_up": candidate_lines(runners_up, None),
        "cheapest": candidate_lines([its.cheapest] if its.cheapest else [], None),
        "lines": candidate_lines(top, 1),
        "servers": counted_words("{n} server", "{n} servers", len(its.candidates)),
        "providers": counted_words("{n} provider", "{n} providers", len(coverage)),
        "unscored_count": its.without_score_count,
        "own": list(map(_own_line, lines([machine.row for machine in own]), own)),
        "lacks_own": its.best is not None and not its.own,
        "coverage": coverage,
        "absent": [coverage.provider for coverage in its.coverage if not coverage.offer_count],
        "age": price_banner(its.candidates.rows),
        "frontier": {"beyond": bool(front.beyond)},
        "chart": chart,
        "attributions": attributions(value_counts(its.candidates.rows, "licence")),
    }


def _own_line(line: OfferLine, standing: OwnStanding) -> OwnLine:
    period = standing.row.period
    ends = (standing.break_even_low, standing.break_even_high)
    limits = " – ".join(figures.money(end, period) for end in ends)
    return OwnLine(line, standing.rank, figures.money(standing.break_even_price, period), limits)


def _cloud_line(its: BestBuy) -> CloudLine | None:
    """None where the best is one of theirs, or nothing of them is among the candidates."""
    if its.best is None or its.best.row.provider in LARGE_CLOUDS or its.options.goal == CHEAPEST:
        return None
    of_clouds = mark_rows(its.candidates.rows, "provider", LARGE_CLOUDS.__contains__)
    if not of_clouds.any():
        return None
    first = int(np.argmax(of_clouds))
    ratio = float(its.candidates.values[0] / its.candidates.values[first])
    return CloudLine(its.candidates.rows[first], times(ratio))


def _compare_url(candidates: Sequence[Candidate], params: state.Params) -> str:
    picked = ",".join(candidate.row.offer_id for candidate in candidates)
    return reverse("compare") + state.encode({**params, "o": [picked]})


def _region_words(regions: Sequence[str]) -> str:
    if len(regions) > REGIONS_NAMED:
        return counted_words("{n} region", "{n} regions", len(regions))
    return ", ".join(regions)


def _coverage_line(covered: ProviderCoverage) -> CoverageLine:
    return CoverageLine(
        covered.provider,
        _region_words(covered.regions),
        counted_words("{n} offer", "{n} offers", covered.offer_count),
        str(covered.newest_price_on),
    )


def _point_of(standing: OwnStanding) -> RankingRow:
    """The machine as a point: without a price it stands where it would be the best value."""
    row = standing.row
    if row.price is not None:
        return row
    return replace(row, price=standing.break_even_price, region="at its break-even price")
