"""Schedules of campaigns, and who is notified of what happens."""

import datetime as dt
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.middleware import HtmxDetails

from backend.accounts.models import Scope, Workspace
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Campaign, Schedule
from backend.benchmarks.pages.schedules.forms import ScheduleForm, time_zones
from backend.benchmarks.pages.schedules.subscription_form import SubscriptionForm
from backend.benchmarks.selectors.campaigns import campaigns_of
from backend.benchmarks.selectors.hosts import hosts_standing
from backend.benchmarks.selectors.schedules import (
    preview,
    schedule_document,
    schedule_times,
    schedules_visible,
)
from backend.benchmarks.services.campaigns import campaign_create
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER
from backend.benchmarks.services.schedules import schedule_create, schedule_delete, schedule_update
from backend.notifications.channels import channel_of
from backend.notifications.models import USUAL_KINDS, NoticeKind, Subscription
from backend.notifications.selectors.subscriptions import (
    SubscriptionDocument,
    subscriptions_visible,
)
from backend.notifications.services.notices import notice_test
from backend.notifications.services.subscriptions import subscription_create, subscription_delete
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _

EMAIL = "email"


def _context(request: HttpRequest, **given: Any) -> dict[str, Any]:
    workspace = workspace_of(request)
    campaigns = list(campaigns_of(workspace_slug(request)))
    is_admin = may(request, Scope.ADMIN)
    form = given.pop("form", None)
    preset = {"campaign": request.GET.get("campaign", "")}
    return {
        "schedules": [
            (schedule, schedule_times(schedule, 1)) for schedule in schedules_visible(workspace)
        ],
        "campaigns": campaigns,
        "form": form or _form(request, initial=preset),
        "zones": time_zones(),
        "may_run": may(request, Scope.RUN),
        "is_admin": is_admin,
        "subscriptions": _alerts(workspace, campaigns) if is_admin else [],
        "kind_words": dict(NoticeKind.choices),
        "subscription_form": SubscriptionForm(campaigns=campaigns, initial=preset),
        **given,
    }


def _form(request: HttpRequest, data: QueryDict | None = None, **given: Any) -> ScheduleForm:
    """The form of a new schedule, with the hosts that a person who may start runs sees."""
    return ScheduleForm(
        data,
        campaigns=list(campaigns_of(workspace_slug(request))),
        hosts=list(hosts_standing(workspace_of(request)).exclude(driver=ARCHIVE_DRIVER))
        if may(request, Scope.RUN)
        else [],
        # Subscriptions are the admins' anywhere else, too, and without a mail server none could be sent.
        may_alert=may(request, Scope.ADMIN) and not channel_of(EMAIL).missing_setting(),
        **given,
    )


def _alerts(workspace: Workspace, campaigns: Sequence[Campaign]) -> list[tuple[Subscription, str]]:
    """Each alert with the name of the campaign that it is about; empty for everything."""
    names: dict[UUID | None, str] = {campaign.pk: campaign.name for campaign in campaigns}
    return [
        (subscription, names.get(subscription.campaign, ""))
        for subscription in subscriptions_visible(workspace)
    ]


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def schedules_page(request: HttpRequest) -> HttpResponse:
    """The list and the form of a new one; `preview` shows its next dates and stores nothing."""
    if request.method != "POST":
        return render(request, "schedules/page.html", _context(request))
    demand(request, Scope.RUN)
    form = _form(request, request.POST)
    times: list[dt.datetime] = []
    if "preview" in request.POST:
        times = _preview(form)
    elif form.is_valid():
        # What is refused leaves no campaign without a schedule.
        with form.refusals(), transaction.atomic():
            _create_schedule(request, form)
            messages.success(request, _("The schedule is saved."))
            return HttpResponseRedirect(reverse("schedules"))
    return render(request, "schedules/page.html", _context(request, form=form, times=times))


def _create_schedule(request: HttpRequest, form: ScheduleForm) -> None:
    """The schedule, the campaign of the hosts ticked, and the alert about it that was asked for."""
    data = form.cleaned_data
    if data["campaign"]:
        campaign = campaigns_of(workspace_slug(request)).get(pk=data["campaign"])
    else:
        campaign = campaign_create(
            workspace=workspace_of(request),
            name=form.named(),
            plan=CampaignPlan(hosts=[UUID(host) for host in data["hosts"]], profile="standard"),
            actor=request.user.get_username(),
        )
    schedule_create(campaign=campaign, when=form.recurrence(), actor=request.user.get_username())
    if data.get("alert"):
        subscription_create(
            workspace=workspace_of(request),
            document=SubscriptionDocument.read(
                {"channel": EMAIL, "address": data["alert"], "kinds": USUAL_KINDS}
            ),
            campaign=campaign.pk,
            actor=request.user.get_username(),
        )


