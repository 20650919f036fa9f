"""What is reserved for rented machines, by many at once, and what they cost."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.db import connection, transaction

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import (
    Campaign,
    HostState,
    LedgerEntry,
    Resource,
    ResourceState,
    Run,
    RunState,
)
from backend.benchmarks.selectors.rental_prices import resource_cost
from backend.benchmarks.services.campaigns import campaign_create
from backend.benchmarks.services.runs import run_cancel
from backend.core import clock
from backend.providers.rentals import Budget
from backend.rentals.services.budgets import BudgetExceeded, QuotaReached, resource_reserve
from backend.rentals.services.resources import (
    create_rental_key,
    ledger_record,
    resource_mark_called,
    resource_mark_created,
    resource_mark_gone,
    resource_mark_refused,
)
from tests import factories
from tests.workers.clouds import account, offer, rented_run

pytestmark = pytest.mark.django_db(transaction=True)
AT = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
# One hour begun at 0.36 USD is what a run of this reserves.
HOUR = {"parameters": {"lifetime_s": 3600}}


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Messages are recorded."""


@pytest.fixture
def now(monkeypatch):
    """Set the clock: now(moment)."""

    def set_to(moment):
        monkeypatch.setattr(clock, "now", lambda: moment)

    set_to(AT)
    return set_to


def reserved_by(runs):
    """Reserve for all of them at once, each over a connection of its own; who was refused, why."""
    gate = threading.Barrier(len(runs))

    def reserving(run):
        try:
            connection.ensure_connection()
            gate.wait(timeout=60)
            resource_reserve(run=run)
        except (BudgetExceeded, QuotaReached) as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(runs)) as pool:
        return [error for error in pool.map(reserving, runs) if error is not None]


def reserved_sum():
    states = [ResourceState.RESERVED]
    return sum(one.reserved_amount for one in Resource.objects.filter(state__in=states))


# --- many at once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["account", "campaign"])
def test_fifty_reservations_at_once_never_exceed_one_budget(scope):
    # 50 × 0.36 against 6: sixteen fit (5.76), the seventeenth would make 6.12.
    of, campaign, budget = offer(), None, {}
    if scope == "account":
        budget = {"budget_amount": Decimal(6), "budget_currency": "USD"}
    account(max_machines=1000, **budget)
    if scope == "campaign":
        campaign = Campaign.objects.create(
            workspace=factories.workspace(), name="C", profile="quick", round=1,
            budget_amount=Decimal(6), budget_currency="USD",
        )  # fmt: skip
    runs = [rented_run(of, campaign=campaign, round=1, **HOUR) for _ in range(50)]
    errors = reserved_by(runs)
    assert Resource.objects.filter(state=ResourceState.RESERVED).count() == 16
    assert reserved_sum() == Decimal("5.76")
    assert len(errors) == 34
    assert {type(error) for error in errors} == {BudgetExceeded}
    assert "5.76 are spent or reserved" in str(errors[0])


def test_fifty_reservations_at_once_stay_within_machines_of_an_account():
    of = offer()
    account(max_machines=7)
    errors = reserved_by([rented_run(of, **HOUR) for _ in range(50)])
    assert Resource.objects.filter(state=ResourceState.RESERVED).count() == 7
    assert {type(error) for error in errors} == {QuotaReached}
    assert len(errors) == 43


# --- one after the other ----------------------------------------------------------------------------


def refused(run):
    with pytest.raises(BudgetExceeded) as raised:
        resource_reserve(run=run)
    run.resource.refresh_from_db()
    assert run.resource.state == ResourceState.REQUESTED
    return str(raised.value)


def reserved(run):
    resource_reserve(run=run)
    return Resource.objects.select_related("account", "run", "workspace").get(run=run)


def lived(resource, began, ended):
    """The machine as it was there from one time to the other."""
    resource_mark_called(resource=resource, zone="")
    resource_mark_created(resource=resource, provider_id=f"i-{resource.pk}", launched_at=began)
    resource_mark_gone(resource=resource, ended_at=ended)


