"""Who takes the processors while a bench runs: seconds of each program of the stack, and of the bench."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# What stands in a command line, and what that is.
PROGRAMS = {
    "granian": "web",
    " beat": "beat",
    "celery": "worker",
    "postgres": "database",
    "valkey": "broker",
    "tests.bench.": "bench",
    "tests/bench/": "bench",
}
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Of the fields behind the name: user and system, of itself and of children that ended (proc(5)).
OWN_TIMES = slice(11, 15)


def processor_s() -> Counter[str]:
    """Seconds that the launcher of this stack and all below it have taken so far, by program."""
    taken: Counter[str] = Counter()
    for pid in _below(os.getppid()):
        try:
            process = Path(f"/proc/{pid}")
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it has ended meanwhile
            continue
        program = next((of for part, of in PROGRAMS.items() if part in words), "other")
        taken[program] += sum(map(int, fields[OWN_TIMES])) / TICKS_A_SECOND
    return taken


def _below(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in map(int, pids):
            yield from _below(child)
