"""A provider in a folder: it rents out what a test puts behind it, and fails as real ones do.

Everything it knows is in one SQLite file, so that workers and tests in any number of processes see
the same provider. Whoever runs it watches `unattached`, starts a machine for each, `attach`es its
address and ends what `over` says. The rows stay: they are the provider's own record of what began
and ended when.
"""

import datetime as dt
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import (
    INSTALLATION,
    LaunchSpec,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
)

FILE = "provider.sqlite3"
USERNAME = "bench"
LOCK_WAIT_S = 20
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NO_PLACE = "no place was left for it"
# Made before a machine, and left to whoever asked for it.
PARTS = (ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP)
# What cannot go before the machine.
HELD = (ResourceKind.SECURITY_GROUP, ResourceKind.DISK)

SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, token TEXT NOT NULL, tag TEXT NOT NULL,
    machine_type TEXT NOT NULL, region TEXT NOT NULL, zone TEXT NOT NULL, labels TEXT NOT NULL,
    public_key TEXT NOT NULL, launched_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    visible_ms INTEGER NOT NULL, running_ms INTEGER NOT NULL,
    ends_ms INTEGER, is_ending INTEGER NOT NULL DEFAULT 0, detail TEXT NOT NULL DEFAULT '',
    is_listening INTEGER NOT NULL DEFAULT 1, address TEXT NOT NULL DEFAULT '',
    port INTEGER NOT NULL DEFAULT 22, console TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS resources_token ON resources (token);
CREATE TABLE IF NOT EXISTS faults (
    name TEXT NOT NULL, zone TEXT NOT NULL, times_left INTEGER NOT NULL, probability REAL NOT NULL,
    seconds REAL NOT NULL, PRIMARY KEY (name, zone)
);
CREATE TABLE IF NOT EXISTS draws (only INTEGER PRIMARY KEY, seed INTEGER, drawn INTEGER);
INSERT OR IGNORE INTO draws VALUES (1, 0, 0);
CREATE TABLE IF NOT EXISTS log (
    at_ms INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, token TEXT NOT NULL
);
"""


class Fault(StrEnum):
    """What can go wrong. `seconds` is the fault's own measure where its line names one."""

    THROTTLED = "throttled"
    """Any call is refused for now."""
    AUTH = "auth"
    """Any call is refused for good."""
    SLOW_ANSWER = "slow_answer"
    """Any call takes `seconds`, half of them before and half after its effect."""
    CAPACITY = "capacity"
    """No machine, but its parts are made; of one zone when that is given."""
    UNPLACED = "unplaced"
    """A machine is accepted, and then there is no capacity for it; of one zone when that is given."""
    FORBIDDEN_TYPE = "forbidden_type"
    """A launch that is only tried is refused."""
    QUOTA = "quota"
    LOST_REQUEST = "lost_request"
    """A launch times out and nothing was made."""
    LOST_ANSWER = "lost_answer"
    """A launch times out and the machine was made."""
    DOUBLED = "doubled"
    """A launch makes one machine more than its token allows."""
    LATE = "late"
    """A machine is unknown to describe and inventory for `seconds`."""
    SLOW_BOOT = "slow_boot"
    """It is pending for `seconds`."""
    NO_SSHD = "no_sshd"
    """Nothing listens on it."""
    INTERRUPTED = "interrupted"
    """It disappears `seconds` after its launch."""
    TERMINATE_FAILED = "terminate_failed"
    """Nothing happens, and an error says so."""
    TERMINATE_LOST = "terminate_lost"
    """It is ended, and the answer is lost."""
    SLOW_END = "slow_end"
    """It is ending for `seconds` before it is gone."""
    DISK_LEFT = "disk_left"
    """A disk stays behind."""


def now_ms() -> int:
    """The provider's clock: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def moment(ms: int) -> dt.datetime:
    """A time of the provider's record."""
    return EPOCH + dt.timedelta(milliseconds=ms)


