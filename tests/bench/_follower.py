"""One worker process that follows running runs, and what that costs it.

`python tests/bench/_follower.py SECONDS` prints one JSON document:

- `late_s`: how much later than a period after the one before a reading of a run was there;
- `login_wait_s`: how long the login of a host that answers waited for its slot;
- `written_s`: time between two writes of a run's progress;
- `max_rss_mb`, `cpu_ratio`: of the whole process.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from statistics import quantiles
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from backend.benchmarks.services.progress import Progress, progress_write
from workers.engine import poller
from workers.engine.followed_run import Followed
from workers.remote.connections import Connections
from workers.remote.driver import Target, Transport
from workers.remote.pipeline import Snapshot
from workers.remote.static import StaticDriver

# The first seconds are for logging in.
SETTLE_S = 10
times: dict[str, dict[Any, list[float]]] = {"read": defaultdict(list), "write": defaultdict(list)}
# By the port of the host.
waits: dict[int, list[float]] = defaultdict(list)


def noting() -> None:
    """Note when a run was read and when it was written."""
    read = Followed.read

    async def noted_read(self: Followed, connections: Connections) -> Snapshot:
        snapshot = await read(self, connections)
        times["read"][self.run.pk].append(time.monotonic())
        return snapshot

    def noted_write(runs: Iterable[Progress]) -> set[int]:
        gathered = list(runs)
        written = progress_write(gathered)
        for one in gathered:
            if one.fields is not None:
                times["write"][one.claim.step_id].append(time.monotonic())
        return written

    Followed.read = noted_read  # type: ignore[method-assign]
    poller.progress_write = noted_write


def noting_logins() -> set[int]:
    """Note how long each login waits for its slot; the ports of the hosts that let us in."""
    asked: dict[int, float] = {}
    answered: set[int] = set()
    connected, connect = Connections.acquire, StaticDriver.connect

    async def noted_connected(self: Connections, *args: Any, **options: Any) -> Transport:
        asked[args[2].port] = time.monotonic()
        return await connected(self, *args, **options)

    async def noted_connect(self: StaticDriver, target: Target) -> Transport:
        waits[target.port].append(time.monotonic() - asked[target.port])
        transport = await connect(self, target)
        answered.add(target.port)
        return transport

    Connections.acquire = noted_connected  # type: ignore[method-assign]
    StaticDriver.connect = noted_connect  # type: ignore[method-assign]
    return answered


def spread(name: str, since: float, less_s: float = 0) -> dict[str, float]:
    """p50, p95 and max of the time between two of a run."""
    gaps = [
        max(0.0, after - before - less_s)
        for moments in times[name].values()
        for before, after in pairwise(moments)
        if after > since
    ]
    cuts = quantiles(gaps, n=20)
    return {"p50": cuts[9], "p95": cuts[18], "max": max(gaps), "count": len(gaps)}


def main(seconds: float) -> None:
    noting()
    answered = noting_logins()
    began = time.monotonic()
    cpu_s, cpu_since = 0.0, began
    while (left_s := began + seconds - time.monotonic()) > 0:
        if not cpu_s and time.monotonic() > began + SETTLE_S:
            cpu_s, cpu_since = time.process_time(), time.monotonic()
        poller.follow(lambda claim: None, window_s=min(left_s, poller.MAX_WINDOW_S / 3))
    used_ratio = (time.process_time() - cpu_s) / (time.monotonic() - cpu_since)
    since = began + SETTLE_S
    login_waits = [wait_s for port in answered for wait_s in waits[port]]
    found = {
        "runs": len(times["read"]),
        "silent": len(waits) - len(answered),
        "login_wait_s": {"p95": quantiles(login_waits, n=20)[18], "max": max(login_waits)},
        "late_s": spread("read", since, poller.PERIOD_S),
        "written_s": spread("write", since),
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu_ratio": used_ratio,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(float(sys.argv[1]))
