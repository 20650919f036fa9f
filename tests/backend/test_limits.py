"""What keeps one caller from stopping the site: limits of pages, statements, and costly lists."""

import os
import subprocess
import sys

import pytest
import redis
from django.conf import LazySettings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from backend.benchmarks.models import Tick
from backend.core import clock
from tests import factories

pytestmark = pytest.mark.django_db


def test_pages_of_a_stranger_are_limited_and_say_when_to_come_back(
    client: Client, settings: LazySettings
) -> None:
    settings.THROTTLE_PAGES = "2/hour"
    here = {"REMOTE_ADDR": "192.0.2.10"}
    answers = [client.get("/metrics/", **here) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert "more than 2 pages" in answers[-1].content.decode()
    assert client.post("/accounts/login/", {}, **here).status_code == 429
    # Nor are others refused, those who watch the site, or the API, which counts by itself.
    assert client.get("/metrics/", REMOTE_ADDR="192.0.2.11").status_code == 200
    assert client.get("/healthz", **here).status_code == 200
    assert client.get("/api/v1/metrics", **here).status_code == 200


def test_pages_of_people_are_counted_by_person(client: Client, settings: LazySettings) -> None:
    settings.THROTTLE_PAGES, settings.THROTTLE_TOKEN = "1/hour", "3/hour"
    client.force_login(factories.user())
    answers = [client.get("/metrics/", REMOTE_ADDR="192.0.2.12") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]


def test_requests_are_counted_by_one_client(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    init = redis.Redis.__init__

    def noted(self: redis.Redis, **given: object) -> None:
        made.append(self)
        init(self, **given)

    here = {"REMOTE_ADDR": "192.0.2.13"}
    client.get("/api/v1/metrics", **here)
    monkeypatch.setattr(redis.Redis, "__init__", noted)
    answers = [client.get("/api/v1/metrics", **here) for _ in range(2)]
    # Counted, both of them, which the header says.
    assert all("RateLimit" in answer for answer in answers)
    assert made == []


def test_web_ends_statements_and_waits_for_locks() -> None:
    program = (
        "from backend.config import wsgi\n"
        "from django.db import connection\n"
        "with connection.cursor() as cursor:\n"
        "    for name in ('statement_timeout', 'lock_timeout'):\n"
        "        cursor.execute(f'SHOW {name}')\n"
        "        print(*cursor.fetchone())\n"
    )
    environment = {**os.environ, "STATEMENT_TIMEOUT_S": "7", "LOCK_TIMEOUT_S": "3"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["7s", "3s"]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM benchmarks_sample ORDER BY measured_at DESC, id LIMIT 50", "sample_newest"),
        (
            "SELECT * FROM benchmarks_run WHERE workspace_id = '00000000-0000-4000-8000-000000000000'"
            " ORDER BY created_at DESC, id LIMIT 50",
            "run_newest",
        ),
        ("SELECT count(*) FROM benchmarks_run WHERE state = 'lost'", "run_by_state"),
    ],
)
def test_newest_rows_are_read_by_an_index(query: str, index: str) -> None:
    with connection.cursor() as cursor:
        # An empty table is scanned whatever indexes it has.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {query}")
        assert index in str(cursor.fetchall())


def test_readiness_reads_the_migrations_of_the_program_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tick.objects.create(at=clock.now())
    assert client.get("/readyz").json()["migrations"] == "ok"

    def refuse(*_: object) -> None:
        raise AssertionError("every migration is read again")

    monkeypatch.setattr(MigrationLoader, "load_disk", refuse)
    assert client.get("/readyz").json()["migrations"] == "ok"
