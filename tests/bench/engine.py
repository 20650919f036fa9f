"""What the engine itself costs: `./rackrate bench engine`. Prints one JSON document.

- `overhead_local_s`, `overhead_ssh_s`: wall time of a short run that was not the runner's own;
- `tick_s`: one tick over 10,000 runs that are due at once, and the claims that it sends;
- `idle_tick_s`: one tick that finds 10,000 runs waiting for their host and nothing due.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db.models.functions import Now
from django.test.utils import setup_databases, teardown_databases

from backend.benchmarks.models import Host, HostState, Run, RunState, Step
from backend.benchmarks.services import host_create, host_local, run_create
from backend.config.celery import app
from tests import factories
from tests.fakes.sshd import FakeSshd
from workers import engine
from workers.pump import Pump

RUNS = 5
QUEUED = 10_000


def overheads(host: Host) -> list[float]:
    """Seconds of some short runs on the host that were not the runner's."""
    found = []
    for _ in range(RUNS):
        run = run_create(
            host=host,
            profile="quick",
            probes=["cmips"],
            parameters={"seconds": 0.5, "repeats": 1, "quiet_budget_s": 0},
            actor="bench",
        )
        while not run.is_finished:
            Pump().once()
            run.refresh_from_db()
        if run.state != RunState.DONE or run.overhead_s is None:
            raise SystemExit(f"a run {run.state}: {run.failure_detail}")
        found.append(run.overhead_s)
    return found


def ssh_host(sshd: FakeSshd) -> Host:
    host = host_create(
        workspace=factories.workspace(),
        name="target",
        address="127.0.0.1",
        port=sshd.port,
        username=sshd.username,
        private_key=sshd.private_key,
        offer=None,
        kind="dedicated",
        price=None,
        actor="bench",
    )
    host.state, host.host_key = HostState.TRUSTED, sshd.host_key
    host.save()
    return host


def queue_runs() -> None:
    """10,000 queued runs on as many hosts, none of them due."""
    offer = factories.offer()
    hosts = Host.objects.bulk_create(
        Host(workspace=factories.workspace(), offer=offer, name=f"queued-{n}", driver="static")
        for n in range(QUEUED)
    )
    runs = Run.objects.bulk_create(
        Run(workspace=host.workspace, host=host, offer=offer, profile="quick") for host in hosts
    )
    Step.objects.bulk_create(Step(run=run, state=RunState.QUEUED) for run in runs)


def timed(work: Callable[[], int]) -> tuple[float, int]:
    began = time.perf_counter()
    count = work()
    return time.perf_counter() - began, count


def figures(directory: Path) -> dict[str, Any]:
    os.environ["TMPDIR"] = str(directory / "here")
    (directory / "here").mkdir()
    local = overheads(host_local(workspace=factories.workspace()))
    sshd = FakeSshd(directory)
    sshd.start()
    remote = overheads(ssh_host(sshd))
    sshd.stop()
    queue_runs()
    idle_s = [timed(engine.tick)[0] for _ in range(5)]
    Step.objects.filter(finished_at=None).update(next_due_at=Now())
    ticks = [timed(engine.tick) for _ in range(5)]
    return {
        "overhead_local_s": {"median": statistics.median(local), "max": max(local)},
        "overhead_ssh_s": {"median": statistics.median(remote), "max": max(remote)},
        "idle_tick_s": {"median": statistics.median(idle_s), "max": max(idle_s)},
        "tick_s": {
            "median": statistics.median(seconds for seconds, _ in ticks),
            "max": max(seconds for seconds, _ in ticks),
            "claims": ticks[0][1],
        },
        "runs": RUNS,
        "queued": QUEUED,
    }


def main() -> int:
    app.send_task = lambda *_, **__: None  # type: ignore[method-assign,assignment]
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        with tempfile.TemporaryDirectory() as directory:
            found = figures(Path(directory))
    finally:
        teardown_databases(databases, verbosity=0)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
