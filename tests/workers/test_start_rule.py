"""Which queued run may begin: one at a time on a host, its peer included, in the order of asking."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from backend.benchmarks.models import Campaign, HostState, Run, RunState, Step
from backend.benchmarks.services.leases import claim_due
from backend.benchmarks.services.runs import run_cancel, run_create, run_finish
from backend.foundation.errors import InvalidValue
from tests import factories
from workers.engine import dispatch

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Messages are recorded."""


def made(host, peer=None, **given):
    parameters = {} if peer is None else {"peer": str(peer.pk)}
    probes = None if peer is None else ["network"]
    return run_create(
        host=host, profile="quick", probes=probes, parameters=parameters, actor="tester", **given
    )


def hosts(count):
    return [factories.host() for _ in range(count)]


def campaign(concurrency):
    return Campaign.objects.create(
        workspace=factories.workspace(), name="c", profile="quick", concurrency=concurrency
    )


def due(*runs):
    """Which of the runs are due, by their place in the arguments."""
    first = Step.objects.filter(state=RunState.QUEUED, finished_at=None, next_due_at__isnull=False)
    found = set(first.values_list("run_id", flat=True))
    return [number for number, run in enumerate(runs) if run.pk in found]


def ended(run):
    """The run has begun, and is over."""
    Step.objects.filter(run=run).update(finished_at="2026-01-01T00:00:00Z")
    Run.objects.filter(pk=run.pk).update(state=RunState.VERIFIED_GONE)
    run.refresh_from_db()
    run_finish(run=run, state=RunState.DONE)


def test_run_waits_for_one_that_has_begun_on_its_host():
    """Whose first step is closed by then, so that only the run's own state says so."""
    [host] = hosts(1)
    first = made(host)
    Step.objects.filter(run=first).update(finished_at="2026-01-01T00:00:00Z")
    Run.objects.filter(pk=first.pk).update(state=RunState.RUNNING)
    second = made(host)
    assert due(first, second) == []
    ended(first)
    assert due(second) == [0]


# --- peers ----------------------------------------------------------------------------------------


def test_peer_is_a_trusted_host_of_the_same_workspace():
    host, peer = hosts(2)
    run = made(host, peer)
    assert (run.peer, run.parameters["peer"]) == (peer, str(peer.pk))


def test_run_without_a_network_test_keeps_its_peer_busy_too():
    host, peer = hosts(2)
    run = run_create(
        host=host, profile="quick", probes=["cmips"], parameters={"peer": str(peer.pk)}, actor="t"
    )
    assert run.peer == peer


@pytest.mark.parametrize(
    ("state", "words"),
    [(HostState.UNVERIFIED, "not approved"), (HostState.KEY_CHANGED, "not approved")],
)
def test_peer_without_an_approved_key_is_refused(state, words):
    with pytest.raises(InvalidValue, match=words) as raised:
        made(factories.host(), factories.host(state=state))
    assert raised.value.field == "/parameters/peer"


def test_host_cannot_be_its_own_peer_nor_an_unknown_one():
    host = factories.host()
    with pytest.raises(InvalidValue, match="its own peer"):
        made(host, host)
    stranger = factories.host()
    stranger.delete()
    stranger.pk = "5f0c4b6e-0000-4000-8000-000000000000"
    with pytest.raises(InvalidValue, match="no host has the id 5f0c") as raised:
        made(host, stranger)
    assert raised.value.field == "/parameters/peer"
    assert not Run.objects.exists()


def test_network_probe_by_name_needs_a_peer_and_is_left_out_otherwise():
    host = factories.host()
    with pytest.raises(InvalidValue, match="needs a peer") as raised:
        run_create(host=host, profile="quick", probes=["network"], parameters={}, actor="t")
    assert raised.value.field == "/probes"
    assert made(host).peer is None


# --- the rule -------------------------------------------------------------------------------------


def test_run_occupies_its_host_and_its_peer():
    a, b, c, d = hosts(4)
    runs = [made(a, b), made(b), made(c, a), made(d)]
    assert due(*runs) == [0, 3]
    ended(runs[0])
    assert due(*runs) == [1, 2, 3]


