"""Claims, leases and fences on a real PostgreSQL, with several connections at once."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from backend.benchmarks.models import RunState, Step
from backend.benchmarks.services.leases import (
    Claim,
    LeaseLost,
    claim_due,
    fence,
    release,
    renew_lease,
)
from backend.core import clock
from tests import factories
from workers.engine import dispatch

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Nothing here waits for a message."""


def step(state=RunState.QUEUED, **given):
    run = factories.run(state=state)
    return Step.objects.create(run=run, state=state, next_due_at=clock.now(), **given)


def never(claim):
    raise AssertionError(f"{claim} was sent on")


def apart(work):
    """Run in a thread with a database connection of its own."""

    def closed(*arguments):
        try:
            return work(*arguments)
        finally:
            connection.close()

    return closed


def test_claim_gives_each_step_to_exactly_one_of_two_claimers():
    steps = {step().pk for _ in range(40)}
    gate = threading.Barrier(2)

    @apart
    def claimer(_):
        gate.wait()
        found = []
        while claims := claim_due(is_polling=False, limit=3):
            found += claims
        return found

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(claimer, range(2))
    assert len(first) + len(second) == 40
    assert {claim.step_id for claim in first + second} == steps


def test_claim_skips_a_row_that_another_transaction_holds():
    held, free = step(), step()
    with transaction.atomic():
        Step.objects.select_for_update().get(pk=held.pk)
        with ThreadPoolExecutor(1) as pool:
            claims = pool.submit(apart(lambda: claim_due(is_polling=False))).result(timeout=5)
    assert claims == [Claim(free.pk, 1)]


def test_claim_takes_teardowns_first_however_long_others_are_due():
    waiting = [step() for _ in range(3)]
    ending = step(RunState.TEARING_DOWN)
    claims = claim_due(is_polling=False, limit=2)
    assert [claim.step_id for claim in claims] == [ending.pk, waiting[0].pk]


def test_claim_leaves_out_what_is_leased_later_or_finished():
    past, future = clock.now() - dt.timedelta(minutes=1), clock.now() + dt.timedelta(minutes=1)
    expired = step(lease_until=past, lease_token=7)
    step(lease_until=future)
    step(finished_at=past)
    later = step()
    Step.objects.filter(pk=later.pk).update(next_due_at=future)
    running = step(RunState.RUNNING)
    assert claim_due(is_polling=False) == [Claim(expired.pk, 8)]
    assert claim_due(is_polling=True) == [Claim(running.pk, 1)]


def test_claim_counts_attempts_and_sets_the_lease_by_the_database_clock(settings):
    settings.LEASE_S = 30
    made = step()
    claim_due(is_polling=False)
    made.refresh_from_db()
    assert (made.attempt, made.lease_token) == (1, 1)
    left = Step.objects.annotate(now=Now()).values_list("lease_until", "now").get(pk=made.pk)
    lease_until, now = left
    assert lease_until is not None
    assert 28 < (lease_until - now).total_seconds() <= 30


def test_fence_refuses_a_token_that_was_given_out_again():
    made = step()
    (old,) = claim_due(is_polling=False)
    Step.objects.filter(pk=made.pk).update(lease_until=clock.now() - dt.timedelta(seconds=1))
    (new,) = claim_due(is_polling=False)
    with pytest.raises(LeaseLost), fence(old):
        pass
    with pytest.raises(LeaseLost):
        release(old)
    with fence(new) as held:
        assert held.pk == made.pk


def test_fence_holds_off_the_next_claimer_until_the_write_is_done():
    """The old owner writes while its lease has run out: the new claim comes after, or not at all."""
    made = step(lease_until=clock.now() - dt.timedelta(seconds=1), lease_token=1)
    with fence(Claim(made.pk, 1)):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(apart(lambda: claim_due(is_polling=False))).result(timeout=5) == []
        Step.objects.filter(pk=made.pk).update(finished_at=Now())
    assert claim_due(is_polling=False) == []


def test_finished_step_cannot_be_renewed():
    made = step(finished_at=clock.now(), lease_token=1)
    with pytest.raises(LeaseLost):
        renew_lease(Claim(made.pk, 1))


def test_release_makes_a_step_due_after_its_wait_and_keeps_the_error():
    made = step()
    (claim,) = claim_due(is_polling=False)
    release(claim, after_s=60, error="unreachable: no route")
    made.refresh_from_db()
    assert (made.lease_until, made.attempt) == (None, 1)
    assert made.last_error == "unreachable: no route"
    assert 58 < (made.next_due_at - clock.now()).total_seconds() <= 60


def test_message_that_comes_twice_moves_the_run_once():
    made = step()
    (claim,) = claim_due(is_polling=False)
    passed_on: list[Claim | None] = []
    dispatch.run_step(claim, passed_on.append)
    dispatch.run_step(claim, passed_on.append)
    made.run.refresh_from_db()
    assert made.run.state == RunState.REACHABLE
    following = made.run.steps.get(state=RunState.REACHABLE)
    assert passed_on == [Claim(following.pk, 1)]


def test_message_after_its_lease_was_taken_over_changes_nothing():
    made = step()
    (late,) = claim_due(is_polling=False)
    Step.objects.filter(pk=made.pk).update(lease_token=2)
    dispatch.run_step(late, never)
    made.run.refresh_from_db()
    assert made.run.state == RunState.QUEUED


def test_message_for_a_running_run_is_dropped_and_leaves_it_to_the_poller():
    made = step(state=RunState.RUNNING)
    (claim,) = claim_due(is_polling=True)
    dispatch.run_step(claim, never)
    made.refresh_from_db()
    assert (made.lease_token, made.finished_at, made.last_error) == (claim.token, None, "")
    assert made.lease_until > clock.now()


def test_two_workers_with_the_same_claim_move_the_run_once():
    made = step()
    (claim,) = claim_due(is_polling=False)
    gate = threading.Barrier(2)
    passed_on: list[Claim | None] = []

    @apart
    def worker(_):
        gate.wait()
        dispatch.run_step(claim, passed_on.append)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(worker, range(2)))
    assert made.run.steps.count() == 2
    assert len(passed_on) == 1


def test_tick_sends_due_steps_once_and_asks_for_a_poller(queued):
    made, running = step(), step(RunState.RUNNING)
    assert dispatch.tick() == 1
    assert queued == [
        ("workers.run_step", {"step_id": made.pk, "token": 1}),
        ("workers.poll_steps", {}),
    ]
    queued.clear()
    assert dispatch.tick() == 0  # the first is leased; the poller has not come yet
    assert queued == [("workers.poll_steps", {})]
    running.refresh_from_db()
    assert running.lease_until is None
