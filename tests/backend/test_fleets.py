"""Campaigns of thousands of hosts: few statements, short locks, statistics that are true at once."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backend.benchmarks.models import (
    Campaign,
    Host,
    HostState,
    LedgerEntry,
    Resource,
    ResourceState,
    Run,
    Step,
)
from backend.benchmarks.selectors.costs import campaign_cost, pair_count, pairs_of_machines
from backend.benchmarks.selectors.rounds import RoundTargets, round_figures
from backend.benchmarks.services.campaigns import (
    campaign_retry_failed,
    campaign_start,
    campaign_watch_budget,
)
from backend.benchmarks.services.rounds import BATCH
from backend.catalog.models import Offer
from backend.core import clock
from backend.providers.rentals import Budget
from tests import factories
from tests.backend.campaigns import campaign, ended
from tests.backend.conftest import API
from tests.workers.clouds import account, offer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
MANY = 2_500


def fleet(count: int) -> list[Host]:
    workspace, offer = factories.workspace(), factories.offer(provider_slug="own", kind="dedicated")
    return Host.objects.bulk_create(
        Host(workspace=workspace, offer=offer, name=f"fleet-{n:05d}", driver="static",
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
    assert len(statements) < 20 * 2 * MANY / BATCH


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
    assert pair_count(kind, count) == len(pairs_of_machines(kind, hosts))


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


# --- what is shown of many runs -------------------------------------------------------------------


class RowsRead:
    """Counts the rows that the database answers with."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.lstrip().startswith(("SELECT", "WITH")):
            self.count += max(context["cursor"].rowcount, 0)
        return result


def looked(client: Client, address: str) -> tuple[int, int]:
    """Rows and statements that an answer takes."""
    rows = RowsRead()
    with connection.execute_wrapper(rows), CaptureQueriesContext(connection) as statements:
        assert client.get(address).status_code == 200
    return rows.count, len(statements)


@pytest.mark.parametrize(
    "address",
    ["/campaigns/{id}/", "/campaigns/{id}/progress/?page=2", "/campaigns/", f"{API}/campaigns"],
)
def test_page_of_a_campaign_reads_as_much_whatever_its_size(
    address: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, read = clock.now(), set()
    monkeypatch.setattr(clock, "now", lambda: now)  # the estimate is made anew each minute
    for size in (120, 360):
        hosts = fleet(size)
        made = campaign_start(campaign=campaign(*hosts, concurrency=10), actor="tester")
        Campaign.objects.exclude(pk=made.pk).delete()
        client.get(address.format(id=made.pk))  # what is read once is read now
        read.add(looked(client, address.format(id=made.pk)))
        Run.objects.all().delete()
        Host.objects.all().delete()
    assert len(read) == 1


def test_api_gives_the_runs_of_a_round_by_pages_of_whole_targets(client: Client) -> None:
    made = campaign_start(campaign=campaign(*fleet(5), repeats=2), actor="tester")
    address: str | None = f"{API}/campaigns/{made.pk}?per_page=5"
    pages = []
    while address:
        pages.append(client.get(address).json())
        address = pages[-1]["next"]
    assert [len(page["runs"]) for page in pages] == [4, 4, 2]
    assert {page["count"] for page in pages} == {5}
    assert {page["run_count"] for page in pages} == {10}
    assert len({run["id"] for page in pages for run in page["runs"]}) == 10
    targets = [{cell["target"] for cell in page["matrix"]} for page in pages]
    assert [sorted(one) for one in targets] == [
        ["fleet-00000", "fleet-00001"], ["fleet-00002", "fleet-00003"], ["fleet-00004"],
    ]  # fmt: skip
    assert client.get(f"{API}/campaigns/{made.pk}?per_page=5&page=4").status_code == 404
    assert client.get(f"{API}/campaigns/{made.pk}?per_page=0").status_code == 400
    assert client.get(f"{API}/runs?campaign={made.pk}&round=1").json()["count"] == 10
    assert client.get(f"{API}/runs?campaign={made.pk}&round=2").json()["count"] == 0


def test_page_of_a_campaign_shows_fifty_runs_and_leads_on(client: Client) -> None:
    made = campaign_start(campaign=campaign(*fleet(60)), actor="tester")
    first = client.get(f"/campaigns/{made.pk}/").content.decode()
    second = client.get(f"/campaigns/{made.pk}/?page=2").content.decode()
    assert "fleet-00049" in first
    assert "fleet-00050" not in first
    assert 'href="?page=2"' in first
    assert "The first 50 of 60" in first
    assert '<th scope="row">fleet-00059</th>' in second
    assert f"/campaigns/{made.pk}/progress/?page=2" in second
    # its figures are those of the whole round on each page
    assert "0 of 60 runs ended" in first
    assert "0 of 60 runs ended" in second


def test_figures_of_a_round_count_the_runs_that_are_shown() -> None:
    made = campaign_start(campaign=campaign(*fleet(6), repeats=2), actor="tester")
    ends = ["done", "failed", "lost", "cancelled", "failed"]
    for place, run in enumerate(made.runs.order_by("created_at", "id")[:10]):
        ended(run, ends[place % len(ends)], seconds=40)
    campaign_retry_failed(campaign=made, actor="tester")
    made.refresh_from_db()
    for run in made.runs.filter(state="queued").order_by("created_at", "id")[:4]:
        ended(run, "failed")
    seen = round_figures(made)
    shown = RoundTargets(made)[:]
    assert seen.states == Counter(run.state for run in shown)
    assert (seen.run_count, seen.end_count) == (12, 6)
    assert seen.progress_ratio == pytest.approx(0.5)
    # done before on its host: 40 s, else the profile's 75 s; over the campaign's four at once
    busy = {run.host_id for run in made.runs.filter(state="done")}
    left = [40 if run.host_id in busy else 75 for run in shown if not run.is_finished]
    assert seen.remaining_s == pytest.approx(max(150, sum(left) / made.concurrency))
