"""The reaper when single calls of a look fail or have to wait: nothing is closed that may still cost."""

import time
from dataclasses import replace

import pytest

from backend.benchmarks.calc.rented_parts import LedgerKind
from backend.benchmarks.models import Host, Resource, ResourceState
from backend.foundation.errors import DriverError, Reason
from backend.providers.registry import provider as provider_record
from backend.rentals.selectors.leaks import resources_left
from backend.rentals.services.resources import resource_mark_created
from tests.fakes.fake.cloud import FakeCloud, Fault
from tests.workers import clouds
from tests.workers.reaping import (
    account,
    called,
    cloud,
    created,
    end_run,
    launched,
    look,
    machines,
    offer,
    provider,
    until_clean,
)
from workers.rentals import provider_calls, reaper

__all__ = ["account", "cloud", "offer", "provider"]
pytestmark = pytest.mark.django_db(transaction=True)


def state_of(resource):
    return Resource.objects.get(pk=resource.pk).state


def gone_machine(offer, cloud):
    """One of an ended run that is over, of which our books do not know that yet."""
    resource = created(offer)
    for row in sorted(cloud.alive(), key=lambda row: row["kind"] != "machine"):
        cloud.terminate(row["number"])
    end_run(resource)
    return resource


def refusing(monkeypatch, call, resource):
    """The provider refuses the call for this machine, and answers all others."""
    real = getattr(FakeCloud, call)

    def refused(self, *given, **named):
        asked = f"machine-{given[0]}" if given else named["token"]
        if asked in {str(resource.pk), resource.provider_id}:
            raise DriverError(Reason.UNREACHABLE, "out of order", retryable=True)
        return real(self, *given, **named)

    monkeypatch.setattr(FakeCloud, call, refused)


# --- calls that fail --------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["describe", "inventory"])
def test_machine_that_cannot_be_asked_for_stays_in_our_books(
    account, offer, cloud, monkeypatch, call
):
    for _ in range(2):
        gone_machine(offer, cloud)
    silent, other = resources_left(account)
    if call == "describe":
        # As of a provider that forgets at once what is over: only its own page says so.
        real = FakeCloud.inventory
        monkeypatch.setattr(
            FakeCloud, "inventory", lambda self, tag, **named: real(self, tag, **named)[:0]
        )
    with monkeypatch.context() as refused:
        refusing(refused, call, silent)
        seen = look()
    assert seen.error == f"{silent.provider_id}: unreachable: out of order"
    assert (state_of(silent), state_of(other)) == (ResourceState.CREATED, ResourceState.GONE)
    # Its key may still be needed to see what is wrong with it.
    assert Host.objects.get(runs__resource=silent).state != "gone"
    assert look().error == ""
    assert state_of(silent) == ResourceState.GONE


def test_launch_stays_open_while_the_search_by_it_shows_a_further_machine(
    account, offer, cloud, monkeypatch
):
    cloud.fault(Fault.DOUBLED, times=1)
    resource = created(offer)
    cloud.terminate(int(resource.provider_id.rpartition("-")[2]))
    end_run(resource)
    real = FakeCloud.inventory

    def by_launch_only(self, tag, *, token, **named):
        return real(self, tag, token=token, **named) if token else []

    # As a search by tags that is behind: it shows nothing yet.
    with monkeypatch.context() as behind:
        behind.setattr(FakeCloud, "inventory", by_launch_only)
        seen = look()
    assert (seen.closed, state_of(resource)) == ([], ResourceState.CREATED)
    kinds = Resource.objects.get(pk=resource.pk).ledger.values_list("kind", flat=True)
    assert set(kinds) == {LedgerKind.MACHINE, LedgerKind.SURPLUS}
    until_clean(cloud)
    look()
    assert state_of(resource) == ResourceState.GONE


def test_dry_look_names_what_it_would_close_and_closes_nothing(account, offer, cloud):
    resource = gone_machine(offer, cloud)
    assert look(is_dry=True).closed == [str(resource)]
    assert (state_of(resource), resource.ledger.count()) == (ResourceState.CREATED, 0)
    assert look().closed == [str(resource)]
    assert state_of(resource) == ResourceState.GONE


def test_machine_of_another_account_is_booked_by_that_one_alone(account, offer, cloud, provider):
    """Two accounts may lead into one cloud: booked by both, its hours would count twice."""
    resource = created(offer)
    Resource.objects.filter(pk=resource.pk).update(
        account=clouds.account(provider, name="second", is_enabled=False)
    )
    (seen,) = reaper.reap(accounts=[account]).looks
    assert (seen.machines, seen.ended, seen.error) == (1, [], "")
    assert resource.ledger.count() == 0
    assert Resource.objects.get(pk=resource.pk).surplus == {}


# --- calls that wait for the account's bucket -------------------------------------------------------


@pytest.fixture
def slow_bucket(monkeypatch):
    """An account of one call at once; returns how to say how soon the next one is there."""
    waits = []

    def noted(seconds):
        waits.append(seconds)
        time.sleep(seconds)

    monkeypatch.setattr(reaper, "sleep", noted)

    def refilled(calls_per_s):
        record = replace(provider_record("fake"), calls_per_s=calls_per_s, calls_at_once=1)
        monkeypatch.setattr(provider_calls, "provider", lambda _: record)
        return waits

    return refilled


def test_look_waits_for_its_calls_and_gets_to_its_end(account, cloud, slow_bucket):
    for number in range(3):
        launched(account, f"{number}")
    waits = slow_bucket(4)
    seen = look()
    assert (seen.error, len(seen.ended), machines(cloud)) == ("", 3, [])
    assert waits
    assert max(waits) <= 1 / 4


def test_look_does_not_wait_longer_than_it_has_time(account, cloud, slow_bucket):
    """Of a bucket that fills once in a day one end a look is left; nobody is at fault."""
    for number in range(2):
        launched(account, f"{number}")
    waits = slow_bucket(1 / 86_400)
    seen = look()
    assert (len(machines(cloud)), waits) == (1, [])
    assert "no time is left in this look" in seen.error
    account.refresh_from_db()
    assert {entry["failed"] for entry in account.ending.values()} == {0}
    assert len(account.ending) == len(seen.waiting) == 2


def test_launch_without_an_answer_is_closed_only_when_it_is_settled(
    account, offer, cloud, settings
):
    """A provider may list a machine of a launch minutes after the call that was not answered."""
    settings.PROVIDER_SETTLE_S = 3600
    named, unnamed = called(offer), called(offer)
    resource_mark_created(resource=named, provider_id="machine-99", launched_at=None, zone="")
    for resource in (named, unnamed):
        end_run(resource)
    assert look().closed == []
    settings.PROVIDER_SETTLE_S = 0
    assert len(look().closed) == 2
    assert (state_of(named), state_of(unnamed)) == (ResourceState.GONE, ResourceState.GONE)