def test_reservation_is_the_price_times_the_whole_life_and_stays_as_it_is():
    of, cloud = offer(), account()
    run = rented_run(of, parameters={"lifetime_s": 5400})
    resource = reserved(run)
    # an hour and a half are two hours begun
    assert (resource.reserved_amount, resource.currency) == (Decimal("0.72"), "USD")
    assert (resource.hourly_amount, resource.account) == (Decimal("0.36"), cloud)
    factories.price(of, "5", observed_at=clock.now())
    assert reserved(run).reserved_amount == Decimal("0.72")


def test_reservation_takes_the_price_in_force_when_the_run_begins(now):
    of = offer()
    account()
    run = rented_run(of, **HOUR)
    newer = factories.price(of, "0.5", observed_at=AT)
    resource = reserved(run)
    run.refresh_from_db()
    assert resource.price == run.price == newer
    assert resource.reserved_amount == Decimal("0.5")


def test_lifetime_is_that_of_the_profile_unless_it_is_asked_for(settings):
    settings.BOOT_LIMIT_S = 900
    account()
    # boot 900 + twice the profile's 75 s + 600
    assert rented_run(offer()).resource.lifetime_s == 1650


def test_budget_of_the_account_is_one_of_a_calendar_month(now):
    account(budget_amount=Decimal(1), budget_currency="USD")
    of = offer()
    spent = reserved(rented_run(of, **HOUR))
    lived(spent, AT - dt.timedelta(hours=1), AT)
    spent.refresh_from_db()
    reserved(rented_run(of, **HOUR))
    assert "0.72 are spent or reserved" in refused(rented_run(of, **HOUR))
    now(dt.datetime(2026, 12, 1, tzinfo=dt.UTC))
    # What is over counts in its month; what lives on counts in every one.
    again = reserved(rented_run(of, **HOUR))
    assert again.state == ResourceState.RESERVED
    assert "0.72 are spent or reserved" in refused(rented_run(of, **HOUR))


def test_machine_that_does_not_go_away_counts_with_what_it_costs(now):
    account(budget_amount=Decimal(2), budget_currency="USD")
    of = offer()
    leak = reserved(rented_run(of, **HOUR))
    resource_mark_called(resource=leak, zone="")
    resource_mark_created(resource=leak, provider_id="i-1", launched_at=AT)
    ledger_record(resource=leak, until=AT + dt.timedelta(hours=5))
    assert "1.8 are spent or reserved" in refused(rented_run(of, **HOUR))


def test_budget_of_a_campaign_is_one_of_a_round():
    of, cloud = offer(), account()
    assert cloud.budget_amount is None
    plan = CampaignPlan(offers=[of.slug], profile="quick", budget=Budget(Decimal("0.5"), "USD"))
    campaign = campaign_create(workspace=factories.workspace(), name="C", plan=plan, actor="tester")
    reserved(rented_run(of, campaign=campaign, round=1, **HOUR))
    assert "the budget of the campaign's round of 0.5" in refused(
        rented_run(of, campaign=campaign, round=1, **HOUR)
    )
    reserved(rented_run(of, campaign=campaign, round=2, **HOUR))


def test_budgets_of_other_currencies_are_compared_at_stored_rates():
    factories.rate("USD", "1.2")
    account(budget_amount=Decimal("0.3"), budget_currency="EUR")
    of = offer()
    reserved(rented_run(of, **HOUR))  # 0.36 USD are 0.30 EUR
    assert refused(rented_run(of, **HOUR)).startswith("0.3 EUR do not fit")


def test_budget_that_cannot_be_compared_refuses():
    account(budget_amount=Decimal(1000), budget_currency="XYZ")
    assert "cannot be checked" in refused(rented_run(offer(), **HOUR))


