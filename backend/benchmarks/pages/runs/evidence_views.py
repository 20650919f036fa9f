"""The raw output behind figures: of a run's command, or of a text that somebody imported."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.accounts.selectors.audit import audit_entries
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.models import Evidence
from backend.benchmarks.pages.runs.series_plots import series_plots
from backend.benchmarks.selectors.consequences import import_consequences
from backend.benchmarks.selectors.evidence import (
    EvidenceDamaged,
    TextDeleted,
    evidence_shown,
    evidence_text,
    evidence_visible,
)
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.runs import runs_visible
from backend.benchmarks.services.imports import import_delete
from backend.site import lines
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _

# A browser is slow with more; the whole text is one link away.
MOST_LINES = 5000


def _context(request: HttpRequest, evidence: Evidence) -> dict[str, Any]:
    redaction = redaction_for(request.user, evidence.run or workspace_of(request))
    evidence_shown(evidence, redaction)
    output: list[str] = []
    is_damaged = is_deleted = False
    try:
        output = evidence_text(evidence, redaction).splitlines()
    except TextDeleted:
        is_deleted = True
    except EvidenceDamaged:
        # Damaged evidence is said to be so and never shown as if it were what came.
        is_damaged = True
    samples = list(evidence.samples.all())
    for sample in samples:
        # The row is known already; otherwise each line would read it again.
        sample.evidence = evidence
    return {
        "evidence": evidence,
        "is_damaged": is_damaged,
        "is_deleted": is_deleted,
        "lines": list(enumerate(output[:MOST_LINES], start=1)),
        "hidden_count": max(0, len(output) - MOST_LINES),
        "samples": lines.sample_lines(samples),
        "conditions": lines.facts(evidence.conditions),
        "plots": series_plots(evidence.series),
        "may_exclude": may(request, Scope.WRITE),
    }


@readable
@require_safe
def evidence_page(request: HttpRequest, run_id: UUID, n: int) -> HttpResponse:
    """Raw output of one command, line by line, each with its own address."""
    run = get_object_or_404(runs_visible(workspace_of(request)), pk=run_id)
    evidence = run.evidence.filter(n=n).first()
    if evidence is None:
        raise Http404(_("This run has no such evidence."))
    context = _context(request, evidence) | {
        "run": run,
        "raw_url": f"/api/v1/runs/{run.pk}/evidence/{n}",
    }
    return render(request, "runs/evidence.html", context)


@readable
@require_safe
def import_page(request: HttpRequest, evidence_id: int) -> HttpResponse:
    """A text that was imported, with who imported it and when; a run's own goes to its page."""
    workspace = workspace_of(request)
    evidence = get_object_or_404(evidence_visible(workspace), pk=evidence_id)
    if evidence.run_id is not None:
        return HttpResponseRedirect(lines.evidence_url(evidence))
    context = _context(request, evidence) | {
        "offer": evidence.offer,
        "parameters": lines.facts(evidence.conditions),
        "import_entry": audit_entries(workspace)
        .filter(object_type="evidence", object_id=str(evidence.pk))
        .first(),
    }
    return render(request, "runs/imported.html", context)


def _import_of(request: HttpRequest, evidence_id: int) -> Evidence:
    demand(request, Scope.WRITE)
    return get_object_or_404(evidence_visible(workspace_of(request)), pk=evidence_id, run=None)


def _delete_question(request: HttpRequest, evidence_id: int) -> Question:
    evidence = _import_of(request, evidence_id)
    return Question(
        _("Delete this imported result?"),
        _("Delete result"),
        reverse("imported-evidence", args=[evidence_id]),
        tuple(import_consequences(evidence)),
    )


@readable
@confirm_first(_delete_question)
def import_delete_form(request: HttpRequest, evidence_id: int) -> HttpResponse:
    """Deletes a text that was imported, with its figures."""
    evidence = _import_of(request, evidence_id)
    import_delete(
        workspace=workspace_of(request), evidence=evidence, actor=request.user.get_username()
    )
    messages.success(request, _("The imported result is deleted."))
    offer = evidence.offer
    return HttpResponseRedirect(reverse("offer", args=[offer.slug]) if offer else reverse("offers"))
