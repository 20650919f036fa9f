"""The migration at the start of a deployment: it waits for the database, and for another that migrates."""

import io
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from backend.core.alone import SCHEMA_LOCK
from backend.core.management.commands import migrate_when_ready as command

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def away(monkeypatch):
    """Nobody listens where the database should be; what is returned lets it answer."""
    monkeypatch.setattr(command, "PAUSE_S", 0.01)
    port = connection.settings_dict["PORT"]

    def answer():
        connection.settings_dict["PORT"] = port

    connection.close()
    connection.settings_dict["PORT"] = "1"
    yield answer
    connection.close()
    answer()


class Log(io.StringIO):
    """Calls something at the third line that is written."""

    def __init__(self, third):
        super().__init__()
        self.third = third
        self.lines = []

    def write(self, text):
        self.lines.append(text)
        if len(self.lines) == 3:
            self.third()
        return len(text)


def test_migration_waits_when_the_database_does_not_answer_yet(away, capsys):
    log = Log(away)
    call_command("migrate_when_ready", stderr=log)
    assert len(log.lines) == 3
    assert all("waiting: " in line and "refused" in line for line in log.lines)
    assert "No migrations to apply" in capsys.readouterr().out


def test_migration_gives_the_reason_when_the_database_stays_away(away):
    with pytest.raises(CommandError, match=r"not ready within 0.05 s: .*refused"):
        call_command("migrate_when_ready", within_s=0.05)


def test_waiting_ends_when_another_has_migrated(monkeypatch):
    monkeypatch.setattr(command, "PAUSE_S", 0.01)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'sessions' RETURNING app, name, applied"
        )
        rows = cursor.fetchall()

    def migrate():
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)", rows
            )

    log = Log(migrate)
    call_command("migrate_when_ready", wait_only=True, stderr=log)
    assert log.lines == ["waiting: 1 migrations are not applied\n"] * 3


def test_second_migration_waits_when_another_migrates():
    """With the lock taken by another session the command does not come to an end."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [SCHEMA_LOCK])
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
                    " AND objid = %s",
                    [SCHEMA_LOCK],
                )
                (waiting,) = cursor.fetchone()
            assert waiting == 1
            assert not done.is_set()
    finally:
        other.close()
        thread.join()
    assert done.is_set()
