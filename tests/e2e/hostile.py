"""SSH servers that measure for real and lie about it, each differently, at every reading of a run."""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fakes.sshd import BOOT_ID, FakeSshd

READS_RUN = b"text() { printf '@ %s %s"
BEGIN = b"=== rackrate begins\n"
MIB = 2**20


def frame(name: str, content: bytes) -> bytes:
    return b"@ %s %d\n%s\n" % (name.encode(), len(content), content)


def status(state: str = "running", **different: object) -> bytes:
    """A status that a runner could write."""
    fields = {
        "schema": 1, "state": state, "probe": "cmips", "variant": "all", "repeat": 0, "step": 1,
        "steps": 21, "progress": 0.1, "monotonic_s": 1, "boot_id": _boot_id(), "pid": 1,
        "quiet_wait_s": 0, "failure": None,
    }  # fmt: skip
    return frame("status", json.dumps(fields | different).encode())


def _boot_id() -> str:
    return Path(BOOT_ID).read_text().strip()


def results(after: int, count: int, size: int) -> bytes:
    """Further results with noise, which no compression makes small."""
    return b"".join(
        frame(f"{n:03d}-cmips-all-{n}.out", os.urandom(size))
        + frame(f"{n:03d}-cmips-all-{n}.json", b"{}")
        for n in range(after + 1, after + count + 1)
    )


# What each puts behind boot id, directory and a living runner; it gets the number of the last result.
MODES: Mapping[str, Callable[[int], bytes]] = {
    "results for ever": lambda after: status() + results(after, 60, 50_000),
    "small results for ever": lambda after: status() + results(after, 60, 10),
    "never a manifest": lambda after: status("finished") + results(after, 60, 50_000),
    "last lines of 8 MB": lambda _: status() + frame("tail", os.urandom(4 * MIB).hex().encode()),
    "series of 8 MB": lambda _: status() + frame("live", b"t_s x\n" + b"1 1\n" * 2_000_000),
    "200 MB": lambda _: status() + b"x" * (200 * MIB),
    "noise": lambda _: os.urandom(MIB),
    "manifest of 150,000 names": lambda _: (
        status("finished")
        + frame("manifest", b"".join(b"%064d  %d-a-b-0.json\n" % (0, n) for n in range(150_000)))
    ),
    "status with control characters": lambda _: status(probe="\x1b]0;root\x07\x1b[2A"),
    "status without an end": lambda _: frame("status", b'{"schema":1,' + b'"a":' * 500_000),
    "frame that is longer than it says": lambda _: b"@ status 5\n" + b"x" * MIB,
    "numbers of 5000 digits": lambda _: frame("status", status().replace(b": 21,", b": " + b"9" * 5000)),
}  # fmt: skip


class HostileSshd(FakeSshd):
    """Does what it is told, and answers each reading of a run by a lie."""

    lie: Callable[[int], bytes]
    read_count = 0

    def answer(self, command: str, stdin: bytes, stdout: bytes) -> bytes:
        asked = re.search(r"-s -- (\S+) ([0-9]+) ", command)
        if asked is None or READS_RUN not in stdin:
            return stdout
        self.read_count += 1
        truth = frame("boot_id", _boot_id().encode()) + frame("directory", asked[1].encode())
        return BEGIN + truth + frame("alive", b"1") + self.lie(int(asked[2]))
