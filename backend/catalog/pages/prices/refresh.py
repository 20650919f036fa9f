"""The refresh of all price lists: a button, and its progress until every list was tried."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.workspaces import may_write
from backend.catalog.selectors.price_refresh import (
    is_resting,
    last_requested_at,
    refresh_progress,
)
from backend.catalog.services.price_refresh import price_refresh
from backend.site.access import demand, may, readable
from backend.site.forms import refusals_said


@readable
@require_POST
def price_refresh_form(request: HttpRequest) -> HttpResponse:
    """Begins a refresh."""
    demand(request, Scope.WRITE)
    with refusals_said(request):
        price_refresh(workspace=workspace_of(request), actor=request.user.get_username())
    return HttpResponseRedirect(reverse("prices") + "#refresh")


@readable
@never_cache
@require_safe
def price_refresh_state(request: HttpRequest) -> HttpResponse:
    """The part of the page that changes while lists are read."""
    return render(request, "prices/_refresh.html", {**refresh_context(request), "is_partial": True})


def refresh_context(request: HttpRequest) -> dict[str, Any]:
    is_owner = may_write(workspace_of(request), None)
    return {
        "refresh": refresh_progress(),
        "refreshed_at": last_requested_at(),
        "is_resting": is_resting(),
        "refresh_days": settings.PRICE_REFRESH_DAYS,
        "may_refresh": is_owner and may(request, Scope.WRITE),
    }
