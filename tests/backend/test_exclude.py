"""Samples that a person leaves out with a reason, and outliers that are only marked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Run, Sample
from backend.benchmarks.services.imports import outliers_mark, sample_exclude, sample_include
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import DataVersion
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS
from backend.rankings.selectors.scores import scores
from tests import factories
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db


def series(run: Run, values: list[float], **given: Any) -> list[Sample]:
    return [
        factories.sample(run.offer, value, run=run, host=run.host, repeat=repeat, **given)
        for repeat, value in enumerate(values)
    ]


def post(client: Client, sample: Sample, action: str, document: object = None) -> Any:
    return client.post(
        f"{API}/samples/{sample.pk}/{action}", json.dumps(document or {}), "application/json"
    )


def test_excluded_sample_leaves_the_summary_and_stays_listed(
    caller: Callable[..., Client],
) -> None:
    run = factories.run()
    *_, wrong = series(run, [100, 101, 99, 500])
    response = post(caller("write"), wrong, "exclude", {"reason": " wrong kernel "})
    assert response.status_code == 200
    assert response.json() == {"sample_id": wrong.pk, "excluded_reason": "wrong kernel"}
    assert dict(scores(METRICS["cmips_score"]))[run.offer_id].summary.value == 100
    listed = caller("read").get(f"{API}/samples?run={run.pk}").json()["results"]
    assert [row["excluded_reason"] for row in listed if row["sample_id"] == wrong.pk] == [
        "wrong kernel"
    ]
    assert Sample.objects.count() == 4


def test_included_sample_counts_again(caller: Callable[..., Client]) -> None:
    run = factories.run()
    *_, wrong = series(run, [100, 102], excluded_reason="by mistake")
    response = post(caller("write"), wrong, "include")
    assert response.json() == {"sample_id": wrong.pk, "excluded_reason": None}
    assert dict(scores(METRICS["cmips_score"]))[run.offer_id].summary.value == 102


def test_exclusion_is_audited_once_and_counts_up_the_data_version() -> None:
    sample = factories.sample(factories.offer(), 1)
    workspace = factories.workspace()
    before = DataVersion.objects.get_or_create(pk=1)[0].number
    for _ in range(2):
        sample_exclude(workspace=workspace, sample=sample, reason="noise", actor="ann")
    sample_include(workspace=workspace, sample=sample, actor="bob")
    told = AuditEntry.objects.order_by("id").values_list("action", "actor", "detail__reason")
    assert list(told) == [("sample_exclude", "ann", "noise"), ("sample_include", "bob", "")]
    assert DataVersion.objects.get().number == before + 2


@pytest.mark.parametrize("reason", ["", "  ", "x" * 301, "a\nb"])
def test_exclusion_without_a_fit_reason_is_refused(reason: str) -> None:
    sample = factories.sample(factories.offer(), 1)
    with pytest.raises(InvalidValue) as refused:
        sample_exclude(workspace=factories.workspace(), sample=sample, reason=reason, actor="ann")
    assert refused.value.field == "/reason"


@pytest.mark.parametrize(
    ("document", "field"),
    [({}, "/reason"), ({"reason": ""}, "/reason"), ({"reason": "a", "b": 1}, "/b")],
)
def test_api_exclusion_is_refused_with_the_field(
    caller: Callable[..., Client], document: dict[str, Any], field: str
) -> None:
    sample = factories.sample(factories.offer(), 1)
    response = post(caller("write"), sample, "exclude", document)
    assert (response.status_code, fields(response)) == (400, [field])


def test_api_exclusion_needs_the_right_to_write_and_a_sample(
    client: Client, caller: Callable[..., Client]
) -> None:
    sample = factories.sample(factories.offer(), 1)
    document = {"reason": "noise"}
    assert post(client, sample, "exclude", document).status_code == 401
    assert post(caller("read"), sample, "exclude", document).status_code == 403
    sample.pk = 999_999
    assert post(caller("write"), sample, "exclude", document).status_code == 404
    assert post(caller("admin"), sample, "include").status_code == 404


# --- outliers ---------------------------------------------------------------------------------


def test_outlier_is_marked_and_stays_in_the_summary() -> None:
    run = factories.run()
    series(run, [100, 101, 99, 100, 300], flags=["disturbed"])
    assert outliers_mark(run=run) == 1
    assert Sample.objects.get(value=300).flags == ["disturbed", "outlier"]
    summaries_refresh()
    assert dict(scores(METRICS["cmips_score"]))[run.offer_id].summary.n_repeats == 5
    assert outliers_mark(run=run) == 0


def test_outliers_are_looked_for_within_one_series() -> None:
    run = factories.run()
    series(run, [100, 101, 99, 100])
    series(run, [300], metric="cmips_single_score", variant="single")
    series(run, [10, 10, 10, 10, 10.1], metric="memory_latency_ns", variant="single")
    assert outliers_mark(run=run) == 0