def test_younger_run_waits_behind_an_older_one_for_the_same_host():
    a, b, c = hosts(3)
    runs = [made(a), made(a, b), made(b), made(c)]
    assert due(*runs) == [0, 3]  # b is free, but the second was there first
    run_cancel(run=runs[1], actor="tester")
    assert due(*runs) == [0, 2, 3]


def test_both_hosts_are_given_to_the_next_when_a_pair_ends():
    a, b = hosts(2)
    runs = [made(a, b), made(a), made(b), made(b, a)]
    ended(runs[0])
    assert due(*runs) == [1, 2]
    ended(runs[1])
    assert due(*runs) == [2]
    ended(runs[2])
    assert due(*runs) == [3]


def test_campaign_has_a_limited_number_of_active_runs():
    a, b, c, d = hosts(4)
    of = campaign(2)
    runs = [made(host, campaign=of, round=3) for host in (a, b, c)] + [made(d)]
    assert [run.round for run in runs] == [3, 3, 3, 0]
    assert due(*runs) == [0, 1, 3]
    ended(runs[0])
    assert due(*runs) == [1, 2, 3]


def test_end_of_a_run_lets_the_campaign_go_on_on_another_host():
    a, b = hosts(2)
    of = campaign(1)
    busy = made(b)
    runs = [made(a, campaign=of), made(b, campaign=of), made(a, campaign=of)]
    ended(runs[0])
    assert due(*runs) == [2]  # the second waits for its host, and does not hold up the third
    ended(busy)
    assert due(*runs) == [2]  # no room
    ended(runs[2])
    assert due(*runs) == [1]


def test_run_whose_host_lost_its_trust_ends_before_anything_is_done():
    a, b = hosts(2)
    run, following = made(a, b), made(b)
    b.state = HostState.KEY_CHANGED
    b.save()
    (claim,) = claim_due(is_polling=False)
    dispatch.run_step(claim, lambda claim: None)
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert b.name in run.failure_detail
    assert due(following) == [0]


# --- many at once ---------------------------------------------------------------------------------


def apart(work):
    """Run in a thread with a database connection of its own."""

    def closed(*arguments):
        try:
            return work(*arguments)
        finally:
            connection.close()

    return closed


def occupied():
    """Hosts of runs that are active or due, each as often as it is involved."""
    first = Step.objects.filter(state=RunState.QUEUED, finished_at=None, next_due_at__isnull=False)
    runs = Run.objects.filter(pk__in=first.values("run_id"))
    return [host for run in runs for host in (run.host_id, run.peer_id) if host]


def test_crossing_pairs_started_and_cancelled_at_once_do_not_collide():
    """Four threads make, cancel and end runs of pairs in both directions; two in one transaction
    in opposite orders. Nobody waits in a circle, and in the end every run has had its turn."""
    some = hosts(4)
    of = campaign(3)
    gate = threading.Barrier(4)

    @apart
    def worker(seed):
        chance = random.Random(seed)
        gate.wait()
        for _ in range(3):
            pairs = [chance.sample(some, 2) for _ in range(2)]
            with transaction.atomic():
                runs = [made(host, peer, campaign=of) for host, peer in pairs]
            assert len(set(occupied())) == len(occupied())
            run_cancel(run=chance.choice(runs), actor="tester")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    left = Run.objects.filter(state=RunState.QUEUED)
    turns = 0
    while left.exists():
        hosts_now = occupied()
        assert 0 < len(set(hosts_now)) == len(hosts_now)
        first = Step.objects.filter(finished_at=None, next_due_at__isnull=False).first()
        assert first is not None
        ended(first.run)
        turns += 1
    assert turns == 12


def test_cancel_and_first_step_of_the_same_run_do_not_wait_for_each_other():
    """The worker holds the step and wants the run; the cancel takes them in the same order."""
    for _ in range(10):
        run = made(factories.host())
        (claim,) = claim_due(is_polling=False)
        gate = threading.Barrier(2)

        @apart
        def begin(claim=claim, gate=gate):
            gate.wait()
            dispatch.run_step(claim, lambda claim: None)

        @apart
        def cancel(run=run, gate=gate):
            gate.wait()
            run_cancel(run=run, actor="tester")

        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(begin), pool.submit(cancel)]:
                done.result(timeout=20)
        run.refresh_from_db()
        assert run.is_cancel_requested
        assert run.state in {RunState.CANCELLED, RunState.REACHABLE}
