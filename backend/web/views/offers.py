"""One offer: what it is, what it costs, what was measured on it."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.benchmarks.models import Source
from backend.catalog.models import Offer
from backend.rankings.scores import Score
from backend.rankings.selectors import OfferDetail, offer_detail
from backend.web import charts, figures, lines, state, words
from backend.web.access import may, readable
from backend.web.history_plots import history_plots
from backend.web.views.ranking import asked

RUNS_SHOWN = 20


@dataclass(frozen=True)
class ScoreLine:
    """One metric of the offer, its figures already in the unit of the line."""

    score: Score
    shown: str
    interval: str
    unit: str
    basis: str
    source_url: str | None


@readable
@require_safe
def offer_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Facts, prices, scores and samples of one offer, ranked under the URL's parameters."""
    wanted = asked({name: request.GET.getlist(name) for name in request.GET})
    try:
        detail = offer_detail(slug, wanted.query)
    except Offer.DoesNotExist as error:
        raise Http404("There is no such offer.") from error
    context = _context(detail, wanted.params)
    variants = {s.metric.key: s.variant for s in detail.summaries if s.source == Source.MEASURED}
    if len(context["runs"]) > 1:
        context |= history_plots(request, variants, offer=detail.offer)
    context["may_write"] = may(request, Scope.WRITE)
    return render(request, "offers/page.html", context)


def _context(detail: OfferDetail, params: state.Params) -> dict[str, Any]:
    runs = {s.run_id: s.run for s in detail.samples if s.run is not None}
    return {
        "offer": detail.offer,
        "row": detail.row,
        "cost": state.cost(params),
        "facts": _facts(detail.offer),
        "prices": detail.prices,
        "scores": [_score_line(score) for score in detail.summaries],
        "strips": charts.strips(detail),
        "runs": list(runs.values())[:RUNS_SHOWN],
        "samples": lines.sample_lines(detail.samples),
    }


def _score_line(score: Score) -> ScoreLine:
    summary = score.summary
    scale = figures.scale(score.metric.unit, [summary.value])
    low, high = (figures.figure(scale.shown(end)) for end in (summary.ci95_low, summary.ci95_high))
    return ScoreLine(
        score=score,
        shown=figures.figure(scale.shown(summary.value)),
        interval=f"{low} – {high}" if low and high else "",
        unit=scale.unit,
        basis=words.INTERVALS.get(summary.interval_basis, summary.interval_basis),
        source_url=lines.own_path(score.result_url),
    )


def _facts(offer: Offer) -> list[tuple[str, str]]:
    """What is known of the offer, in words; what is not known says so."""
    unknown = "not stated"
    vcpu = figures.quantity(offer.vcpu_count)
    vcpu_kind = words.VCPU_KINDS.get(offer.vcpu_kind, "")
    memory = offer.memory_bytes and f"{figures.quantity(offer.memory_bytes / 2**30)} GiB"
    disk = offer.disk_bytes and f"{figures.size(offer.disk_bytes)} {offer.disk_kind}"
    stated = offer.stated_on and f"{offer.stated_on}"
    return [
        ("Provider", offer.provider.name),
        ("Kind", words.kind(offer.kind)),
        ("Region", str(offer.region) if offer.region else unknown),
        ("Processor", offer.cpu_model or unknown),
        ("Architecture", offer.arch or unknown),
        ("vCPU", " ".join(part for part in (vcpu, vcpu_kind) if part) or unknown),
        ("Hardware threads", figures.quantity(offer.thread_count) or unknown),
        ("Memory", memory or unknown),
        ("Disk included", disk or unknown),
        ("Facts as of", stated or unknown),
    ]
