"""A campaign by offers on machines of AWS, from the budget to the last key pair."""

import datetime as dt
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum
from django.db.models.functions import Now

from backend.accounts.models import CloudAccount
from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Campaign,
    CampaignState,
    HostState,
    Resource,
    ResourceState,
    Run,
    RunState,
    Step,
)
from backend.benchmarks.services.campaigns import campaign_create, campaign_start
from backend.benchmarks.services.leases import claim_due
from backend.benchmarks.services.runs import run_cancel
from backend.catalog.models import Offer
from backend.providers.rentals import BY_SECOND, Budget, charges, round_to_column
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.fakes.aws import EXTERNAL_ID, REGION, ROLE, WORKER_KEY, WORKER_SECRET, FakeAws
from tests.fakes.fake.cloud import Fault
from tests.workers.clouds import TINY, rented_run
from tests.workers.conftest import hurry
from workers.engine import dispatch
from workers.engine.pump import Pump

pytestmark = pytest.mark.django_db(transaction=True)
AT = dt.datetime(2026, 11, 15, tzinfo=dt.UTC)
# Of 20 GiB at 0.08 a month, and of an address.
PARTS = {"disk": round_to_column(Decimal("0.08") * 20 / 730), "address": Decimal("0.005")}
# US dollars an hour.
PRICES = {"c6a.large": Decimal("0.0765"), "c6a.xlarge": Decimal("0.153")}


@pytest.fixture
def aws(tmp_path: Path, queued: list[Any], settings: Any) -> Iterator[FakeAws]:
    settings.SSH_ALLOW_PRIVATE = settings.CLOUD_ENDPOINTS = True
    settings.PROVIDER_SETTLE_S = 1
    with FakeAws(tmp_path) as server:
        server.keep_port()
        yield server


@pytest.fixture
def account(aws: FakeAws) -> CloudAccount:
    return account_create(
        workspace=factories.workspace(),
        name="Ours",
        provider="aws",
        access="assume_role",
        settings={
            "regions": [REGION],
            "zones": {REGION: [f"{REGION}a", f"{REGION}b"]},
            "endpoint_url": aws.url,
            "ssh_port": aws.machines.port,
            "role_arn": ROLE,
            "external_id": EXTERNAL_ID,
        },
        secret={"access_key_id": WORKER_KEY, "secret_access_key": WORKER_SECRET},
        max_machines=3,
        budget=None,
        actor="tester",
    )


def offers() -> list[Offer]:
    found = []
    for name, price in PRICES.items():
        slug = f"aws-{name.replace('.', '-')}-{REGION}"
        found.append(
            factories.offer(slug, name=name, arch="x86_64", region=factories.region(REGION))
        )
        factories.price(found[-1], str(price))
    region = factories.region(REGION)
    for kind, amount in (("disk", "0.08"), ("ipv4", "0.005")):
        factories.extra(kind, amount, region=region)
    return found


def campaign(**parameters: Any) -> Campaign:
    """Two machines of each offer."""
    plan = CampaignPlan(
        offers=[one.slug for one in offers()],
        profile="quick",
        probes=["cmips"],
        parameters={**TINY, "lifetime_s": 3600, **parameters},
        repeats=2,
        concurrency=3,
        budget=Budget(Decimal(2), "USD"),
    )
    workspace = factories.workspace()
    made = campaign_create(workspace=workspace, name="Two types", plan=plan, actor="tester")
    return campaign_start(campaign=made, actor="tester")


def over(of: Campaign, *, within_s: float = 120) -> list[Run]:
    """Its runs at their ends, done by this process alone."""
    pump, until = Pump(), time.monotonic() + within_s
    while time.monotonic() < until:
        runs = list(Run.objects.filter(campaign=of))
        if all(run.state in TERMINAL_STATES for run in runs):
            return runs
        for run in runs:
            hurry(run)
        pump.once()
    said = [(run.state, list(run.steps.values_list("last_error", flat=True))) for run in runs]
    raise AssertionError(f"not over: {said}")


def step_until(run: Run, state: RunState, *, calls: int = 0) -> None:
    """One step after the other until the run is in a state, and so many more of them."""
    for _ in range(50):
        run.refresh_from_db()
        if run.state == state and calls == 0:
            return
        calls -= run.state == state
        steps = Step.objects.filter(run=run, finished_at=None)
        steps.update(next_due_at=Now(), lease_until=None)
        for claim in claim_due(is_polling=False):
            dispatch.run_step(claim, lambda claim: None)
    raise AssertionError(f"still {run.state}")


def over_run(run: Run) -> None:
    for _ in range(100):
        run.refresh_from_db()
        if run.is_finished:
            return
        hurry(run)
        Pump().once()
        time.sleep(0.05)
    raise AssertionError(f"still {run.state}: {list(run.steps.values_list('last_error'))}")