def test_account_that_is_not_in_use_any_more_is_waited_for():
    cloud = account()
    run = rented_run(offer())
    type(cloud).objects.update(is_enabled=False)
    with pytest.raises(QuotaReached, match="is not in use"):
        resource_reserve(run=run)


def test_offer_without_a_price_any_more_is_refused():
    of = offer()
    account()
    run = rented_run(of)
    Run.objects.update(price=None)
    Resource.objects.update(price=None)
    of.prices.all().delete()
    assert "no price is known" in refused(run)


def test_spot_machine_is_charged_at_spot_and_reserved_at_on_demand():
    of = offer()
    account()
    for zone, amount in (("fake-1a", "0.10"), ("fake-1b", "0.12")):
        factories.price(of, amount, purchase_model="spot", zone=zone)
    factories.price(
        of, "0.09", purchase_model="spot", zone="fake-1b", observed_at=AT - dt.timedelta(days=30)
    )
    factories.price(of, "9", purchase_model="spot", zone="fake-1c", is_published=False)
    # A zone that is not listed any more does not fall back to what it was before.
    for days, gone in ((3, None), (2, AT)):
        factories.price(
            of,
            "0.2",
            purchase_model="spot",
            zone="fake-1d",
            observed_at=AT - dt.timedelta(days=days),
            missing_since=gone,
        )
    resource = reserved(rented_run(of, parameters={"lifetime_s": 3600, "purchase_model": "spot"}))
    assert resource.purchase_model == "spot"
    assert (resource.hourly_amount, resource.reserved_amount) == (Decimal("0.12"), Decimal("0.36"))
    assert resource.price.zone == "fake-1b"


def test_waiting_run_that_is_cancelled_gives_back_what_it_reserved():
    account(budget_amount=Decimal("0.36"), budget_currency="USD")
    of = offer()
    first = rented_run(of, **HOUR)
    resource = reserved(first)
    run_cancel(run=first, actor="tester")
    resource.refresh_from_db()
    first.host.refresh_from_db()
    assert (resource.state, first.host.state) == (ResourceState.GONE, HostState.GONE)
    assert resource_cost(resource) == 0
    first.refresh_from_db()
    assert first.state == RunState.CANCELLED
    assert reserved(rented_run(of, **HOUR)).state == ResourceState.RESERVED


# --- ledger -----------------------------------------------------------------------------------------


@pytest.fixture
def machine(now):
    """A machine of 0.36 an hour, launched at AT."""
    account()
    resource = reserved(rented_run(offer(), parameters={"lifetime_s": 36_000}))
    resource_mark_called(resource=resource, zone="a")
    resource_mark_created(resource=resource, provider_id="i-1", launched_at=AT, zone="b")
    return resource


def entries(resource):
    return [(entry.period_start, entry.seconds, entry.amount) for entry in resource.ledger.all()]


def hours(count):
    return AT + dt.timedelta(hours=count)


def test_ledger_has_one_entry_an_hour_however_often_it_is_written(machine):
    for _ in range(3):
        ledger_record(resource=machine, until=hours(2.5))
    assert entries(machine) == [
        (AT, 3600, Decimal("0.36")),
        (hours(1), 3600, Decimal("0.36")),
        (hours(2), 1800, Decimal("0.36")),  # an hour begun
    ]


def test_ledger_is_closed_at_the_end_given_by_the_provider(machine):
    ledger_record(resource=machine, until=hours(2.5))
    resource_mark_gone(resource=machine, ended_at=hours(1.25))
    closed = [(AT, 3600, Decimal("0.36")), (hours(1), 900, Decimal("0.36"))]
    assert entries(machine) == closed
    assert (machine.state, machine.gone_at) == (ResourceState.GONE, hours(1.25))
    assert resource_cost(machine) == Decimal("0.72")
    # Nothing that comes later changes it.
    resource_mark_gone(resource=machine, ended_at=hours(9))
    ledger_record(resource=machine, until=hours(9))
    resource_mark_created(resource=machine, provider_id="i-2", launched_at=hours(3))
    assert entries(machine) == closed
    assert (machine.state, machine.provider_id) == (ResourceState.GONE, "i-1")