class FakeCloud:
    """The provider itself."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DriverError(Reason.AUTH, "no such provider: its folder is gone", retryable=False)
        self._file = folder / FILE
        with closing(self._opened()) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(SCHEMA)

    # --- what its owner does ------------------------------------------------------------------

    def fault(
        self,
        name: Fault,
        *,
        times: int = 0,
        probability: float = 0,
        seconds: float = 0,
        zone: str = "",
    ) -> None:
        """From now on this goes wrong the next so many times, and after them at random."""
        row = (name, zone, times, probability, seconds)
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO faults VALUES (?, ?, ?, ?, ?)", row)

    def seed(self, number: int) -> None:
        """Begin the random draws anew; they follow each other whoever calls."""
        with self._transaction() as database:
            database.execute("UPDATE draws SET seed = ?, drawn = 0", (number,))

    def unattached(self) -> list[sqlite3.Row]:
        """Machines that live and have no address yet."""
        return self._rows(
            "kind = 'machine' AND address = '' AND (ends_ms IS NULL OR ends_ms > ?)", now_ms()
        )

    def attach(self, number: int, *, address: str, port: int, console: str) -> None:
        """Behind this machine is the one at that address; its console shows that text."""
        with self._transaction() as database:
            database.execute(
                "UPDATE resources SET address = ?, port = ?, console = ? WHERE number = ?",
                (address, port, console, number),
            )

    def over(self) -> list[sqlite3.Row]:
        """Machines that had an address and are over."""
        return self._rows("kind = 'machine' AND address != '' AND ends_ms <= ?", now_ms())

    def interrupt(self, number: int) -> None:
        """Take a machine away at once."""
        with self._transaction() as database:
            _end(database, number, now_ms(), "interrupted by the provider")

    def record(self) -> list[sqlite3.Row]:
        """Everything that ever was, oldest first."""
        return self._rows("?", 1)

    def alive(self) -> list[sqlite3.Row]:
        """Everything that costs money now, of every kind."""
        return self._rows("ends_ms IS NULL OR ends_ms > ?", now_ms())

    def log(self, kind: str, name: str = "") -> list[sqlite3.Row]:
        """The calls ("call") or the faults that happened ("fault"), oldest first."""
        with closing(self._opened()) as database:
            return database.execute(
                "SELECT * FROM log WHERE kind = ? AND ? IN ('', name) ORDER BY rowid", (kind, name)
            ).fetchall()

    # --- what a client asks for ---------------------------------------------------------------

    def begin(self, call: str, token: str) -> float:
        """Note the call; the seconds that it takes. DriverError when it is refused."""
        with self._transaction() as database:
            _noted(database, "call", call, token)
            if _happens(database, Fault.AUTH, token) is not None:
                raise DriverError(Reason.AUTH, "the provider does not know us", retryable=False)
            if _happens(database, Fault.THROTTLED, token) is not None:
                raise DriverError(Reason.TIMEOUT, "too many calls, try again", retryable=True)
            return _happens(database, Fault.SLOW_ANSWER, token) or 0.0

    def rehearse(self, spec: LaunchSpec) -> None:
        with self._transaction() as database:
            if _happens(database, Fault.FORBIDDEN_TYPE, "") is not None:
                detail = f"{spec.machine_type} is not for this account"
                raise DriverError(Reason.UNSUPPORTED, detail, retryable=False)

    def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        with self._transaction() as database:
            return _resource(_launched(database, spec, token))

    def describe(self, number: int) -> ProviderResource | None:
        """None while it is unknown."""
        found = self._rows("number = ? AND visible_ms <= ?", number, now_ms())
        return _resource(found[0]) if found else None

    def terminate(self, number: int) -> None:
        with self._transaction() as database:
            _terminated(database, number)

    def inventory(
        self, tag: str, *, token: str, region: str, regions: Sequence[str]
    ) -> list[ProviderResource]:
        """Of one launch also the machines that are over, after those that live: as AWS does, whose launches
        alone may make two machines, for an hour (docs.aws.amazon.com/AWSEC2/latest/UserGuide/
        terminating-instances.html)."""
        at = now_ms()
        rows = self._rows(
            "tag = ? AND ? IN ('', token) AND ? IN ('', region) AND visible_ms <= ?",
            *(tag, token, region, at),
        )
        listed = [_resource(row) for row in rows if row["region"] in regions]
        over = [one for one in listed if one.state == ProviderResourceState.GONE]
        machines = [
            one
            for one in over
            if token and one.kind == ResourceKind.MACHINE and one.refusal is None
        ]
        return [*(one for one in listed if one not in over), *machines]

    def console(self, number: int) -> str:
        """What the console shows; "" until the machine has booted."""
        found = self._rows("number = ? AND running_ms <= ?", number, now_ms())
        return str(found[0]["console"]) if found else ""

    # --- the file -----------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=LOCK_WAIT_S, isolation_level=None)
        database.row_factory = sqlite3.Row
        return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """What was written stays when a DriverError is raised: it is an answer as any other."""
        with closing(self._opened()) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except DriverError:
                database.execute("COMMIT")
                raise
            database.execute("COMMIT")

    def _rows(self, condition: str, *values: object) -> list[sqlite3.Row]:
        with closing(self._opened()) as database:
            # The condition is a literal of this file; values are bound.
            query = f"SELECT * FROM resources WHERE {condition} ORDER BY number"
            return database.execute(query, values).fetchall()


def _noted(database: sqlite3.Connection, kind: str, name: str, token: str) -> None:
    database.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (now_ms(), kind, name, token))


def _happens(database: sqlite3.Connection, name: Fault, token: str, zone: str = "") -> float | None:
    """The fault's seconds when it happens now."""
    row = database.execute(
        "SELECT * FROM faults WHERE name = ? AND zone IN ('', ?) ORDER BY zone DESC", (name, zone)
    ).fetchone()
    if row is None:
        return None
    if row["times_left"] > 0:
        database.execute(
            "UPDATE faults SET times_left = times_left - 1 WHERE name = ? AND zone = ?",
            (name, row["zone"]),
        )
    elif _draw(database) >= row["probability"]:
        return None
    _noted(database, "fault", name, token)
    return float(row["seconds"])


