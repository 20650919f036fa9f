"""/healthz and /readyz, the system checks, and the OpenAPI schema."""

import datetime as dt
import threading
import time

import pytest
from django.conf import LazySettings
from django.core import checks
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from backend.api import health
from backend.benchmarks.models import Tick
from backend.benchmarks.services.steps import tick_record
from backend.core import clock
from tests import factories
from tests.backend.conftest import API, fields


def test_healthz_answers_without_database(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_readyz_gives_the_age_of_the_last_tick(client: Client) -> None:
    MigrationRecorder(connection).migration_qs.update(applied=clock.now())
    assert client.get("/readyz").json()["tick_age_s"] is None
    Tick.objects.create(at=clock.now())
    state = client.get("/readyz").json()
    assert {name: state[name] for name in ("database", "migrations", "redis")} == {
        "database": "ok",
        "migrations": "ok",
        "redis": "ok",
    }
    assert 0 <= state["tick_age_s"] < 60


@pytest.mark.django_db
def test_first_readyz_of_a_new_database_stands_beside_its_tick(client: Client) -> None:
    tick_record()
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('benchmarks_tick_id_seq', 1, false)")
    assert client.get("/readyz").json()["writes"] == "ok"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("caller", "is_signed_in", "sees_counts"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, False, True),
        ({"REMOTE_ADDR": "203.0.113.7"}, False, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.7"}, False, False),
        ({"REMOTE_ADDR": "203.0.113.7"}, True, True),
    ],
)
def test_readyz_gives_counts_to_nobody_who_is_a_stranger(
    client: Client, caller: dict[str, str], is_signed_in: bool, sees_counts: bool
) -> None:
    Tick.objects.create(at=clock.now())
    if is_signed_in:
        client.force_login(factories.user())
    state = client.get("/readyz", **caller).json()  # type: ignore[arg-type]
    assert state["tick"] == "ok"
    counts = {"machine_count", "run_count", "look_age_s"}
    assert counts & set(state) == (counts if sees_counts else set())


@pytest.mark.django_db
def test_readyz_is_503_when_the_last_tick_is_older_than_a_minute(client: Client) -> None:
    Tick.objects.create(at=clock.now() - dt.timedelta(seconds=50))
    assert client.get("/readyz").status_code == 200
    Tick.objects.update(at=clock.now() - dt.timedelta(seconds=61))
    response = client.get("/readyz")
    assert (response.status_code, fields(response)) == (503, ["tick"])
    assert "the last one was 61 s ago" in response.json()["detail"]
    # A balancer keeps its web servers: pages answer well.
    assert client.get("/readyz?engine=0").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(("age_s", "status"), [(119, 200), (121, 503), (10**7, 503)])
def test_readyz_is_503_when_no_tick_ever_came(client: Client, age_s: int, status: int) -> None:
    applied = clock.now() - dt.timedelta(seconds=age_s)
    MigrationRecorder(connection).migration_qs.update(applied=applied)
    response = client.get("/readyz")
    assert response.status_code == status
    assert status == 200 or fields(response) == ["tick"]
    assert client.get("/readyz?engine=0").status_code == 200
    Tick.objects.create(at=clock.now())
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "setting", ["SET temp_file_limit = '100kB'", "SET transaction_read_only = on"]
)
def test_readyz_is_503_when_the_database_reads_and_does_not_write(
    client: Client, setting: str
) -> None:
    """A quota on files stands for the full disk: both refuse the file, with SQLSTATE class 53."""
    Tick.objects.create(at=clock.now())
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(setting)
        response = client.get("/readyz")
        balanced = client.get("/readyz?engine=0")
        transaction.set_rollback(True)
    assert (response.status_code, fields(response)) == (503, ["writes"])
    assert "the disk is full" in response.json()["detail"]
    assert balanced.status_code == 200
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_readyz_leaves_no_row_behind(client: Client) -> None:
    Tick.objects.create(at=clock.now())
    before = list(Tick.objects.values())
    client.get("/readyz")
    assert list(Tick.objects.values()) == before


