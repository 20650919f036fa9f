"""Disk, address and traffic of rented machines: reserved, booked, and named where no price is known."""

import datetime as dt
from decimal import Decimal

import pytest

from backend.benchmarks.models import Resource
from backend.benchmarks.selectors.rental_prices import resource_cost
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.core import clock
from backend.rentals.services.budgets import resource_reserve
from backend.rentals.services.resources import (
    ledger_record,
    resource_mark_called,
    resource_mark_created,
    resource_mark_gone,
)
from tests import factories
from tests.backend.clouds import account
from tests.backend.conftest import API
from tests.frontend.spacing import shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
KEY = {"access_key_id": "AKIAEXAMPLEEXAMPLE00", "secret_access_key": "x" * 40}


def machine(**settings):
    """A machine of EC2 at 0.36 an hour that may live for an hour, reserved."""
    account(
        provider="aws",
        access="static_key",
        settings={"regions": ["us-east-1"], **settings},
        secret=KEY,
    )
    of = factories.offer("m5-large", name="m5.large", region=factories.region())
    factories.price(of, "0.36")
    run = rented_run_create(
        workspace=factories.workspace(),
        offer=of,
        profile="quick",
        probes=["cmips"],
        parameters={"lifetime_s": 3600},
        budget=None,
        actor="tester",
    )
    resource_reserve(run=run)
    return Resource.objects.select_related("account", "run", "workspace").get(run=run)


def test_parts_are_reserved_with_the_machine_and_booked_by_kind():
    for kind, amount in (("disk", "0.073"), ("ipv4", "0.005")):
        factories.extra(kind, amount)
    resource = machine()
    assert resource.reserved_amount == Decimal("0.36") + Decimal("0.002") + Decimal("0.005")
    began = clock.now() - dt.timedelta(minutes=30)
    resource_mark_called(resource=resource, zone="")
    resource_mark_created(resource=resource, provider_id="i-1", launched_at=began)
    # Half an hour of 0.367, and as long as this test takes.
    assert Decimal("0.1835") <= resource_cost(resource) < Decimal("0.19")
    ledger_record(resource=resource, until=began + dt.timedelta(minutes=10))
    resource_mark_gone(resource=resource, ended_at=began + dt.timedelta(minutes=20))
    booked = {one.kind: one.amount for one in resource.ledger.all()}
    assert {kind: amount.quantize(Decimal("1e-9")) for kind, amount in booked.items()} == {
        "machine": Decimal("0.12"),
        "disk": Decimal("0.000666667"),
        "address": Decimal("0.001666667"),
    }
    assert resource_cost(resource) == sum(booked.values())


def test_parts_without_a_price_are_named_in_the_api_and_on_the_page(client, caller):
    resource = machine()
    assert resource.reserved_amount == Decimal("0.36")
    (row,) = caller("read").get(f"{API}/resources").json()["results"]
    assert row["unpriced"] == "disk, address"
    client.force_login(factories.user(role="admin"))
    page = shown(client.get(f"/runs/{resource.run_id}/"))
    assert "disk, public address: no price is known here" in page
    page = shown(client.get("/offers/m5-large/"))
    assert "disk, public address: no price is known here" in page
    page = shown(client.get("/accounts/clouds/"))
    assert "more of unknown price: disk of m5.large, address of m5.large" in page


def test_machine_with_a_private_address_pays_for_none():
    factories.extra("ipv4", "0.005")
    factories.extra("disk", "0.073")
    resource = machine(address="private")
    assert [part["kind"] for part in resource.parts] == ["disk"]


# --- traffic ------------------------------------------------------------------------------------


def sender(**parameters):
    """A machine that measures the network to a host of one's own, reserved."""
    account(provider="aws", access="static_key", settings={"regions": ["us-east-1"]}, secret=KEY)
    of = factories.offer("m5-large", name="m5.large", region=factories.region())
    factories.price(of, "0.36")
    run = rented_run_create(
        workspace=factories.workspace(),
        offer=of,
        profile="quick",
        probes=["network"],
        parameters={"lifetime_s": 3600, "peer": str(factories.host().pk), **parameters},
        budget=None,
        actor="tester",
    )
    resource_reserve(run=run)
    return Resource.objects.select_related("account", "run", "workspace").get(run=run)


def ended(resource):
    """It lived for twenty minutes; its entries of the ledger for traffic."""
    began = clock.now() - dt.timedelta(minutes=30)
    resource_mark_called(resource=resource, zone="")
    resource_mark_created(resource=resource, provider_id="i-1", launched_at=began)
    resource_mark_gone(resource=resource, ended_at=began + dt.timedelta(minutes=20))
    return [one.amount for one in resource.ledger.filter(kind="traffic")]


@pytest.fixture
def priced():
    factories.extra("egress", "0", tiers=[["100", "0"], ["10240", "0.09"], [None, "0.05"]])


def test_all_that_a_run_may_send_is_reserved_and_what_it_sent_is_booked(priced):
    resource = sender()
    # 10 GB of the quick profile at 0.09, whatever the account may send for nothing.
    assert resource.reserved_amount == Decimal("0.36") + Decimal("0.9")
    resource.run.sent_bytes = 1_500_000_000
    resource.run.save()
    assert ended(resource) == [Decimal("0.135")]
    assert resource_cost(resource) == Decimal("0.12") + Decimal("0.135")


def test_reservation_of_traffic_follows_the_limit_of_the_run(priced):
    assert sender(sent_bytes=10**9).reserved_amount == Decimal("0.36") + Decimal("0.09")


def test_traffic_of_a_run_whose_results_were_lost_is_booked_in_full(priced):
    resource = sender()
    resource.run.steps.create(state="running")
    assert ended(resource) == [Decimal("0.9")]


def test_run_that_never_measured_has_sent_nothing(priced):
    assert ended(sender()) == [0]


def test_traffic_without_a_price_is_named_and_not_booked():
    resource = sender()
    assert [part["kind"] for part in resource.parts] == ["disk", "address", "traffic"]
    assert resource.reserved_amount == Decimal("0.36")
    detail = resource.run.events.get(kind="warning").detail
    assert detail.startswith("disk, address, traffic: no price is known")
    assert ended(resource) == []
