"""A whole run on a rented machine, at each provider that has a REST API here: from the budget to
the verified end, by the engine alone."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from backend.benchmarks.models import HostState, ResourceState, Run, RunState
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.providers.rentals import Budget
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.e2e.rest_worlds import (
    AzureWorld,
    DigitalOceanWorld,
    GcpWorld,
    HetznerWorld,
    OsLoginWorld,
    OvhWorld,
    RestWorld,
    UpcloudWorld,
)
from tests.workers.conftest import TINY, driven

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.native]


@pytest.fixture(
    params=[
        *(GcpWorld, OsLoginWorld, AzureWorld),
        *(HetznerWorld, DigitalOceanWorld, OvhWorld, UpcloudWorld),
    ],
    ids=lambda world: world.__name__,
)
def world(request: Any, tmp_path: Path, settings: Any, queued: Any) -> Iterator[RestWorld]:
    settings.SSH_ALLOW_PRIVATE = True
    settings.CLOUD_ENDPOINTS = True
    settings.PROVIDER_SETTLE_S = 2
    with request.param(tmp_path) as made:
        yield made


def _run(world: RestWorld, **parameters: Any) -> Run:
    region = factories.region(world.region, provider_slug=world.provider)
    offer = factories.offer(
        provider_slug=world.provider, region=region, name=world.machine_type, arch="x86_64"
    )
    factories.price(offer, "0.36")
    account_create(
        workspace=factories.workspace(),
        name="cloud",
        provider=world.provider,
        max_machines=2,
        budget=None,
        actor="tester",
        **world.account(),
    )
    return rented_run_create(
        workspace=factories.workspace(),
        offer=offer,
        profile="quick",
        probes=["cmips"],
        parameters={**TINY, **parameters},
        budget=Budget(Decimal(5), "USD"),
        actor="tester",
    )


def test_run_ends_done_with_nothing_left_when_the_machine_is_rented(world):
    run = driven(_run(world), passes=60)
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert run.samples.filter(metric="cmips_score").exists()
    (life,) = world.lives()
    assert (life.token, life.provider_id) == (str(run.resource.pk), run.resource.provider_id)
    assert (world.left(), world.machines.alive) == ([], {})
    assert run.resource.state == ResourceState.GONE
    assert run.resource.ledger.exists()
    assert (run.host.state, run.host.sealed_private_key) == (HostState.GONE, None)


def test_run_ends_done_with_one_machine_when_answers_are_lost(world):
    world.api.faults.set("lost_answer", times=1)
    world.api.faults.set("slow_boot", times=1, seconds=0.5)
    world.api.faults.set("delete_lost", times=1)
    run = driven(_run(world), passes=80)
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert len(world.lives()) == 1
    assert world.left() == []


def test_run_fails_with_nothing_left_when_there_is_no_capacity(world):
    world.api.faults.set("capacity", probability=1)
    run = driven(_run(world), passes=40)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "capacity")
    assert (world.lives(), world.left()) == ([], [])
    assert not run.resource.ledger.exists()
