"""Campaigns: make, start, follow, cancel, do again what failed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks import models
from backend.benchmarks.api.campaign_documents import (
    CampaignChange,
    CampaignDetail,
    CampaignStateSerializer,
)
from backend.benchmarks.calc.campaign_document import CampaignDocument
from backend.benchmarks.models import Campaign, Run
from backend.benchmarks.selectors.campaign_documents import campaign_document
from backend.benchmarks.selectors.campaigns import CampaignView as Seen
from backend.benchmarks.selectors.campaigns import campaign_view, campaigns_visible
from backend.benchmarks.selectors.consequences import campaign_consequences
from backend.benchmarks.selectors.costs import Cost, shown
from backend.benchmarks.selectors.redaction import Redaction
from backend.benchmarks.selectors.rounds import RoundTargets
from backend.benchmarks.services.campaigns import (
    CampaignActive,
    campaign_cancel,
    campaign_create,
    campaign_delete,
    campaign_retry_failed,
    campaign_start,
    campaign_update,
)
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import NoDocument, Problem, request_fields
from backend.core.rest.openapi import query_parameters
from backend.core.rest.parameters import PAGING, PER_PAGE, one_of, read
from backend.core.rest.permissions import RUN
from backend.core.rest.problem import Conflict
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer, View, page_links, page_rows
from backend.measure.profiles import PROFILES

PAGES = {
    "page": "Number of the page, from 1",
    "per_page": "Runs of a page, 1 to 250 (default 50); those of one target stay together",
}


class CampaignsView(FilteredListView):
    """Campaigns of the workspace, newest first."""

    name = "campaigns"
    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}
    lookups = {
        "state": ("state", one_of(models.CampaignState.values)),
        "profile": ("profile", one_of(tuple(PROFILES))),
    }
    since = "created_at"
    orders = {"name": "name", "state": "state", "created_at": "created_at"}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("name", ColumnType.TEXT, "Name as given"),
        Column("state", ColumnType.TEXT, "draft, running, done or cancelled"),
        Column("round", ColumnType.INTEGER, "Number of the newest round"),
        Column("profile", ColumnType.TEXT, "quick, standard or full"),
        Column("host_count", ColumnType.INTEGER, "Hosts"),
        Column("offer_count", ColumnType.INTEGER, "Offers to rent a machine of"),
        Column("repeats", ColumnType.INTEGER, "Runs of each host in a round"),
        Column("concurrency", ColumnType.INTEGER, "Runs that may be active at once"),
        Column("network_pairs", ColumnType.TEXT, "none, ring, all or twins"),
        Column("budget_amount", ColumnType.DECIMAL, "The most that a round may cost"),
        Column("budget_currency", ColumnType.TEXT, "Its currency"),
        Column("run_count", ColumnType.INTEGER, "Runs of the newest round"),
        Column("runs_done", ColumnType.INTEGER, "Of these, done"),
        Column("runs_failed", ColumnType.INTEGER, "Of these, failed or lost"),
        Column("runs_cancelled", ColumnType.INTEGER, "Of these, cancelled"),
        Column("created_at", ColumnType.TIME, "When it was made"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, paging = self.asked(request)
        campaigns = campaigns_visible(workspace_of(request)).filter(**conditions)
        campaigns = campaigns.order_by("-created_at", "id")
        return ListAnswer(self.columns, campaigns, campaigns.count(), cells=_cells, **paging)

    @extend_schema(request=CampaignDocument, responses={201: CampaignStateSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Make a campaign; nothing runs until it is started."""
        document = CampaignDocument.read(request.data)
        campaign = campaign_create(
            workspace=workspace_of(request),
            name=document.name,
            plan=document,
            actor=actor(request),
        )
        return _state_response(request, campaign, status=201)


def _cells(campaign: Any) -> dict[str, Any]:
    """A row of campaigns_visible."""
    return {
        **vars(campaign),
        "runs_done": campaign.done_count,
        "runs_failed": campaign.failed_count,
        "runs_cancelled": campaign.cancelled_count,
        "budget_currency": campaign.budget_currency or None,
    }


def _campaign(request: Request, campaign_id: UUID) -> Campaign:
    campaigns = Campaign.objects.filter(workspace=workspace_of(request))
    return get_object_or_404(campaigns, pk=campaign_id)


def _state_response(request: Request, campaign: Campaign, *, status: int) -> Response:
    state = _state(request, campaign_view(campaign))
    return Response(
        CampaignStateSerializer(state).data, status=status, headers={"Location": str(state["url"])}
    )


def _state(request: Request, seen: Seen) -> dict[str, Any]:
    """With the runs of one page; the list of runs has all of them."""
    campaign = seen.campaign
    key = {"campaign_id": campaign.pk}
    return {
        "id": campaign.pk,
        "state": campaign.state,
        "round": campaign.round,
        "url": reverse("api:campaign", kwargs=key, request=request),
        "cost_estimate": _money(seen.cost_estimate),
        "cost_note": seen.cost_estimate.note,
        "run_count": seen.figures.run_count,
        "runs": [_run(request, run) for run in seen.runs],
    }


