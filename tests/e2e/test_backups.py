"""A copy of the database is put in another place, whole or not at all."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import connection

from backend.benchmarks.models import Run
from backend.catalog.models import Offer
from backend.config import keys
from backend.core import backups, clock
from backend.core.alone import SCHEMA_LOCK
from backend.core.backups import Manifest, backup, manifest_path, missing_keys, restore
from backend.core.crypto import key_id
from launcher.paths import MANAGE
from tests import factories
from tests.database import empty
from tests.e2e.stack import Database, eventually
from tests.keys import NEW, OLD, OTHER, set_keys, set_keys_of_web

pytestmark = [pytest.mark.serial, pytest.mark.native]
KEY = b"backup key of thirty-two bytes.."


@pytest.fixture
def source(database: Database, django_db_blocker: Any) -> Iterator[Database]:
    """With an offer and a run."""
    with django_db_blocker.unblock(), database.redirected():
        factories.run(factories.host(factories.offer("kept")))
        yield database
        empty()


@pytest.fixture(scope="module")
def elsewhere(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any
) -> Iterator[Database]:
    made = Database(tmp_path_factory.mktemp("elsewhere"))
    try:
        with django_db_blocker.unblock(), made.redirected():
            made.create()
        yield made
    finally:
        made.remove()


@pytest.fixture
def target(elsewhere: Database, source: Database) -> Iterator[Database]:
    """Another database, without data of its own."""
    yield elsewhere
    with elsewhere.redirected():
        empty()


def _copy(directory: Path) -> Path:
    call_command("backup", str(directory))
    (path,) = [one for one in directory.iterdir() if not one.name.endswith(".json")]
    return path


@pytest.mark.parametrize("key", [b"", KEY], ids=["plain", "sealed"])
def test_copy_is_the_same_on_another_server(source, target, tmp_path, settings, key):
    settings.BACKUP_KEY = key
    path = _copy(tmp_path)
    (run,) = Run.objects.all()
    assert path.suffix == (".sealed" if key else ".dump")
    assert (b"kept" in path.read_bytes()) is False or not key
    assert path.stat().st_mode & 0o077 == 0
    with target.redirected():
        call_command("restore", str(path))
        assert list(Run.objects.values_list("pk", "offer__slug")) == [(run.pk, "kept")]
        # Its sequences go on behind what was restored.
        factories.run(run.host)
        assert Run.objects.count() == 2


@pytest.fixture
def app_role(target: Database) -> Iterator[str]:
    """A role of the other server that has logged in there as the application."""
    with target.redirected(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE rackrate_app LOGIN PASSWORD 'secret'")
        call_command("grant_role", "rackrate_app")
    yield "rackrate_app"
    with target.redirected(), connection.cursor() as cursor:
        cursor.execute("DROP OWNED BY rackrate_app; DROP ROLE rackrate_app")


def test_role_of_the_application_backs_up_and_outlives_a_restore(
    source, target, app_role, tmp_path
):
    path = _copy(tmp_path)
    with target.redirected():
        call_command("restore", str(path))
        rights = {
            "SELECT has_schema_privilege(%s, 'public', 'USAGE')": True,
            "SELECT has_table_privilege(%s, 'benchmarks_run', 'INSERT, UPDATE, DELETE')": True,
            "SELECT has_table_privilege(%s, 'accounts_auditentry', 'INSERT')": True,
            "SELECT has_table_privilege(%s, 'accounts_auditentry', 'UPDATE')": False,
            "SELECT has_table_privilege(%s, 'accounts_auditentry', 'DELETE')": False,
            "SELECT has_function_privilege(%s, 'accounts_audit_forget(timestamptz, integer)', 'EXECUTE')": False,
        }
        with connection.cursor() as cursor:
            for question, expected in rights.items():
                cursor.execute(question, [app_role])
                assert cursor.fetchone() == (expected,), question
            # What an upgrade makes later belongs to the role as well.
            cursor.execute("CREATE TABLE made_later (id bigserial)")
            cursor.execute("SELECT has_table_privilege(%s, 'made_later', 'SELECT')", [app_role])
            assert cursor.fetchone() == (True,)
            cursor.execute("DROP TABLE made_later")
            cursor.execute("SET ROLE rackrate_app")
            assert Run.objects.count() == 1
            factories.offer("written-by-the-application")
            cursor.execute("RESET ROLE")
        again = tmp_path / "again"
        again.mkdir()
        with as_role(app_role):
            call_command("backup", str(again))
        assert len(list(again.glob("*.dump"))) == 1


@contextmanager
def as_role(role: str) -> Iterator[None]:
    """The connection is another role's meanwhile."""
    given = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict |= {"USER": role, "PASSWORD": "secret"}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(given)


