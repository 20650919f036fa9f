"""Hosts, runs and their steps, samples and evidence (design: docs/architecture.md)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.catalog.models import Offer, PriceObservation
from backend.common.models import Identified


class HostState(models.TextChoices):
    UNVERIFIED = "unverified"
    TRUSTED = "trusted"
    KEY_CHANGED = "key_changed"


class Host(Identified):
    """Something we can log in to: an instance of one offer."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="hosts")
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="hosts")
    name = models.CharField(max_length=100)
    driver = models.CharField(max_length=20)
    """Slug in workers.registry: `local` or `static`."""
    address = models.CharField(max_length=255, blank=True)
    port = models.PositiveIntegerField(default=22)
    username = models.CharField(max_length=64, blank=True)
    sealed_private_key = models.BinaryField(null=True, editable=False)
    state = models.CharField(max_length=12, choices=HostState, default=HostState.UNVERIFIED)
    host_key = models.TextField(blank=True)
    """The pinned public key in OpenSSH form; empty until a person approves one."""
    scanned_key = models.TextField(blank=True)
    scanned_at = models.DateTimeField(null=True)
    scan_requested_at = models.DateTimeField(null=True)
    scan_error = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    """What the inventory probe found last (domain.parsing.inventory.HostFacts)."""

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=("workspace", "name"), name="host_name_once_a_workspace")
        ]

    def __str__(self) -> str:
        return self.name


class NetworkPairs(models.TextChoices):
    NONE = "none", "none"
    RING = "ring", "each to the next"
    ALL = "all", "each to every other"


class CampaignState(models.TextChoices):
    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Campaign(Identified):
    """Hosts × a profile × a budget. Each start is a round of runs of its own."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=100)
    hosts = models.ManyToManyField(Host, related_name="campaigns")
    offers = models.ManyToManyField(Offer, related_name="campaigns")
    """Machines to rent, which only drivers that launch can do."""
    profile = models.CharField(max_length=10)
    probes = ArrayField(models.CharField(max_length=20), null=True)
    parameters = models.JSONField(default=dict)
    repeats = models.PositiveIntegerField(default=1)
    """Runs of each host in a round."""
    concurrency = models.PositiveIntegerField(default=4)
    """Runs of the campaign that may be active at once."""
    budget_amount = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    budget_currency = models.CharField(max_length=3, blank=True)
    install_tools = models.BooleanField(default=False)
    network_pairs = models.CharField(max_length=4, choices=NetworkPairs, default=NetworkPairs.NONE)
    state = models.CharField(max_length=10, choices=CampaignState, default=CampaignState.DRAFT)
    round = models.PositiveIntegerField(default=0)
    """Number of the newest round; 0 before the first start."""

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.name


class Schedule(Identified):
    """When a campaign starts by itself: a cron line or an interval, in a time zone."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="schedules")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="schedules")
    cron = models.CharField(max_length=100, blank=True)
    every_s = models.PositiveIntegerField(null=True)
    time_zone = models.CharField(max_length=50)
    window_from = models.TimeField(null=True)
    window_to = models.TimeField(null=True)
    """Maintenance window in the time zone; it may cross midnight. None = at any time."""
    is_enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    last_outcome = models.CharField(max_length=200, blank=True)
    """What the last due time led to: a round, or why it was skipped."""

    class Meta:
        ordering = ("created_at",)
        indexes = [
            models.Index(fields=("next_at",), condition=Q(is_enabled=True), name="schedule_due")
        ]

    def __str__(self) -> str:
        return self.cron or f"every {self.every_s} s"


class Channel(models.TextChoices):
    EMAIL = "email", "e-mail"
    WEBHOOK = "webhook", "webhook"


class NoticeKind(models.TextChoices):
    RUN_FAILED = "run_failed", "a run failed or was lost"
    CAMPAIGN_DONE = "campaign_done", "a campaign came to its end"
    REGRESSION = "regression", "a result left the band of its history"


class Subscription(Identified):
    """Who is told of failures, ends of campaigns and regressions, and how."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="subscriptions")
    channel = models.CharField(max_length=8, choices=Channel)
    address = models.CharField(max_length=500)
    """An e-mail address or an https URL."""
    sealed_secret = models.BinaryField(null=True, editable=False)
    """Key of the webhook's signature."""
    kinds = ArrayField(models.CharField(max_length=20, choices=NoticeKind))
    is_enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("created_at",)

    def __str__(self) -> str:
        return f"{self.channel} {self.address}"


class Notice(models.Model):
    """One message to one subscription; its key makes it go out once."""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="notices")
    key = models.CharField(max_length=150)
    document = models.JSONField()
    """What is told: kind, title, detail, url, at."""
    created_at = models.DateTimeField(auto_now_add=True)
    next_due_at = models.DateTimeField(null=True)
    """None once sent or given up."""
    attempt = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("subscription", "key"), name="notice_once")]
        indexes = [
            models.Index(fields=("next_due_at",), condition=Q(sent_at=None), name="notice_due_open")
        ]

    def __str__(self) -> str:
        return self.key


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


