"""Linux processes: children that die with the launcher, and knowing them again after it died."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PROC = Path("/proc")
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_launcher(with_signal: int) -> Callable[[], None]:
    """For preexec_fn: the kernel sends the signal when the launcher dies, however it dies.

    Only for children started by the main thread: the kernel watches the starting thread.
    """
    launcher = os.getpid()

    def prepare() -> None:
        # A launcher started in the background of a shell ignores SIGINT, and children inherit that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Also after SIGKILL, which no handler of the launcher sees: a database left alone would block the
        # next start.
        LIBC.prctl(PR_SET_PDEATHSIG, with_signal, 0, 0, 0)
        if os.getppid() != launcher:  # it died before the line above took hold
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def boot_id() -> str:
    """Identifier of this boot: process ids and start times mean nothing across boots."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on; None when there is no such process."""
    try:
        # The name of the program is in parentheses and may hold blanks and parentheses itself.
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def start_ticks(pid: int) -> int | None:
    """Start time in clock ticks since boot; None for an absent or finished process."""
    fields = _stat(pid)
    # A zombie (Z) has ended and only waits for its parent.
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def cpu_s(root: int) -> float:
    """CPU seconds that a process and all that descend from it have taken, with those that ended."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in PROC.iterdir():
        fields = _stat(int(entry.name)) if entry.name.isdigit() else None
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            # utime, stime, and both of children that ended: probes of a second would be missed else.
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    family = [root]
    for pid in family:  # grows meanwhile
        family += children.get(pid, [])
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessRecord:
    """A process known beyond the life of its parent: the pid alone may be another process by then."""

    name: str
    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, name: str, pid: int) -> "ProcessRecord":
        """Record of a process that was just started."""
        return cls(name, pid, start_ticks(pid) or 0, boot_id())

    def is_alive(self) -> bool:
        """True if this very process still runs."""
        return self.boot == boot_id() and start_ticks(self.pid) == self.started

    def members(self, marker: str) -> Iterator[int]:
        """Processes of the session this one leads or led; marker is in the environment of each."""
        if self.boot != boot_id():
            return
        if self.is_alive():
            yield self.pid
        elif start_ticks(self.pid) is not None:
            return  # the number belongs to a stranger now, and so does the session
        for entry in PROC.iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.pid:
                continue
            fields = _stat(int(entry.name))
            is_member = fields and fields[0] not in "ZX" and int(fields[3]) == self.pid
            # Without its leader the number of a session may be anybody's: the marker says whose it
            # is.
            if is_member and (self.is_alive() or _has_in_environment(entry, marker)):
                yield int(entry.name)


def _has_in_environment(process: Path, marker: str) -> bool:
    try:
        return marker.encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def send(pid: int, with_signal: int) -> None:
    """Signal a process that may be gone by now."""
    with suppress(ProcessLookupError):
        os.kill(pid, with_signal)


def has_ended(pid: int) -> bool:
    return start_ticks(pid) is None


def wait_until(condition: Callable[[], bool], timeout_s: float, pause_s: float = 0.05) -> bool:
    """Poll until the condition holds; False after the timeout."""
    # Not the wall clock, which may be set meanwhile.
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True


def stop_left_over(record: ProcessRecord, marker: str, stop_signal: int, grace_s: float) -> bool:
    """End what a dead launcher left of this record, kindly first; True when there was something."""
    pids = list(record.members(marker))
    if not pids:
        return False
    if record.is_alive():
        # The leader alone: it ends its own processes, in the order that suits it.
        send(record.pid, stop_signal)
    else:
        for pid in pids:
            send(pid, signal.SIGTERM)
    for pid in pids:
        send(pid, signal.SIGCONT)  # one that is stopped would never see it
    if not wait_until(lambda: not list(record.members(marker)), grace_s):
        for pid in record.members(marker):
            send(pid, signal.SIGKILL)
        wait_until(lambda: not list(record.members(marker)), grace_s)
    return True
