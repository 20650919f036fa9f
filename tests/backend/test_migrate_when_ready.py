"""The migration at the start of a deployment: it waits for the database, and for another that migrates."""

import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from backend.common.management.commands import migrate_when_ready as command


@pytest.fixture
def away(monkeypatch):
    """The database does not answer so many times, and then does."""
    monkeypatch.setattr(command, "PAUSE_S", 0.01)
    connect, left = connection.connect, [0]

    def fail():
        if left[0]:
            left[0] -= 1
            raise OperationalError("connection refused\nIs the server running?")
        connect()

    def make(times):
        connection.close()
        monkeypatch.setattr(connection, "connect", fail)
        left[0] = times

    return make


@pytest.mark.django_db(transaction=True)
def test_migration_waits_when_the_database_does_not_answer_yet(away, capsys):
    away(3)
    call_command("migrate_when_ready")
    said = capsys.readouterr()
    assert said.err.count("waiting: connection refused") == 3
    assert "No migrations to apply" in said.out


@pytest.mark.django_db(transaction=True)
def test_migration_gives_the_reason_when_the_database_stays_away(away):
    away(10_000)
    with pytest.raises(CommandError, match="not ready within 0.05 s: connection refused$"):
        call_command("migrate_when_ready", within_s=0.05)
    away(0)


@pytest.mark.django_db(transaction=True)
def test_waiting_ends_when_another_has_migrated(monkeypatch, capsys):
    monkeypatch.setattr(command, "PAUSE_S", 0.01)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'sessions' RETURNING app, name, applied"
        )
        rows = cursor.fetchall()
    with pytest.raises(CommandError, match="1 migrations are not applied"):
        call_command("migrate_when_ready", wait_only=True, within_s=0.05)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)", rows
        )
    call_command("migrate_when_ready", wait_only=True, within_s=0.05)


@pytest.mark.django_db(transaction=True)
def test_second_migration_waits_when_one_is_under_way(capsys):
    """With the lock taken by another session the command does not come to an end."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [command.LOCK])
    done = threading.Event()

    def migrate():
        try:
            call_command("migrate_when_ready")
            done.set()
        finally:
            connection.close()

    thread = threading.Thread(target=migrate)
    thread.start()
    try:
        with other.cursor() as cursor:
            waiting = 0
            while not waiting and thread.is_alive():
                cursor.execute(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                    " AND objid = %s", [command.LOCK],
                )  # fmt: skip
                (waiting,) = cursor.fetchone()
            assert waiting == 1
            assert not done.is_set()
    finally:
        other.close()
        thread.join()
    assert done.is_set()