def _run(request: Request, run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "host": run.host_id,
        "offer": run.offer.slug,
        "peer": run.peer_id,
        "state": run.state,
        "progress": run.progress_ratio,
        "failure_reason": run.failure_reason or None,
        "url": reverse("api:run", kwargs={"run_id": run.pk}, request=request),
    }


def _money(cost: Cost) -> dict[str, Any] | None:
    if cost.amount is None:
        return None
    return {"amount": shown(cost.amount), "currency": cost.currency}


class OneCampaignView(View):
    """A campaign with its newest round: its figures whole, its runs and matrix by pages."""

    scopes: ClassVar[Mapping[str, str]] = {"PATCH": RUN, "DELETE": RUN}

    @extend_schema(
        operation_id="campaigns_get",
        parameters=query_parameters(PAGES, PAGING),
        responses={200: CampaignDetail},
    )
    def get(self, request: Request, campaign_id: UUID, **_: Any) -> Response:
        """A campaign; a page holds whole targets that have `per_page` runs together, or one that has more."""
        paging, warnings = read(dict(request.query_params.lists()), PAGING)
        campaign = _campaign(request, campaign_id)
        targets = RoundTargets(campaign)
        page, size = paging.get("page", 1), targets.per_page(paging.get("per_page", PER_PAGE))
        listing = ListAnswer((), targets, targets.count(), page=page, per_page=size)
        seen = campaign_view(campaign, page_rows(listing))
        # Hides the parameters that name a peer; nothing else here holds an address.
        redaction = Redaction(is_on=not request.user.is_authenticated)
        document = {
            **_state(request, seen),
            **campaign_document(campaign).model_dump(),
            "parameters": redaction.parameters(campaign.parameters),
            "progress": seen.figures.progress_ratio,
            "remaining_s": seen.figures.remaining_s,
            "cost_so_far": _money(seen.cost_so_far),
            "cost_so_far_note": seen.cost_so_far.note,
            "matrix": [
                {"target": c.target, "probe": c.probe, "state": c.state, "run": c.run_id}
                for c in seen.matrix
            ],
            **page_links(request, listing),
            "warnings": warnings,
        }
        return Response(CampaignDetail(document).data)

    @extend_schema(
        operation_id="campaigns_update",
        request=CampaignChange,
        responses={200: CampaignDetail, 409: Problem},
    )
    def patch(self, request: Request, campaign_id: UUID, **_: Any) -> Response:
        """Change it; what it measures is fixed with its first round. 409 while a round runs."""
        campaign, changes = _campaign(request, campaign_id), request_fields(request.data)
        with _conflicts():
            campaign_update(campaign=campaign, changes=changes, actor=actor(request))
        return self.get(request, campaign_id)

    @deleting("campaigns_delete")
    def delete(self, request: Request, campaign_id: UUID, **_: Any) -> Response:
        """Delete it with its schedules and alerts; its runs stay. 409 while a round runs."""
        campaign = _campaign(request, campaign_id)
        with _conflicts():
            return delete_response(
                request,
                partial(campaign_consequences, campaign),
                partial(campaign_delete, campaign=campaign, actor=actor(request)),
            )


@contextmanager
def _conflicts() -> Iterator[None]:
    try:
        yield
    except CampaignActive as error:
        raise Conflict(str(error)) from error


class CampaignStartView(View):
    """Begin the next round."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(request=NoDocument, responses={202: CampaignStateSerializer, 409: Problem})
    def post(self, request: Request, campaign_id: UUID) -> Response:
        """Start a round; 409 while one runs, 400 for a host that is not trusted, an offer that cannot be
        rented, or a budget too small."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        campaign = _campaign(request, campaign_id)
        with _conflicts():
            campaign = campaign_start(campaign=campaign, actor=actor(request))
        return _state_response(request, campaign, status=202)


class CampaignCancelView(View):
    """End the round early; what was measured is kept."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(request=NoDocument, responses={202: CampaignStateSerializer})
    def post(self, request: Request, campaign_id: UUID) -> Response:
        """End the round; a campaign that does not run stays as it is."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        campaign = _campaign(request, campaign_id)
        return _state_response(
            request, campaign_cancel(campaign=campaign, actor=actor(request)), status=202
        )


class CampaignRetryView(View):
    """Do again what failed, was lost or was cancelled."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": RUN}

    @extend_schema(request=NoDocument, responses={202: CampaignStateSerializer})
    def post(self, request: Request, campaign_id: UUID) -> Response:
        """Measure again what failed, in the same round; nothing happens where nothing failed."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        campaign = _campaign(request, campaign_id)
        campaign_retry_failed(campaign=campaign, actor=actor(request))
        return _state_response(request, _campaign(request, campaign_id), status=202)
