"""Two runs next to each other: what changed, how surely, and what cannot be compared."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from backend.accounts.services.acting import workspace_of
from backend.benchmarks.calc.run_changes import MetricChange, RunChange
from backend.benchmarks.models import Run, RunState
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.run_changes import (
    LEAST_LOSS_RATIO,
    NotCompared,
    RunComparison,
    metrics_left_out,
    run_comparison,
    run_differences,
)
from backend.benchmarks.selectors.runs import runs_listed, runs_visible
from backend.measure.metrics import METRICS
from backend.rankings.calc.conclusions import Certainty, Conclusion
from backend.site import figures, lines, words
from backend.site.access import readable
from backend.site.language import _, count_words, lazy

MAX_CANDIDATES = 20
REASONS = {
    NotCompared.NOT_BEFORE: lazy("Only the second run measured it."),
    NotCompared.NOT_AFTER: lazy("Only the first run measured it."),
    NotCompared.DISTURBED_BEFORE: lazy("Other programs disturbed every repeat of the first run."),
    NotCompared.DISTURBED_AFTER: lazy("Other programs disturbed every repeat of the second run."),
    NotCompared.DISTURBED_BOTH: lazy("Other programs disturbed every repeat of both runs."),
    NotCompared.OTHER_VARIANT: lazy("The runs measured it in different ways."),
}
NAMES = {
    "host": lazy("Host"),
    "peer": lazy("Network test partner"),
    "profile": lazy("Profile"),
    "parameters": lazy("Parameters"),
}


@readable
@require_safe
def run_compare_page(request: HttpRequest) -> HttpResponse:
    """The comparison of runs `a` and `b`, or the choice of the second one."""
    # Boxes of the list share one name; the page's own address has one parameter for each run.
    ticked = request.GET.getlist("run")
    if ticked:
        query: dict[str, Any] = dict(zip("ab", reversed(ticked[:2]), strict=False))
        more = {"ticked": len(ticked)} if len(ticked) > 2 else {}
        return HttpResponseRedirect(f"{reverse('run-compare')}?{urlencode(query | more)}")
    first, second = (_run_of(request, name) for name in ("a", "b"))
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "is_same": first is not None and first == second,
        "ticked": request.GET.get("ticked", ""),
    }
    if first is None or second is None or first == second:
        context["candidates"] = _candidates(request, first or second)
        context["chosen"] = first or second
    else:
        context |= _comparison(request, first, second)
    return render(request, "runs/compare.html", context)


def _run_of(request: HttpRequest, name: str) -> Run | None:
    """The run of a parameter; None without one, 404 where it names none."""
    text = request.GET.get(name, "").strip()
    if not text:
        return None
    try:
        key = UUID(text)
    except ValueError:
        key = UUID(int=0)
    return get_object_or_404(runs_visible(workspace_of(request)), pk=key)


def _candidates(request: HttpRequest, chosen: Run | None) -> Sequence[tuple[Run, str]]:
    """Finished runs to compare with, those of the same machine first, and their addresses."""
    runs = runs_listed(workspace_of(request)).filter(state=RunState.DONE)
    if chosen is None:
        return [(run, _address(a=run)) for run in runs[:MAX_CANDIDATES]]
    others = list(runs.exclude(pk=chosen.pk)[: 5 * MAX_CANDIDATES])
    others.sort(key=lambda run: (run.host_id != chosen.host_id, run.offer_id != chosen.offer_id))
    pairs = [sorted((chosen, run), key=lambda run: run.created_at) for run in others]
    addresses = [_address(a=first, b=second) for first, second in pairs]
    return list(zip(others, addresses, strict=True))[:MAX_CANDIDATES]


def _address(**runs: Run) -> str:
    query = urlencode({name: str(run.pk) for name, run in runs.items()})
    return f"{reverse('run-compare')}?{query}"


def _comparison(request: HttpRequest, first: Run, second: Run) -> dict[str, Any]:
    compared = run_comparison(first, second, least_loss_ratio=LEAST_LOSS_RATIO)
    redactions = [redaction_for(request.user, run) for run in (first, second)]
    differences = [
        (_fact(name), *(r.message(text) for r, text in zip(redactions, texts, strict=True)))
        for name, *texts in map(_difference_words, run_differences(first, second))
    ]
    return {
        "conclusion": conclusion_of(compared),
        "rows": [_row(change) for change in compared.metrics],
        "uncompared": [
            (words.metric(key), REASONS[why]) for key, why in metrics_left_out(first, second)
        ],
        "differences": differences,
        "swapped": _address(a=second, b=first),
        "runs": (first, second),
    }


def _difference_words(difference: tuple[str, Any, Any]) -> tuple[str, str, str]:
    name, *values = difference
    before, after = (_value(name, value) for value in values)
    return name, before, after


def _value(name: str, value: Any) -> str:
    if isinstance(value, dict):
        given = (
            f"{words.run_parameter(key)}: {words.run_value(key, item)}"
            for key, item in value.items()
        )
        return ", ".join(given) or _("none")
    return dict(lines.facts({name: value})).popitem()[1] if value not in (None, "") else _("none")


def _fact(name: str) -> str:
    return NAMES.get(name) or lines.FACTS.get(name, name.replace("_", " ").capitalize())


def _row(change: MetricChange) -> dict[str, Any]:
    scale = figures.scale(change.unit, [change.before, change.after])
    ratio, low, high = change.change_ratio, change.change_low, change.change_high
    known = low is not None and high is not None
    return {
        "label": words.metric(change.metric),
        "variant": change.variant,
        "unit": scale.unit,
        "before": scale.text(change.before),
        "after": scale.text(change.after),
        "titles": (figures.plain(change.before), figures.plain(change.after)),
        "change": "" if ratio is None else figures.percent_change(ratio),
        "interval": _(
            "{low} to {high}",
            low=figures.percent_change(low),
            high=figures.percent_change(high),
        )
        if known
        else "",
        "outcome": _outcome_words(change),
        "tone": _tone(change),
    }


def _is_better(change: MetricChange) -> bool:
    is_higher = (change.change_ratio or 0) > 0
    return change.is_apart and is_higher == METRICS[change.metric].is_higher_better


def _tone(change: MetricChange) -> str:
    if change.outcome == RunChange.WORSE:
        return "bad"
    if change.outcome == RunChange.UNCLEAR:
        return "warn"
    return "good" if _is_better(change) else ""


def _outcome_words(change: MetricChange) -> str:
    if change.outcome == RunChange.WORSE:
        return _("worse")
    if change.outcome == RunChange.UNCLEAR:
        return _("unclear: too few repeats, or they scatter too much")
    if _is_better(change):
        return _("better")
    return _("no loss of {loss} or more", loss=figures.percent(LEAST_LOSS_RATIO))


def conclusion_of(compared: RunComparison) -> Conclusion:
    """Conclusion of the comparison, in one sentence."""
    unfinished = [run for run in (compared.before, compared.after) if run.state != RunState.DONE]
    if unfinished:
        text = _(
            "No comparison: {run} did not end well, so its conditions are not known.",
            run=words.run_name(unfinished[0]),
        )
        return Conclusion(text, Certainty.UNKNOWN)
    if not compared.metrics:
        text = _(
            "Nothing can be compared: no metric was measured without disturbance in both runs."
        )
        return Conclusion(text, Certainty.UNKNOWN)
    worse = [metric for metric in compared.metrics if metric.outcome == RunChange.WORSE]
    better = [metric for metric in compared.metrics if _is_better(metric)]
    unclear = [metric for metric in compared.metrics if metric.outcome == RunChange.UNCLEAR]
    if worse:
        text = _("The second run is worse: {changes}.", changes=_largest_change(worse))
    elif better:
        text = _("The second run is better: {changes}.", changes=_largest_change(better))
    elif unclear:
        text = _("Too uncertain to say: repeats scatter too much, or there are too few.")
    else:
        text = count_words(
            "No difference: the metric compared lost less than {loss}.",
            "No difference: each of the {n} metrics compared lost less than {loss}.",
            len(compared.metrics),
            loss=figures.percent(LEAST_LOSS_RATIO),
        )
    is_clear = bool(worse or better or not unclear)
    detail = ""
    if is_clear and unclear:
        detail = count_words("{n} metric is unclear.", "{n} metrics are unclear.", len(unclear))
    return Conclusion(text, Certainty.CLEAR if is_clear else Certainty.TIE, detail)


def _largest_change(changes: Sequence[MetricChange]) -> str:
    """The largest change by name, and how many others there are."""
    ordered = sorted(changes, key=lambda change: -abs(change.change_ratio or 0))
    named = [
        f"{words.metric(change.metric)} {figures.percent_change(change.change_ratio)}".strip()
        for change in ordered[:2]
    ]
    rest = len(ordered) - len(named)
    more = [count_words("{n} more", "{n} more", rest)] if rest else []
    return ", ".join([*named, *more])
