"""The reaper against a provider that makes and loses machines: what goes, what stays, what is paid."""

import datetime as dt
import sqlite3
import time
from contextlib import closing
from decimal import Decimal

import pytest

from backend.accounts.models import AuditEntry, CloudAccount
from backend.benchmarks.calc.rented_parts import LedgerKind
from backend.benchmarks.models import Host, Resource, ResourceState, Tick
from backend.benchmarks.selectors.rental_prices import resource_cost
from backend.core import clock
from backend.providers.rentals import BY_HOUR, charges, round_to_column
from backend.rentals.services.resources import resource_mark_created, surplus_record
from tests.fakes.fake.cloud import Fault, moment, now_ms
from tests.workers import clouds
from tests.workers.clouds import REGION
from tests.workers.reaping import (
    HOUR,
    account,
    alive,
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
from workers.rentals import reaper

__all__ = ["account", "cloud", "offer", "provider"]
pytestmark = pytest.mark.django_db(transaction=True)


# --- what goes and what stays -----------------------------------------------------------------------


def test_machine_of_a_living_run_stays_and_its_ledger_grows(account, offer, cloud):
    resource = created(offer)
    before = alive(cloud)
    assert look().ended == []
    seconds = resource.ledger.get().seconds
    time.sleep(0.01)
    found = look()
    assert (found.machines, found.error, alive(cloud)) == (1, "", before)
    assert resource.ledger.get().seconds > seconds
    resource.refresh_from_db()
    account.refresh_from_db()
    assert resource.seen_at is not None
    assert (account.reap_error, account.failed_looks) == ("", 0)
    assert account.reaped_at is not None


def test_machines_of_an_ended_run_are_closed_when_the_worker_died(account, offer, cloud):
    cloud.fault(Fault.DISK_LEFT, times=1)
    resource = created(offer)
    end_run(resource)
    looks = until_clean(cloud)
    assert [line.split(": ")[1] for line in looks[0].ended] == ["its run has ended"]
    assert looks[1].verified == [resource.provider_id]
    closing = look()
    resource.refresh_from_db()
    assert (len(closing.closed), resource.state) == (1, ResourceState.GONE)
    host = Host.objects.get(runs__resource=resource)
    assert (host.state, host.sealed_private_key) == ("gone", None)


def test_ledger_is_the_providers_record_when_the_reaper_closes_a_machine(account, offer, cloud):
    cloud.fault(Fault.SLOW_END, times=1, seconds=0.05)
    resource = created(offer)
    end_run(resource)
    until_clean(cloud, passes=50)
    look()
    (row,) = [row for row in cloud.record() if row["kind"] == "machine"]
    (charge,) = charges(
        BY_HOUR, Decimal("0.36"), moment(row["launched_ms"]), moment(row["ends_ms"])
    )
    entry = resource.ledger.get()
    assert (entry.period_start, entry.seconds) == (charge.period_start, charge.seconds)
    assert entry.amount == round_to_column(charge.amount)


def test_unnamed_machine_is_named_and_charged_when_its_run_has_ended(account, offer, cloud):
    resource = called(offer)
    machine = launched(account, str(resource.pk))
    end_run(resource)
    until_clean(cloud)
    look()
    resource.refresh_from_db()
    assert (resource.provider_id, resource.state) == (machine.id, ResourceState.GONE)
    assert resource.ledger.get().seconds > 0


def test_launch_in_vain_is_closed_when_its_run_has_ended(account, offer, cloud):
    resource = called(offer)
    end_run(resource)
    look()
    resource.refresh_from_db()
    assert (resource.state, resource.ledger.count()) == (ResourceState.GONE, 0)


def test_failed_launch_stays_open_while_the_provider_may_list_it_later(
    account, offer, cloud, settings
):
    settings.PROVIDER_SETTLE_S = 60
    resource = called(offer)
    end_run(resource)
    look()
    resource.refresh_from_db()
    assert resource.state == ResourceState.CALLED


@pytest.mark.parametrize("token", ["", "not a token", "00000000-0000-4000-8000-000000000000"])
def test_machine_goes_when_no_launch_of_ours_is_known(account, cloud, token):
    launched(account, token)
    assert "no launch of ours" in until_clean(cloud)[0].ended[0]
    entry = AuditEntry.objects.filter(action="machine_end").earliest("id")
    assert (entry.actor, entry.object_id) == ("reaper", str(account.pk))
    assert entry.detail["kind"] == "machine"


def test_second_machine_of_a_launch_goes_and_the_named_one_stays(account, offer, cloud):
    cloud.fault(Fault.DOUBLED, times=1)
    resource = created(offer)
    assert len(machines(cloud)) == 2
    assert "second machine" in look().ended[0]
    assert machines(cloud) == [resource.provider_id]
    look()
    assert surplus_of(resource, cloud) == [True]
    entry = AuditEntry.objects.get(action="machine_end")
    assert entry.object_id == str(resource.pk)


def surplus_of(resource, cloud):
    """Whether each further machine of the launch is over; what was booked of them is right."""
    resource.refresh_from_db()
    began = {f"machine-{row['number']}": row["launched_ms"] for row in cloud.record()}
    amount = Decimal(0)
    for provider_id, life in resource.surplus.items():
        since, until = (dt.datetime.fromisoformat(life[end]) for end in ("since", "until"))
        assert since == moment(began[provider_id])
        amount += sum(
            round_to_column(charge.amount)
            for charge in charges(BY_HOUR, resource.hourly_amount, since, until)
        )
    assert resource.ledger.get(kind=LedgerKind.SURPLUS).amount == amount > 0
    return [life["is_over"] for life in resource.surplus.values()]


@pytest.mark.parametrize("closed", [[], [REGION]])
def test_further_machine_that_a_run_has_ended_is_closed(account, offer, cloud, closed):
    cloud.fault(Fault.DOUBLED, times=1)
    resource = created(offer)
    (other,) = set(machines(cloud)) - {resource.provider_id}
    row = next(row for row in cloud.record() if f"machine-{row['number']}" == other)
    seen_at = moment(now_ms())
    # As its teardown does, which is killed before it sees that the machine is gone.
    surplus_record(
        resource=resource,
        provider_id=other,
        since=moment(row["launched_ms"]),
        until=seen_at,
        is_over=False,
    )
    cloud.terminate(row["number"])
    settings = {**account.settings, "closed_regions": closed}
    CloudAccount.objects.filter(pk=account.pk).update(settings=settings)
    look()
    # A region that does not answer says nothing of it.
    assert surplus_of(resource, cloud) == [not closed]
    until = dt.datetime.fromisoformat(resource.surplus[other]["until"])
    assert (until > seen_at) == (not closed)


def test_machine_that_ends_before_its_run_knows_it_is_paid(account, offer, cloud):
    resource = called(offer)
    machine = launched(account, str(resource.pk))  # its answer was lost
    look()
    assert surplus_of(resource, cloud) == [False]
    cloud.interrupt(int(machine.id.partition("-")[2]))
    look()
    assert surplus_of(resource, cloud) == [True]


def test_machine_is_booked_once_when_its_run_names_it_later(account, offer, cloud):
    cloud.fault(Fault.DOUBLED, times=1)
    resource = called(offer)
    machine = launched(account, str(resource.pk))  # its answer comes late
    look()
    assert surplus_of(resource, cloud) == [False, False]
    resource_mark_created(
        resource=resource, provider_id=machine.id, launched_at=machine.launched_at, zone=""
    )
    assert surplus_of(resource, cloud) == [False]
    # By a look that had begun before.
    surplus_record(
        resource=resource,
        provider_id=machine.id,
        since=moment(now_ms()),
        until=moment(now_ms()) + HOUR,
        is_over=False,
    )
    assert machine.id not in resource.surplus
    look()
    look()
    assert surplus_of(resource, cloud) == [True]
    assert resource.ledger.get(kind=LedgerKind.MACHINE).amount > 0


def test_machines_that_nobody_saw_alive_are_paid_while_still_listed(account, offer, cloud):
    cloud.fault(Fault.DOUBLED, times=1)
    resource = called(offer)
    launched(account, str(resource.pk))  # its answer was lost
    for row in sorted(cloud.alive(), key=lambda row: row["kind"] != "machine"):
        cloud.terminate(row["number"])
    end_run(resource)
    look()
    named, further = sorted(
        f"machine-{row['number']}" for row in cloud.record() if row["kind"] == "machine"
    )
    resource.refresh_from_db()
    assert (resource.provider_id, resource.state) == (named, ResourceState.GONE)
    assert resource.ledger.get(kind=LedgerKind.MACHINE).amount > 0
    assert list(resource.surplus) == [further]
    assert surplus_of(resource, cloud) == [True]


def test_machine_that_turns_up_after_its_launch_was_closed_is_paid(account, offer, cloud):
    resource = called(offer)
    end_run(resource)
    look()
    resource.refresh_from_db()
    assert resource.state == ResourceState.GONE
    launched(account, str(resource.pk))
    assert "its run has ended" in look().ended[0]
    look()
    look()
    assert surplus_of(resource, cloud) == [True]
    assert resource_cost(resource) == resource.ledger.get().amount


def test_cost_of_a_living_machine_has_that_of_its_further_one(account, offer, cloud):
    resource = created(offer)
    before = resource_cost(resource)
    launched_at = moment(now_ms())
    surplus_record(
        resource=resource,
        provider_id="other",
        since=launched_at,
        until=launched_at + HOUR,
        is_over=True,
    )
    # Once it is over a later look changes nothing.
    surplus_record(
        resource=resource,
        provider_id="other",
        since=launched_at,
        until=launched_at + 2 * HOUR,
        is_over=True,
    )
    assert resource_cost(resource) == before + resource.hourly_amount


def test_machine_goes_when_it_is_past_its_time_by_the_providers_clock(account, offer, cloud):
    resource = called(offer)
    hours_ago = moment(now_ms()) - 2 * HOUR
    machine = launched(account, str(resource.pk), expires_at=hours_ago)
    resource_mark_created(resource=resource, provider_id=machine.id, launched_at=None, zone="")
    assert look().ended == []  # launched just now: the expiry was written by a slow clock
    with provider_file(cloud) as database:
        database.execute("UPDATE resources SET launched_ms = launched_ms - 7200000")
    Resource.objects.update(lifetime_s=3600)
    assert "past its time" in look().ended[0]


def provider_file(cloud):
    """To turn the provider's clock and take tags away."""
    return closing(sqlite3.connect(cloud._file, isolation_level=None))


def test_machines_of_other_workspaces_are_not_seen(account, cloud):
    launched(account, "", tag="another")
    assert look().machines == 0
    assert len(machines(cloud)) == 1


def test_machines_stay_when_another_account_leads_into_the_same_cloud(
    account, offer, cloud, provider
):
    resource = created(offer)
    clouds.account(provider, name="second")
    looks = reaper.reap().looks
    assert [found.machines for found in looks] == [1, 1]
    assert machines(cloud) == [resource.provider_id]


def test_machine_is_ended_again_when_described_but_not_listed(account, offer, cloud):
    resource = created(offer)
    end_run(resource)
    with provider_file(cloud) as database:  # its tags were taken away
        database.execute("UPDATE resources SET tag = ''")
    assert "its run has ended" in look().ended[0]
    assert machines(cloud) == []
    look()
    resource.refresh_from_db()
    assert resource.state == ResourceState.GONE


def test_disabled_account_is_looked_at_when_its_machines_may_live(account, offer, cloud):
    resource = created(offer)
    CloudAccount.objects.update(is_enabled=False)
    end_run(resource)
    until_clean(cloud)
    look()
    assert len(reaper.reap().looks) == 1  # one that turns up late is found, too
    Resource.objects.update(gone_at=moment(now_ms()) - 25 * HOUR)
    assert reaper.reap().looks == []


def test_account_that_only_reads_prices_is_not_looked_at(account, offer, client):
    account.settings.pop("regions")
    account.save()
    assert reaper.reap().looks == []
    Tick.objects.create(at=clock.now())
    assert client.get("/readyz").json()["look_age_s"] is None


def test_readyz_gives_machines_runs_and_the_age_of_the_last_look(account, offer, cloud, client):
    Tick.objects.create(at=clock.now())

    def figures():
        state = client.get("/readyz").json()
        return state["machine_count"], state["run_count"], state["look_age_s"] < 60

    assert figures() == (0, 0, True)
    resource = created(offer)
    assert figures() == (1, 1, True)
    end_run(resource)
    CloudAccount.objects.update(reaped_at=moment(now_ms()) - HOUR)
    assert figures() == (1, 0, False)
    until_clean(cloud)
    look()
    assert figures() == (0, 0, True)


# --- dry --------------------------------------------------------------------------------------------


def test_dry_run_prints_and_changes_nothing(account, offer, cloud):
    resource = created(offer)
    end_run(resource)
    launched(account, "")
    before = (alive(cloud), AuditEntry.objects.filter(action="machine_end").count())
    found = look(is_dry=True)
    assert [line for line in found.ended if line.startswith("machine")] == found.ended[:2]
    assert (alive(cloud), AuditEntry.objects.filter(action="machine_end").count()) == before
    account.refresh_from_db()
    assert (account.reaped_at, account.ending) == (None, {})
    assert resource.ledger.count() == 0