def _draw(database: sqlite3.Connection) -> float:
    database.execute("UPDATE draws SET drawn = drawn + 1")
    seed, drawn = database.execute("SELECT seed, drawn FROM draws").fetchone()
    digest = hashlib.sha256(f"{seed}:{drawn}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def _launched(database: sqlite3.Connection, spec: LaunchSpec, token: str) -> sqlite3.Row:
    """The first machine of the token, which may be a new one."""

    def happens(name: Fault) -> float | None:
        return _happens(database, name, token, spec.zone)

    if happens(Fault.LOST_REQUEST) is not None:
        raise DriverError(Reason.TIMEOUT, "no answer to the launch", retryable=True)
    known = [one for one in _of_token(database, token, "machine") if one["detail"] != NO_PLACE]
    if not known and happens(Fault.QUOTA) is not None:
        raise DriverError(Reason.QUOTA, "the account's limit is reached", retryable=False)
    for kind in PARTS:
        if not _of_token(database, token, kind):
            _made(database, spec, token, kind)
    if not known and happens(Fault.CAPACITY) is not None:
        raise DriverError(Reason.CAPACITY, "no such machine is free", retryable=True)
    for _ in range((not known) + (happens(Fault.DOUBLED) is not None)):
        _machine(database, spec, token, happens)
    if happens(Fault.LOST_ANSWER) is not None:
        raise DriverError(Reason.TIMEOUT, "no answer to the launch", retryable=True)
    made = _of_token(database, token, "machine")
    return next((one for one in made if one["detail"] != NO_PLACE), made[-1])


def _of_token(database: sqlite3.Connection, token: str, kind: str) -> list[sqlite3.Row]:
    query = "SELECT * FROM resources WHERE token = ? AND kind = ? ORDER BY number"
    return database.execute(query, (token, kind)).fetchall()


def _machine(
    database: sqlite3.Connection,
    spec: LaunchSpec,
    token: str,
    happens: Callable[[Fault], float | None],
) -> None:
    began = now_ms()
    running = began + _ms(happens(Fault.SLOW_BOOT))
    end, why = running + _ms(spec.lifetime_s), "it ended itself"
    if (lives_s := happens(Fault.INTERRUPTED)) is not None:
        end, why = min(end, began + _ms(lives_s)), "interrupted by the provider"
    if happens(Fault.UNPLACED) is not None:
        end, why = began, NO_PLACE
    number = _made(database, spec, token, ResourceKind.MACHINE)
    database.execute(
        "UPDATE resources SET launched_ms = ?, visible_ms = ?, running_ms = ?, ends_ms = ?,"
        " detail = ?, is_listening = ? WHERE number = ?",
        (
            *(began, began + _ms(happens(Fault.LATE)), running, end, why),
            *(happens(Fault.NO_SSHD) is None, number),
        ),
    )
    if happens(Fault.DISK_LEFT) is not None:
        _made(database, spec, token, ResourceKind.DISK)


def _made(
    database: sqlite3.Connection, spec: LaunchSpec, token: str, kind: ResourceKind
) -> int | None:
    """The number of the new resource, which is there at once and has no end."""
    at = now_ms()
    return database.execute(
        "INSERT INTO resources (kind, token, tag, machine_type, region, zone, labels, public_key,"
        " launched_ms, expires_ms, visible_ms, running_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(kind, token, spec.tag, spec.machine_type, spec.region, spec.zone),
            *(json.dumps(dict(spec.labels)), spec.public_key, at, _since_epoch(spec.expires_at)),
            *(at, at),
        ),
    ).lastrowid


