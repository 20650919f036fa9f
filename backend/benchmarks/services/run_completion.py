"""Consequences of a run's end: notes on its results, notices, the end of its campaign."""

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings

from backend.benchmarks.calc.regression import environment
from backend.benchmarks.models import (
    ENDED,
    TERMINAL_STATES,
    Campaign,
    CampaignState,
    Host,
    HostState,
    Resource,
    ResourceState,
    RoundStart,
    Run,
    RunState,
)
from backend.benchmarks.selectors.history import run_notes
from backend.benchmarks.services.imports import outliers_mark
from backend.benchmarks.services.run_notes import notes_record
from backend.core import clock
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue

INVENTORY = "inventory"
# Why its samples are left out of scores.
OF_CANCELLED_RUN = "the run was cancelled"


def run_ended(run: Run) -> None:
    """To be called once in the transaction that ends the run."""
    outliers_mark(run=run)
    unlaunched_release([run.pk])
    title = f"{run.host.name}: the run {ENDED[RunState(run.state)]}"
    if run.state == RunState.DONE:
        _compare(run)
        count = run.samples.count()
        _notify(run, NoticeKind.RUN_DONE, title, f"{count} results", results=count)
    elif run.state in (RunState.FAILED, RunState.LOST):
        _notify(run, NoticeKind.RUN_FAILED, f"{title} ({run.failure_reason})", run.failure_detail)
    elif run.state == RunState.CANCELLED:
        # Whoever cancels often saw that something was wrong; a person may count them again.
        run.samples.filter(excluded_reason="").update(excluded_reason=OF_CANCELLED_RUN)
    if run.campaign is not None:
        campaign_end_if_over(run.campaign)


def unlaunched_release(run_ids: Iterable[UUID]) -> None:
    """Give back what is reserved for runs that ended before any machine was asked for."""
    # A machine that was asked for may exist, whatever the answer was: teardown and reaper end
    # those.
    unlaunched = Resource.objects.filter(run__in=list(run_ids), called_at=None)
    hosts = dict(unlaunched.exclude(state=ResourceState.GONE).values_list("pk", "run__host_id"))
    Resource.objects.filter(pk__in=hosts).update(state=ResourceState.GONE, gone_at=clock.now())
    gone = Host.objects.filter(pk__in=hosts.values(), is_rented=True)
    gone.update(state=HostState.GONE, sealed_private_key=None)


def page_url(kind: str, identifier: object) -> str:
    """Address of the page of a run or a campaign: `kind` is runs or campaigns."""
    return f"{settings.PUBLIC_URL.rstrip('/')}/{kind}/{identifier}/"


def _compare(run: Run) -> None:
    """Keep what machine it was, and note and notify what left the band of its past."""
    # Without an inventory of its own the host's facts are those of an earlier run.
    if run.evidence.filter(probe=INVENTORY, error="").exists():
        facts = Host.objects.values_list("facts", flat=True).get(pk=run.host_id)
        run.environment = environment(facts)
        run.save(update_fields=["environment"])
    notes = run_notes(run)
    notes_record(run, notes)
    worse = [note.detail for note in notes if note.kind == NoticeKind.REGRESSION]
    if worse:
        title = f"{run.host.name}: {len(worse)} results worse than before"
        _notify(run, NoticeKind.REGRESSION, title, "\n".join(worse), worse=len(worse))


def _notify(run: Run, kind: NoticeKind, title: str, detail: str, **counts: int) -> None:
    """With the ids that a program asks the API with."""
    notice_queue(
        workspace=run.workspace,
        kind=kind,
        key=f"{kind}:{run.pk}",
        campaign=run.campaign_id,
        document={
            "title": title,
            "detail": detail,
            "url": page_url("runs", run.pk),
            "run": str(run.pk),
            "run_state": run.state,
            "campaign": str(run.campaign_id) if run.campaign_id else None,
            "host": str(run.host_id),
            "offer": run.offer.slug,
            **counts,
        },
    )


def campaign_end_if_over(campaign: Campaign) -> None:
    """The last run of a running campaign ends it; the workspace is locked already."""
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    runs = Run.objects.filter(campaign=campaign, round=campaign.round)
    if campaign.state != CampaignState.RUNNING or runs.exclude(state__in=TERMINAL_STATES).exists():
        return
    if RoundStart.objects.filter(pk=campaign.pk).exists():  # more runs are to be made
        return
    campaign.state = CampaignState.DONE
    campaign.save(update_fields=["state"])
    states = list(runs.values_list("state", flat=True))
    counts = {state: states.count(state) for state in TERMINAL_STATES if state in states}
    notice_queue(
        workspace=campaign.workspace,
        kind=NoticeKind.CAMPAIGN_DONE,
        # A retry within the round adds runs, and its end is to be notified again.
        key=f"campaign_done:{campaign.pk}:{campaign.round}:{len(states)}",
        campaign=campaign.pk,
        document={
            "title": f"Campaign {campaign.name}, round {campaign.round}, has ended",
            "detail": f"{len(states)} runs: "
            + ", ".join(f"{count} {state}" for state, count in counts.items()),
            "url": page_url("campaigns", campaign.pk),
            "campaign": str(campaign.pk),
            "round": campaign.round,
            "runs": counts,
        },
    )
