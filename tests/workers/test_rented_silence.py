"""A rented run whose provider says nothing, says it late, or says that the machine is no more."""

import datetime as dt
from dataclasses import replace

import pytest

from backend.benchmarks.models import Resource, ResourceState, Run, RunState, Step
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.providers.registry import provider as provider_record
from tests.fakes.fake.cloud import Fault
from tests.fakes.fake_provider import FakeProvider
from tests.workers import clouds
from tests.workers.reaping import called, created
from workers.engine import rented_steps
from workers.engine.steps import Move, Wait
from workers.rentals import provider_calls
from workers.rentals.provider_calls import NoCallLeft

pytestmark = pytest.mark.django_db(transaction=True)
AGES = {"just now": dt.timedelta(0), "long ago": dt.timedelta(hours=2)}


@pytest.fixture
def cloud(tmp_path, queued, settings):
    settings.PROVIDER_SETTLE_S = 600
    provider = FakeProvider(tmp_path)
    clouds.account(provider, name="main", access="workload_identity")
    return provider.cloud


@pytest.fixture
def run(cloud):
    return Run.objects.get(resource=created(clouds.offer()))


def aged(run, age):
    """The same run, whose machine was asked for and launched so long ago."""
    then = clock.now() - AGES[age]
    Resource.objects.filter(run=run).update(called_at=then, launched_at=then)
    return Run.objects.get(pk=run.pk)


# --- whether the machine is no more -----------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.AUTH, Fault.THROTTLED])
def test_run_goes_on_while_nobody_says_that_its_machine_is_gone(run, cloud, fault):
    cloud.fault(fault, times=1)
    assert rented_steps.why_ended(run) is None
    assert len(cloud.log("call", "describe")) == 1


def test_run_goes_on_while_its_account_has_no_call_left(run, monkeypatch):
    record = replace(provider_record("fake"), calls_per_s=1 / 3600, calls_at_once=0)
    monkeypatch.setattr(provider_calls, "provider", lambda _: record)
    assert rented_steps.why_ended(run) is None


def test_run_of_a_machine_that_is_closed_ends_without_a_question(run, cloud):
    asked = len(cloud.log("call"))
    Resource.objects.filter(run=run).update(state=ResourceState.GONE)
    assert rented_steps.why_ended(Run.objects.get(pk=run.pk)) == "the machine is gone"
    assert len(cloud.log("call")) == asked


@pytest.mark.parametrize(
    ("age", "why"), [("just now", None), ("long ago", "the provider does not know the machine")]
)
def test_machine_that_is_not_listed_is_no_more_only_when_it_is_settled(run, age, why):
    """Providers list what they make after a while, some after minutes."""
    Resource.objects.filter(run=run).update(provider_id="machine-99")
    assert rented_steps.why_ended(aged(run, age)) == why


def test_machine_that_was_taken_away_is_named_with_its_reason(run, cloud):
    cloud.interrupt(int(run.resource.provider_id.rpartition("-")[2]))
    why = "the provider ended the machine: interrupted by the provider"
    assert rented_steps.why_ended(run) == why


# --- how long trouble is waited out -----------------------------------------------------------------


def handled(error, run, state):
    step = Step.objects.create(run=run, state=state)
    Step.objects.filter(pk=step.pk).update(created_at=run.resource.called_at)

    def handler(*_):
        raise error

    return rented_steps.patient(handler)(run, Step.objects.get(pk=step.pk))


def trouble(*, retryable=True):
    return DriverError(Reason.UNREACHABLE, "out of order", retryable=retryable)


def test_trouble_before_the_first_login_is_waited_out(run):
    waited = handled(trouble(), aged(run, "just now"), RunState.BOOTING)
    assert isinstance(waited, Wait)
    assert waited.is_progress


@pytest.mark.parametrize(
    ("age", "state", "error", "retryable"),
    [
        # A machine that nobody can look at holds its budget: after its time to boot it is left.
        ("long ago", RunState.BOOTING, trouble(), False),
        ("just now", RunState.BOOTING, trouble(retryable=False), False),
        # Its end is tried for ever.
        ("long ago", RunState.TEARING_DOWN, trouble(), True),
    ],
)
def test_trouble_that_is_not_waited_out_is_the_steps(run, age, state, error, retryable):
    with pytest.raises(DriverError, match="out of order") as caught:
        handled(error, aged(run, age), state)
    assert (caught.value.reason, caught.value.retryable) == (Reason.UNREACHABLE, retryable)


def test_empty_bucket_is_waited_for_also_at_the_end_of_a_machine(run):
    waited = handled(NoCallLeft(7.0), aged(run, "long ago"), RunState.TEARING_DOWN)
    assert isinstance(waited, Wait)
    assert waited.is_progress
    assert waited.seconds == pytest.approx(7, rel=0.25)


# --- a launch that takes longer than its machine would live -----------------------------------------


def test_launch_past_its_own_expiry_asks_for_no_machine(cloud):
    """Its machine would end itself at once, and another expiry would be another request."""
    resource = called(clouds.offer())
    past = clock.now() - dt.timedelta(seconds=1)
    Resource.objects.filter(pk=resource.pk).update(expires_at=past)
    run = Run.objects.get(resource=resource)
    step = Step.objects.create(run=run, state=RunState.LAUNCHING, last_error="no answer")
    moved = rented_steps.HANDLERS[RunState.LAUNCHING](run, step)
    assert isinstance(moved, Move)
    assert moved.target == RunState.TEARING_DOWN
    assert moved.fields["failure_reason"] == Reason.TIMEOUT
    assert moved.fields["failure_detail"].endswith("no answer")
    assert (cloud.log("call"), cloud.alive()) == ([], [])
