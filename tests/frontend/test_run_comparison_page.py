"""The page that compares two runs."""

import uuid

import pytest
from django.test import Client

from backend.benchmarks.models import Run
from tests import factories
from tests.backend.campaigns import ended, measured

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
QUIET = [1000.0, 1005.0, 995.0, 1002.0, 998.0]


@pytest.fixture
def host():
    return factories.host(name="db1")


def finished(host, factor=1.0, state="done", values=QUIET, **environment):
    run = factories.run(host)
    measured(run, *(value * factor for value in values))
    Run.objects.filter(pk=run.pk).update(environment=environment)
    return ended(run, state)


def page(**query):
    return Client().get("/runs/compare/", {name: str(value) for name, value in query.items()})


def text(response):
    return " ".join(response.content.decode().split())


def test_comparison_says_what_got_worse_by_how_much_and_what_differs(host):
    first, second = finished(host, kernel="6.1"), finished(host, 0.9, kernel="6.18")
    said = text(page(a=first.pk, b=second.pk))
    assert "The second run is worse: " in said
    # 900 / 1000 - 1
    assert "−10%" in said
    assert "6.1</td><td>6.18" in said


def test_comparison_turns_with_the_order_of_the_runs(host):
    first, second = finished(host), finished(host, 0.9)
    said = text(page(a=second.pk, b=first.pk))
    assert "The second run is better: " in said
    # 1000 / 900 - 1
    assert "+11.1%" in said


def test_comparison_of_equal_runs_finds_no_difference(host):
    first, second = finished(host), finished(host)
    assert "No difference" in text(page(a=first.pk, b=second.pk))


def test_comparison_says_why_a_metric_is_left_out(host):
    first, second = finished(host), factories.run(host)
    measured(second, *QUIET, flags=["disturbed"])
    second = ended(second, "done")
    said = text(page(a=first.pk, b=second.pk))
    assert "Nothing can be compared" in said
    assert "Other programs disturbed every repeat of the second run." in said


def test_comparison_says_nothing_of_a_run_that_failed(host):
    first, second = finished(host), finished(host, 0.9, state="failed")
    assert "No comparison: " in text(page(a=first.pk, b=second.pk))


def test_comparison_asks_for_the_second_run_where_one_is_named(host):
    first, second = finished(host), finished(host)
    said = text(page(a=first.pk))
    assert f"a={first.pk}&amp;b={second.pk}" in said
    assert "same run twice" in text(page(a=first.pk, b=first.pk))


@pytest.mark.parametrize("name", [uuid.UUID(int=1), "nonsense"])
def test_comparison_of_an_unknown_run_is_not_found(host, name):
    assert page(a=name).status_code == 404


def test_list_and_run_lead_to_the_comparison(host):
    first, second = finished(host), finished(host)
    assert f"/runs/compare/?a={first.pk}" in text(Client().get(f"/runs/{first.pk}/"))
    listed = text(Client().get("/runs/"))
    names = [f"· {str(run.pk)[:6]}" for run in (first, second)]
    # Both began in one minute.
    assert all(name in listed for name in names)
    answer = Client().get("/runs/compare/", {"run": [str(second.pk), str(first.pk)]})
    assert answer.headers["Location"] == f"/runs/compare/?a={first.pk}&b={second.pk}"
