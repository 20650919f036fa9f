"""A copy made while machines are rented is put in another place when the first is lost: nothing that
was stored before is lost, no machine is left, nothing is there twice."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Evidence,
    Resource,
    ResourceState,
    Run,
    RunState,
    Sample,
)
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.catalog.models import Offer
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.e2e.chaos_form import LEASE_S, NOTES
from tests.e2e.stack import Database, Stack, eventually
from tests.e2e.worlds import FakeWorld

pytestmark = [pytest.mark.serial, pytest.mark.native]
LIMITS = {"REAP_S": "2", "PROVIDER_SETTLE_S": "3", "BOOT_LIMIT_S": "10", "CLOUD_ENDPOINTS": "1"}
KEY = b"backup key of thirty-two bytes.."
WITHIN_S = 180


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FakeWorld]:
    with FakeWorld(tmp_path) as made:
        yield made


@pytest.fixture
def offer(make_stack: Any, queued: list[Any], world: FakeWorld) -> Offer:
    region = factories.region(world.region, provider_slug=world.provider)
    made = factories.offer(
        provider_slug=world.provider, region=region, name=world.machine_type, arch="x86_64"
    )
    factories.price(made, "0.12")
    with override_settings(CLOUD_ENDPOINTS=True):
        account_create(
            workspace=default_workspace(),
            name=world.provider,
            provider=world.provider,
            max_machines=4,
            budget=None,
            actor="tester",
            **world.account(),
        )
    return made


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = Database(tmp_path_factory.mktemp("elsewhere"))
    try:
        with made.redirected():
            made.create()
        yield made
    finally:
        made.remove()


def _begin(offer: Offer, count: int) -> None:
    for _ in range(count):
        rented_run_create(
            workspace=default_workspace(),
            offer=offer,
            profile="quick",
            probes=["cmips"],
            parameters={"seconds": 0.2, "repeats": 2, "quiet_budget_s": 0},
            budget=None,
            actor="tester",
        )


def _stored() -> dict[str, set[tuple[Any, ...]]]:
    """What runs that are done have left behind."""
    done = Run.objects.filter(state=RunState.DONE)
    return {
        "runs": set(done.values_list("pk", "offer__slug")),
        "samples": set(
            Sample.objects.filter(run__in=done).values_list("run", "metric", "repeat", "value")
        ),
        "evidence": set(Evidence.objects.filter(run__in=done).values_list("run", "n", "sha256")),
    }


def _done() -> int:
    return Run.objects.filter(state=RunState.DONE).count()


@override_settings(BACKUP_KEY=KEY)
def test_restored_copy_ends_what_was_rented_before_it(
    make_stack, offer, world, elsewhere, tmp_path
):
    lost: Stack = make_stack(LEASE_S, LIMITS)
    _begin(offer, 8)
    eventually(lambda: _done() >= 2 and bool(world.left()), f"two runs: {lost.said()}")
    call_command("backup", str(tmp_path / "copies"))
    before = _stored()
    # More is rented and measured, of which the copy does not know; then all is gone at once.
    at_copy = len(world.lives())
    eventually(lambda: len(world.lives()) > at_copy, f"one more machine: {lost.said()}")
    lost.kill_all()
    assert world.left(), "nothing was rented when the place was lost"
    began = time.monotonic()

    (copy,) = [one for one in (tmp_path / "copies").iterdir() if one.suffix == ".sealed"]
    with elsewhere.redirected():
        call_command("restore", str(copy))
        call_command("cloud", "adopt")
        stack = Stack(tmp_path, elsewhere, lease_s=LEASE_S, settings=LIMITS)
        stack.up("broker", "worker", "beat")
        try:
            eventually(
                lambda: (
                    not Run.objects.exclude(state__in=TERMINAL_STATES).exists()
                    and not world.left()
                    and not Resource.objects.exclude(state=ResourceState.GONE).exists()
                ),
                f"an end: {world.left()} {stack.said()}",
                within_s=WITHIN_S,
            )
        finally:
            stack.kill_all()
        # A machine that ended between the copy and the loss took the results of its run with it.
        failed = Run.objects.exclude(state=RunState.DONE).values_list("state", "failure_reason")
        assert set(failed) <= {(RunState.FAILED, "interrupted"), (RunState.FAILED, "timeout")}
        after = _stored()
        assert all(before[kind] <= after[kind] for kind in before)
        repeats = Counter(Sample.objects.values_list("run", "metric", "variant", "repeat"))
        assert set(repeats.values()) == {1}
        assert all(life.ended for life in world.lives())
        NOTES.append(
            f"restore drill: {len(before['runs'])} runs done before the copy, all kept; "
            f"{len(after['runs'])} of 8 done, {len(failed)} failed for a machine that was gone; "
            f"{len(world.lives())} machines rented, none left; "
            f"{time.monotonic() - began:.0f} s from the loss to the end"
        )