def _terminated(database: sqlite3.Connection, number: int) -> None:
    row = database.execute("SELECT * FROM resources WHERE number = ?", (number,)).fetchone()
    if row is None:
        return
    token, is_machine = row["token"], row["kind"] == ResourceKind.MACHINE
    if _happens(database, Fault.TERMINATE_FAILED, token) is not None:
        raise DriverError(Reason.UNREACHABLE, "the provider is out of order", retryable=True)
    at = now_ms()
    holders = [] if is_machine else _of_token(database, token, "machine")
    if row["kind"] in HELD and any(holder["ends_ms"] > at for holder in holders):
        raise DriverError(Reason.UNSUPPORTED, "a machine still needs it", retryable=True)
    slow_s = _happens(database, Fault.SLOW_END, token) if is_machine else None
    _end(database, number, at + _ms(slow_s), "terminated by its owner")
    if _happens(database, Fault.TERMINATE_LOST, token) is not None:
        raise DriverError(Reason.TIMEOUT, "no answer to the end", retryable=True)


def _end(database: sqlite3.Connection, number: int, at: int, why: str) -> None:
    """It is over at that time, unless it is so earlier by itself."""
    database.execute(
        "UPDATE resources SET ends_ms = ?, is_ending = 1, detail = ?"
        " WHERE number = ? AND (ends_ms IS NULL OR ends_ms > ?)",
        (at, why, number, at),
    )


def _ms(seconds: float | None) -> int:
    return round((seconds or 0) * 1000)


def _since_epoch(at: dt.datetime) -> int:
    return (at - EPOCH) // dt.timedelta(milliseconds=1)


def _resource(row: sqlite3.Row) -> ProviderResource:
    at, is_over = now_ms(), row["ends_ms"] is not None and row["ends_ms"] <= now_ms()
    is_machine = row["kind"] == ResourceKind.MACHINE
    if is_over:
        state = ProviderResourceState.GONE
    elif row["is_ending"]:
        state = ProviderResourceState.ENDING
    elif is_machine and (at < row["running_ms"] or not row["address"]):
        state = ProviderResourceState.PENDING
    else:
        state = ProviderResourceState.RUNNING
    return ProviderResource(
        id=f"{row['kind']}-{row['number']}",
        state=state,
        kind=ResourceKind(row["kind"]),
        token=row["token"],
        installation=json.loads(row["labels"]).get(INSTALLATION, ""),
        region=row["region"],
        zone=row["zone"],
        address=row["address"] if state == ProviderResourceState.RUNNING else "",
        port=row["port"],
        username=USERNAME if is_machine else "",
        launched_at=moment(row["launched_ms"]),
        ended_at=moment(row["ends_ms"]) if is_over else None,
        expires_at=moment(row["expires_ms"]),
        detail=row["detail"] if is_over else "",
        refusal=Reason.CAPACITY if is_over and row["detail"] == NO_PLACE else None,
    )
