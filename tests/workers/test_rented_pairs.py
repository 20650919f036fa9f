"""Two rented machines that measure the network between them: real SSH servers and iperf3."""

import shutil
import time
from decimal import Decimal

import pytest
from django.db.models import Q

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Campaign,
    CampaignState,
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
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.providers.rentals import Budget
from backend.rentals.services.budgets import resource_reserve
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.e2e.aws_world import AwsWorld
from tests.e2e.rest_worlds import GcpWorld, HetznerWorld, VultrWorld
from tests.fakes.fake.cloud import Fault
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import account, offer, rented_run
from tests.workers.conftest import hurry
from workers.engine import dispatch
from workers.engine.pump import Pump

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not shutil.which("iperf3"), reason="needs iperf3"),
]
TINY = {"network_s": 1, "ping_count": 2, "repeats": 1, "quiet_budget_s": 0}


@pytest.fixture(autouse=True)
def allowed(queued, settings):
    settings.SSH_ALLOW_PRIVATE = settings.CLOUD_ENDPOINTS = True
    settings.PROVIDER_SETTLE_S = 1


@pytest.fixture
def provider(tmp_path):
    with FakeProvider(tmp_path) as made:
        yield made


def pair(*offers, pairs="twins", **given):
    """The client's and the server's run of a campaign that rents a pair."""
    plan = CampaignPlan(
        **{
            "offers": [one.slug for one in offers],
            "profile": "quick",
            "probes": ["network"],
            "parameters": TINY,
            "network_pairs": pairs,
            "install_tools": False,
            "budget": Budget(Decimal(5), "USD"),
            **given,
        }
    )
    made = campaign_create(workspace=factories.workspace(), name="Pair", plan=plan, actor="tester")
    campaign_start(campaign=made, actor="tester")
    client = Run.objects.get(campaign=made, server__isnull=False)
    return client, client.server


def over(*runs, within_s=90):
    """The runs at their ends."""
    pump, until = Pump(), time.monotonic() + within_s
    Step.objects.filter(run__in=runs).update(lease_until=None)  # messages on the way are lost
    while time.monotonic() < until:
        for run in runs:
            run.refresh_from_db()
        if all(run.state in TERMINAL_STATES for run in runs):
            return
        for run in runs:
            hurry(run)
        pump.once()
    said = [(run.state, list(run.steps.values_list("last_error", flat=True))) for run in runs]
    raise AssertionError(f"not over: {said}")


def assert_nothing_left(provider):
    assert provider.cloud.alive() == []
    assert set(Resource.objects.values_list("state", flat=True)) == {ResourceState.GONE}


def test_pair_measures_the_network_and_both_machines_end(provider, caplog):
    account(provider)
    client, server = pair(offer())
    over(client, server)
    assert [(run.state, run.failure_detail) for run in (client, server)] == [("done", "")] * 2
    rates = client.samples.filter(metric="net_tcp_bits_per_s")
    assert set(rates.values_list("variant", flat=True)) >= {"tcp_single", "tcp_single_reverse"}
    # A group goes after its machine, which is no trouble.
    assert "still needs it" not in caplog.text
    # About what arrived, each of its own: a second or so in each direction.
    for run, ending in ((client, ""), (server, "_reverse")):
        arrived = rates.filter(variant=f"tcp_single{ending}").get().parameters["bytes"]
        assert run.sent_bytes > 0.9 * arrived
    assert not server.samples.exclude(metric="boot_time_s").exists()
    assert Campaign.objects.get().state == CampaignState.DONE
    assert_nothing_left(provider)


def test_run_is_done_once_all_is_sent_that_may_be_and_pays_for_it(provider):
    cloud = account(provider)
    cloud.settings["regions"].append("fake-2")
    cloud.save()
    factories.extra("egress", "0.09", provider_slug="fake")
    there = offer("there", region=factories.region("fake-2", provider_slug="fake"))
    most = 50 * 2**20
    limited = {**TINY, "network_s": 2, "sent_bytes": most}
    client, server = pair(offer(), there, pairs="ring", parameters=limited)
    over(client, server)
    for run in (client, server):
        assert (run.state, run.failure_detail) == ("done", "")
        assert run.sent_bytes > most
        assert run.resource.reserved_amount > Decimal("0.36")
        (entry,) = run.resource.ledger.filter(kind="traffic")
        assert entry.amount == Decimal("0.09") * run.sent_bytes / 10**9
    said = " ".join(client.events.values_list("detail", flat=True))
    for direction in ("forward", "reverse"):
        assert f"all {most} bytes are sent that one end of this run may send ({direction})" in said
    assert_nothing_left(provider)


@pytest.fixture(params=[AwsWorld, GcpWorld, HetznerWorld, VultrWorld], ids=lambda one: one.__name__)
def world(request, tmp_path):
    with request.param(tmp_path) as made:
        yield made


