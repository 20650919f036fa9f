"""Lists in the order and from the time that are asked for."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client

from backend.benchmarks.models import Host, Sample
from tests import factories
from tests.backend.conftest import API, fields, rows

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