def moment(seconds: float | None) -> dt.datetime:
    assert seconds is not None
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def assert_nothing_is_left(aws: FakeAws) -> None:
    assert (aws.alive(), aws.parts(), aws.machines.alive) == ([], [], {})
    assert set(Resource.objects.values_list("state", flat=True)) == {ResourceState.GONE}


def assert_paid(aws: FakeAws) -> None:
    """The ledger of each machine is what AWS recorded of it, its disk and its address."""
    for rented in aws.rented:
        resource = Resource.objects.get(pk=rented.token)
        life = (moment(rented.launched_at), moment(rented.ended_at))
        hourly = {"machine": PRICES[rented.machine_type], **PARTS}
        for kind, amount in hourly.items():
            owed = charges(BY_SECOND, amount, *life)
            booked = resource.ledger.filter(kind=kind).aggregate(Sum("amount"))["amount__sum"] or 0
            assert booked == sum(round_to_column(charge.amount) for charge in owed)
        most = charges(
            BY_SECOND, sum(hourly.values()), AT, AT + dt.timedelta(seconds=resource.lifetime_s)
        )
        assert resource.reserved_amount == round_to_column(sum(charge.amount for charge in most))


def test_campaign_measures_and_ends_a_machine_for_each_repeat_and_offer(aws, account):
    of = campaign()
    runs = over(of)
    of.refresh_from_db()
    assert (of.state, [run.state for run in runs]) == (CampaignState.DONE, [RunState.DONE] * 4)
    assert_nothing_is_left(aws)
    assert_paid(aws)
    assert sorted(rented.machine_type for rented in aws.rented) == sorted([*PRICES] * 2)
    assert {rented.token for rented in aws.rented} == {str(run.resource.pk) for run in runs}
    for run in runs:
        (rented,) = [one for one in aws.rented if one.token == str(run.resource.pk)]
        assert run.samples.filter(metric="cmips_score").count() == 2
        assert run.samples.get(metric="boot_time_s").value > 0
        assert (run.host.state, run.host.sealed_private_key) == (HostState.GONE, None)
        assert run.host.host_key == rented.machine.host_key
        assert run.resource.provider_id == rented.id
        assert run.resource.zone == f"{REGION}a"
    assert len(aws.did("AssumeRole")) == 1


def test_campaign_ends_as_whole_when_aws_is_in_trouble(aws, account):
    aws.fault(Fault.THROTTLED, times=2)
    aws.fault(Fault.CAPACITY, times=1, zone=f"{REGION}a")
    aws.fault(Fault.LOST_ANSWER, times=1)
    aws.fault(Fault.DOUBLED, times=1)
    aws.fault(Fault.LATE, times=2, seconds=0.5)
    aws.fault(Fault.SLOW_BOOT, times=1, seconds=1)
    aws.fault(Fault.TERMINATE_LOST, times=1)
    aws.fault(Fault.DISK_LEFT, times=1)
    runs = over(campaign())
    assert [run.state for run in runs] == [RunState.DONE] * 4
    assert_nothing_is_left(aws)
    assert sum(run.resource.zone == f"{REGION}b" for run in runs) == 1
    assert len(aws.rented) == 5
    assert aws.faults.count(Fault.DOUBLED) == 1


def test_machine_is_paid_when_it_was_taken_away_before_anybody_saw_it(aws, account):
    aws.fault(Fault.LOST_ANSWER, times=1)
    aws.fault(Fault.INTERRUPTED, times=1, seconds=2)
    run = rented_run(offers()[0], budget="1")
    step_until(run, RunState.LAUNCHING)
    step_until(run, RunState.LAUNCHING, calls=1)
    time.sleep(2.5)
    aws.settle()
    run_cancel(run=run, actor="tester")
    over_run(run)
    (rented,) = aws.rented
    assert run.state == RunState.CANCELLED
    assert_nothing_is_left(aws)
    assert run.resource.provider_id == rented.id
    assert run.resource.ledger.count() == 1 + len(PARTS)
    assert_paid(aws)


def test_campaign_fails_by_its_reason_when_the_external_id_is_wrong(aws, account):
    CloudAccount.objects.update(settings={**account.settings, "external_id": "of-another"})
    runs = over(campaign())
    assert {(run.state, run.failure_reason) for run in runs} == {(RunState.FAILED, "auth")}
    assert "AssumeRole: AccessDenied" in runs[0].failure_detail
    assert (aws.rented, aws.parts()) == ([], [])
    assert WORKER_SECRET not in "".join(run.failure_detail for run in runs)