def test_ledger_written_by_two_at_once_holds_each_hour_once(machine):
    gate = threading.Barrier(8)

    def recording(number):
        try:
            mine = Resource.objects.get(pk=machine.pk)
            gate.wait(timeout=30)
            ledger_record(resource=mine, until=hours(3 + number / 100))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(recording, range(8)))
    starts = [entry[0] for entry in entries(machine)]
    assert starts[:3] == [AT, hours(1), hours(2)]
    assert len(starts) == len(set(starts))


def test_amounts_are_kept_with_eighteen_decimals(now):
    account(provider="gcp")
    of = offer(provider_slug="gcp", region=factories.region("fake-1", provider_slug="gcp"))
    of.prices.update(amount=Decimal("0.1"))
    resource = reserved(rented_run(of, parameters={"lifetime_s": 60}))
    # a minute at 0.1 an hour: 0.1 / 60, rounded up
    assert resource.reserved_amount == Decimal("0.001666666666666667")
    lived(resource, AT, AT + dt.timedelta(seconds=77))
    # 77 × 0.1 / 3600 = 0.00213888…
    assert entries(resource) == [(AT, 77, Decimal("0.002138888888888889"))]


def test_cost_of_a_living_machine_is_up_to_now(machine, now):
    now(hours(1.5))
    assert LedgerEntry.objects.count() == 0
    assert resource_cost(machine) == Decimal("0.72")


def test_cost_is_unknown_before_launch_and_zero_after_a_failed_one(now):
    account()
    resource = reserved(rented_run(offer()))
    assert resource_cost(resource) is None
    resource_mark_called(resource=resource, zone="")
    assert resource_cost(resource) is None
    resource_mark_gone(resource=resource, ended_at=None)
    assert (resource_cost(resource), entries(resource)) == (0, [])


# --- the life of a machine --------------------------------------------------------------------------


def test_call_after_a_certain_refusal_begins_its_time_anew(now):
    account()
    resource = reserved(rented_run(offer(), **HOUR))
    resource_mark_called(resource=resource, zone="a")
    assert (resource.called_at, resource.expires_at) == (AT, hours(1))
    now(hours(0.5))
    resource_mark_called(resource=resource, zone="a")  # nobody knows whether the first was heard
    assert (resource.called_at, resource.expires_at) == (AT, hours(1))
    resource_mark_refused(resource=resource, error="full", is_certain=False)
    assert resource.state == ResourceState.CALLED
    resource_mark_refused(resource=resource, error="full", is_certain=True)
    assert resource.state == ResourceState.RESERVED
    resource_mark_called(resource=resource, zone="b")
    assert (resource.called_at, resource.expires_at) == (hours(0.5), hours(1.5))
    assert (resource.zone, resource.tried_zones) == ("b", ["a", "a"])


def test_key_of_a_rented_host_is_made_once_and_destroyed_with_it(machine):
    host = machine.run.host
    create_rental_key(host=host)
    first = bytes(host.sealed_private_key)
    create_rental_key(host=host)
    assert bytes(host.sealed_private_key) == first
    assert b"PRIVATE KEY" not in first
    resource_mark_gone(resource=machine, ended_at=None)
    host.refresh_from_db()
    assert host.sealed_private_key is None


def test_reservation_that_waits_for_its_run_holds_up_nobody():
    # A run that is being cancelled is locked; another one is reserved all the same.
    account()
    of = offer()
    held, free = rented_run(of), rented_run(of)

    def reserving(run):
        try:
            resource_reserve(run=run)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=held.pk)
            waiting = pool.submit(reserving, held)
            pool.submit(reserving, free).result(timeout=10)
            assert not waiting.done()
        waiting.result(timeout=10)
    assert Resource.objects.filter(state=ResourceState.RESERVED).count() == 2