def test_pair_is_let_in_at_each_provider_and_nothing_is_left(world):
    region = factories.region(world.region, provider_slug=world.provider)
    type_rented = factories.offer(
        provider_slug=world.provider, region=region, name=world.machine_type, arch="x86_64"
    )
    factories.price(type_rented, "0.36")
    account_create(
        workspace=factories.workspace(), name="cloud", provider=world.provider, max_machines=2,
        budget=None, actor="tester", **world.account(),
    )  # fmt: skip
    client, server = pair(type_rented)
    over(client, server, within_s=150)
    assert [(run.state, run.failure_detail) for run in (client, server)] == [("done", "")] * 2
    assert client.samples.filter(metric="net_tcp_bits_per_s").exists()
    (said,) = client.events.filter(kind="peer").values_list("detail", flat=True)
    opened = {"aws": "security group", "gcp": "firewall rule"}.get(world.provider, "no firewall")
    assert opened in said
    at = f"{world.machine_type} in {client.resource.zone or world.region}"
    kind = "zone" if client.resource.zone else "region"
    assert said.startswith(f"{at} to {at}, in one {kind}; ")
    assert len(world.lives()) == 2
    assert (world.left(), world.machines.alive) == ([], {})


# --- when one of them fails -------------------------------------------------------------------------


def stepped(run, until):
    """Both runs go on, step by step, until this one is in that state."""
    both = Q(run__in=[run, getattr(run, "client", None) or run.server])
    for _ in range(200):
        run.refresh_from_db()
        if run.state == until:
            return
        waiting = Step.objects.filter(both, finished_at=None, next_due_at__isnull=False)
        waiting.update(next_due_at=clock.now(), lease_until=None)
        for claim in claim_due(is_polling=False):
            dispatch.run_step(claim, lambda claim: None)
        time.sleep(0.02)
    raise AssertionError(f"still {run.state}")


ON_THE_WAY = ["queued", "budget_reserved", "launching", "booting", "reachable", "prepared"]


@pytest.mark.parametrize("who", ["client", "server"])
@pytest.mark.parametrize("state", [*ON_THE_WAY, "running"])
def test_both_machines_end_when_one_run_is_cancelled(provider, who, state):
    account(provider)
    client, server = pair(offer())
    # The server measures nothing itself: it is cancelled while the client does.
    stepped(client if state == "running" or who == "client" else server, state)
    run_cancel(run=client if who == "client" else server, actor="tester")
    over(client, server)
    assert {client.state, server.state} <= {RunState.CANCELLED, RunState.FAILED}
    assert_nothing_left(provider)


def test_pair_ends_done_when_its_workers_are_killed_at_every_stage(provider, monkeypatch):
    """After the work of a step and before it is written; another worker takes the step up."""
    account(provider)
    client, server = pair(offer())
    killed = set()

    def written(claim, outcome, send):
        step = Step.objects.get(pk=claim.step_id)
        if (step.run_id, step.state) in killed:
            write(claim, outcome, send)
        else:
            killed.add((step.run_id, step.state))
            Step.objects.filter(pk=step.pk).update(lease_until=clock.now())

    write = dispatch._write
    monkeypatch.setattr(dispatch, "_write", written)
    over(client, server)
    assert [(run.state, run.failure_detail) for run in (client, server)] == [("done", "")] * 2
    ends = {"tearing_down", "verified_gone"}
    assert {state for run_id, state in killed if run_id == server.pk} == {*ON_THE_WAY, *ends}
    assert len(killed) == len(ON_THE_WAY) * 2 + len(ends) * 2 + len({"collecting", "parsed"})
    assert_nothing_left(provider)
    assert len([row for row in provider.cloud.record() if row["kind"] == "machine"]) == 2


@pytest.mark.parametrize("who", ["client", "server"])
def test_both_machines_end_when_one_is_taken_away(provider, who):
    account(provider)
    client, server = pair(offer())
    stepped(client, RunState.RUNNING)
    taken = client if who == "client" else server
    provider.cloud.interrupt(int(taken.resource.provider_id.rpartition("-")[2]))
    over(client, server)
    assert {client.state, server.state} == {RunState.FAILED}
    assert {client.failure_reason, server.failure_reason} == {"interrupted"}
    assert_nothing_left(provider)


def test_no_machine_is_rented_when_only_one_of_a_pair_may_be(provider):
    cloud = account(provider, max_machines=2)
    blocking = rented_run(offer())
    resource_reserve(run=blocking)
    client, server = pair(Offer.objects.get(), pairs="twins")
    for _ in range(5):
        hurry(server)
        Pump().steps(wait_s=0)
    server.refresh_from_db()
    assert (server.state, client.state) == (RunState.QUEUED, RunState.QUEUED)
    assert set(cloud.resources.exclude(run=blocking).values_list("state", flat=True)) == {"wanted"}


def test_pair_is_refused_when_its_account_may_have_one_machine(provider):
    account(provider, max_machines=1)
    with pytest.raises(InvalidValue, match="may have one"):
        pair(offer())


def test_pair_with_more_vcpus_than_its_account_allows_does_not_wait(provider):
    account(provider, max_vcpus=6)
    client, server = pair(offer(vcpu_count=4))
    over(client, server)
    assert {client.failure_reason, server.failure_reason} == {"quota"}
    assert "8 together" in server.failure_detail
    assert_nothing_left(provider)


def test_pair_does_not_wait_for_capacity_while_a_machine_is_paid_for(provider):
    account(provider)
    client, server = pair(offer())
    stepped(client, RunState.LAUNCHING)
    provider.cloud.fault(Fault.CAPACITY, times=100)
    over(client, server)
    assert {client.failure_reason, server.failure_reason} == {"capacity"}
    assert_nothing_left(provider)
