"""An installation of an earlier version is brought to this one while it measures: what was stored stays,
and the runs under way end as if nothing had been."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from backend.benchmarks.models import TERMINAL_STATES, Evidence, Run, Sample
from launcher.paths import ROOT
from tests.e2e.chaos_form import LEASE_S, NOTES
from tests.e2e.stack import Database, Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole
from tests.fakes.sshd import FakeSshd

pytestmark = [pytest.mark.serial, pytest.mark.native, pytest.mark.deep]
# The first version whose runs go by the plan that they began with (CHANGELOG.md), so that they outlive an upgrade.
EARLIER = "8a1c2ebf5de2dc12ad562ec21d7390c39307ddb6"
RUNS = 3
REPEATS = 8


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the earlier version with its probes, run by the packages of this one."""
    if subprocess.run(["git", "cat-file", "-e", EARLIER], cwd=ROOT, check=False).returncode:
        pytest.skip(f"the clone does not reach back to {EARLIER}")
    tree = tmp_path_factory.mktemp("earlier")
    archive = subprocess.run(["git", "archive", EARLIER], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    (tree / ".tools").symlink_to(ROOT / ".tools")
    build = [sys.executable, "-m", "workers.remote.probes.build", "--arch", "host"]
    subprocess.run(build, cwd=tree, env=_here(os.environ), check=True, capture_output=True)
    return tree


@pytest.fixture
def database(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any, built_probes: None
) -> Iterator[Database]:
    """Without tables yet."""
    made = Database(tmp_path_factory.mktemp("database"))
    try:
        with django_db_blocker.unblock(), made.redirected():
            made.create_empty()
            yield made
    finally:
        made.remove()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[FakeSshd]]:
    made = []
    for number in range(RUNS):
        directory = tmp_path / f"machine{number}"
        directory.mkdir()
        made.append(FakeSshd(directory))
        made[-1].start()
    yield made
    for one in made:
        one.stop()


def _here(environment: Any) -> dict[str, str]:
    """Whatever the tree builds and uses is its own."""
    return {name: value for name, value in environment.items() if name != "PROBE_BUILD_DIR"}


def _benchmark(number: int, machine: FakeSshd, key: Path, **parameters: float) -> list[str]:
    given = [f"--set={name}={value}" for name, value in parameters.items()]
    return [
        sys.executable, "manage.py", "benchmark",
        f"{machine.username}@{machine.address}:{machine.port}", "--name", f"machine{number}",
        "--identity", str(key), "--fingerprint", machine.fingerprint,
        "--probe", "cmips", "--json", "--set=quiet_budget_s=0", *given,
    ]  # fmt: skip


def _states() -> Counter[str]:
    """By SQL: the tables are those of another version."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM benchmarks_run")
        return Counter(state for (state,) in cursor.fetchall())


def _rows() -> dict[str, int]:
    with connection.cursor() as cursor:
        counts = {}
        for table in connection.introspection.table_names(cursor):
            if table.startswith(("accounts_", "benchmarks_", "catalog_")):
                cursor.execute(f'SELECT count(*) FROM "{table}"')
                (counts[table],) = cursor.fetchone()
        return counts


def figures(run):
    """Of a run, to the last digit."""
    rows = Sample.objects.filter(run=run).order_by("metric", "variant", "repeat")
    return list(rows.values_list("metric", "variant", "repeat", "value"))


def assert_nothing_is_lost(before, kept, machines):
    """The run that was done has its figures, those under way are whole, none is there twice."""
    assert kept
    assert figures(before) == kept
    assert Evidence.objects.filter(run=before).exists()
    under_way = Run.objects.exclude(pk=before)
    assert len(under_way) == RUNS
    for run in under_way:
        assert_whole(run, repeats=REPEATS)
    assert set(
        Counter(Sample.objects.values_list("run", "metric", "variant", "repeat")).values()
    ) == {1}
    for machine in machines:
        assert_clean(machine.temporary)


def test_measuring_runs_are_done_when_the_version_changes(earlier, database, machines, tmp_path):
    directory = tmp_path / "stack"
    directory.mkdir()
    stack = Stack(directory, database, lease_s=LEASE_S, settings={})
    old = _here(stack.environment)
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--no-input", "-v0"],
        cwd=earlier,
        env=old,
        check=True,
    )
    try:
        stack.up("broker")
        celery = [sys.executable, "-m", "celery", "-A", "backend.config.celery"]
        queues = ["-Q", "engine,poll,reap,notify", "--concurrency", "2"]
        stack.start("old-worker", [*celery, "worker", *queues], env=old, cwd=earlier)
        beat = [*celery, "beat", "-s", str(directory / "old-beat"), "--pidfile="]
        stack.start("old-beat", beat, env=old, cwd=earlier)
        keys = [tmp_path / f"key{number}" for number in range(RUNS)]
        for machine, key in zip(machines, keys, strict=True):
            key.write_text(machine.private_key)
        # One that is done before, whose figures must stay to the last digit.
        done = subprocess.run(
            _benchmark(0, machines[0], keys[0], seconds=0.2, repeats=2),
            cwd=earlier, env=old, check=False, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stderr[-3000:]} {stack.said()}"
        before = json.loads(done.stdout)["run"]
        kept = figures(before)
        for number, (machine, key) in enumerate(zip(machines, keys, strict=True)):
            follower = _benchmark(number, machine, key, seconds=3, repeats=REPEATS)
            stack.start(f"follower{number}", follower, env=old, cwd=earlier)
        eventually(lambda: _states()["running"] == RUNS, f"runs under way: {stack.said()}")
        rows = _rows()

        began = time.monotonic()
        for name in ("old-beat", "old-worker"):
            stack.stop(name, signal.SIGTERM)
        for number in range(RUNS):
            stack.kill(f"follower{number}")
        stopped = time.monotonic()
        call_command("migrate_when_ready")
        migrated = time.monotonic()
        assert all(count >= rows[table] for table, count in _rows().items() if table in rows)
        stack.up("worker", "beat")
        eventually(
            lambda: not Run.objects.exclude(state__in=TERMINAL_STATES).exists(),
            f"an end of all runs: {stack.said()}",
            within_s=180,
        )
    finally:
        stack.kill_all()
    NOTES.append(
        f"upgrade from {EARLIER[:8]}: workers stopped in {stopped - began:.1f} s, "
        f"migrated in {migrated - stopped:.1f} s, {RUNS} runs under way done"
    )
    assert_nothing_is_lost(before, kept, machines)
