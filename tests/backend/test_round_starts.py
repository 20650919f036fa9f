"""Rounds are made in parts: nobody waits for thousands of runs, and a crash loses and doubles none."""

import threading
import time
from collections import Counter

import pytest
from django.db import connection, transaction

from backend.benchmarks.models import Campaign, Host, HostState, RoundStart, Run, Step
from backend.benchmarks.services import rounds
from backend.benchmarks.services.campaigns import (
    CampaignActive,
    campaign_begin,
    campaign_cancel,
    campaign_delete,
    campaign_retry_failed,
    campaign_start,
)
from backend.benchmarks.services.queue_lock import schedule_lock
from tests import factories
from tests.backend.campaigns import campaign, ended
from tests.backend.test_fleets import fleet
from workers.engine import periodic

pytestmark = pytest.mark.usefixtures("queued")


def crashing_at(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after the runs of that part are made, before they are saved."""
    real, parts = rounds.runs_create, []

    def create(**given):
        made = real(**given)
        parts.append(made)
        if len(parts) == part:
            raise SystemExit
        return made

    monkeypatch.setattr(rounds, "runs_create", create)


@pytest.mark.django_db(transaction=True)
def test_lock_is_free_between_the_parts_of_a_round() -> None:
    made = campaign(*fleet(3_000), concurrency=3_000)
    seen: set[int] = set()
    is_over = threading.Event()

    def another_schedule() -> None:
        while not is_over.is_set():
            with transaction.atomic():
                schedule_lock(workspace_id=made.workspace_id)
                seen.add(made.runs.count())
            time.sleep(0.01)
        connection.close()

    other = threading.Thread(target=another_schedule)
    other.start()
    try:
        campaign_start(campaign=made, actor="tester")
    finally:
        is_over.set()
        other.join()
    assert Run.objects.count() == 3_000
    # Others hold the lock while a part of the round is made, whatever else the machine does.
    assert len([count for count in seen if 0 < count < 3_000]) >= 3


@pytest.mark.django_db
@pytest.mark.parametrize("part", [1, 2, 3])
def test_tick_makes_the_rest_of_a_round_after_a_crash(part, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 4)
    monkeypatch.setattr(periodic, "ROUNDS_S", 60)  # all parts in one tick, however slow the machine
    hosts = fleet(10)
    made = campaign(*hosts, repeats=2, concurrency=50)
    with monkeypatch.context() as patched:
        crashing_at(part, patched)
        with pytest.raises(SystemExit):
            campaign_start(campaign=made, actor="tester")
    assert Run.objects.count() == 4 * (part - 1)
    periodic.make_rounds()
    order = list(made.runs.order_by("created_at", "id").values_list("host__name", flat=True))
    names = [host.name for host in hosts]
    assert order == names + names
    assert not RoundStart.objects.exists()
    due = Step.objects.filter(run__campaign=made, next_due_at__isnull=False)
    assert due.count() == 10
    assert set(made.runs.values_list("round", "requested_by")) == {(1, "tester")}


@pytest.mark.django_db
def test_round_that_is_made_by_two_has_each_run_once(monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 2)
    made = campaign(*fleet(9))
    campaign_begin(campaign=made, actor="tester")
    rounds.round_continue(campaign=made, seconds=0)
    rounds.round_continue(campaign=Campaign.objects.get(), seconds=0)
    rounds.round_continue(campaign=made)
    assert set(Counter(made.runs.values_list("host_id", flat=True)).values()) == {1}
    assert made.runs.count() == 9


@pytest.mark.django_db
def test_round_is_not_over_before_all_its_runs_are_made(monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 2)
    made = campaign(*fleet(3))
    campaign_begin(campaign=made, actor="tester")
    for act in (campaign_begin, campaign_delete):
        with pytest.raises(CampaignActive):
            act(campaign=made, actor="tester")
    rounds.round_continue(campaign=made, seconds=0)
    first, second = Run.objects.all()
    ended(first)
    ended(second, "failed")
    made.refresh_from_db()
    assert made.state == "running"
    assert campaign_retry_failed(campaign=made, actor="tester") == []
    periodic.make_rounds()
    ended(Run.objects.get(state="queued"))
    made.refresh_from_db()
    assert made.state == "done"


@pytest.mark.django_db
def test_cancelled_round_is_made_no_further(monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 2)
    made = campaign(*fleet(5))
    campaign_begin(campaign=made, actor="tester")
    rounds.round_continue(campaign=made, seconds=0)
    campaign_cancel(campaign=made, actor="tester")
    periodic.make_rounds()
    assert list(made.runs.values_list("state", flat=True)) == ["cancelled"] * 2


@pytest.mark.django_db
def test_host_that_is_distrusted_meanwhile_gets_no_run(monkeypatch) -> None:
    monkeypatch.setattr(rounds, "BATCH", 2)
    hosts = [factories.host(name=name) for name in "abc"]
    made = campaign(*hosts)
    campaign_begin(campaign=made, actor="tester")
    rounds.round_continue(campaign=made, seconds=0)
    Host.objects.filter(pk=hosts[2].pk).update(state=HostState.KEY_CHANGED)
    for run in Run.objects.all():
        ended(run)
    periodic.make_rounds()
    made.refresh_from_db()
    assert (made.state, made.runs.count()) == ("done", 2)