class Run(Identified):
    """One host going through one profile."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="runs")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="runs")
    peer = models.ForeignKey(Host, on_delete=models.PROTECT, null=True, related_name="peer_runs")
    """The other end of the network tests; it is occupied by the run as the host is."""
    campaign = models.ForeignKey(
        Campaign, on_delete=models.SET_NULL, null=True, related_name="runs"
    )
    round = models.PositiveIntegerField(default=0)
    """The campaign's round."""
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="runs")
    price = models.ForeignKey(
        PriceObservation, on_delete=models.PROTECT, null=True, related_name="runs"
    )
    """The price in force when the run began; old rankings never move silently."""
    profile = models.CharField(max_length=10)
    probes = ArrayField(models.CharField(max_length=20), null=True)
    parameters = models.JSONField(default=dict)
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
    boot_id = models.CharField(max_length=40, blank=True)
    environment = models.JSONField(default=dict)
    """The machine as its inventory found it in this run (domain.regression.environment)."""
    failure_reason = models.CharField(max_length=20, blank=True)
    failure_detail = models.TextField(blank=True)
    requested_by = models.CharField(max_length=150, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("host",),
                condition=~Q(state__in=[str(state) for state in TERMINAL_STATES])
                & ~Q(state=RunState.QUEUED),
                name="one_active_run_a_host",
            )
        ]

    def __str__(self) -> str:
        return f"{self.profile} on {self.host_id}: {self.state}"

    @property
    def is_finished(self) -> bool:
        """Whether the run is in a terminal state."""
        return self.state in TERMINAL_STATES

    @property
    def overhead_s(self) -> float | None:
        """Wall time that was not the runner's own, once finished."""
        if not (self.started_at and self.finished_at) or self.runner_s is None:
            return None
        return (self.finished_at - self.started_at).total_seconds() - self.runner_s


class Step(models.Model):
    """One attempt-able state transition of a run; its lease fences every write."""

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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=("run", "state"), name="step_once_a_state"),
        ]
        indexes = [
            models.Index(
                fields=("next_due_at",), condition=Q(finished_at=None), name="step_due_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.state} of {self.run_id}"


class Event(models.Model):
    """One line of a run's history, appended and never changed."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=30)
    detail = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Evidence(models.Model):
    """One command with its complete raw output, compressed, and its checksum.

    A result that was brought along has an offer and no run; its text is kept in the same way.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="evidence")
    offer = models.ForeignKey(
        Offer, on_delete=models.CASCADE, null=True, related_name="imported_evidence"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    n = models.PositiveIntegerField()
    probe = models.CharField(max_length=20)
    variant = models.CharField(max_length=40, blank=True)
    repeat = models.PositiveIntegerField(default=0)
    command = models.TextField()
    tool_version = models.CharField(max_length=100, blank=True)
    conditions = models.JSONField(default=dict)
    """What `observe` saw around the command (domain.parsing.observe.Conditions)."""
    series = models.JSONField(null=True)
    """What `observe` saw once a second: column → values (domain.parsing.observe.series)."""
    exit_code = models.IntegerField(null=True)
    error = models.TextField(blank=True)
    raw_gzip = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ("run_id", "n")
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=("run", "n"), name="evidence_number_once_a_run"),
            models.UniqueConstraint(
                fields=("offer", "sha256"), condition=Q(run=None), name="text_imported_once"
            ),
            models.CheckConstraint(
                condition=Q(run=None, offer__isnull=False) | Q(run__isnull=False, offer=None),
                name="evidence_of_a_run_or_an_offer",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.probe} {self.variant} {self.repeat}"


class Source(models.TextChoices):
    MEASURED = "measured"
    PUBLISHED = "published"
    IMPORTED = "imported"


class Sample(models.Model):
    """One number of one metric from one repeat, or one published figure."""

    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="samples")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, null=True, related_name="samples")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="samples")
    evidence = models.ForeignKey(
        Evidence, on_delete=models.CASCADE, null=True, related_name="samples"
    )
    metric = models.CharField(max_length=40)
    variant = models.CharField(max_length=40)
    repeat = models.PositiveIntegerField(default=0)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    parameters = models.JSONField(default=dict)
    flags = ArrayField(models.CharField(max_length=20), default=list)
    source = models.CharField(max_length=10, choices=Source)
    source_note = models.CharField(max_length=300, blank=True)
    published_sd_ratio = models.FloatField(null=True)
    published_count = models.PositiveIntegerField(null=True)
    method_version = models.CharField(max_length=80, blank=True)
    measured_at = models.DateTimeField()
    excluded_reason = models.TextField(blank=True)
    """A person's reason for leaving the sample out of summaries; nothing is deleted."""

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("run", "metric", "variant", "repeat"), name="sample_once_a_repeat"
            ),
            models.UniqueConstraint(
                fields=("offer", "metric", "variant", "source_note"),
                condition=Q(source="published"),
                name="published_figure_once",
            ),
        ]
        indexes = [models.Index(fields=("metric", "variant", "offer"), name="sample_by_metric")]

    def __str__(self) -> str:
        return f"{self.metric} {self.value} {self.unit}"


class Tick(models.Model):
    """One row: when the engine's tick last ran, for /readyz and the monitoring."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.at.isoformat()
