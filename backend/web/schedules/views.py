"""Schedules of campaigns, and who is notified of what happens."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.middleware import HtmxDetails

from backend.accounts.models import Scope
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE, default_workspace
from backend.benchmarks.selectors.campaigns import campaigns_of
from backend.benchmarks.selectors.schedules import (
    preview,
    schedule_recurrence,
    schedule_times,
    schedules_visible,
)
from backend.benchmarks.services.schedules import schedule_create, schedule_delete, schedule_update
from backend.notifications.models import NoticeKind
from backend.notifications.selectors.subscriptions import subscriptions_visible
from backend.notifications.services.subscriptions import subscription_create, subscription_delete
from backend.web.schedules.forms import ScheduleForm, time_zones
from backend.web.schedules.subscription_form import SubscriptionForm
from backend.web.shared.access import demand, may, readable
from backend.web.shared.forms import refusals_said


def _context(request: HttpRequest, **given: Any) -> dict[str, Any]:
    workspace = default_workspace()
    campaigns = list(campaigns_of(DEFAULT_WORKSPACE))
    is_admin = may(request, Scope.ADMIN)
    preset = {"campaign": request.GET.get("campaign", "")}
    return {
        "schedules": [(one, schedule_times(one, 1)) for one in schedules_visible(workspace)],
        "campaigns": campaigns,
        "form": ScheduleForm(campaigns=campaigns, initial=preset),
        "zones": time_zones(),
        "may_run": may(request, Scope.RUN),
        "is_admin": is_admin,
        "subscriptions": list(subscriptions_visible(workspace)) if is_admin else [],
        "kind_words": dict(NoticeKind.choices),
        "subscription_form": SubscriptionForm(),
        **given,
    }


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def schedules_page(request: HttpRequest) -> HttpResponse:
    """The list and the form of a new one; `preview` shows its next dates and stores nothing."""
    if request.method != "POST":
        return render(request, "schedules/page.html", _context(request))
    demand(request, Scope.RUN)
    form = ScheduleForm(request.POST, campaigns=list(campaigns_of(DEFAULT_WORKSPACE)))
    times: list[dt.datetime] = []
    if "preview" in request.POST:
        times = _previewed(form)
    elif form.is_valid():
        campaign = campaigns_of(DEFAULT_WORKSPACE).get(pk=form.cleaned_data["campaign"])
        actor = request.user.get_username()
        with form.refusals():
            schedule_create(campaign=campaign, is_enabled=True, actor=actor, **form.recurrence())
            messages.success(request, "The schedule is saved.")
            return HttpResponseRedirect(reverse("schedules"))
    return render(request, "schedules/page.html", _context(request, form=form, times=times))


def _previewed(form: ScheduleForm) -> list[dt.datetime]:
    """The next five starts; what is wrong stands in the form's errors."""
    if form.is_valid():
        with form.refusals():
            return preview(**form.recurrence())
    return []


@readable
@require_safe
def schedule_preview(request: HttpRequest) -> HttpResponse:
    """The next five dates of what stands in the form, as a fragment."""
    form = ScheduleForm(request.GET, campaigns=list(campaigns_of(DEFAULT_WORKSPACE)))
    times = _previewed(form)
    # The fragment is no page, so whoever opens its address by hand gets the one that holds it.
    if not HtmxDetails(request):
        return HttpResponseRedirect(reverse("schedules"))
    errors = [
        (form[name].label if name in form.fields else "", error)
        for name, errors in form.errors.items()
        if name != "campaign"
        for error in errors
    ]
    context = {"times": times, "preview_errors": errors}
    return render(request, "schedules/_preview.html", context)


@readable
@require_POST
def schedule_switch(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Turns a schedule off, or on again."""
    demand(request, Scope.RUN)
    schedule = get_object_or_404(schedules_visible(default_workspace()), pk=schedule_id)
    is_enabled = request.POST.get("enabled") == "1"
    with refusals_said(request):
        schedule_update(
            schedule=schedule,
            is_enabled=is_enabled,
            actor=request.user.get_username(),
            **schedule_recurrence(schedule),
        )
        messages.success(request, "The schedule is on." if is_enabled else "The schedule is off.")
    return HttpResponseRedirect(reverse("schedules"))


@readable
@require_POST
def schedule_remove(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Forgets a schedule; its campaign stays."""
    demand(request, Scope.RUN)
    schedule = get_object_or_404(schedules_visible(default_workspace()), pk=schedule_id)
    schedule_delete(schedule=schedule, actor=request.user.get_username())
    messages.success(request, "The schedule is gone.")
    return HttpResponseRedirect(reverse("schedules"))


# --- notifications --------------------------------------------------------------------------------


@readable
@require_POST
def subscription_new(request: HttpRequest) -> HttpResponse:
    """Notifies an address from now on; errors come back beside their fields."""
    demand(request, Scope.ADMIN)
    form = SubscriptionForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with form.refusals():
            subscription_create(
                workspace=default_workspace(),
                channel=data["channel"],
                address=data["address"],
                secret=data["secret"] or None,
                kinds=data["kinds"],
                is_enabled=True,
                actor=request.user.get_username(),
            )
            messages.success(request, "Subscribed.")
            return HttpResponseRedirect(reverse("schedules"))
    return render(request, "schedules/page.html", _context(request, subscription_form=form))


@readable
@require_POST
def subscription_remove(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """Notifies an address no more."""
    demand(request, Scope.ADMIN)
    visible = subscriptions_visible(default_workspace())
    subscription_delete(
        subscription=get_object_or_404(visible, pk=subscription_id),
        actor=request.user.get_username(),
    )
    messages.success(request, "Unsubscribed.")
    return HttpResponseRedirect(reverse("schedules"))
