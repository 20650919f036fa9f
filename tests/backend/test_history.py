"""History of a metric, and what the end of a run notes about it."""

import datetime as dt
from typing import Any

import pytest

from backend.benchmarks.models import Run, Sample
from backend.benchmarks.selectors.history import COMPARED_RUNS, history, run_notes
from backend.core import clock
from backend.notifications.models import Notice
from tests import factories
from tests.backend.campaigns import ended, measured

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

FACTS = {"cpu_model": "Xeon", "vcpu_count": 8, "memory_bytes": 64 * 2**30, "kernel": "6.1"}


@pytest.fixture
def host():
    return factories.host(name="db1", facts=FACTS)


def past(host, *values, **given) -> list[Run]:
    """Finished runs of the host with these results, a day apart, the last one yesterday."""
    runs = []
    for age, value in zip(range(len(values), 0, -1), values, strict=True):
        run = finished(host, value, **given)
        Run.objects.filter(pk=run.pk).update(finished_at=clock.now() - dt.timedelta(days=age))
        run.refresh_from_db()
        runs.append(run)
    return runs


def finished(host, *values, state="done", facts: dict[str, Any] | None = None, **given) -> Run:
    sample = {name: given.pop(name) for name in ("metric", "variant", "flags") if name in given}
    run = factories.run(host, **given)
    measured(run, probe="inventory")
    measured(run, *values, **sample)
    if facts is not None:
        host.facts = facts
        host.save()
    return ended(run, state)


def notes(run, kind):
    return list(run.events.filter(kind=kind).values_list("detail", flat=True))


# --- notes at the end of a run --------------------------------------------------------------------


def test_result_below_its_band_is_noted_and_notified_once(host):
    factories.subscription(kinds=["regression"])
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, 87.0, 88.0, 89.0)
    (note,) = notes(run, "regression")
    assert note == (
        "CPU, all threads (CMIPS-compatible) (all) fell 12% below the median of 5 earlier runs, "
        "out of their band for the first time: 88 CMIPS, expected 95 CMIPS … 105 CMIPS"
    )
    (told,) = Notice.objects.all()
    assert told.key == f"regression:{run.pk}"
    assert told.document["title"] == "db1: 1 results worse than before"
    again = finished(host, 88.0)
    assert "out of their band for the 2. time in a row" in notes(again, "regression")[0]


def test_result_above_its_band_is_an_improvement_without_notice(host):
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, 130.0)
    assert "rose 30% above the median" in notes(run, "improvement")[0]
    assert notes(run, "regression") == []


def test_lower_latency_is_the_better_direction(host):
    given = {"metric": "memory_latency_ns", "variant": "single"}
    past(host, 80, 80, 80, 80, 80, **given)
    assert notes(finished(host, 100.0, **given), "regression")
    assert notes(finished(host, 60.0, **given), "improvement")


@pytest.mark.parametrize(
    ("case", "given"),
    [
        ("within the band", {"value": 96.0}),
        ("a variant that does not rank", {"variant": "half"}),
        ("other parameters", {"parameters": {"seconds": 9}}),
        ("another profile", {"profile": "standard"}),
        ("only disturbed repeats", {"flags": ["disturbed"]}),
        ("a run that failed", {"state": "failed"}),
    ],
)
def test_result_is_not_noted_when_it_cannot_be_compared(host, case, given):
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, given.pop("value", 50.0), **given)
    assert notes(run, "regression") == [], case


def test_result_is_not_noted_without_enough_usable_earlier_runs(host):
    runs = past(host, 100, 101, 99, 100, 100)
    Sample.objects.filter(run=runs[0]).update(excluded_reason="the disk was full")
    assert notes(finished(host, 50.0), "regression") == []
    Sample.objects.filter(run=runs[0]).update(excluded_reason="", flags=["disturbed"])
    run = finished(host, 50.0)
    # the two results of 50 made five with the four clean ones: median 99.5
    assert notes(run, "regression")


def test_result_that_falls_from_repeat_to_repeat_is_noted(host):
    run = finished(host, 106.0, 105.0, 104.0, 99.0, 98.0, 97.0)
    assert notes(run, "drift") == [
        "CPU, all threads (CMIPS-compatible) (all) fell 7% from the first half of its 6 repeats "
        "to the last: a trend and not noise (Mann–Kendall test, p = 0.0028)"
    ]


def test_drift_is_not_noted_when_repeats_scatter_or_are_disturbed(host):
    assert notes(finished(host, 106.0, 97.0, 104.0, 99.0, 98.0, 105.0), "drift") == []
    falling = (106.0, 105.0, 104.0, 99.0, 98.0, 97.0)
    assert notes(finished(host, *falling, flags=["disturbed"]), "drift") == []


def test_other_hardware_is_said_and_ends_the_comparison(host):
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, 50.0, facts={**FACTS, "cpu_model": "EPYC"})
    assert notes(run, "regression") == []
    assert notes(run, "environment") == [
        "other hardware than before, not compared with it: cpu_model: Xeon → EPYC"
    ]


def test_another_kernel_is_said_and_compared(host):
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, 50.0, facts={**FACTS, "kernel": "6.2"})
    assert notes(run, "environment") == ["changed since the last run: kernel: 6.1 → 6.2"]
    assert notes(run, "regression")


def test_notes_take_few_queries_and_the_newest_runs(host, django_assert_max_num_queries):
    past(host, *[50.0] * 10, *[100.0] * COMPARED_RUNS)
    run = finished(host, 90.0)
    assert "expected 95 CMIPS … 105 CMIPS" in notes(run, "regression")[0]
    with django_assert_max_num_queries(3):
        run_notes(run)


def test_run_without_an_inventory_has_no_environment(host):
    run = factories.run(host)
    measured(run, 1.0)
    ended(run)
    run.refresh_from_db()
    assert run.environment == {}


# --- points ---------------------------------------------------------------------------------------


def test_history_has_a_point_a_run_with_the_band_before_it(host):
    past(host, 100, 101, 99, 100, 100)
    run = finished(host, 87.0, 88.0, 89.0)
    finished(host, 500.0, state="failed")
    finished(host, 500.0, flags=["cached"])
    points = history(host=host, metric="cmips_score", variant="all")
    assert [point.median for point in points] == [100, 101, 99, 100, 100, 88]
    last = points[-1]
    assert (last.run_id, last.host, last.low, last.high, last.n) == (run.pk, "db1", 87, 89, 3)
    assert last.band is not None
    assert (last.band.low, last.band.high, last.band.count) == (95, 105, 5)
    assert points[4].band is None
    assert [p.median for p in history(host=host, metric="cmips_score", variant="all", limit=2)] == [
        88
    ]


def test_history_of_an_offer_keeps_the_bands_of_its_hosts_apart(host):
    twin = factories.host(host.offer, name="db2", facts=FACTS)
    past(host, 100, 100, 100, 100, 100)
    past(twin, 50, 50, 50, 50, 50)
    finished(twin, 51.0)
    points = history(offer=host.offer, metric="cmips_score", variant="all")
    assert len(points) == 11
    assert points[-1].host == "db2"
    assert points[-1].band is not None
    assert points[-1].band.median == 50
