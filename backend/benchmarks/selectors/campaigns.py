"""A campaign's newest round as its page, the API and the command show it: target × probe."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from backend.accounts.models import Workspace
from backend.benchmarks.models import (
    Campaign,
    Evidence,
    Run,
    RunState,
    Sample,
)
from backend.benchmarks.selectors.costs import Cost, campaign_cost, campaign_estimate
from backend.benchmarks.selectors.rounds import RoundFigures, RoundTargets, round_figures
from backend.core import clock
from backend.core.rest.parameters import PER_PAGE
from backend.measure.probes import CHOICES, INVENTORY, NETWORK, PROBES, probes_to_measure
from backend.measure.profiles import PROFILES

# Status of a command whose tool is missing, too old or not permitted on the target.
UNAVAILABLE_EXIT = 7

WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
NOT_AVAILABLE = "not_available"
DISTURBED = "disturbed"
CANCELLED = "cancelled"
# Of several repeats a cell shows the first of these that one of them is in.
CELL_STATES = (RUNNING, WAITING, FAILED, CANCELLED, NOT_AVAILABLE, DISTURBED, DONE)
MEASURING = (RunState.RUNNING, RunState.COLLECTING)


@dataclass(frozen=True)
class ProbeCell:
    """A probe on one target; `run_id` is that of the repeat which gave the state."""

    target: str
    probe: str
    state: str
    run_id: UUID


@dataclass(frozen=True)
class CampaignView:
    """A campaign with its newest round, of which one page of whole targets is there."""

    campaign: Campaign
    figures: RoundFigures
    """Figures of the whole round."""
    runs: Sequence[Run]
    """Counting runs of the page: a repeat that was done again after a failure is there once."""
    matrix: list[ProbeCell]
    probes: list[str]
    cost_estimate: Cost
    cost_so_far: Cost


def campaigns_of(workspace_slug: str) -> QuerySet[Campaign]:
    """By the short name, which spares the query for the workspace itself."""
    return Campaign.objects.filter(workspace__slug=workspace_slug).select_related("workspace")


def campaigns_to_make() -> QuerySet[Campaign]:
    """Campaigns whose round lacks runs that are still to be made."""
    return Campaign.objects.filter(round_start__isnull=False)


def campaigns_visible(workspace: Workspace) -> QuerySet[Campaign]:
    """Campaigns of the workspace, newest first, with counts of their newest round's runs."""
    of_round = Run.objects.filter(campaign=OuterRef("pk"), round=OuterRef("round"), round__gt=0)
    hosts = Campaign.hosts.through.objects.filter(campaign=OuterRef("pk"))
    offers = Campaign.offers.through.objects.filter(campaign=OuterRef("pk"))
    # Each counted by itself: joined side by side, thousands of hosts and of runs would multiply.
    return Campaign.objects.filter(workspace=workspace).annotate(
        host_count=_count(hosts),
        offer_count=_count(offers),
        run_count=_count(of_round),
        done_count=_count(of_round.filter(state=RunState.DONE)),
        failed_count=_count(of_round.filter(state__in=(RunState.FAILED, RunState.LOST))),
        cancelled_count=_count(of_round.filter(state=RunState.CANCELLED)),
    )


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().values("campaign").annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted), 0)


def campaign_view(campaign: Campaign, runs: Sequence[Run] | None = None) -> CampaignView:
    """A campaign with these runs, a slice of its RoundTargets; else with those of the first page.
    The amount read does not grow with the round."""
    if runs is None:
        targets = RoundTargets(campaign)
        runs = targets[: targets.per_page(PER_PAGE)]
    cells = matrix(runs)
    return CampaignView(
        campaign=campaign,
        figures=round_figures(campaign),
        runs=runs,
        matrix=cells,
        probes=_in_order(cell.probe for cell in cells),
        cost_estimate=_estimate(campaign, clock.now().replace(second=0, microsecond=0)),
        cost_so_far=campaign_cost(campaign),
    )


