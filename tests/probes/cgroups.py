"""Cgroups for tests: a tree of files as the kernel shows them, and real ones where it allows them."""

import contextlib
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

V1_MEMORY = Path("/sys/fs/cgroup/memory")


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Files below a directory that is made anew, by their relative paths."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def mounting(*mounts: tuple[Path, str]) -> list[str]:
    """The words before a command for which files and directories lie over others: (over, place).

    Of its own process it may be `/proc/$$/…`. Skips the test where this machine does not allow it.
    """
    script = " && ".join(f'mount --bind "{over}" "{place}"' for over, place in mounts)
    before = ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"]
    done = subprocess.run([*before, "true"], capture_output=True, text=True, timeout=20)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.strip()}")
    return before


def seen_from_cgroup(program: Path, *words: str, root: Path, own: str) -> str:
    """What a program prints for which `root` is /sys/fs/cgroup and `own` its /proc/self/cgroup."""
    names = root.parent / "own-cgroup"
    names.write_text(own)
    before = mounting((root, "/sys/fs/cgroup"), (names, "/proc/$$/cgroup"))
    command = [*before, str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


class MemoryCgroup:
    """A real cgroup of version 1 with a limit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def joining(self) -> Callable[[], object]:
        """What moves a child process into it, before its program starts."""
        procs = self.path / "cgroup.procs"
        return lambda: procs.write_text(str(os.getpid()))

    @property
    def kill_count(self) -> int:
        """How often the kernel has ended a process of it for want of memory."""
        lines = (self.path / "memory.oom_control").read_text().split("\n")
        return int(dict(line.split() for line in lines if line)["oom_kill"])

    @property
    def failure_count(self) -> int:
        """How often the limit was hit."""
        return int((self.path / "memory.failcnt").read_text())


@contextlib.contextmanager
def memory_cgroup(limit_bytes: int) -> Iterator[MemoryCgroup]:
    """A cgroup with this limit; skips the test where this machine does not allow one."""
    own = V1_MEMORY / f"rackrate-test-{uuid.uuid4()}"
    try:
        own.mkdir()
        (own / "memory.limit_in_bytes").write_text(str(limit_bytes))
    except OSError as error:
        pytest.skip(f"this machine does not let us limit memory: {error}")
    try:
        yield MemoryCgroup(own)
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                own.rmdir()
                break
            time.sleep(0.05)
