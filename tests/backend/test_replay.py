"""A decision of an earlier day as it could be made then: prices, rates and scores of that day."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from backend.benchmarks.models import RunState
from backend.benchmarks.services.imports import sample_include
from backend.benchmarks.services.runs import run_finish
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
THEN = {"measured_at": dt.datetime(2026, 10, 1, tzinfo=dt.UTC)}
LATER = {"measured_at": dt.datetime(2026, 11, 1, 0, 0, 1, tzinfo=dt.UTC)}
DAY = "as_of=2026-10-31"


def document(client: Client, address: str) -> Any:
    answer = client.get(f"{API}/{address}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def scores(client: Client, query: str) -> dict[str, float]:
    rows = document(client, f"rankings?{query}")["results"]
    return {row["offer_id"]: row["score"] for row in rows}


@pytest.fixture(autouse=True)
def _offers(db: None) -> None:
    """One offer that was measured then and again, another one that was measured later only."""
    both, later = factories.offer("both"), factories.offer("later")
    for one in (both, later):
        factories.price(one, observed_at=dt.datetime(2026, 10, 1, tzinfo=dt.UTC))
    factories.sample(both, 100.0, method_version="1", **THEN)
    factories.sample(both, 300.0, method_version="2", **LATER)
    factories.sample(later, 500.0, **LATER)


def test_ranking_of_a_day_has_the_scores_of_that_day(client: Client) -> None:
    assert scores(client, "") == {"later": 500, "both": 300}
    assert scores(client, DAY) == {"both": 100}
    assert scores(client, "as_of=2026-11-01") == {"later": 500, "both": 300}
    assert scores(client, "as_of=2010-01-01") == {}


def test_mix_of_a_day_has_the_scores_of_that_day(client: Client) -> None:
    assert set(scores(client, f"weights=cmips_score&{DAY}")) == {"both"}


def test_offer_and_comparison_of_a_day_have_its_scores(client: Client) -> None:
    offer = document(client, f"offers/both?{DAY}")
    assert [one["value"] for one in offer["summaries"]] == [100]
    cells = document(client, f"compare?o=both,later&{DAY}&per_page=250")["results"]
    shown = {(one["offer_id"], one["item"]): one["value"] for one in cells}
    assert float(shown["both", "cmips_score"]) == 100
    assert shown.get(("later", "cmips_score")) is None


def test_fleets_of_a_day_have_its_scores(client: Client) -> None:
    fleets = document(client, f"requirements?target=cmips_score:1000&{DAY}")["results"]
    assert {(one["fleet"], one["servers"]) for one in fleets} == {("10 x both", 10)}


def test_lists_of_samples_and_runs_begin_at_a_time(client: Client) -> None:
    assert document(client, "samples?since=2026-11-01T00:00:01Z")["count"] == 2
    assert document(client, "samples?since=2026-10-01")["count"] == 3
    run = factories.run()
    moment = run.created_at.isoformat().replace("+00:00", "Z")
    assert document(client, f"runs?since={moment}")["count"] == 1
    assert document(client, "runs?since=2099-01-01")["count"] == 0


def test_samples_of_a_cancelled_run_count_only_when_a_person_says_so(client: Client) -> None:
    run = factories.run(state=RunState.VERIFIED_GONE)
    sample = factories.sample(run.offer, 70.0, run=run, host=run.host)
    assert scores(client, "")[run.offer.slug] == 70
    run_finish(run=run, state=RunState.CANCELLED)
    assert run.offer.slug not in scores(client, "")
    rows = document(client, f"samples?run={run.pk}")["results"]
    assert [row["excluded_reason"] for row in rows] == ["the run was cancelled"]
    sample.refresh_from_db()
    sample_include(workspace=run.workspace, sample=sample, actor="test")
    assert scores(client, "")[run.offer.slug] == 70
