"""Reads of hosts, runs and their evidence."""

import datetime as dt
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.models import Evidence, Host, Run, RunState, Sample, Step
from backend.common import clock
from backend.domain.addresses import key_fingerprint

STAGES: Mapping[str, str] = {
    RunState.QUEUED: "waiting for the host",
    RunState.BUDGET_RESERVED: "reserving the budget",
    RunState.LAUNCHING: "starting the machine",
    RunState.BOOTING: "waiting for the machine",
    RunState.REACHABLE: "looking at the host",
    RunState.PREPARED: "bringing the probes",
    RunState.RUNNING: "measuring",
    RunState.COLLECTING: "collecting the results",
    RunState.PARSED: "storing the results",
    RunState.TEARING_DOWN: "cleaning up",
    RunState.VERIFIED_GONE: "checking that nothing stays",
    RunState.DONE: "done",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.LOST: "lost",
}


class EvidenceDamaged(Exception):
    """The stored text is not the one that was measured: its checksum differs."""


@dataclass(frozen=True)
class StepView:
    """One state of a run; `state` is waiting, active or finished."""

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
    last_lines: list[str]
    steps: list[StepView]
    failure: tuple[str, str] | None
    """(reason, detail)."""
    samples: list[Sample]
    evidence: list[Evidence]
    """Without the texts themselves."""
    host_facts: dict[str, object]
    warnings: list[str]


def fingerprint(key_line: str) -> str:
    """`SHA256:…` of a public key in OpenSSH form; empty for an empty key."""
    return key_fingerprint(key_line) if key_line else ""


def hosts_visible(workspace: Workspace) -> QuerySet[Host]:
    """Hosts of the workspace, with their offer and its provider."""
    return Host.objects.filter(workspace=workspace).select_related("offer__provider")


def runs_visible(workspace: Workspace) -> QuerySet[Run]:
    """Runs of the workspace, newest first, with host, offer and price."""
    return Run.objects.filter(workspace=workspace).select_related(
        "host", "offer__provider", "price"
    )


def run_view(run: Run) -> RunView:
    """Everything that is shown of a run."""
    live = run.live
    elapsed_s = None
    if run.started_at is not None:
        elapsed_s = ((run.finished_at or clock.now()) - run.started_at).total_seconds()
    return RunView(
        run=run,
        stage=STAGES[run.state],
        probe=run.probe,
        variant=str(live.get("variant") or ""),
        progress_ratio=run.progress_ratio,
        elapsed_s=elapsed_s,
        remaining_s=_remaining_s(run),
        last_lines=list(live.get("last_lines", [])),
        steps=[_step_view(step) for step in run.steps.all()],
        failure=(run.failure_reason, run.failure_detail) if run.failure_reason else None,
        samples=list(run.samples.select_related("evidence").defer("evidence__raw_gzip")),
        evidence=list(run.evidence.defer("raw_gzip")),
        host_facts=dict(run.host.facts),
        warnings=[event.detail for event in run.events.filter(kind="warning")],
    )


def _remaining_s(run: Run) -> float | None:
    """What the plan still expects; None before it is known and after the end."""
    expected_s = run.live.get("expected_s")
    if run.is_finished or not isinstance(expected_s, int | float):
        return None
    return float(expected_s) * (1 - run.progress_ratio)


def _step_view(step: Step) -> StepView:
    if step.finished_at is not None:
        state = "finished"
    else:
        is_leased = step.lease_until is not None and step.lease_until > clock.now()
        state = "active" if is_leased else "waiting"
    return StepView(
        step.state, state, step.created_at, step.finished_at, step.attempt, step.last_error
    )


def evidence_text(evidence: Evidence) -> str:
    """The complete raw output; raises EvidenceDamaged when its checksum differs."""
    content = gzip.decompress(bytes(evidence.raw_gzip))
    if hashlib.sha256(content).hexdigest() != evidence.sha256:
        raise EvidenceDamaged(f"evidence {evidence.n} of run {evidence.run_id}")
    return content.decode(errors="replace")
