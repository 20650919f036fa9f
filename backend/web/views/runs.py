"""A run while it goes on and afterwards, and the raw output behind its figures."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.selectors import default_workspace
from backend.benchmarks.models import Run
from backend.benchmarks.selectors import EvidenceDamaged, evidence_text, run_view, runs_visible
from backend.benchmarks.services import run_cancel
from backend.web import lines
from backend.web.access import demand, may, readable

MOST_LINES = 5000


def _run(run_id: UUID) -> Run:
    return get_object_or_404(runs_visible(default_workspace()), pk=run_id)


def _context(request: HttpRequest, run: Run) -> dict[str, object]:
    view = run_view(run)
    return {
        "run": run,
        "run_url": reverse("run", args=[run.pk]),
        "view": view,
        "samples": lines.sample_lines(view.samples, {e.pk: e.n for e in view.evidence}),
        "facts": lines.facts(view.host_facts),
        "may_cancel": may(request, Scope.RUN),
    }


@readable
@require_safe
def run_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The whole page; while the run goes on it asks for its fragment every two seconds."""
    return render(request, "runs/page.html", _context(request, _run(run_id)))


@readable
@require_safe
def run_progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The fragment; of a finished run it comes without the trigger, which ends the asking."""
    context = {**_context(request, _run(run_id)), "is_partial": True}
    return render(request, "runs/_progress.html", context)


@readable
@require_POST
def run_cancel_form(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Asks the run to stop; what it measured so far is kept."""
    demand(request, Scope.RUN)
    run_cancel(run=_run(run_id), actor=request.user.get_username())
    return HttpResponseRedirect(reverse("run", args=[run_id]))


@readable
@require_safe
def evidence_page(request: HttpRequest, run_id: UUID, n: int) -> HttpResponse:
    """Raw output of one command, line by line, each with its own address."""
    run = _run(run_id)
    evidence = run.evidence.filter(n=n).first()
    if evidence is None:
        raise Http404("This run has no such evidence.")
    try:
        output, is_damaged = evidence_text(evidence).splitlines(), False
    except EvidenceDamaged:
        output, is_damaged = [], True
    context = {
        "run": run,
        "evidence": evidence,
        "is_damaged": is_damaged,
        "lines": list(enumerate(output[:MOST_LINES], start=1)),
        "hidden_count": max(0, len(output) - MOST_LINES),
        "samples": lines.sample_lines(evidence.samples.all(), {evidence.pk: n}),
        "conditions": lines.facts(evidence.conditions),
        "raw_url": f"/api/v1/runs/{run.pk}/evidence/{n}",
    }
    return render(request, "runs/evidence.html", context)
