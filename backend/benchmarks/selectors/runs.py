"""Reads of hosts, runs and their evidence."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from backend.accounts.models import Workspace
from backend.benchmarks.calc.progress import MICRO, cost_so_far, remaining_s
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Evidence,
    Resource,
    Run,
    RunState,
    Sample,
    Step,
)
from backend.benchmarks.selectors.evidence import evidence_listed, evidence_shown
from backend.benchmarks.selectors.redaction import NOTHING_HIDDEN, Redaction
from backend.benchmarks.selectors.rental_prices import resource_cost
from backend.catalog.selectors.read_prices import as_quoted
from backend.core import clock
from backend.foundation.texts import text as _
from backend.measure.stats import DISTURBED, UNFIT, repeats_that_count

STAGES: Mapping[str, str] = {
    RunState.QUEUED: _("waiting for the host"),
    RunState.BUDGET_RESERVED: _("budget reserved"),
    RunState.LAUNCHING: _("starting the machine"),
    RunState.BOOTING: _("waiting for the machine"),
    RunState.REACHABLE: _("inspecting the host"),
    RunState.PREPARED: _("uploading the tests"),
    RunState.RUNNING: _("measuring"),
    RunState.COLLECTING: _("collecting the results"),
    RunState.PARSED: _("storing the results"),
    RunState.TEARING_DOWN: _("cleaning up"),
    RunState.VERIFIED_GONE: _("verifying the clean-up"),
    RunState.DONE: _("done"),
    RunState.FAILED: _("failed"),
    RunState.CANCELLED: _("cancelled"),
    RunState.LOST: _("lost"),
}
# Kinds of events that a person is to see beside the result.
WARNINGS = ("warning", "unavailable")
# What a line of a list says of a run, its host, offer and campaign.
LISTED = (
    "created_at", "profile", "state", "finished_at", "round", "requested_by",
    "host__name", "host__state", "host__is_rented", "offer__slug", "offer__name", "campaign__name",
)  # fmt: skip
# A host that is read each second or two, and written of within five, is silent after so long.
SILENT_AFTER_S = 12
AFTER_MEASURING = {
    RunState.COLLECTING, RunState.PARSED, RunState.TEARING_DOWN, RunState.VERIFIED_GONE, *TERMINAL_STATES,
}  # fmt: skip
# As many earlier runs of the same kind say how long this one takes.
PAST_RUNS = 5


@dataclass(frozen=True)
class Silence:
    """A measuring host gives no sign."""

    since: dt.datetime
    """Its last sign."""
    ends_at: dt.datetime
    """When the run is given up, if the host stays silent."""
    error: str

    @property
    def silent_s(self) -> float:
        return max(0.0, (clock.now() - self.since).total_seconds())

    @property
    def left_s(self) -> float:
        return max(0.0, (self.ends_at - clock.now()).total_seconds())


@dataclass(frozen=True)
class StepView:
    """A state of a run; `state` is waiting, active or finished."""

    name: str
    state: str
    started: dt.datetime
    finished: dt.datetime | None
    attempt: int
    last_error: str


@dataclass(frozen=True)
class RunView:
    """A run as its page, the API and the command line show it."""

    run: Run
    stage: str
    probe: str
    variant: str
    progress_ratio: float
    elapsed_s: float | None
    remaining_s: float | None
    """None also while the host is silent: what was expected of it stands no longer."""
    silence: Silence | None
    last_lines: list[str]
    steps: list[StepView]
    failure: tuple[str, str] | None
    """(reason, detail)."""
    samples: list[Sample]
    evidence: list[Evidence]
    """Without the texts and series themselves; `has_series` says whether there is one."""
    host_facts: dict[str, object]
    warnings: list[str]
    """Things that went less than well, and those that could not be measured at all."""
    cost: dict[str, str | None] | None


def runs_visible(workspace: Workspace) -> QuerySet[Run]:
    """Runs of the workspace, newest first, with host, peer, campaign, offer, price and resource."""
    return Run.objects.filter(workspace=workspace).select_related(
        "host", "peer", "campaign", "offer__provider", "price", "resource__account"
    )


def runs_listed(workspace: Workspace) -> QuerySet[Run]:
    """The same for lists: with what their lines say, and nothing else that is long to read."""
    return (
        runs_visible(workspace)
        .select_related(None)
        .select_related("host", "offer", "campaign")
        .only(*LISTED)
    )


def run_view(run: Run, redaction: Redaction = NOTHING_HIDDEN) -> RunView:
    """Everything that is shown of a run, to strangers without where its hosts are."""
    live = run.live
    steps = [_step_view(step, redaction) for step in run.steps.all()]
    silence = _silence(run, steps)
    return RunView(
        run=run,
        stage=_stage(run),
        probe=run.probe,
        variant=str(live.get("variant") or ""),
        progress_ratio=run.progress_ratio,
        elapsed_s=_duration_so_far_s(run),
        remaining_s=None if silence else _remaining_s(run),
        silence=silence,
        last_lines=[redaction.message(line) for line in live.get("last_lines", [])],
        steps=steps,
        failure=(run.failure_reason, redaction.message(run.failure_detail))
        if run.failure_reason
        else None,
        samples=list(
            run.samples.select_related("evidence").defer("evidence__raw_gzip", "evidence__series")
        ),
        evidence=[evidence_shown(item, redaction) for item in evidence_listed(run.evidence.all())],
        host_facts=redaction.value(dict(run.host.facts)),
        warnings=[
            redaction.message(event.detail) for event in run.events.filter(kind__in=WARNINGS)
        ],
        cost=run_cost(run),
    )


def _stage(run: Run) -> str:
    if run.state == RunState.QUEUED:
        begun = Run.objects.exclude(state__in=(*TERMINAL_STATES, RunState.QUEUED))
        if begun.filter(host_id=run.host_id).exists():
            return _("waiting until another run on this host is over")
    return STAGES[run.state]


def run_results(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """Each series of a run as one result: the median of the repeats that count, and how many there
    are, disturbed ones among them."""
    series: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        series.setdefault((sample.metric, sample.variant, sample.unit), []).append(sample)
    results = []
    for (metric, variant, unit), repeats in sorted(series.items()):
        counted, _is_unfit = repeats_that_count(repeats)
        if counted:
            results.append(
                {
                    "metric": metric,
                    "variant": variant,
                    "unit": unit,
                    "median": median(sample.value for sample in counted),
                    "repeats": len(repeats),
                    "disturbed": sum(DISTURBED in sample.flags for sample in repeats),
                    "unfit": sorted({flag for sample in counted for flag in sample.flags} & UNFIT),
                }
            )
    return results


def _duration_so_far_s(run: Run) -> float | None:
    if run.started_at is None:
        return None
    return ((run.finished_at or clock.now()) - run.started_at).total_seconds()


def run_cost(run: Run) -> dict[str, str | None] | None:
    """Cost of the machine in the run so far, in millionths of the price's currency.

    {"so_far", "currency", "cap"}: the cap is the budget of the run, else that of its campaign,
    where that is in the same currency. None without a price by time, and before the start.
    """
    resource: Resource | None = getattr(run, "resource", None)
    if resource is not None:
        currency = resource.currency
        amount = resource_cost(resource)
        so_far = None if amount is None else amount.quantize(MICRO)
    else:
        currency = run.price.currency if run.price else ""
        so_far = _cost_by_time(run)
    if so_far is None or not currency:
        return None
    cap = _cap(run, resource, currency)
    return {
        "so_far": format(so_far, "f"),
        "currency": currency,
        "cap": None if cap is None else format(as_quoted(cap), "f"),
    }


def _cost_by_time(run: Run) -> Decimal | None:
    elapsed_s = _duration_so_far_s(run)
    if run.price is None or elapsed_s is None:
        return None
    # A clock that was set back must not make the cost negative.
    return cost_so_far(run.price.amount, run.price.unit, max(0, elapsed_s))


def _cap(run: Run, resource: Resource | None, currency: str) -> Decimal | None:
    if resource is not None and resource.budget_currency == currency:
        return resource.budget_amount
    if run.campaign is not None and run.campaign.budget_currency == currency:
        return run.campaign.budget_amount
    return None


def _silence(run: Run, steps: Iterable[StepView]) -> Silence | None:
    """None while the host answers, and where it is not measuring."""
    read_at = parse_datetime(str(run.live.get("read_at", "")))
    if run.state != RunState.RUNNING or read_at is None:
        return None
    # Its silence is counted from the first reading that failed.
    noted_at = parse_datetime(str(run.live.get("silent_since", "")))
    expected_at = read_at + dt.timedelta(seconds=SILENT_AFTER_S)
    if noted_at is None and clock.now() < expected_at:
        return None
    ends_at = (noted_at or expected_at) + dt.timedelta(seconds=settings.HOST_LOST_AFTER_S)
    errors = [step.last_error for step in steps if step.name == run.state]
    return Silence(read_at, ends_at, errors[-1] if noted_at and errors else "")


def _remaining_s(run: Run) -> float | None:
    """Seconds left by earlier runs of the same kind, or else by the plan; None before it is known
    and once the host has nothing more to measure."""
    planned_s = run.live.get("expected_s")
    if run.state in AFTER_MEASURING or not isinstance(planned_s, int | float):
        return None
    past_s = Run.objects.filter(
        host_id=run.host_id,
        profile=run.profile,
        probes=run.probes,
        parameters=run.parameters,
        state=RunState.DONE,
        runner_s__isnull=False,
    ).order_by("-finished_at")
    return remaining_s(
        progress_ratio=run.progress_ratio,
        elapsed_s=run.runner_s or 0,
        planned_s=float(planned_s),
        likely_s=float(run.live.get("likely_s", planned_s)),
        past_s=[seconds or 0 for seconds in past_s.values_list("runner_s", flat=True)[:PAST_RUNS]],
    )


def steps_to_cancel(step_ids: Iterable[int]) -> list[int]:
    """Steps whose run somebody wants to end."""
    steps = Step.objects.filter(pk__in=list(step_ids), run__is_cancel_requested=True)
    return list(steps.values_list("pk", flat=True))


def _step_view(step: Step, redaction: Redaction) -> StepView:
    if step.finished_at is not None:
        state = "finished"
    else:
        is_leased = step.lease_until is not None and step.lease_until > clock.now()
        state = "active" if is_leased else "waiting"
    return StepView(
        step.state,
        state,
        step.created_at,
        step.finished_at,
        step.attempt,
        redaction.message(step.last_error),
    )
