"""Campaigns: their list, making one, and one while it goes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.calc.campaign_document import CampaignDocument
from backend.benchmarks.models import Campaign, CampaignState, Host
from backend.benchmarks.pages.campaigns.forms import PAIR_WORDS, CampaignForm, form_values
from backend.benchmarks.selectors.campaign_documents import campaign_document
from backend.benchmarks.selectors.campaigns import (
    CampaignView,
    ProbeCell,
    campaign_view,
    campaigns_of,
    campaigns_visible,
    target_name,
)
from backend.benchmarks.selectors.consequences import campaign_consequences
from backend.benchmarks.selectors.costs import Cost, shown
from backend.benchmarks.selectors.hosts import hosts_standing
from backend.benchmarks.selectors.redaction import Redaction, redaction_for
from backend.benchmarks.selectors.rounds import NOT_DONE, RoundTargets
from backend.benchmarks.selectors.schedules import schedule_times
from backend.benchmarks.services.campaigns import (
    CampaignActive,
    campaign_cancel,
    campaign_create,
    campaign_delete,
    campaign_retry_failed,
    campaign_start,
    campaign_update,
)
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER
from backend.site import figures, machines, words
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _
from backend.site.paging import PER_PAGE, paging_context


@dataclass(frozen=True)
class MatrixRow:
    """A target with a cell, or none, for each probe."""

    target: str
    cells: Sequence[ProbeCell | None]


@readable
@require_safe
def campaigns_page(request: HttpRequest) -> HttpResponse:
    context = {
        "campaigns": campaigns_visible(workspace_of(request)),
        "may_run": may(request, Scope.RUN),
    }
    return render(request, "campaigns/list.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def campaign_new(request: HttpRequest) -> HttpResponse:
    """The form; a good one makes a campaign in draft and shows it."""
    demand(request, Scope.RUN)
    tags = set(request.GET.getlist("tag"))
    tagged = [str(host.pk) for host in _hosts(request) if not tags.isdisjoint(host.tags)]
    initial = {
        "hosts": [*request.GET.getlist("host"), *tagged],
        "offers": "\n".join(request.GET.getlist("offer")),
        "profile": "standard",
    }
    form = _form(request, initial)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            document = CampaignDocument.read(form.document())
            campaign = campaign_create(
                workspace=workspace_of(request),
                name=document.name,
                plan=document,
                actor=request.user.get_username(),
            )
            # A campaign may rent machines, so making it and starting it are two acts of a person.
            messages.success(
                request, _("The campaign is ready. Nothing runs before it is started.")
            )
            return HttpResponseRedirect(reverse("campaign", args=[campaign.pk]))
    return render(request, "campaigns/new.html", {"form": form})


def _hosts(request: HttpRequest) -> list[Host]:
    # A host of an archive stands at somebody else's.
    return list(hosts_standing(workspace_of(request)).exclude(driver=ARCHIVE_DRIVER))


def _form(request: HttpRequest, initial: dict[str, Any]) -> CampaignForm:
    return CampaignForm(
        request.POST if request.method == "POST" else None,
        hosts=_hosts(request),
        workspace=workspace_of(request),
        initial=initial,
    )


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def campaign_change(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """The same form with what is stored; what is measured is fixed with the first round."""
    demand(request, Scope.RUN)
    campaign = _campaign(request, campaign_id)
    document = campaign_document(campaign)
    form = _form(request, form_values(document))
    later = ("name", "concurrency", "budget")
    if campaign.round:
        form.fix((*later, "budget_amount", "budget_currency"))
    if request.method == "POST" and form.is_valid():
        try:
            with form.refusals():
                changes = form.document(document)
                if campaign.round:
                    changes = {name: changes[name] for name in later}
                campaign_update(
                    campaign=campaign, changes=changes, actor=request.user.get_username()
                )
                messages.success(request, _("The campaign is changed."))
                return HttpResponseRedirect(reverse("campaign", args=[campaign_id]))
        except CampaignActive as error:
            form.add_error(None, f"{error}.")
    return render(request, "campaigns/new.html", {"form": form, "campaign": campaign})


def _campaign(request: HttpRequest, campaign_id: UUID) -> Campaign:
    return get_object_or_404(campaigns_of(workspace_slug(request)), pk=campaign_id)


def _context(request: HttpRequest, campaign: Campaign) -> dict[str, Any]:
    targets = RoundTargets(campaign)
    pages = paging_context(request, targets, per_page=targets.per_page(PER_PAGE))
    view = campaign_view(campaign, pages["page"].object_list)
    is_over = view.figures.end_count == view.figures.run_count
    return {
        **pages,
        "campaign": campaign,
        "view": view,
        # A campaign that is over may still have machines that end: the page goes on until they are gone.
        "is_live": campaign.state == CampaignState.RUNNING or not is_over,
        "failed_count": view.figures.count(NOT_DONE),
        "rents": any(run.host.is_rented for run in view.runs),
        "rows": _rows(view),
        "targets": [
            (run, target_name(run), redaction_for(request.user, run).message(run.failure_detail))
            for run in view.runs
        ],
        # hasattr: a reverse relation to one row raises where there is none; hosts of one's own have none.
        "machines": [machines.line(run.resource) for run in view.runs if hasattr(run, "resource")],
        "estimate": _cost_words(view.cost_estimate),
        "estimate_note": view.cost_estimate.note_with(figures.money(view.cost_estimate.known)),
        "so_far": _cost_words(view.cost_so_far) if campaign.round else "",
        "may_run": may(request, Scope.RUN),
    }


def _rows(view: CampaignView) -> list[MatrixRow]:
    cells = {(cell.target, cell.probe): cell for cell in view.matrix}
    # dict, not set: the rows keep the order in which the targets were named.
    targets = dict.fromkeys(cell.target for cell in view.matrix)
    return [
        MatrixRow(target, [cells.get((target, probe)) for probe in view.probes])
        for target in targets
    ]


def _cost_words(cost: Cost) -> str:
    if cost.unknown and not cost.known:
        return _("not known: no price")
    known = figures.price(cost.known, cost.currency)
    # A sum that lacks a part must not read as the whole.
    return _("{known} and more", known=known) if cost.unknown else known


@readable
@require_safe
def campaign_page(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """A campaign; while it goes on it asks for its fragment every two seconds."""
    campaign = _campaign(request, campaign_id)
    schedules = [(schedule, schedule_times(schedule, 1)) for schedule in campaign.schedules.all()]
    hosts, host_count = _first(campaign.hosts.all())
    offers, offer_count = _first(campaign.offers.select_related("provider", "region"))
    context = _context(request, campaign) | {
        "hosts": hosts,
        "host_count": host_count,
        "offers": offers,
        "offer_count": offer_count,
        "schedules": schedules,
        "parameters": _parameters(request, campaign),
        "pairs": PAIR_WORDS.get(campaign.network_pairs, campaign.network_pairs),
        "budget": campaign.budget_amount
        and f"{shown(campaign.budget_amount)} {campaign.budget_currency}",
    }
    return render(request, "campaigns/page.html", context)


def _first(rows: QuerySet[Any]) -> tuple[list[Any], int]:
    """As many as a page shows, and how many there are."""
    first = list(rows[: PER_PAGE + 1])
    return first[:PER_PAGE], len(first) if len(first) <= PER_PAGE else rows.count()


def _parameters(request: HttpRequest, campaign: Campaign) -> list[tuple[str, str]]:
    # Parameters may hold addresses of hosts, which strangers are not shown.
    redaction = Redaction(is_on=not request.user.is_authenticated)
    return [
        (words.run_parameter(name), words.run_value(name, value))
        for name, value in redaction.parameters(campaign.parameters).items()
    ]


@readable
@require_safe
def campaign_progress(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """The fragment; of a finished round it comes without the trigger."""
    context = _context(request, _campaign(request, campaign_id)) | {"is_partial": True}
    return render(request, "campaigns/_progress.html", context)


def _act(
    request: HttpRequest, campaign_id: UUID, action: Callable[..., Any], done: str
) -> HttpResponse:
    demand(request, Scope.RUN)
    campaign = _campaign(request, campaign_id)
    with refusals_said(request):
        action(campaign=campaign, actor=request.user.get_username())
        messages.success(request, done)
    return HttpResponseRedirect(reverse("campaign", args=[campaign_id]))


@readable
@require_POST
def campaign_start_form(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    return _act(request, campaign_id, campaign_start, _("Campaign started."))


@readable
@require_POST
def campaign_cancel_form(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """Ends the round early; what was measured is kept."""
    return _act(request, campaign_id, campaign_cancel, _("Stopping the round…"))


@readable
@require_POST
def campaign_retry_form(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """Does again what failed or was cancelled."""
    return _act(request, campaign_id, campaign_retry_failed, _("Repeating the failed runs."))


def _delete_question(request: HttpRequest, campaign_id: UUID) -> Question:
    demand(request, Scope.RUN)
    campaign = _campaign(request, campaign_id)
    return Question(
        _("Delete the campaign {name}?", name=campaign.name),
        _("Delete campaign"),
        reverse("campaign", args=[campaign_id]),
        tuple(campaign_consequences(campaign)),
    )


@readable
@confirm_first(_delete_question)
def campaign_delete_form(request: HttpRequest, campaign_id: UUID) -> HttpResponse:
    """Deletes a campaign with its schedules; while a round runs nothing changes."""
    demand(request, Scope.RUN)
    campaign = _campaign(request, campaign_id)
    campaign_delete(campaign=campaign, actor=request.user.get_username())
    messages.success(
        request, _("The campaign {name} is deleted; its runs stay.", name=campaign.name)
    )
    return HttpResponseRedirect(reverse("campaigns"))
