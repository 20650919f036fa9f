"""Hosts, campaigns, runs and their steps, rented machines, samples and evidence
(design: docs/architecture.md)."""

from backend.benchmarks.models.campaigns import (
    Campaign,
    CampaignState,
    RoundStart,
    Schedule,
)
from backend.benchmarks.models.hosts import (
    Drain,
    Host,
    HostAuthority,
    HostState,
    LoginKey,
    Worker,
)
from backend.benchmarks.models.resources import (
    LedgerEntry,
    Resource,
    ResourcePurchase,
    ResourceState,
)
from backend.benchmarks.models.results import Evidence, Sample, Source
from backend.benchmarks.models.runs import ENDED, TERMINAL_STATES, Event, Run, RunState, Step, Tick
from backend.benchmarks.models.summaries import StoredSummary

__all__ = [
    "ENDED",
    "TERMINAL_STATES",
    "Campaign",
    "CampaignState",
    "Drain",
    "Event",
    "Evidence",
    "Host",
    "HostAuthority",
    "HostState",
    "LedgerEntry",
    "LoginKey",
    "Resource",
    "ResourcePurchase",
    "ResourceState",
    "RoundStart",
    "Run",
    "RunState",
    "Sample",
    "Schedule",
    "Source",
    "Step",
    "StoredSummary",
    "Tick",
    "Worker",
]
