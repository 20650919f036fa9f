"""A figure: leave it out of the summaries with a reason, or count it again."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.samples import samples_visible
from backend.benchmarks.services.imports import sample_exclude, sample_include
from backend.site import lines
from backend.site.access import demand, readable
from backend.site.forms import refusals_said
from backend.site.language import _


@readable
@require_POST
def sample_exclude_form(request: HttpRequest, sample_id: int) -> HttpResponse:
    """Takes a reason, or `include` to count the figure again; nothing is ever deleted."""
    demand(request, Scope.WRITE)
    workspace = workspace_of(request)
    sample = get_object_or_404(samples_visible(workspace), pk=sample_id)
    actor = request.user.get_username()
    with refusals_said(request):
        if "include" in request.POST:
            sample_include(workspace=workspace, sample=sample, actor=actor)
            messages.success(request, _("The result counts again."))
        else:
            reason = request.POST.get("reason", "")
            sample_exclude(workspace=workspace, sample=sample, reason=reason, actor=actor)
            messages.success(request, _("The result is excluded."))
    if sample.evidence is None:
        return HttpResponseRedirect(f"{reverse('offer', args=[sample.offer.slug])}#samples")
    return HttpResponseRedirect(f"{lines.evidence_url(sample.evidence)}#samples")
