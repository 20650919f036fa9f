"""Workers whose clocks are minutes apart: what they decide of rented machines rests on the database's."""

import datetime as dt

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from backend.benchmarks.models import RunState, Step
from backend.benchmarks.services.leases import claim_due
from backend.core import clock
from tests.fakes.fake.cloud import Fault
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import account, offer, rented_run
from workers.engine import dispatch, rented_steps

pytestmark = pytest.mark.django_db(transaction=True)
SOON = dt.timedelta(seconds=30)
FAST = dt.timedelta(minutes=5)
SLOW = -FAST


@pytest.fixture
def provider(tmp_path, queued, settings):
    settings.SSH_ALLOW_PRIVATE = True
    settings.PROVIDER_SETTLE_S = settings.BOOT_LIMIT_S = 120
    with FakeProvider(tmp_path) as made:
        account(made)
        yield made


@pytest.fixture
def another_worker(monkeypatch):
    """From the call on it is a worker that connects anew and whose own clock is wrong by that."""

    def begin(wrong_by):
        right = timezone.now
        monkeypatch.setattr(timezone, "now", lambda: right() + wrong_by)
        connection.close()

    return begin


@pytest.fixture(params=[SLOW, FAST], ids=["slow", "fast"])
def wrong_clock(request, another_worker):
    another_worker(request.param)


def database_time():
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def stepped_once(run):
    Step.objects.filter(run=run, finished_at=None).update(next_due_at=Now(), lease_until=None)
    for claim in claim_due(is_polling=False):
        dispatch.run_step(claim, lambda claim: None)
    run.refresh_from_db()


def until(run, state):
    for _ in range(40):
        if run.state == state:
            return run
        stepped_once(run)
    raise AssertionError(f"still {run.state}: {list(run.steps.values_list('last_error'))}")


def test_time_is_that_of_the_database(wrong_clock):
    before = database_time()
    assert before <= clock.now() + dt.timedelta(milliseconds=200)
    assert clock.now() - before < SOON


def test_time_goes_on_between_two_connections():
    first = clock.now()
    connection.close()
    assert dt.timedelta(0) < clock.now() - first < SOON


def test_machine_lives_as_long_as_it_was_paid_for(provider, wrong_clock):
    run = until(rented_run(offer(), parameters={"lifetime_s": 1200}), RunState.BOOTING)
    run.resource.refresh_from_db()
    assert abs(run.resource.called_at - database_time()) < SOON
    assert run.resource.expires_at - run.resource.called_at == dt.timedelta(seconds=1200)


def test_runner_has_the_time_of_its_plan(provider, wrong_clock):
    run = until(rented_run(offer()), RunState.RUNNING)
    step = run.steps.get(state=RunState.RUNNING)
    deadline = database_time() + dt.timedelta(seconds=run.plan["deadline_s"])
    assert abs(step.deadline_at - deadline) < SOON


def test_machine_that_boots_is_not_late_for_another_worker(provider, another_worker):
    provider.cloud.fault(Fault.NO_SSHD, times=1)
    run = until(rented_run(offer()), RunState.BOOTING)
    another_worker(FAST)
    stepped_once(run)
    assert (run.state, run.failure_detail) == (RunState.BOOTING, "")
    assert 0 <= rented_steps._trouble_s(run, run.steps.get(state=RunState.BOOTING)) < 30


def test_machine_not_yet_listed_is_not_gone_for_another_worker(provider, another_worker):
    provider.cloud.fault(Fault.LATE, times=1, seconds=60)
    run = until(rented_run(offer()), RunState.BOOTING)
    another_worker(FAST)
    stepped_once(run)
    assert (run.state, run.failure_detail) == (RunState.BOOTING, "")


def test_machine_that_never_answers_ends_in_time_for_another_worker(
    provider, another_worker, settings
):
    provider.cloud.fault(Fault.NO_SSHD, times=1)
    run = until(rented_run(offer()), RunState.BOOTING)
    another_worker(SLOW)
    settings.BOOT_LIMIT_S = 0
    stepped_once(run)
    assert (run.state, run.failure_reason) == (RunState.TEARING_DOWN, "timeout")
