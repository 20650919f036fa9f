"""A score worked through: the samples pooled, the formula with its numbers, what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.services.acting import workspace_slug
from backend.catalog.models import Offer
from backend.foundation.attributions import attributions
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import metric
from backend.measure.stats import IntervalBasis, Machine, ScoreInterval
from backend.rankings.selectors.score_detail import MOST_SHOWN, score_detail
from backend.site import figures, lines, words
from backend.site.access import readable
from backend.site.language import _, lazy

# As docs/methodology.md has them, in signs that need no mark-up for formulas.
FORMULAS: Mapping[IntervalBasis, str] = {
    IntervalBasis.INSTANCES_ORDER: lazy(
        "The d-th smallest and the d-th largest of the n machines hold the median in "
        "more than 95% of cases, the next ones in less. The bounds lie the share w of "
        "the way from the first to the next."
    ),
    IntervalBasis.INSTANCES_T: lazy(
        "mean × exp(± h) with h = t · s / √n: mean and standard deviation s of the "
        "logarithms of the n machines, t of n − 1 degrees. It is stretched where it would not"
        " hold the median."
    ),
    IntervalBasis.REPEATS_WIDENED: lazy(
        "mean × exp(± h) with h = t · √(v + σ² / n): v is the variance of the "
        "mean over repeats, σ = √ln(1 + spread²) the stated spread between machines, or that of"
        " the two "
        "machines where it is larger."
    ),
    IntervalBasis.STATED_SPREAD: lazy(
        "value × exp(± h) with h = t · √(v + σ² / n) and v = 0, since nothing was "
        "repeated: only σ = √ln(1 + spread²), the stated spread between machines, is known. "
        "Where a source states the lowest and the highest result, the interval reaches at least"
        " that far."
    ),
    IntervalBasis.PUBLISHED_SD: lazy(
        "value × (1 ± 1.96 · sd), with the standard deviation sd that the source "
        "states; on the logarithm where that would reach below zero."
    ),
}
SYMBOLS = {
    "n": "n, machines",
    "d": lazy("d, from each end"),
    "w": lazy("w, share of the way"),
    "s": lazy("s, of logarithms"),
    "t": "t, quantile",
    "v": lazy("v, variance of the median"),
    "sigma": lazy("σ, of logarithms"),
    "mean": "mean",
    "h": lazy("h, half-width of logarithms"),
    "sd": lazy("sd, ratio"),
    "method": lazy("m, assumed for other versions of the tools: h becomes √(h² + ln(1 + m)²)"),
    "lowest": lazy("lowest published result"),
    "highest": lazy("highest published result"),
}
REASONS = {
    "excluded": lazy("excluded by a person"),
    "no_value": lazy("not above zero"),
    "source": lazy("of another source: measured goes before imported, imported before published"),
    "variant": lazy("another variant"),
    "earlier": lazy("an older method or figure, other hardware, or another disk or peer"),
    "unfit": lazy("marked, where others are not"),
}


@dataclass(frozen=True)
class PooledMachine:
    """A machine behind a score, its median in the unit of the page."""

    name: str
    n_runs: int
    n_repeats: int
    shown: str
    plain: float


@readable
@require_safe
def score_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """The samples behind one score of an offer."""
    try:
        chosen = metric(key)
        detail = score_detail(slug, chosen, workspace_slug=workspace_slug(request))
    except (InvalidValue, Offer.DoesNotExist) as error:
        raise Http404(_("There is no such offer or metric.")) from error
    if detail is None:
        raise Http404(_("The offer has no score for this metric."))
    origin = detail.origin
    summary = origin.score.summary
    scale = figures.scale(chosen.unit, [summary.value])
    shown_out = detail.left_out[:MOST_SHOWN]
    left_out = lines.sample_lines(row.sample for row in shown_out)
    reasons = [REASONS[left_out.reason] for left_out in shown_out]
    context = {
        "offer": detail.offer,
        "metric": chosen,
        "score": origin.score,
        "shown": figures.figure(scale.shown(summary.value)),
        "ends": figures.ends(scale, summary.ci95_low, summary.ci95_high),
        "unit": scale.unit,
        "basis": words.INTERVALS[summary.interval_basis],
        "stated_cv": origin.stated_cv,
        "machines": machine_lines(origin.machines, scale),
        "formula": FORMULAS[summary.interval_basis],
        "terms": term_lines(origin.interval),
        "samples": lines.sample_lines(detail.pooled[:MOST_SHOWN]),
        "pooled_count": len(detail.pooled),
        "left_out_count": len(detail.left_out),
        "most_shown": MOST_SHOWN,
        "attributions": attributions(
            sample.licence
            for sample in (*detail.pooled, *(left.sample for left in detail.left_out))
        ),
        "left_out": list(zip(left_out, reasons, strict=True)),
    }
    return render(request, "offers/score.html", context)


def machine_lines(
    machines: Mapping[str, Machine], scale: figures.UnitScale
) -> Sequence[PooledMachine]:
    """Each machine's repeats and their median, the largest first; machines are numbered."""
    counted: list[tuple[float, int, int]] = []
    for runs in machines.values():
        values = [value for repeats in runs.values() for value in repeats]
        # As the score itself does: the median over the repeats of all its runs.
        counted.append((median(values), len(runs), len(values)))
    return [
        PooledMachine(
            _("Machine {n}", n=n), n_runs, n_repeats, figures.figure(scale.shown(middle)), middle
        )
        for n, (middle, n_runs, n_repeats) in enumerate(sorted(counted, reverse=True), 1)
    ]


def term_lines(interval: ScoreInterval) -> Sequence[tuple[str, str]]:
    """The numbers of the formula: name and figure."""
    return [(SYMBOLS[name], figures.figure(value)) for name, value in interval.terms.items()]