def test_grant_of_an_unknown_role_says_how_to_make_it(source):
    with pytest.raises(CommandError, match="there is no role nobody: CREATE ROLE nobody"):
        call_command("grant_role", "nobody")


def test_copy_is_of_one_moment_whatever_is_written_meanwhile(source, target, tmp_path, monkeypatch):
    dump = backups._dump

    def late(arguments: list[str], file: Any) -> None:
        # By another connection, as a worker writes.
        written = "from tests import factories; factories.offer('too-late')"
        subprocess.run(
            [sys.executable, str(MANAGE), "shell", "--no-imports", "-c", written],
            env={**os.environ}, check=True, timeout=120,
        )  # fmt: skip
        dump(arguments, file)

    monkeypatch.setattr(backups, "_dump", late)
    path = tmp_path / backup(tmp_path).file
    assert Offer.objects.filter(slug="too-late").exists()
    with target.redirected():
        restore(path)
        assert set(Offer.objects.values_list("slug", flat=True)) == {"kept"}


def test_second_copy_of_a_moment_leaves_the_first_alone(source, tmp_path, monkeypatch):
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    dump, refused = backups._dump, []

    def during(arguments: list[str], file: Any) -> None:
        monkeypatch.setattr(backups, "_dump", dump)
        with pytest.raises(CommandError, match=r"another copy is being written to .*\.partial"):
            call_command("backup", str(tmp_path))
        refused.append(True)
        dump(arguments, file)

    monkeypatch.setattr(backups, "_dump", during)
    call_command("backup", str(tmp_path))
    (path,) = tmp_path.glob("*.dump")
    assert refused
    assert manifest_path(path).exists()
    assert not list(tmp_path.glob("*.partial"))


def test_restore_waits_until_the_tables_are_made(source, target, tmp_path):
    path = _copy(tmp_path)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with target.redirected(), psycopg.connect(target.url, autocommit=True) as migrating:
        migrating.execute("SELECT pg_advisory_lock(%s)", [SCHEMA_LOCK])

        def end_when_awaited() -> None:
            eventually(lambda: migrating.execute(waiting).fetchone() == (1,), "the restore waits")
            migrating.execute("CREATE TABLE made_last ()")
            migrating.execute("SELECT pg_advisory_unlock(%s)", [SCHEMA_LOCK])

        with ThreadPoolExecutor(1) as other:
            ended = other.submit(end_when_awaited)
            call_command("restore", str(path))
            ended.result()
        assert set(Offer.objects.values_list("slug", flat=True)) == {"kept"}
        assert "made_last" not in connection.introspection.table_names()


