"""SSH hosts on loopback ports, all in one process, that answer what a worker asks without running
anything: so that the worker is measured and not its targets.

`python tests/bench/_farm.py COUNT STEP_S [STEPS]` prints one JSON line {"ports", "host_key",
"private_key"} and serves until its standard input ends. Every host takes a repeat every STEP_S
seconds; a run is under way there already, or, with the number of its steps, begins when it is started.

At the end it prints what the hosts saw: `gaps_s`, the time between two readings of a run, and
`steps`, how many results they had.
"""

import asyncio
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncssh

from workers.remote import scripts

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures/probes"
OUT = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
RECORD = json.loads((FIXTURES / "observe-clocks.txt").read_text())
SERIES = (FIXTURES / "observe-series.txt").read_bytes()
MANY_STEPS = 500
BOOT_ID = b"b34f3c9e-0000-4000-8000-000000000000"
LIVE_ROWS = 60
SUFFIXES = (".out", ".err", ".series", ".json")


class Host:
    """A machine on which a run of many repeats is under way, or will be."""

    def __init__(self, step_s: float, steps: int, ago_s: float | None) -> None:
        self._step_s, self._steps = step_s, steps
        self._began = None if ago_s is None else time.monotonic() - ago_s
        self._is_over = False
        self.pack = b""
        """The file that came last."""
        self._sums: dict[str, str] = {}
        self._readings: list[float] = []
        self.gaps_s: list[float] = []
        self.result_count = 0

    def identify(self, name: str) -> bytes:
        """What the script IDENTIFY would print."""
        facts = {
            "directory": f"/tmp/{name}", "system": "Linux", "arch": "x86_64",
            "boot_id": BOOT_ID.decode(), "clock_s": int(time.time()), "free_kib": 10**7,
        }  # fmt: skip
        return "".join(f"{key} {value}\n" for key, value in facts.items()).encode()

    def hashes(self, _directory: str) -> bytes:
        return "".join(f"{one}  {name}\n" for name, one in self._sums.items()).encode()

    def unpack(self, directory: str, _pack: str, *files: str) -> bytes:
        place = 0
        for name, size in zip(files[::3], map(int, files[1::3]), strict=True):
            self._sums[name] = hashlib.sha256(self.pack[place : place + size]).hexdigest()
            place += size
        return self.hashes(directory)

    def start(self, _directory: str) -> bytes:
        if self._began is None:
            self._began, self._is_over = time.monotonic(), False
        return b"started\n"

    def teardown(self, _directory: str) -> bytes:
        self._began, self._sums = None, {}
        self._note()
        return b"gone\n"

    def read(self, directory: str, *words: str) -> bytes:
        """What the script READ would print."""
        after, many, series = int(words[0]), int(words[1]), words[4]
        now = time.monotonic()
        frames = [("boot_id", BOOT_ID)]
        if self._began is not None:
            elapsed_s = now - self._began
            done = min(self._steps, int(elapsed_s / self._step_s))
            self.result_count = max(done, self.result_count)
            if not self._is_over:  # what is collected later is no poll
                self._readings.append(now)
            self._is_over = done == self._steps
            frames += [("directory", directory.encode()), ("status", self._status(done, elapsed_s))]
            if not self._is_over:
                frames.append(("alive", b"4711"))
            for number in range(after + 1, min(done, after + many) + 1):
                frames += [*_files(number).items(), ("tail", OUT.strip())]
            if self._is_over:
                frames.append(("manifest", _manifest(done)))
        if series == "live":
            header, row = SERIES.splitlines()[:2]
            frames.append(("live", b"\n".join([header, *([row] * LIVE_ROWS), b"."])))
        return b"".join(b"@ %s %d\n%s\n" % (k.encode(), len(v), v) for k, v in frames if v)

    def _status(self, done: int, elapsed_s: float) -> bytes:
        document = {
            "schema": 1, "state": "finished" if self._is_over else "running",
            "probe": "cmips", "variant": "all", "repeat": done,
            "step": min(self._steps, done + 1), "steps": self._steps,
            "progress": min(1, round(elapsed_s / (self._steps * self._step_s), 3)),
            "monotonic_s": round(elapsed_s, 2), "boot_id": BOOT_ID.decode(), "pid": 4711,
            "quiet_wait_s": 0.0, "failure": None,
        }  # fmt: skip
        return json.dumps(document, separators=(",", ":")).encode()

    def _note(self) -> None:
        """The run is over: what its readings say."""
        self.gaps_s += [after - before for before, after in pairwise(self._readings)]
        self._readings = []


def _files(number: int) -> dict[str, bytes]:
    """What the runner writes of a step."""
    record = json.dumps({**RECORD, "repeat": number - 1}, separators=(",", ":"))
    content = (OUT, b"", SERIES, f"{record}\n".encode())
    name = f"{number:03d}-cmips-all-{number - 1}"
    return {name + suffix: one for suffix, one in zip(SUFFIXES, content, strict=True)}


@functools.cache
def _manifest(steps: int) -> bytes:
    files = (one for number in range(1, steps + 1) for one in _files(number).items())
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in files]
    return "\n".join(lines).encode()


ANSWERS = {
    scripts.WRAPPER.format(script).encode(): answer
    for script, answer in (
        (scripts.IDENTIFY, Host.identify), (scripts.HASHES, Host.hashes),
        (scripts.UNPACK, Host.unpack), (scripts.START, Host.start), (scripts.READ, Host.read),
        (scripts.TEARDOWN, Host.teardown),
    )
}  # fmt: skip


class Farm:
    """The hosts as a process of their own, which ends with whoever started it."""

    def __init__(self, *arguments: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.shown: dict[str, Any] = json.loads(self._process.stdout.readline())

    def end(self) -> dict[str, Any]:
        """End it; what its hosts saw."""
        # The end of its input ends it.
        seen: dict[str, Any] = json.loads(self._process.communicate()[0])
        return seen


async def serve(host: Host, process: asyncssh.SSHServerProcess[bytes]) -> None:
    sent = await process.stdin.read()
    words = shlex.split(shlex.split(process.command or "")[-1])
    if sent in ANSWERS:
        process.stdout.write(b"%s\n" % scripts.BEGIN.encode())
        process.stdout.write(ANSWERS[sent](host, *words[words.index("--") + 1 :]))
    else:
        host.pack = sent
    process.exit(0)


async def main(count: int, step_s: float, steps: int | None) -> None:
    types = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")  # as images of Linux make them
    host_keys = [asyncssh.generate_private_key(one) for one in types]
    client_key = asyncssh.generate_private_key("ssh-ed25519")
    public = client_key.export_public_key("openssh").decode()
    hosts, ports = [], []
    for number in range(count):
        # The repeats of the hosts end one after the other, as they would.
        ago_s = step_s * number / count if steps is None else None
        hosts.append(Host(step_s, steps or MANY_STEPS, ago_s))
        listener = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=host_keys,
            authorized_client_keys=asyncssh.import_authorized_keys(public),
            process_factory=functools.partial(serve, hosts[-1]),
            encoding=None,
        )
        ports.append(listener.get_port())
    shown = {
        "ports": ports,
        "host_key": " ".join(host_keys[0].export_public_key("openssh").decode().split()[:2]),
        "private_key": client_key.export_private_key("openssh").decode(),
    }
    print(json.dumps(shown), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    seen = {
        "gaps_s": [one for host in hosts for one in host.gaps_s],
        "steps": sum(host.result_count for host in hosts),
    }
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    asyncssh.set_log_level("ERROR")
    asyncio.run(
        main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else None)
    )
