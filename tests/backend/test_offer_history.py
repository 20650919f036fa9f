"""What the page of an offer says of its samples: as stored, or made of all where methods differ."""

import datetime as dt

import pytest

from backend.benchmarks.selectors.scores import metrics_of_many_methods, score_groups
from backend.benchmarks.services.current_data import current_stamp
from backend.rankings.selectors import offer_detail as offer_details
from backend.rankings.selectors.query import RankingQuery
from tests import factories

pytestmark = pytest.mark.django_db
MILAN = {"cpu_model": "Milan", "vcpu_count": 2, "kernel": "6.1"}


def measured(host, day, environment, **given):
    run = factories.run(host, environment=environment)
    at = factories.AT + dt.timedelta(days=day)
    for repeat, value in enumerate((100.0 + day, 101.0 + day)):
        factories.sample(
            host.offer, value, host=host, run=run, repeat=repeat, measured_at=at, **given
        )


@pytest.mark.parametrize(
    ("environment", "given", "is_mixed", "earlier"),
    [
        (MILAN, {}, False, 0),
        ({**MILAN, "kernel": "6.12"}, {}, False, 0),
        ({**MILAN, "vcpu_count": 8}, {}, True, 1),
        ({**MILAN, "cpu_model": "Rome"}, {}, True, 1),
        (MILAN, {"method_version": "cmips 2 b"}, True, 1),
        ({}, {}, True, 0),
        (MILAN, {"source": "imported"}, False, 0),
        (MILAN, {"excluded_reason": "a fan failed"}, False, 0),
    ],
)
def test_page_has_the_scores_that_all_samples_make(
    monkeypatch, environment, given, is_mixed, earlier
):
    monkeypatch.setattr(offer_details, "SAMPLES_SHOWN", 4)
    host = factories.host(factories.offer("box"))
    measured(host, 0, MILAN)
    measured(host, 1, environment, **given)
    # Another metric is not mixed by it.
    factories.sample(host.offer, 5, metric="coremark_score", variant="standard", host=host)
    assert metrics_of_many_methods(host.offer_id) == ({"cmips_score"} if is_mixed else set())
    stamp = current_stamp()
    detail = offer_details.offer_detail("box", RankingQuery(metric="cmips_score"), stamp=stamp)
    groups = score_groups(host.offer_id)
    assert sorted(groups) == ["cmips_score", "coremark_score"]
    assert {score.metric.key: score for score in detail.summaries} == {
        key: found[0] for key, found in groups.items()
    }
    assert list(detail.earlier) == groups["cmips_score"][1:]
    assert len(detail.earlier) == earlier
