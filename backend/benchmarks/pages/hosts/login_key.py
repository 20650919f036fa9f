"""The key by which Rackrate logs in to hosts that were given none: shown, replaced, dropped."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.consequences import earlier_key_consequences
from backend.benchmarks.selectors.hosts import hosts_with_login_key, login_key_of
from backend.benchmarks.services.login_keys import login_key_drop, login_key_replace
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _


@readable
@require_safe
def login_key_page(request: HttpRequest) -> HttpResponse:
    """Its line for authorized_keys, and that of the earlier key while it is kept."""
    demand(request, Scope.RUN)
    workspace = workspace_of(request)
    context = {
        "key": login_key_of(workspace),
        "hosts": hosts_with_login_key(workspace),
        "may_change": may(request, Scope.ADMIN),
    }
    return render(request, "hosts/login_key.html", context)


def _replacement(request: HttpRequest) -> Question:
    demand(request, Scope.ADMIN)
    return Question(
        _("Replace the login key?"),
        _("Replace the key"),
        reverse("login-key"),
        (_("The earlier key also logs in until you drop it."),),
    )


@readable
@confirm_first(_replacement)
def login_key_replace_form(request: HttpRequest) -> HttpResponse:
    """Shows the new line to copy."""
    demand(request, Scope.ADMIN)
    login_key_replace(workspace=workspace_of(request), actor=request.user.get_username())
    messages.success(request, _("The key is replaced: copy the new line to the hosts."))
    return HttpResponseRedirect(reverse("login-key"))


def _dropping(request: HttpRequest) -> Question:
    demand(request, Scope.ADMIN)
    return Question(
        _("Drop the earlier key?"),
        _("Drop the key"),
        reverse("login-key"),
        tuple(earlier_key_consequences(workspace_of(request))),
    )


@readable
@confirm_first(_dropping)
def login_key_drop_form(request: HttpRequest) -> HttpResponse:
    """Only the newest key logs in from then on."""
    demand(request, Scope.ADMIN)
    login_key_drop(workspace=workspace_of(request), actor=request.user.get_username())
    messages.success(request, _("The earlier key is dropped."))
    return HttpResponseRedirect(reverse("login-key"))
