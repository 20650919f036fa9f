"""Starts the long-running children, starts them again when they die, stops them in reverse order."""

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.paths import ROOT, STATE_VARIABLE
from launcher.processes import ProcessRecord, die_with_launcher, send, wait_until
from launcher.state import StackState

# A program that dies at its start would else be started for ever, and its reason scroll away in a log.
DEATHS_ALLOWED = 5
DEATHS_WITHIN_S = 60.0
APPLICATION_TIER = 2


@dataclass(frozen=True)
class Program:
    """A child: tiers start in rising order and stop in falling order, one tier at once."""

    name: str
    argv: list[str]
    environment: Mapping[str, str]
    tier: int
    stop_signal: int = signal.SIGTERM
    grace_s: float = 8.0
    user_id: int | None = None  # another user than the launcher's, root only
    directory: Path = ROOT


@dataclass
class Child:
    """A program and its present process; process is None between a death and the next start."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    start_at: float = 0.0


@dataclass
class Supervisor:
    """Keeps programs running; used from the main thread only."""

    state: StackState
    clock: Callable[[], float] = time.monotonic
    children: dict[str, Child] = field(default_factory=dict)
    records: dict[str, ProcessRecord] = field(default_factory=dict)
    deaths: deque[float] = field(default_factory=lambda: deque(maxlen=DEATHS_ALLOWED))

    def start(self, program: Program) -> None:
        child = self.children.setdefault(program.name, Child(program))
        child.program = program
        self._start(child)

    def _start(self, child: Child) -> None:
        program = child.program
        environment = {**program.environment, STATE_VARIABLE: str(self.state.directory)}
        with self.state.log(program.name).open("ab") as log:
            try:
                child.process = subprocess.Popen(
                    program.argv,
                    env=environment,
                    cwd=program.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches the launcher only; it stops in order
                    user=program.user_id,
                    group=program.user_id,
                    extra_groups=None if program.user_id is None else [],
                    preexec_fn=die_with_launcher(program.stop_signal),  # noqa: PLW1509 - main thread only
                )
            except OSError as error:
                raise LauncherError(
                    f"{program.argv[0]} cannot be started: {error.strerror}."
                ) from None
        self.records[program.name] = ProcessRecord.of(program.name, child.process.pid)
        self.state.save_processes(self.records)

    def is_running(self, name: str) -> bool:
        child = self.children.get(name)
        return bool(child and child.process and child.process.poll() is None)

    def forget(self, name: str) -> None:
        """Watch a child no longer that ended on its own."""
        self.children.pop(name, None)
        self.records.pop(name, None)
        self.state.save_processes(self.records)

    def tick(self) -> None:
        """Notice deaths and start again what is due; LauncherError at the fifth death in a minute."""
        now = self.clock()
        for child in self.children.values():
            if child.process is None:
                if now >= child.start_at:
                    self._start(child)
            elif (status := child.process.poll()) is not None:
                self._count_death(child, now, status)

    def _count_death(self, child: Child, now: float, status: int) -> None:
        name = child.program.name
        self._kill_session(child)
        child.process = None
        self.deaths.append(now)
        if len(self.deaths) == DEATHS_ALLOWED and now - self.deaths[0] <= DEATHS_WITHIN_S:
            raise LauncherError(
                f"{name} ended ({_ending(status)}), the fifth death in a minute; see "
                f"{self.state.log(name)}."
            )
        recent = sum(1 for death in self.deaths if now - death <= DEATHS_WITHIN_S)
        # Later each time: what it depends on may be starting again, too.
        child.start_at = now + 0.5 * recent
        say(f"{name} ended ({_ending(status)}) and is started again")

    def run_until(self, is_over: Callable[[], bool], pause_s: float = 0.2) -> None:
        while not is_over():
            self.tick()
            time.sleep(pause_s)

    def stop(self) -> None:
        """Stop every child, the highest tier first; kill what does not end in its grace time."""
        # Workers before the broker and the database that they still write to.
        for tier in sorted({child.program.tier for child in self.children.values()}, reverse=True):
            group = [child for child in self.children.values() if child.program.tier == tier]
            # First all of them, then the waiting, so that their grace times run side by side.
            for child in group:
                if child.process:
                    send(child.process.pid, child.program.stop_signal)
            for child in group:
                self._end(child)
        self.children.clear()
        self.records.clear()
        self.state.save_processes({})

    def _end(self, child: Child) -> None:
        process = child.process
        if process is None:
            return
        if not wait_until(lambda: process.poll() is not None, child.program.grace_s):
            process.kill()
            process.wait()
        self._kill_session(child)

    def _kill_session(self, child: Child) -> None:
        """End what a dead child left in its session, like pool processes of a killed worker."""
        record = self.records[child.program.name]
        for pid in record.members(self.state.marker):
            send(pid, signal.SIGKILL)


def _ending(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    return signal.Signals(-status).name


def ignore_interrupts() -> None:
    """While stopping: a second Ctrl-C must not leave half of the children running."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_IGN)


def heed_interrupts() -> None:
    """SIGTERM and a closed terminal mean the same as Ctrl-C, also when started in the background."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, interrupt)


def is_root() -> bool:
    return os.geteuid() == 0
