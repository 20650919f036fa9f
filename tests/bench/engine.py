"""What the engine itself costs: `./rackrate bench engine`. Prints one JSON document.

- `overhead_local_s`, `overhead_ssh_s`: wall time of a short run that was not the runner's own;
- `tick_s`: one tick over 10,000 runs that are due at once, and the claims that it sends;
- `idle_tick_s`: one tick that finds 10,000 runs waiting for their host and nothing due;
- `finish_s`: the end of a run with 10,000 others queued, one of them for the same host;
- `followed`: one worker process that follows 250 SSH hosts and 50 that do not answer, with the 10,000
  queued (_farm.py, _follower.py), and how long the login of a host that answers waited for its slot.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db import connection
from django.db.models.functions import Now
from django.test.utils import setup_databases, teardown_databases

from backend.benchmarks.models import Host, HostState, Run, RunState, Sample, Step
from backend.benchmarks.services.hosts import host_local
from backend.benchmarks.services.login_keys import host_private_key_replace
from backend.benchmarks.services.runs import run_cancel, run_create
from backend.config.celery import app
from backend.core import clock
from tests import factories
from tests.bench._farm import BOOT_ID, Farm
from tests.fakes.sshd import FakeSshd
from workers.engine import dispatch
from workers.engine.pump import Pump

RUNS = 5
QUEUED = 10_000
FOLLOWED = 250
SILENT = 50
FOLLOWED_S = 60
# Every followed host brings a result this often.
STEP_S = 4.0
HERE = Path(__file__).parent


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
    return factories.ssh_host(sshd, "target")


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
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the start of a round does (services.run_batches)


def followed() -> dict[str, Any]:
    """What a worker process needs to follow 300 running runs."""
    farm = Farm(FOLLOWED, STEP_S)
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(SILENT)]
    farm.shown["ports"] += [one.getsockname()[1] for one in silent]
    running_runs(farm.shown)
    database = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    done = subprocess.run(
        [sys.executable, str(HERE / "_follower.py"), str(FOLLOWED_S)],
        env={
            **os.environ,
            "PYTHONPATH": str(HERE.parents[1]),
            "DATABASE_URL": database._replace(path=f"/{name}").geturl(),
            "SSH_ALLOW_PRIVATE": "1",
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    farm.end()
    for one in silent:
        one.close()
    Step.objects.filter(state=RunState.RUNNING).update(finished_at=Now())
    return {**json.loads(done.stdout), "samples": Sample.objects.count()}


def farm_hosts(shown: Mapping[str, Any]) -> list[Host]:
    """The hosts that a farm shows, trusted."""
    offer, workspace = factories.offer(), factories.workspace()
    hosts = [
        Host(
            workspace=workspace, offer=offer, name=f"farm-{port}", driver="static",
            address="127.0.0.1", port=port, username="bench", state=HostState.TRUSTED,
            host_key=shown["host_key"],
        )
        for port in shown["ports"]
    ]  # fmt: skip
    Host.objects.bulk_create(hosts)
    for host in hosts:
        host_private_key_replace(host=host, private_key=shown["private_key"], actor="bench")
    return hosts


def running_runs(shown: Mapping[str, Any]) -> None:
    """A run on each of the farm's hosts whose runner has been started."""
    for host in farm_hosts(shown):
        run = Run.objects.create(
            workspace=host.workspace, host=host, offer=host.offer, profile="standard",
            probes=["cmips"], parameters={"seconds": 60}, state=RunState.RUNNING,
            boot_id=BOOT_ID.decode(), live={"directory": "/tmp/rackrate-farm"},
            started_at=clock.now(),
        )  # fmt: skip
        Step.objects.create(run=run, state=RunState.RUNNING, next_due_at=Now())


def finishes() -> list[float]:
    """Seconds to end a run and let the next one on its host begin."""
    found = []
    for run in Run.objects.filter(state=RunState.QUEUED).order_by("created_at")[:RUNS]:
        waiting = Run.objects.create(
            workspace=run.workspace, host=run.host, offer=run.offer, profile="quick"
        )
        Step.objects.create(run=waiting, state=RunState.QUEUED)
        began = time.perf_counter()
        run_cancel(run=run, actor="bench")
        found.append(time.perf_counter() - began)
        if waiting.steps.get().next_due_at is None:
            raise SystemExit("the next run of the host was not woken")
    return found


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
    farm = followed()
    idle_s = [timed(dispatch.tick)[0] for _ in range(5)]
    ends_s = finishes()
    Step.objects.filter(finished_at=None).update(next_due_at=Now())
    ticks = [timed(dispatch.tick) for _ in range(5)]
    return {
        "overhead_local_s": {"median": statistics.median(local), "max": max(local)},
        "overhead_ssh_s": {"median": statistics.median(remote), "max": max(remote)},
        "idle_tick_s": {"median": statistics.median(idle_s), "max": max(idle_s)},
        "finish_s": {"median": statistics.median(ends_s), "max": max(ends_s)},
        "tick_s": {
            "median": statistics.median(seconds for seconds, _ in ticks),
            "max": max(seconds for seconds, _ in ticks),
            "claims": ticks[0][1],
        },
        "followed": farm,
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
