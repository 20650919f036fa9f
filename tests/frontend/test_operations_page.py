"""How everything is doing, as a page: each figure, and what to do where it is not well."""

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client

from backend.accounts.models import Workspace
from backend.benchmarks.models import Tick
from backend.core import clock
from tests import factories
from tests.fakes.fake_provider import FakeProvider
from tests.workers import clouds

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.user(username="ada", role="run"))
    return client


def shown(client: Client) -> str:
    return client.get("/operations/").content.decode()


def test_operations_say_what_to_do_when_the_engine_stands_still(operator: Client) -> None:
    Tick.objects.create(pk=1, at=clock.now() - dt.timedelta(seconds=10))
    assert "check beat and the workers" not in shown(operator)
    Tick.objects.update(at=clock.now() - dt.timedelta(seconds=61))
    page = shown(operator)
    assert "1 min 01 s ago" in page
    assert "check beat and the workers" in page


def test_operations_count_what_is_not_well(operator: Client, settings) -> None:
    Tick.objects.create(pk=1, at=clock.now())
    page = shown(operator)
    # No worker is alive here.
    assert "1 value needs attention" in page
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nothing listens on port 1
    page = shown(operator)
    assert "2 values need attention" in page
    assert "The broker does not answer." in page


def test_operations_compare_spending_with_the_budget_of_this_workspace(
    operator: Client, tmp_path, queued
) -> None:
    account = clouds.account(
        FakeProvider(tmp_path), name="rented", budget_amount=Decimal(50), budget_currency="USD"
    )
    page = shown(operator)
    assert "0 of 50 USD (0%)" in page.replace("\N{NO-BREAK SPACE}", " ")
    account.workspace = Workspace.objects.create(slug="other", name="Other")
    account.save()
    assert "50 USD" not in shown(operator)


def test_operations_are_for_operators(client: Client) -> None:
    assert client.get("/operations/").status_code == 403
    client.force_login(factories.user(username="eve", role="write"))
    assert client.get("/operations/").status_code == 403
