"""A run goes by the plan that it began with, whatever an upgrade changes meanwhile."""

import json
from dataclasses import replace
from typing import Any

import pytest

from backend.benchmarks.models import Host, Run, RunState, Step
from backend.benchmarks.services.leases import Claim
from backend.measure.probes import PROBES
from backend.measure.profiles import PROFILES
from tests import factories
from tests.workers.conftest import driven, tiny_run
from workers.engine import steps
from workers.engine.dispatch import run_step
from workers.engine.followed_run import take_up
from workers.remote.probes.pinned_plan import PinnedPlan
from workers.remote.probes.plan import plan

pytestmark = pytest.mark.django_db(transaction=True)


def pinned(profile: str = "standard", **parameters: Any) -> PinnedPlan:
    return PinnedPlan.of(plan(PROFILES[profile], ["cmips", "dd"], parameters, run_directory="/r"))


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_stored_plan_is_read_as_it_was(profile: str) -> None:
    before = replace(pinned(profile), hashes={"bin/cmips": "0" * 64})
    assert PinnedPlan.read(json.loads(json.dumps(before.document()))) == before
    assert before.probe_changes == []


def test_probes_of_another_version_are_named() -> None:
    before = replace(pinned(), versions={"cmips": "0", "gone": "1", "dd": PROBES["dd"].version})
    now = PROBES["cmips"].version
    assert before.probe_changes == [
        f"cmips was begun as version 0 and is read as {now}",
        "gone was begun as version 1 and is read as unknown",
    ]


def test_followed_run_goes_by_the_stored_plan(queued: Any) -> None:
    stored = replace(pinned(), deadline_s=77.0, time_cap_s=5, metrics={("cmips", "all"): "other"})
    run = factories.run(
        state=RunState.RUNNING,
        profile="standard",
        live={"directory": "/tmp/r"},
        plan=stored.document(),
    )
    step = Step.objects.create(run=run, state=RunState.RUNNING, lease_token=1)
    (one,) = take_up([Claim(step.pk, 1)])
    assert one.plan == replace(stored, rule={("cmips", "all"): stored.rule["cmips", "all"]})
    assert steps.plan_of_run(Run(profile="quick")).time_cap_s == PROFILES["quick"].time_cap_s


def upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on another version works, in which the run's plan could not even be made."""

    def unknown(*_: object, **__: object) -> None:
        raise AssertionError("the plan of a run that has begun is not made again")

    monkeypatch.setattr(steps, "plan", unknown)
    newer = {**PROBES, "cmips": replace(PROBES["cmips"], version="99")}
    monkeypatch.setattr("workers.remote.probes.pinned_plan.PROBES", newer)


def until(run: Run, state: RunState) -> None:
    """Do its steps up to that one, which is left."""
    while run.state != state:
        one_step(run)
        run.refresh_from_db()


def one_step(run: Run) -> None:
    step = run.steps.get(finished_at=None)
    Step.objects.filter(pk=step.pk).update(lease_token=step.lease_token + 1)
    run_step(Claim(step.pk, step.lease_token + 1), lambda claim: None)


def test_run_ends_by_its_own_plan_when_the_registry_changes(
    ssh_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny_run(ssh_host)
    until(run, RunState.RUNNING)
    assert run.plan is not None
    assert {"runner.sh", "plan.sh", "bin/cmips", "bin/observe"} <= set(run.plan["hashes"])
    upgraded(monkeypatch)
    driven(run)
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    # These tests may run at a nice value, which the inventory remarks.
    remarks = run.events.filter(kind="warning").exclude(detail__startswith="the login runs at nice")
    warnings = [event.detail for event in remarks]
    version = PROBES["cmips"].version
    assert warnings == [f"cmips was begun as version {version} and is read as 99"]


def test_newer_worker_adopts_a_runner_with_its_plan_and_programs(
    ssh_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny_run(ssh_host, seconds=1)
    until(run, RunState.PREPARED)
    prepared = run.plan
    steps.prepare(run, run.steps.get(finished_at=None))  # by a worker that dies before it says so
    run = Run.objects.get(pk=run.pk)
    assert run.plan == prepared

    async def newer(*_: object, **__: object) -> dict[str, bytes]:
        return {"runner.sh": b"exit 9\n", "bin/cmips": b"newer", "plan.sh": b"nothing\n"}

    monkeypatch.setattr(steps.pipeline, "bundle", newer)
    one_step(run)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert run.plan is not None
    assert {name: value for name, value in run.plan.items() if name != "hashes"} == {
        name: value for name, value in (prepared or {}).items() if name != "hashes"
    }
    assert "bin/observe" in run.plan["hashes"]
    driven(run)
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    assert run.samples.filter(metric="cmips_score").count() == 2
