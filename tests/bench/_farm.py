"""SSH hosts on loopback ports, all in one process, that answer what a poller asks without running
anything: so that the worker is measured and not its targets.

`python tests/bench/_farm.py COUNT STEP_S` prints one JSON line {"ports", "host_key", "private_key"}
and serves until its standard input ends. Every host takes a repeat every STEP_S seconds.
"""

import asyncio
import functools
import json
import shlex
import sys
import time
from pathlib import Path

import asyncssh

from workers.remote.scripts import BEGIN

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/probes"
OUT = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
RECORD = (FIXTURES / "observe-clocks.txt").read_bytes()
SERIES = (FIXTURES / "observe-series.txt").read_bytes()
STEPS = 500
BOOT_ID = b"b34f3c9e-0000-4000-8000-000000000000"
LIVE_ROWS = 60


class Host:
    """A machine on which a run of many repeats is under way."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._began = time.monotonic()

    def answer(self, arguments: list[str]) -> bytes:
        """What the script READ would print."""
        directory, after, many = arguments[0], int(arguments[1]), int(arguments[2])
        elapsed_s = time.monotonic() - self._began
        step = min(STEPS - 1, int(elapsed_s / self._step_s) + 1)
        frames = [
            ("boot_id", BOOT_ID),
            ("directory", directory.encode()),
            ("alive", b"4711"),
            ("status", self._status(step, elapsed_s)),
        ]
        for number in range(after + 1, min(step, after + many + 1)):
            name = f"{number:03d}-cmips-all-{number - 1}"
            frames += [
                (f"{name}.out", OUT), (f"{name}.series", SERIES), (f"{name}.json", RECORD),
                ("tail", OUT.strip()),
            ]  # fmt: skip
        if arguments[5] == "live":
            header, row = SERIES.splitlines()[:2]
            frames.append(("live", b"\n".join([header, *([row] * LIVE_ROWS), b"."])))
        return b"".join(b"@ %s %d\n%s\n" % (k.encode(), len(v), v) for k, v in frames)

    def _status(self, step: int, elapsed_s: float) -> bytes:
        document = {
            "schema": 1, "state": "running", "probe": "cmips", "variant": "all",
            "repeat": step - 1, "step": step, "steps": STEPS,
            "progress": round(elapsed_s / (STEPS * self._step_s), 3),
            "monotonic_s": round(elapsed_s, 2), "boot_id": BOOT_ID.decode(), "pid": 4711,
            "quiet_wait_s": 0.0, "failure": None,
        }  # fmt: skip
        return json.dumps(document, separators=(",", ":")).encode()


async def serve(host: Host, process: asyncssh.SSHServerProcess[bytes]) -> None:
    await process.stdin.read()
    inner = shlex.split(process.command or "")[-1]
    words = shlex.split(inner)
    process.stdout.write(b"%s\n" % BEGIN.encode())
    process.stdout.write(host.answer(words[words.index("--") + 1 :]))
    process.exit(0)


async def main(count: int, step_s: float) -> None:
    types = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")  # as images of Linux make them
    host_keys = [asyncssh.generate_private_key(one) for one in types]
    client_key = asyncssh.generate_private_key("ssh-ed25519")
    public = client_key.export_public_key("openssh").decode()
    ports = []
    for number in range(count):
        # The repeats of the hosts end one after the other, as they would.
        host = Host(step_s)
        host._began -= step_s * number / count
        listener = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=host_keys,
            authorized_client_keys=asyncssh.import_authorized_keys(public),
            process_factory=functools.partial(serve, host),
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


if __name__ == "__main__":
    asyncssh.set_log_level("ERROR")
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
