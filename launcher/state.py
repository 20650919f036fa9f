"""The state folder: secrets, the lock of the one live launcher, records of its processes, stamps."""

import base64
import fcntl
import json
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from launcher.console import LauncherError
from launcher.paths import STATE_VARIABLE
from launcher.processes import ProcessRecord, stop_left_over

SECRETS = ("SECRET_KEY", "CREDENTIAL_KEY", "TOKEN_PEPPER", "DATABASE_PASSWORD", "BROKER_PASSWORD")


class Busy(Exception):
    """Another live launcher holds this state; `pid` and `command` say which."""

    def __init__(self, pid: int, command: str) -> None:
        super().__init__(f"{command} (process {pid})")
        self.pid, self.command = pid, command


class StackState:
    """A folder, mode 0700; every file in it is for this user only."""

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
            self.logs = directory / "log"
            self.logs.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise LauncherError(
                f"The state folder {directory} cannot be used: {error.strerror}."
            ) from None
        self.directory = directory
        self._lock: int | None = None

    # --- files ----------------------------------------------------------------------------------
    def write(self, name: str, text: str) -> Path:
        """Write a file (0600) in one step: a reader sees the old or the new one, never half."""
        path = self.directory / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # mkstemp makes files of mode 0600; beside the file, as a rename across disks is no longer one step.
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).replace(path)
        return path

    def read(self, name: str) -> str:
        """Content of a file, "" when there is none."""
        path = self.directory / name
        return path.read_text() if path.is_file() else ""

    def secrets(self) -> dict[str, str]:
        """The generated secrets, made on first use."""
        known: dict[str, str] = json.loads(self.read("secrets.json") or "{}")
        missing = [name for name in SECRETS if name not in known]
        for name in missing:
            known[name] = (
                base64.b64encode(secrets.token_bytes(32)).decode()
                if name == "CREDENTIAL_KEY"
                else secrets.token_hex(32)
            )
        if missing:
            self.write("secrets.json", json.dumps(known))
        return known

    def log(self, name: str) -> Path:
        """Log file of a process or step; started anew once it is large."""
        path = self.logs / f"{name}.log"
        # Here, as a log is opened: children write to it by themselves and cannot be made to change files.
        if path.is_file() and path.stat().st_size > 10_000_000:
            path.replace(path.with_suffix(".log.1"))
        return path

    # --- one launcher at a time -----------------------------------------------------------------
    def acquire(self, command: str) -> None:
        """Become the one launcher of this state; Busy when another one lives.

        The kernel frees the lock with its holder, so a killed launcher never blocks the next.
        """
        handle = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 200, 0).decode().split(maxsplit=1)
            os.close(handle)
            raise Busy(int(holder[0]) if holder else 0, holder[-1] if holder else "?") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {command}".encode(), 0)
        self._lock = handle

    def release(self) -> None:
        if self._lock is not None:
            # Emptied before it is free, so that nobody is named who is not there any more.
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def holder(self) -> Busy | None:
        """The live launcher of this state, if there is one."""
        try:
            self.acquire("stop")
        except Busy as busy:
            return busy
        self.release()
        return None

    # --- processes ------------------------------------------------------------------------------
    @property
    def marker(self) -> str:
        """Marker in the environment of every process of this state."""
        return f"{STATE_VARIABLE}={self.directory}"

    def save_processes(self, records: Mapping[str, ProcessRecord]) -> None:
        """Remember the running children for a launcher that comes after a killed one."""
        self.write("processes.json", json.dumps([asdict(record) for record in records.values()]))

    def stop_left_overs(self) -> list[str]:
        """End what a killed launcher of this state left behind; needs the lock. Names, last first."""
        stopped = []
        for entry in reversed(json.loads(self.read("processes.json") or "[]")):
            record = ProcessRecord(**entry)
            # PostgreSQL has data to write; a worker without its broker would only try to reach it for minutes.
            kind, grace_s = (
                (signal.SIGINT, 15.0) if record.name == "postgres" else (signal.SIGTERM, 2.0)
            )
            if stop_left_over(record, self.marker, kind, grace_s):
                stopped.append(record.name)
        self.save_processes({})
        # A launcher that was killed could not take it back: others would join a stack that is gone.
        self.write("stack.json", "{}")
        return stopped

    # --- the live stack -------------------------------------------------------------------------
    def publish(self, environment: Mapping[str, str]) -> None:
        """Write how other commands reach the stack."""
        self.write("stack.json", json.dumps(dict(environment)))

    def published(self) -> dict[str, str]:
        """The live stack's published facts; empty until it is ready."""
        known: dict[str, str] = json.loads(self.read("stack.json") or "{}")
        return known


@contextmanager
def throw_away(beside: StackState, purpose: str) -> Iterator[StackState]:
    """A fresh state in a folder of its own, removed afterwards; those of killed launchers too."""
    parent = beside.directory / "throw-away"
    parent.mkdir(mode=0o700, exist_ok=True)
    for old in parent.iterdir():
        abandoned = StackState(old)
        try:
            abandoned.acquire("clean-up")
        except Busy:
            continue
        abandoned.stop_left_overs()
        abandoned.release()
        shutil.rmtree(old, ignore_errors=True)
    state = StackState(Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=parent)))
    # For as long as it is used, or the next clean-up would take it for one that was left.
    state.acquire(purpose)
    try:
        yield state
    finally:
        state.release()
        shutil.rmtree(state.directory, ignore_errors=True)