def _preview(form: ScheduleForm) -> list[dt.datetime]:
    """The next starts, whatever starts then; what is wrong stands in the form's errors."""
    # Dates can be looked at before it is decided what starts then.
    form.errors.pop("campaign", None)
    if not form.errors:
        with form.refusals():
            return preview(form.recurrence())
    return []


@readable
@require_safe
def schedule_preview(request: HttpRequest) -> HttpResponse:
    """The next starts of what stands in the form, as a fragment."""
    form = _form(request, request.GET)
    times = _preview(form)
    # The fragment is no page, so whoever opens its address by hand gets the one that holds it.
    if not HtmxDetails(request):
        return HttpResponseRedirect(reverse("schedules"))
    errors = [
        (form[name].label if name in form.fields else "", error)
        for name, errors in form.errors.items()
        for error in errors
    ]
    context = {"times": times, "preview_errors": errors}
    return render(request, "schedules/_preview.html", context)


@readable
@require_POST
def schedule_switch(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Turns a schedule off, or on again."""
    demand(request, Scope.RUN)
    schedule = get_object_or_404(schedules_visible(workspace_of(request)), pk=schedule_id)
    is_enabled = request.POST.get("enabled") == "1"
    with refusals_said(request):
        # The service stores a schedule as a whole; only the switch is changed.
        when = schedule_document(schedule).model_copy(update={"is_enabled": is_enabled})
        schedule_update(schedule=schedule, when=when, actor=request.user.get_username())
        messages.success(
            request, _("The schedule is on.") if is_enabled else _("The schedule is off.")
        )
    return HttpResponseRedirect(reverse("schedules"))


def _schedule(request: HttpRequest, schedule_id: UUID) -> Schedule:
    demand(request, Scope.RUN)
    return get_object_or_404(schedules_visible(workspace_of(request)), pk=schedule_id)


def _schedule_question(request: HttpRequest, schedule_id: UUID) -> Question:
    campaign = _schedule(request, schedule_id).campaign
    return Question(
        _("Delete the schedule of {name}?", name=campaign.name),
        _("Delete schedule"),
        reverse("schedules"),
        (_("The campaign no longer starts at these times."), _("The campaign and its runs stay.")),
    )


@readable
@confirm_first(_schedule_question)
def schedule_remove(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Deletes a schedule; its campaign stays."""
    schedule = _schedule(request, schedule_id)
    schedule_delete(schedule=schedule, actor=request.user.get_username())
    messages.success(request, _("The schedule is deleted."))
    return HttpResponseRedirect(reverse("schedules"))


# --- notifications --------------------------------------------------------------------------------


@readable
@require_POST
def subscription_new(request: HttpRequest) -> HttpResponse:
    """Notifies an address from now on; errors come back beside their fields."""
    demand(request, Scope.ADMIN)
    form = SubscriptionForm(request.POST, campaigns=list(campaigns_of(workspace_slug(request))))
    if form.is_valid():
        with form.refusals():
            subscription_create(
                workspace=workspace_of(request),
                document=SubscriptionDocument.read(form.document()),
                campaign=form.cleaned_data["campaign"],
                actor=request.user.get_username(),
            )
            messages.success(request, _("The alert is added."))
            return HttpResponseRedirect(reverse("schedules"))
    return render(request, "schedules/page.html", _context(request, subscription_form=form))


def _subscription(request: HttpRequest, subscription_id: UUID) -> Subscription:
    demand(request, Scope.ADMIN)
    return get_object_or_404(subscriptions_visible(workspace_of(request)), pk=subscription_id)


@readable
@require_POST
def subscription_test_form(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """Sends a message that says nothing happened."""
    subscription = _subscription(request, subscription_id)
    notice_test(subscription=subscription, url=request.build_absolute_uri(reverse("schedules")))
    messages.success(
        request,
        _("A test goes to {address}; below is whether it was sent.", address=subscription.address),
    )
    return HttpResponseRedirect(reverse("schedules") + "#notifications")


def _subscription_question(request: HttpRequest, subscription_id: UUID) -> Question:
    address = _subscription(request, subscription_id).address
    return Question(
        _("Delete the alert to {address}?", address=address),
        _("Delete alert"),
        reverse("schedules"),
        (
            _("{address} is no longer notified of anything.", address=address),
            _("Notices that wait are not sent."),
        ),
    )


@readable
@confirm_first(_subscription_question)
def subscription_remove(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """Notifies an address no more."""
    subscription = _subscription(request, subscription_id)
    subscription_delete(subscription=subscription, actor=request.user.get_username())
    messages.success(request, _("The alert is deleted."))
    return HttpResponseRedirect(reverse("schedules"))
