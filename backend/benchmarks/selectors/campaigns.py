"""A campaign's newest round as its page, the API and the command show it: target × probe."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.models import (
    Campaign,
    Evidence,
    Host,
    Run,
    RunState,
    Sample,
)
from backend.benchmarks.selectors.costs import (
    Cost,
    Durations,
    campaign_cost,
    campaign_estimate,
    durations,
)
from backend.catalog.models import Offer
from backend.domain.probes import CHOICES, INVENTORY, NETWORK, PROBES
from backend.domain.profiles import PROFILES

UNAVAILABLE_EXIT = 7
"""Status of a command whose tool is missing, too old or not permitted on the target."""

WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
NOT_AVAILABLE = "not_available"
DISTURBED = "disturbed"
CANCELLED = "cancelled"
# Of several repeats a cell shows the first of these that one of them is in.
CELL_STATES = (RUNNING, WAITING, FAILED, CANCELLED, NOT_AVAILABLE, DISTURBED, DONE)
NOT_DONE = (RunState.FAILED, RunState.LOST, RunState.CANCELLED)
MEASURING = (RunState.RUNNING, RunState.COLLECTING)


@dataclass(frozen=True)
class ProbeCell:
    """One probe on one target; `run_id` is that of the repeat which gave the state."""

    target: str
    probe: str
    state: str
    run_id: UUID


@dataclass(frozen=True)
class CampaignView:
    """A campaign with its newest round."""

    campaign: Campaign
    hosts: list[Host]
    offers: list[Offer]
    runs: list[Run]
    """Those that count: a repeat that was done again after a failure is there once."""
    progress_ratio: float
    remaining_s: float | None
    """None when nothing runs."""
    cost_estimate: Cost
    cost_so_far: Cost
    matrix: list[ProbeCell]
    probes: list[str]


def campaigns_of(workspace_slug: str) -> QuerySet[Campaign]:
    """By the short name, which spares the query for the workspace itself."""
    return Campaign.objects.filter(workspace__slug=workspace_slug).select_related("workspace")


def campaigns_visible(workspace: Workspace) -> QuerySet[Campaign]:
    """Campaigns of the workspace, newest first, with counts of their newest round's runs."""
    of_round = Q(runs__round=F("round"), round__gt=0)

    def count(**conditions: object) -> Count:
        return Count("runs", filter=of_round & Q(**conditions), distinct=True)

    return Campaign.objects.filter(workspace=workspace).annotate(
        host_count=Count("hosts", distinct=True),
        offer_count=Count("offers", distinct=True),
        # Hosts, offers and runs are joined side by side, which multiplies rows: each is counted
        # once.
        run_count=Count("runs", filter=of_round, distinct=True),
        done_count=count(runs__state=RunState.DONE),
        failed_count=count(runs__state__in=(RunState.FAILED, RunState.LOST)),
        cancelled_count=count(runs__state=RunState.CANCELLED),
    )


def campaign_view(campaign: Campaign) -> CampaignView:
    """Everything that is shown of a campaign; the number of queries does not grow with it."""
    hosts = list(campaign.hosts.select_related("offer"))
    offers = list(campaign.offers.select_related("provider", "region"))
    runs = round_runs(campaign)
    counting = current_runs(runs, campaign.repeats)
    cells = matrix(counting)
    expected = durations(campaign.profile, {run.host_id for run in counting})
    return CampaignView(
        campaign=campaign,
        hosts=hosts,
        offers=offers,
        runs=counting,
        progress_ratio=_progress(counting),
        remaining_s=_remaining_s(campaign, counting, expected),
        cost_estimate=campaign_estimate(campaign, hosts, offers),
        cost_so_far=campaign_cost(campaign),
        matrix=cells,
        probes=_in_order(cell.probe for cell in cells),
    )


def round_runs(campaign: Campaign) -> list[Run]:
    """Every run of the newest round, oldest first."""
    runs = Run.objects.filter(campaign=campaign, round=campaign.round)
    related = ("host", "peer", "price", "offer", "resource__account")
    runs = runs.select_related(*related).prefetch_related("resource__ledger")
    return list(runs.order_by("created_at", "id"))


def current_runs(runs: Sequence[Run], repeats: int) -> list[Run]:
    """Of each target as many runs as it has repeats: those that failed or were cancelled drop
    out as others take their place."""
    targets: dict[tuple[UUID, UUID | None], list[Run]] = defaultdict(list)
    for run in runs:
        # Each machine of an offer is a host of its own.
        targets[run.offer_id if run.host.is_rented else run.host_id, run.peer_id].append(run)
    kept: set[UUID] = set()
    for of_target in targets.values():
        good = [run for run in of_target if run.state not in NOT_DONE]
        bad = [run for run in of_target if run.state in NOT_DONE]
        free_count = max(repeats - len(good), 0)
        # The newest of the failed ones: those before were tried again already.
        kept |= {run.pk for run in [*good, *bad[len(bad) - min(free_count, len(bad)) :]]}
    return [run for run in runs if run.pk in kept]


def target_name(run: Run) -> str:
    """The host or the offer to rent, or both ends of a network pair."""
    if run.host.is_rented:
        return run.offer.slug
    return run.host.name if run.peer is None else f"{run.host.name} – {run.peer.name}"


# --- cells ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProbeCounts:
    """What is stored of one probe of one run."""

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
    """What the run is to measure, without the probes that lack a parameter they need."""
    chosen = PROFILES[run.profile].series if run.probes is None else run.probes
    fit = [
        probe
        for probe in CHOICES
        if probe in chosen
        and any(
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
    return NOT_AVAILABLE if counts.unavailable else _unmeasured(run, probe, counts)


def _unmeasured(run: Run, probe: str, counts: ProbeCounts) -> str:
    """Of a run that has ended without a result of the probe."""
    if probe == INVENTORY and counts.commands:
        return DONE
    if run.state == RunState.DONE:
        return NOT_AVAILABLE
    return CANCELLED if run.state == RunState.CANCELLED else FAILED


def _in_order(probes: Iterable[str]) -> list[str]:
    used = set(probes)
    return [probe for probe in (INVENTORY, *CHOICES) if probe in used]


# --- progress ---------------------------------------------------------------------------------------


def _progress(runs: Sequence[Run]) -> float:
    if not runs:
        return 0.0
    # A failed run counts in full, or the bar would never reach its end.
    return sum(1.0 if run.is_finished else run.progress_ratio for run in runs) / len(runs)


def _remaining_s(campaign: Campaign, runs: Sequence[Run], expected: Durations) -> float | None:
    """The longer of the busiest host's own work and all work over the campaign's concurrency."""
    # Runs of one host come one after the other, those of several side by side up to the limit.
    busy: dict[UUID, float] = defaultdict(float)
    total = 0.0
    for run in runs:
        if run.is_finished:
            continue
        planned_s = run.live.get("expected_s")
        if not isinstance(planned_s, int | float):
            planned_s = expected.of(run.host_id, run.probes)
        left = planned_s * (1 - run.progress_ratio)
        total += left
        for host_id in filter(None, (run.host_id, run.peer_id)):
            busy[host_id] += left
    return max(*busy.values(), total / campaign.concurrency) if busy else None
