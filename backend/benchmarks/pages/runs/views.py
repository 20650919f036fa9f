"""Runs: their list, a run while it goes on and afterwards."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.models import Resource, Run
from backend.benchmarks.pages.runs import disk_plots, series_plots
from backend.benchmarks.pages.runs import plots as run_plots
from backend.benchmarks.selectors.consequences import run_consequences
from backend.benchmarks.selectors.evidence import evidence_with_series
from backend.benchmarks.selectors.redaction import Redaction, redaction_for
from backend.benchmarks.selectors.runs import RunView, run_view, runs_visible
from backend.benchmarks.services.archive_import import archived_run_delete
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER
from backend.benchmarks.services.runs import run_cancel
from backend.site import figures, lines, machines
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _
from backend.site.scaling import scaling

UNAVAILABLE = "unavailable"
# Events that a reader of the results sees, and how loudly.
EVENT_TONES = {
    "warning": "warn",
    "regression": "warn",
    "drift": "warn",
    "improvement": "",
    "environment": "",
}


def _run(request: HttpRequest, run_id: UUID) -> Run:
    return get_object_or_404(runs_visible(workspace_of(request)), pk=run_id)


def _context(request: HttpRequest, run: Run) -> dict[str, Any]:
    redaction = redaction_for(request.user, run)
    view = run_view(run, redaction)
    samples = lines.sample_lines(view.samples)
    events = list(run.events.filter(kind__in=[UNAVAILABLE, *EVENT_TONES]))
    unavailable = [redaction.message(event.detail) for event in events if event.kind == UNAVAILABLE]
    results = lines.result_lines(samples)
    context = {
        "run": run,
        "run_url": reverse("run", args=[run.pk]),
        "view": view,
        "samples": samples,
        "results": [line for line in results if not line.is_of_matrix],
        "matrix": [line for line in results if line.is_of_matrix],
        "scaling": scaling({(r.metric, r.variant): r.median for r in results}, view.samples),
        "facts": lines.facts(view.host_facts),
        "cost": cost_words(view.cost),
        "notes": [
            (EVENT_TONES[e.kind], redaction.message(e.detail))
            for e in events
            if e.kind in EVENT_TONES
        ],
        "unavailable": unavailable,
        "unavailable_probes": list(
            dict.fromkeys(remark.partition(":")[0] for remark in unavailable)
        ),
        "archive_url": f"/api/v1/runs/{run.pk}/archive",
        "may_cancel": may(request, Scope.RUN),
        **_machine(run, view, redaction),
    }
    # Charts of a run that goes on would be drawn anew every two seconds, of half a result.
    if run.is_finished:
        series = evidence_with_series(run, disk_plots.SERIES_PROBES)
        return context | {
            "plots": run_plots.run_plots(view.samples, series),
            "strips": run_plots.run_strips(view.samples, run.offer.provider.slug),
        }
    return context | {"live": _live(run.live.get("series"))}


def _machine(run: Run, view: RunView, redaction: Redaction) -> dict[str, Any]:
    """The machine that was rented for the run, its boot time and what each hour cost."""
    # A reverse relation to one row raises where there is none, as for a host of one's own.
    resource: Resource | None = getattr(run, "resource", None)
    if resource is None:
        return {}
    boots = [sample.value for sample in view.samples if sample.metric == "boot_time_s"]
    return {
        "machine": machines.line(resource),
        "trouble": redaction.message(resource.last_error),
        "boot_s": boots[0] if boots else None,
        "ledger": [(machines.PARTS[entry.kind], entry) for entry in resource.ledger.all()],
    }


def _live(series: Mapping[str, Any] | None) -> dict[str, Any] | None:
    strips = series_plots.live_strips(series)
    if not series or not strips:
        return None
    times = series[series_plots.TIME]
    return {
        "strips": strips,
        "span": round(times[-1] - times[0]),
        "clock": series_plots.live_clock(series),
        "heads": series_plots.LIVE_HEADS,
        "rows": series_plots.live_rows(series),
    }


def cost_words(cost: object) -> str:
    """Cost of a run so far, and its cap: {"so_far", "currency", "cap"} or None."""
    if not isinstance(cost, Mapping) or cost.get("so_far") is None:
        return ""
    currency = cost.get("currency") or ""
    so_far = _("cost so far {cost}", cost=figures.price(float(cost["so_far"]), currency))
    if not (cap := cost.get("cap")):
        return so_far
    most = figures.price(float(cap), currency)
    return _("{so_far} of at most {most}", so_far=so_far, most=most)


@readable
@require_safe
def run_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The whole page; while the run goes on it asks for its fragment every two seconds."""
    run = _run(request, run_id)
    # One that was made here stays; what is wrong with it is left out sample by sample.
    may_delete = run.host.driver == ARCHIVE_DRIVER and may(request, Scope.WRITE)
    context = _context(request, run) | {"may_delete": may_delete}
    return render(request, "runs/page.html", context)


@readable
@require_safe
def run_progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The fragment; of a finished run it comes without the trigger, which ends the asking."""
    context = {**_context(request, _run(request, run_id)), "is_partial": True}
    return render(request, "runs/_progress.html", context)


@readable
@require_POST
def run_cancel_form(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Asks the run to stop; what it measured so far is kept."""
    demand(request, Scope.RUN)
    run_cancel(run=_run(request, run_id), actor=request.user.get_username())
    messages.info(request, _("Stopping the run…"))
    return HttpResponseRedirect(reverse("run", args=[run_id]))


def _archive_run(request: HttpRequest, run_id: UUID) -> Run:
    demand(request, Scope.WRITE)
    return _run(request, run_id)


def _delete_question(request: HttpRequest, run_id: UUID) -> Question:
    run = _archive_run(request, run_id)
    return Question(
        _("Delete the run on {name}?", name=run.host.name),
        _("Delete run"),
        reverse("run", args=[run_id]),
        tuple(run_consequences(run)),
    )


@readable
@confirm_first(_delete_question)
def run_delete_form(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Deletes a run that came as an archive."""
    run = _archive_run(request, run_id)
    offer = run.offer
    archived_run_delete(workspace=workspace_of(request), run=run, actor=request.user.get_username())
    messages.success(request, _("The run is deleted."))
    return HttpResponseRedirect(reverse("offer", args=[offer.slug]))
