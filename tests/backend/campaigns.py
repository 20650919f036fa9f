"""Campaigns with runs in every state, for the tests of services, API and command."""

import datetime as dt
from typing import Any

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Campaign, Evidence, Host, Run, RunState, Sample, Step
from backend.benchmarks.services.campaigns import campaign_create
from backend.benchmarks.services.runs import run_finish
from backend.core import clock
from tests import factories


def campaign(*hosts: Host, **given: Any) -> Campaign:
    """A campaign of the hosts (two by default), measuring cmips."""
    hosts = hosts or (factories.host(), factories.host())
    plan = {"hosts": [host.pk for host in hosts], "profile": "quick", "probes": ["cmips"]}
    return campaign_create(
        workspace=given.pop("workspace", hosts[0].workspace),
        name=given.pop("name", f"Campaign {Campaign.objects.count() + 1}"),
        actor=given.pop("actor", "tester"),
        plan=CampaignPlan(**{**plan, **given}),
    )


def ended(run: Run, state: str = "done", *, seconds: float = 60, **fields: Any) -> Run:
    """The run at its end, `seconds` after its start."""
    now = clock.now()
    before = {
        RunState.CANCELLED: RunState.QUEUED,
        RunState.LOST: RunState.TEARING_DOWN,
    }.get(RunState(state), RunState.VERIFIED_GONE)
    started = None if state == "cancelled" else now - dt.timedelta(seconds=seconds)
    Run.objects.filter(pk=run.pk).update(
        state=before, outcome=state, started_at=started, runner_s=seconds, **fields
    )
    Step.objects.filter(run=run).update(finished_at=now, next_due_at=None)
    run.refresh_from_db()
    run_finish(run=run, state=RunState(state))
    return run


def measured(run: Run, *values: float, probe: str = "cmips", **given: Any) -> Evidence:
    """Evidence of a probe with one sample a value."""
    flags = given.pop("flags", [])
    metric = given.pop("metric", "cmips_score")
    variant = given.pop("variant", "all")
    number = run.evidence.count() + 1
    evidence = Evidence.objects.create(
        **{
            "run": run,
            "n": number,
            "probe": probe,
            "command": probe,
            "exit_code": 0,
            "raw_gzip": b"",
            "size_bytes": 0,
            "sha256": "0" * 64,
            **given,
        }
    )
    for repeat, value in enumerate(values):
        Sample.objects.create(
            offer=run.offer, host=run.host, run=run, evidence=evidence, metric=metric,
            variant=variant, repeat=repeat, value=value, unit="CMIPS", flags=flags,
            source="measured", measured_at=clock.now(),
        )  # fmt: skip
    return evidence