@pytest.mark.django_db
def test_readyz_answers_in_time_when_a_name_is_not_found(
    client: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tick.objects.create(at=clock.now())
    settings.REDIS_URL = "redis://redis.example:6379/0"
    is_over = threading.Event()
    monkeypatch.setattr(health.socket, "getaddrinfo", lambda *_: is_over.wait(20))
    monkeypatch.setattr(health, "TIMEOUT_S", 0.2)
    began = time.monotonic()
    response = client.get("/readyz")
    took_s = time.monotonic() - began
    is_over.set()
    assert (response.status_code, fields(response)) == (503, ["redis"])
    assert took_s < 5


@pytest.mark.django_db
def test_readyz_is_503_naming_the_queue_that_is_gone(
    client: Client, settings: LazySettings
) -> None:
    Tick.objects.create(at=clock.now())
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nothing listens on port 1
    response = client.get("/readyz")
    assert (response.status_code, fields(response)) == (503, ["redis"])


@pytest.mark.django_db
def test_readyz_is_503_while_a_migration_is_missing(client: Client) -> None:
    Tick.objects.create(at=clock.now())
    (newest,) = MigrationExecutor(connection).loader.graph.leaf_nodes("catalog")
    MigrationRecorder(connection).record_unapplied(*newest)
    response = client.get("/readyz")
    assert (response.status_code, fields(response)) == (503, ["migrations"])


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"TOKEN_PEPPER": "short"}, "rackrate.E001"),
        ({"TOKEN_PEPPER": "x" * 50, "SECRET_KEY": "x" * 50}, "rackrate.E002"),
        ({"THROTTLE_TOKEN": "many"}, "rackrate.E003"),
        ({"LEASE_S": 9, "TICK_S": 5}, "rackrate.E004"),
        ({"PUBLIC_READ": True}, "rackrate.W001"),
        ({"SSH_ALLOW_PRIVATE": True}, "rackrate.W002"),
        ({"HTTPS_ONLY": False}, "rackrate.W003"),
        ({"PUBLIC_URL": "http://rackrate.test"}, "rackrate.W004"),
        ({"WEBHOOK_ALLOW_PRIVATE": True}, "rackrate.W005"),
        ({"BREACHED_PASSWORDS": "/nothing/here"}, "rackrate.E006"),
        ({"TOKEN_PEPPERS_PREVIOUS": ["q" * 50]}, "rackrate.W008"),
    ],
)
def test_check_finds_a_setting_that_is_not_for_a_server(
    settings: LazySettings, changes: dict[str, object], found: str
) -> None:
    sound: dict[str, object] = {
        "PUBLIC_READ": False,
        "SSH_ALLOW_PRIVATE": False,
        "HTTPS_ONLY": True,
    }
    sound |= {"TOKEN_PEPPER": "p" * 50, "PUBLIC_URL": "https://rackrate.test"}
    for name, value in {**sound, **changes}.items():
        setattr(settings, name, value)
    said = {str(m.id) for m in checks.run_checks(include_deployment_checks=True)}
    assert {one for one in said if one.startswith("rackrate.")} == {found}


@pytest.mark.django_db
def test_openapi_describes_every_address_and_its_problems(client: Client) -> None:
    response = client.get(f"{API}/schema/?format=json")
    schema = response.json()
    paths = {path.removeprefix(API) for path in schema["paths"]}
    assert {"/rankings", "/runs/{run_id}/cancel", "/hosts/{host_id}/approve", "/value"} <= paths
    assert not any("format" in path for path in paths)
    names = {p["name"] for p in schema["paths"][f"{API}/rankings"]["get"]["parameters"]}
    assert {"metric", "vcpu__gte", "provider__not", "as_of", "per_page"} <= names
    for operations in schema["paths"].values():
        for operation in operations.values():
            problems = {s: a for s, a in operation["responses"].items() if s >= "400"}
            assert problems
            assert all("application/problem+json" in a["content"] for a in problems.values())
    assert client.get(f"{API}/docs/").status_code == 200
