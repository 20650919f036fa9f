"""An address that is to go says so in its answers and in the description, and long enough before."""

import datetime as dt
import email.utils

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from backend.api import urls
from backend.api.problems import ProblemsView
from backend.core.rest.deprecation import Deprecation
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
SINCE = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
GOING = Deprecation(SINCE, SINCE + dt.timedelta(days=180), "https://rackrate.example/why")


@pytest.fixture
def _going(monkeypatch, settings):
    settings.PUBLIC_READ = True
    monkeypatch.setattr(ProblemsView, "deprecation", GOING)


@pytest.mark.usefixtures("_going")
def test_answers_of_what_is_to_go_say_since_when_and_until_when():
    for path in ("problems", "problems.csv", "problems?page=99"):
        answer = Client().get(f"{API}/{path}")
        assert answer["Deprecation"] == "@1793491200"
        assert email.utils.parsedate_to_datetime(answer["Sunset"]) == GOING.sunset
        assert '<https://rackrate.example/why>; rel="deprecation"' in answer["Link"]
    listed = Client().get(f"{API}/problems")
    assert 'rel="describedby"' in listed["Link"]
    assert "Deprecation" not in Client().get(f"{API}/metrics").headers


@pytest.mark.usefixtures("_going")
def test_description_marks_what_is_to_go():
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    marked = [path for path, one in paths.items() if one.get("get", {}).get("deprecated")]
    assert marked == [f"{API}/problems"]


def test_what_is_to_go_stays_for_half_a_year():
    with pytest.raises(ValueError, match="at least 180 days"):
        Deprecation(SINCE, SINCE + dt.timedelta(days=179), "https://rackrate.example/why")


def test_nothing_of_v1_is_to_go_today():
    views = [
        pattern.callback.cls for pattern in urls.urlpatterns if hasattr(pattern.callback, "cls")
    ]
    assert len(views) > 100
    assert [view.__name__ for view in views if getattr(view, "deprecation", None)] == []