@lru_cache(maxsize=64)
def _estimate(campaign: Campaign, _minute: dt.datetime) -> Cost:
    """Made anew each minute: it reads every host, and a page asks for it every two seconds."""
    hosts = campaign.hosts.only("name", "offer_id")
    offers = campaign.offers.select_related("provider", "region")
    return campaign_estimate(campaign, list(hosts), list(offers))


def target_name(run: Run) -> str:
    """The host or the offer to rent, or both ends of a network pair."""
    if run.server is not None:
        return f"{run.offer.slug} – {run.server.offer.slug}"
    if run.host.is_rented:
        return run.offer.slug
    return run.host.name if run.peer is None else f"{run.host.name} – {run.peer.name}"


# --- cells ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProbeCounts:
    """Stored counts of a probe of a run."""

    commands: int = 0
    unavailable: int = 0
    errors: int = 0
    samples: int = 0
    disturbed: int = 0


def matrix(runs: Sequence[Run]) -> list[ProbeCell]:
    """Target × probe, in the order of the runs and of the probes (two queries)."""
    counts = _probe_counts(runs)
    repeats: dict[tuple[str, str], list[tuple[str, UUID]]] = defaultdict(list)
    for run in runs:
        for probe in _probes(run):
            state = _state(run, probe, counts.get((run.pk, probe), ProbeCounts()))
            repeats[target_name(run), probe].append((state, run.pk))
    cells = []
    for (target, probe), states in repeats.items():
        state, run_id = min(states, key=lambda pair: CELL_STATES.index(pair[0]))
        cells.append(ProbeCell(target, probe, state, run_id))
    return cells


def _probes(run: Run) -> list[str]:
    """Probes of the run, without those that lack a parameter they need."""
    chosen = PROFILES[run.profile].series if run.probes is None else run.probes
    fit = [
        probe
        for probe in probes_to_measure(chosen)
        if any(
            not series.needed_parameter or run.parameters.get(series.needed_parameter)
            for series in PROBES[probe].series
        )
    ]
    return fit if fit == [NETWORK] else [INVENTORY, *fit]


def _probe_counts(runs: Iterable[Run]) -> Mapping[tuple[UUID, str], ProbeCounts]:
    run_ids = [run.pk for run in runs]
    unavailable = Q(exit_code=UNAVAILABLE_EXIT)
    bad_exit = Q(exit_code__isnull=False) & ~Q(exit_code__in=(0, UNAVAILABLE_EXIT))
    commands = (
        Evidence.objects.filter(run__in=run_ids)
        .order_by()
        .values_list("run_id", "probe")
        .annotate(
            commands=Count("id"),
            unavailable=Count("id", filter=unavailable),
            errors=Count("id", filter=bad_exit | (~unavailable & ~Q(error=""))),
        )
    )
    samples = (
        Sample.objects.filter(run__in=run_ids)
        .order_by()
        .values_list("run_id", "evidence__probe")
        .annotate(samples=Count("id"), disturbed=Count("id", filter=Q(flags__contains=[DISTURBED])))
    )
    counts = {(run_id, probe): numbers for run_id, probe, *numbers in samples}
    return {
        (run_id, probe): ProbeCounts(*numbers, *counts.get((run_id, probe), (0, 0)))
        for run_id, probe, *numbers in commands
    }


def _state(run: Run, probe: str, counts: ProbeCounts) -> str:
    if not run.is_finished:
        is_measuring = run.state in MEASURING and (run.probe == probe or counts.commands)
        return RUNNING if is_measuring else DONE if counts.samples else WAITING
    if counts.errors:
        return FAILED
    if counts.samples:
        return DISTURBED if counts.disturbed == counts.samples else DONE
    return NOT_AVAILABLE if counts.unavailable else _missing_state(run, probe, counts)


def _missing_state(run: Run, probe: str, counts: ProbeCounts) -> str:
    """State of a probe without a result, in a run that has ended."""
    if probe == INVENTORY and counts.commands:
        return DONE
    if run.state == RunState.DONE:
        return NOT_AVAILABLE
    return CANCELLED if run.state == RunState.CANCELLED else FAILED


def _in_order(probes: Iterable[str]) -> list[str]:
    used = set(probes)
    return [probe for probe in (INVENTORY, *CHOICES) if probe in used]
