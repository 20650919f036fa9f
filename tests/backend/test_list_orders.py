"""Lists in the order and from the time that are asked for."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from backend.api.urls import LISTS
from backend.benchmarks.models import Host, Run, Sample
from backend.catalog.services.data_version import data_version_bump
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.frontend.rows import measured_offer, published

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(caller: Callable[..., Client]) -> Client:
    return caller("read")


def column(client: Client, path: str, name: str) -> list[str]:
    return [row[name] for row in rows(client.get(f"{API}/{path}"))]


def test_samples_are_sorted_and_pages_do_not_overlap(reader: Client) -> None:
    offer = factories.offer("aws-a")
    for value in (3.0, 1.0, 2.0, 2.0, 2.0):
        factories.sample(offer, value)
    assert column(reader, "samples.csv?sort=value", "value") == ["1.0", "2.0", "2.0", "2.0", "3.0"]
    assert column(reader, "samples.csv?sort=-value", "value")[0] == "3.0"
    pages = [
        reader.get(f"{API}/samples?sort=value&per_page=2&page={page}").json()["results"]
        for page in (1, 2, 3)
    ]
    seen = [row["sample_id"] for page in pages for row in page]
    assert sorted(seen) == sorted(Sample.objects.values_list("pk", flat=True))


def test_hosts_are_listed_since_a_time_and_by_age(reader: Client) -> None:
    for day in (1, 2, 3):
        host = factories.host(name=f"host {day}")
        at = dt.datetime(2026, 11, day, tzinfo=dt.UTC)
        Host.objects.filter(pk=host.pk).update(created_at=at)
    listed = column(reader, "hosts.csv?since=2026-11-02&sort=-created_at", "name")
    assert listed == ["host 3", "host 2"]
    assert column(reader, "hosts.csv", "name") == ["host 1", "host 2", "host 3"]


@pytest.mark.parametrize("name", ["hosts", "campaigns", "runs", "samples", "resources"])
def test_column_that_nothing_is_sorted_by_is_refused(reader: Client, name: str) -> None:
    known = "measured_at" if name == "samples" else "created_at"
    assert reader.get(f"{API}/{name}?sort={known}").status_code == 200
    response = reader.get(f"{API}/{name}?sort=nothing")
    assert (response.status_code, fields(response)) == (400, ["sort"])


# --- cursors ----------------------------------------------------------------------------------------


def followed(client: Client, path: str, key: str, *, between: Callable[[], object]) -> list[Any]:
    """The keys of all rows from the first page to the last; `between` is done after the first."""
    url, seen = f"{API}/{path}{'&' if '?' in path else '?'}cursor=*&per_page=2", []
    while url:
        page = client.get(url).json()
        if not seen:
            between()
        seen += [row[key] for row in page["results"]]
        assert page["previous"] is None
        url = page["next"]
    return seen


@pytest.mark.parametrize("sort", ["", "sort=value", "sort=-value", "sort=-measured_at"])
def test_cursor_gives_every_row_once_while_others_are_added(reader: Client, sort: str) -> None:
    offer = factories.offer("aws-a")
    for value in (3.0, 1.0, 2.0, 2.0, 0.1 + 0.2):
        factories.sample(offer, value)
    there = list(Sample.objects.values_list("pk", flat=True))

    def added() -> None:
        for value in (0.0, 2.0, 9.0):
            factories.sample(offer, value)

    seen = followed(reader, f"samples?{sort}", "sample_id", between=added)
    assert len(seen) == len(set(seen))
    assert set(there) <= set(seen)


def test_cursor_passes_rows_whose_value_is_unknown(reader: Client) -> None:
    for n in range(5):
        at = factories.AT if n % 2 else None
        run = factories.run()
        Run.objects.filter(pk=run.pk).update(finished_at=at)
    for sign in ("", "-"):
        seen = followed(reader, f"runs?sort={sign}finished_at", "id", between=lambda: None)
        assert len(set(seen)) == 5


def test_cursor_of_a_ranking_ends_when_the_data_change(reader: Client) -> None:
    for n in range(5):
        published(f"aws-{n}", 100.0 + n, "0.1")
    ranked = followed(reader, "rankings?source=published", "offer_id", between=lambda: None)
    assert len(set(ranked)) == 5
    first = reader.get(f"{API}/rankings?source=published&cursor=*&per_page=2").json()
    published("aws-9", 50.0, "0.1")
    data_version_bump()
    refused = reader.get(first["next"])
    assert refused.status_code == 409
    assert "begin again" in refused.json()["detail"]


def test_wrong_cursor_is_refused(reader: Client) -> None:
    for _ in range(3):
        factories.host()
    url = reader.get(f"{API}/hosts?cursor=*&per_page=2&sort=name").json()["next"]
    assert reader.get(url.replace("sort=name", "sort=-name")).status_code == 409
    for wrong in ("cursor=x", "cursor=*&page=2", f"cursor={'y' * 3000}"):
        assert reader.get(f"{API}/hosts?{wrong}").status_code == 400


NEEDED = {
    "prices/history": "&offer=own-rack",
    "prices/difference": "&from=2026-01-01&to=2026-11-02",
    "compare": "&o=own-rack,aws-0",
    "requirements": "&target=cmips_score:100",
}


def test_every_list_is_followed_by_a_cursor_and_sorted(caller: Callable[..., Client]) -> None:
    measured_offer()
    for n in range(3):
        published(f"aws-{n}", 100.0 + n, "0.1")
    admin = caller("admin")
    for name, view in LISTS.items():
        sorts = ["", *(f"&sort={sign}{one}" for one in view.orders for sign in ("", "-"))]
        sorts += ["&since=2026-01-01"] if view.since else []
        for asked in sorts:
            url = f"{API}/{name}?cursor=*&per_page=1{asked}{NEEDED.get(name, '')}"
            answer = admin.get(url)
            assert answer.status_code == 200, (url, answer.content)
            page = answer.json()
            assert page["warnings"] == [], url
            assert bool(page["next"]) == (page["count"] > 1), url
            if page["next"]:
                following = admin.get(page["next"]).json()
                assert following["count"] == page["count"]
                assert len(following["results"]) == 1
                assert following["results"] != page["results"]