def test_database_with_data_is_left_alone_unless_asked(source, target, tmp_path):
    path = _copy(tmp_path)
    with target.redirected():
        factories.run(factories.host(factories.offer("theirs")))
        with pytest.raises(CommandError, match="has data already"):
            call_command("restore", str(path))
        assert Offer.objects.get(slug="theirs")
        call_command("restore", str(path), "--replace")
        assert set(Offer.objects.values_list("slug", flat=True)) == {"kept"}


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _changed(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def _followed(path: Path) -> None:
    """As if somebody had made the manifest fit: the seal or PostgreSQL has to notice."""
    document = json.loads(manifest_path(path).read_text())
    document["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest_path(path).write_text(json.dumps(document))


# Not: a plain copy with another bit and a manifest that fits. Nothing seals that.
@pytest.mark.parametrize(
    ("key", "damages"),
    [
        (b"", [_cut]),
        (b"", [_changed]),
        (b"", [_cut, _followed]),
        (KEY, [_cut, _followed]),
        (KEY, [_changed, _followed]),
    ],
    ids=["cut", "changed", "cut, manifest fits", "sealed, cut", "sealed, changed"],
)
def test_damaged_copy_changes_nothing(target, tmp_path, settings, key, damages):
    settings.BACKUP_KEY = key
    path = _copy(tmp_path)
    for damage in damages:
        damage(path)
    with target.redirected():
        factories.offer("theirs")
        with pytest.raises(CommandError):
            call_command("restore", str(path), "--replace")
        assert Offer.objects.get().slug == "theirs"


def test_copy_under_another_key_says_which_it_needs(source, target, tmp_path, settings):
    settings.BACKUP_KEY = KEY
    path = _copy(tmp_path)
    settings.BACKUP_KEY = KEY[::-1]
    with target.redirected(), pytest.raises(CommandError, match="sealed by the BACKUP_KEY with"):
        call_command("restore", str(path))


def test_restore_says_when_the_credentials_need_another_key(
    source, target, tmp_path, settings, capsys
):
    path = _copy(tmp_path)
    needed = json.loads(manifest_path(path).read_text())
    set_keys(settings, KEY)
    with target.redirected():
        call_command("restore", str(path))
    said = capsys.readouterr().err
    assert f"another CREDENTIAL_KEY (id {needed['credentials_by']})" in said
    assert f"another WEB_KEY (id {needed['web_by']})" in said


def test_keys_that_a_copy_needs_are_known_by_those_that_are_here(settings):
    def missing(credentials_by: bytes, web_key: bytes) -> set[str]:
        web = X25519PrivateKey.from_private_bytes(web_key).public_key().public_bytes_raw()
        ids = (key_id(key).hex() for key in (credentials_by, web))
        return set(missing_keys(Manifest("", "", 0, "", None, *ids, {}, {})))

    public = keys.public_key(KEY, stated=b"")
    set_keys(settings, OTHER, KEY, web_key=NEW)
    assert missing(public, NEW) == set()
    assert missing(public, OLD) == {"WEB_KEY"}
    set_keys(settings, OTHER, web_key=NEW)
    assert missing(public, NEW) == {"CREDENTIAL_KEY"}
    set_keys(settings, b"")
    assert missing(public, NEW) == {"CREDENTIAL_KEY", "WEB_KEY"}


def test_copy_is_made_with_the_keys_of_the_web_and_not_without_any(source, tmp_path, settings):
    set_keys_of_web(settings, KEY, NEW)
    assert _copy(tmp_path / "web").exists()
    set_keys(settings, b"")
    with pytest.raises(CommandError, match="which keys it needs: this process"):
        call_command("backup", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_only_the_newest_copies_are_kept(source, tmp_path, monkeypatch):
    from backend.core import clock

    begin, kept = clock.now(), []
    (tmp_path / "rackrate-notes.txt").write_text("mine")
    for day in range(4):
        monkeypatch.setattr(clock, "now", lambda day=day: begin.replace(year=2030 + day))
        call_command("backup", str(tmp_path), "--keep", "2")
    kept = sorted(one.name[:13] for one in tmp_path.iterdir())
    assert kept == [
        "rackrate-2032",
        "rackrate-2032",
        "rackrate-2033",
        "rackrate-2033",
        "rackrate-note",
    ]


def test_failed_copy_leaves_no_file(source, tmp_path, monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "sslmode", "nonsense")
    with pytest.raises(CommandError, match="pg_dump failed"):
        call_command("backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_manifest_says_what_the_file_holds(source, tmp_path):
    path = _copy(tmp_path)
    manifest = Manifest(**json.loads(manifest_path(path).read_text()))
    assert manifest.rows["benchmarks_run"] == 1
    assert manifest.size_bytes == path.stat().st_size
    assert manifest.migrations["benchmarks"].startswith("00")
    assert manifest.sealed_by is None
