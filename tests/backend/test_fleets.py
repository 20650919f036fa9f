"""Campaigns of thousands of hosts: few statements, short locks, statistics that are true at once."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.benchmarks.models import (
    Host,
    HostState,
    LedgerEntry,
    Resource,
    ResourceState,
    Run,
    Step,
)
from backend.benchmarks.selectors.costs import campaign_cost, pair_count, paired
from backend.benchmarks.services.campaigns import campaign_start, campaign_watch_budget
from backend.catalog.models import Offer
from backend.common import clock
from backend.domain.rentals import Budget
from tests import factories
from tests.backend.campaigns import campaign, ended
from tests.workers.clouds import account, offer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
MANY = 2_500


def fleet(count: int) -> list[Host]:
    offer = factories.offer(provider_slug="own", kind="dedicated")
    return Host.objects.bulk_create(
        Host(workspace=factories.workspace(), offer=offer, name=f"fleet-{n:05d}", driver="static",
             address="127.0.0.1", username="bench", state=HostState.TRUSTED)
        for n in range(count)
    )  # fmt: skip


def test_round_of_thousands_begins_all_at_once_in_few_statements() -> None:
    made = campaign(*fleet(MANY), concurrency=MANY, repeats=2)
    with CaptureQueriesContext(connection) as statements:
        campaign_start(campaign=made, actor="tester")
    # the runs of each host come one after the other
    assert Step.objects.filter(run__campaign=made, next_due_at__isnull=False).count() == MANY
    assert made.runs.count() == 2 * MANY
    assert len(statements) < 100


def test_planner_knows_of_the_runs_as_soon_as_they_are_made() -> None:
    campaign_start(campaign=campaign(*fleet(1_000)), actor="tester")
    tables = [model._meta.db_table for model in (Host, Run, Step)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = ANY(%s)", [tables])
        assert min(row[0] for row in cursor.fetchall()) >= 1_000


def test_next_repeat_of_a_host_begins_when_the_first_has_ended() -> None:
    hosts = fleet(3)
    made = campaign_start(campaign=campaign(*hosts, concurrency=10, repeats=2), actor="tester")
    first, second = made.runs.filter(host=hosts[1]).order_by("created_at", "id")
    assert second.steps.get().next_due_at is None
    ended(first)
    assert second.steps.get().next_due_at is not None
    due = Step.objects.filter(run__campaign=made, next_due_at__isnull=False)
    assert due.count() == 3


@pytest.mark.parametrize("kind", ["none", "ring", "all"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_count_of_pairs_is_that_of_the_list(kind: str, count: int) -> None:
    hosts = [factories.host() for _ in range(count)]
    assert pair_count(kind, count) == len(paired(kind, hosts))


def watched(of: Offer, machines: int) -> int:
    """Statements of one look at the budget of a campaign whose machines have all ended."""
    now = clock.now()
    made = campaign_start(
        campaign=campaign(
            offers=[of.slug], hosts=[], workspace=factories.workspace(), repeats=machines,
            budget=Budget(Decimal(1000), "USD"),
        ),
        actor="tester",
    )  # fmt: skip
    Run.objects.filter(campaign=made).update(started_at=now)
    rented = Resource.objects.filter(run__campaign=made)
    LedgerEntry.objects.bulk_create(
        LedgerEntry(resource=one, period_start=now, seconds=60, amount="0.5", currency="USD")
        for one in rented
    )
    rented.update(state=ResourceState.GONE, gone_at=now, currency="USD")
    with CaptureQueriesContext(connection) as statements:
        campaign_watch_budget()
    assert campaign_cost(made).known == Decimal("0.5") * machines
    made.delete()
    return len(statements)


def test_budget_is_watched_in_as_many_statements_however_many_machines() -> None:
    account(max_machines=50)
    of = offer()
    assert watched(of, 2) == watched(of, 20)
