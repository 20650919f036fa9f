"""Runs, their steps and their history."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.benchmarks.models.campaigns import Campaign
from backend.benchmarks.models.hosts import Host, Worker
from backend.catalog.models import Offer, PriceObservation
from backend.core import clock
from backend.core.models import Identified


class RunState(models.TextChoices):
    QUEUED = "queued"
    BUDGET_RESERVED = "budget_reserved"
    LAUNCHING = "launching"
    BOOTING = "booting"
    REACHABLE = "reachable"
    PREPARED = "prepared"
    RUNNING = "running"
    COLLECTING = "collecting"
    PARSED = "parsed"
    TEARING_DOWN = "tearing_down"
    VERIFIED_GONE = "verified_gone"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


TERMINAL_STATES = (RunState.DONE, RunState.FAILED, RunState.CANCELLED, RunState.LOST)
# How a run ended, after the words "the run".
ENDED = {
    RunState.DONE: "is done",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "was cancelled",
    RunState.LOST: "was lost",
}


class Run(Identified):
    """A host going through one profile."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="runs")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="runs")
    # The other end of the network tests; it is occupied by the run as the host is.
    peer = models.ForeignKey(Host, on_delete=models.PROTECT, null=True, related_name="peer_runs")
    # The run that rents the peer, and measures nothing itself.
    server = models.OneToOneField(
        "self", on_delete=models.SET_NULL, null=True, related_name="client"
    )
    # Runs outlive their campaign: what was measured stays true without it.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.SET_NULL, null=True, related_name="runs"
    )
    round = models.PositiveIntegerField(default=0)
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="runs")
    # The price in force when the run began; old rankings never move silently.
    price = models.ForeignKey(
        PriceObservation, on_delete=models.PROTECT, null=True, related_name="runs"
    )
    profile = models.CharField(max_length=10)
    # None measures all of the profile; an empty list would be a run of nothing.
    probes = ArrayField(models.CharField(max_length=20), null=True)
    parameters = models.JSONField(default=dict)
    labels = models.JSONField(default=dict, db_default={})
    """People's names for it: name → text (benchmarks.calc.labels)."""
    state = models.CharField(max_length=16, choices=RunState, default=RunState.QUEUED)
    is_cancel_requested = models.BooleanField(default=False)
    outcome = models.CharField(max_length=16, choices=RunState, default=RunState.DONE)
    """The terminal state the run is heading for while it is torn down."""
    probe = models.CharField(max_length=40, blank=True)
    progress_ratio = models.FloatField(default=0)
    runner_s = models.FloatField(null=True)
    """The runner's own time on the target by its monotonic clock."""
    live = models.JSONField(default=dict)
    """Last status the runner wrote, with the last lines of output."""
    plan = models.JSONField(null=True)
    """The plan it began with (workers.remote.probes.pinned_plan); a later version changes none of
    it."""
    boot_id = models.CharField(max_length=40, blank=True)
    environment = models.JSONField(default=dict)
    """The machine as its inventory found it in this run (benchmarks.calc.regression.environment)."""
    sent_bytes = models.PositiveBigIntegerField(null=True)
    """Bytes that its host sent in the network tests; None where none was done."""
    failure_reason = models.CharField(max_length=20, blank=True)
    failure_detail = models.TextField(blank=True)
    requested_by = models.CharField(max_length=150, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)
        constraints = [
            # Two runs on one machine would measure each other. The locks see to that; should one be
            # missed, the database refuses.
            models.UniqueConstraint(
                fields=("host",),
                condition=~Q(state__in=[str(state) for state in TERMINAL_STATES])
                & ~Q(state=RunState.QUEUED),
                name="one_active_run_a_host",
            )
        ]
        indexes = [
            models.Index(fields=("workspace", "-created_at", "id"), name="run_newest"),
            models.Index(fields=("state",), name="run_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.profile} on {self.host_id}: {self.state}"

    @property
    def is_finished(self) -> bool:
        """True if the run is in a terminal state."""
        return self.state in TERMINAL_STATES

    @property
    def worker(self) -> Worker | None:
        """The only machine whose workers can do its steps; None where every worker can."""
        return self.host.worker or (self.peer.worker if self.peer else None)

    @property
    def overhead_s(self) -> float | None:
        """Wall time that was not the runner's own, once finished."""
        if not (self.started_at and self.finished_at) or self.runner_s is None:
            return None
        return (self.finished_at - self.started_at).total_seconds() - self.runner_s


class Step(models.Model):
    """An attempt-able state transition of a run; its lease fences every write."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    state = models.CharField(max_length=16, choices=RunState)
    """The state of the run in which this step does its work."""
    attempt = models.PositiveIntegerField(default=0)
    lease_token = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    next_due_at = models.DateTimeField(null=True)
    """When it may be claimed; None once finished."""
    deadline_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    # Not by the clock of the machine that made it: steps are ended for their age.
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ("id",)
        constraints = [
            # A message that comes twice must not begin the next step twice.
            models.UniqueConstraint(fields=("run", "state"), name="step_once_a_state"),
        ]
        # Finished steps pile up; what looks for due ones must not pass over them.
        indexes = [
            models.Index(
                fields=("next_due_at",), condition=Q(finished_at=None), name="step_due_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.state} of {self.run_id}"


class Event(models.Model):
    """A line of a run's history, appended and never changed."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=clock.now, editable=False)
    kind = models.CharField(max_length=30)
    detail = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Tick(models.Model):
    """A row: when the engine's tick last ran, for /readyz and the monitoring."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.at.isoformat()
