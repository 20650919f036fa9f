"""One rule says which repeats count: every page and report states the same median."""

from statistics import median

import pytest

from backend.benchmarks.models import Run
from backend.benchmarks.pages.runs.plots import run_strips
from backend.benchmarks.selectors.history import history
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.current_data import current_stamp
from backend.rankings.selectors.ranking import query_from, ranking
from backend.site.lines import result_lines, sample_lines
from tests import factories
from tests.backend.campaigns import ended, measured
from workers.engine.report import document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

CLEAN = (900.0, 1000.0, 1040.0)
UNFIT = (100.0, 110.0)
LEFT_OUT = 5000.0


def medians(run: Run) -> dict[str, float]:
    """The median of the run's CPU score as each place states it."""
    view = run_view(run)
    (result,) = document(view)["results"]
    (strip,) = run_strips(view.samples, "own")
    (line,) = result_lines(sample_lines(view.samples))
    current_stamp()
    query, _ = query_from({})
    (row,) = [row for row in ranking(query).rows if row.offer_id == run.offer.slug]
    return {
        "command line": result["median"],
        "strip": strip["median"],
        "result line": line.median,
        "ranking": row.score,
    }


@pytest.fixture
def run() -> Run:
    """A finished run with clean, disturbed, cached and excluded repeats."""
    run = factories.run(factories.host(name="db1"))
    measured(run, *CLEAN, *UNFIT, LEFT_OUT)
    for flag, value in zip(("disturbed", "cached"), UNFIT, strict=True):
        run.samples.filter(value=value).update(flags=[flag])
    run.samples.filter(value=LEFT_OUT).update(excluded_reason="wrong plan")
    return ended(run)


def test_median_is_the_same_everywhere(run: Run) -> None:
    (point,) = history(metric="cmips_score", variant="all", host=run.host)
    stated = medians(run) | {"history": point.median}
    assert set(stated.values()) == {median(CLEAN)}, stated


def test_median_of_unfit_repeats_is_the_same_where_none_is_clean(run: Run) -> None:
    run.samples.filter(value__in=CLEAN).update(excluded_reason="wrong plan")
    stated = medians(run)
    assert set(stated.values()) == {median(UNFIT)}, stated
    assert history(metric="cmips_score", variant="all", host=run.host) == []


def test_result_is_in_no_figure_when_a_person_left_all_out(run: Run) -> None:
    run.samples.update(excluded_reason="wrong plan")
    view = run_view(run)
    assert document(view)["results"] == []
    assert run_strips(view.samples, "own") == []
    (line,) = result_lines(sample_lines(view.samples))
    assert line.excluded_count == 6  # listed all the same, so that they can be taken back
