"""The authorities that sign the keys of hosts: trust, revoke or remove one."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.models import HostAuthority
from backend.benchmarks.pages.hosts.forms import HostAuthorityForm
from backend.benchmarks.selectors.hosts import fingerprint, host_authorities
from backend.benchmarks.services.host_authorities import host_authority_remove, host_authority_set
from backend.site.access import demand, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def host_authorities_page(request: HttpRequest) -> HttpResponse:
    """The authorities with the hosts that they make sure, and the form for one more."""
    # Patterns say how machines are called, which strangers need not know.
    demand(request, Scope.RUN)
    form = HostAuthorityForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            host_authority_set(
                workspace=workspace_of(request),
                actor=request.user.get_username(),
                **form.cleaned_data,
            )
            is_revoked = form.cleaned_data["is_revoked"]
            messages.success(
                request,
                _("The key is revoked.")
                if is_revoked
                else _("The authority is trusted. Hosts that wait for approval are checked again."),
            )
            return HttpResponseRedirect(reverse("host-authorities"))
    known = host_authorities(workspace_of(request)).annotate(count=Count("hosts"))
    context = {
        "authorities": [(key, fingerprint(key.public_key)) for key in known],
        "form": form,
    }
    return render(request, "hosts/authorities.html", context)


def _authority(request: HttpRequest, authority_id: UUID) -> HostAuthority:
    return get_object_or_404(host_authorities(workspace_of(request)), pk=authority_id)


def _removal_question(request: HttpRequest, authority_id: UUID) -> Question:
    demand(request, Scope.RUN)
    authority = _authority(request, authority_id)
    names = [host.name for host in authority.hosts.all()]
    kind = _("revoked key") if authority.is_revoked else "authority"
    return Question(
        _(
            "Remove the {kind} {key}?",
            kind=kind,
            key=fingerprint(authority.public_key),
        ),
        _("Remove {kind}", kind=kind),
        reverse("host-authorities"),
        (_("The key may be trusted again."),)
        if authority.is_revoked
        else tuple(
            _("{name} waits for another approval; runs on it fail.", name=name) for name in names
        ),
    )


@readable
@confirm_first(_removal_question)
def host_authority_remove_form(request: HttpRequest, authority_id: UUID) -> HttpResponse:
    """Its hosts are asked anew, as another authority may have signed their keys, too."""
    demand(request, Scope.RUN)
    host_authority_remove(
        authority=_authority(request, authority_id), actor=request.user.get_username()
    )
    messages.success(request, _("The key is removed."))
    return HttpResponseRedirect(reverse("host-authorities"))
