"""docs/examples/regression-gate.sh, as CI calls it: with rackrate-client, against a server with a
worker, on a machine with a real sshd whose quota of CPU time is changed between the benchmarks."""

import os
import subprocess
import uuid
from collections import defaultdict

import pytest

from backend.accounts.services.tokens import token_create
from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Run, RunState
from launcher.paths import ROOT
from tests import factories
from tests.backend.client_package import client_package
from tests.e2e.chaos_form import LEASE_S, NOTES
from tests.e2e.conftest import trusted_host
from tests.e2e.quota_host import Unsupported, quota_host
from tests.e2e.stack import eventually

__all__ = ["client_package"]
# Deep: benchmarks beside the other tests are disturbed, and say nothing.
pytestmark = [pytest.mark.serial, pytest.mark.native, pytest.mark.deep]
# Short, so that some repeats lie between two looks of the server, which is on the same machine.
BENCHMARK = "--probe cmips --set seconds=0.5 --set repeats=4 --set quiet_budget_s=5"
FINE, WORSE, UNCLEAR = 0, 1, 2
# What others do on this machine meanwhile makes repeats disturbed, and a gate unclear.
TRIES = 3


@pytest.fixture(scope="module")
def stack(make_stack):
    # The usual time between ticks: one a second would be a disturbance of our own.
    return make_stack(LEASE_S, {"HTTPS_ONLY": "0", "ALLOWED_HOSTS": "127.0.0.1", "TICK_S": "5"})


@pytest.fixture
def machine(stack, tmp_path):
    """The host that the server knows, and the one that serves it."""
    try:
        with quota_host(tmp_path) as served:
            trusted_host(served)
            yield served
    except Unsupported as refusal:
        pytest.skip(str(refusal))


@pytest.fixture
def gate(stack, machine, client_package):
    """The status of the gate around a shell command; what it printed is noted."""
    stack.up("broker", "worker", "beat", "web")
    text = token_create(
        workspace=default_workspace(),
        owner=factories.owner(),
        name=f"ci {uuid.uuid4()}",
        scope="run",
    )[1]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(client_package),
        "RACKRATE": str(client_package / "bin/rackrate"),
        "RACKRATE_URL": f"http://127.0.0.1:{stack.web_port}",
        "RACKRATE_TOKEN": text,
        "BENCHMARK": BENCHMARK,
        "LOSS": "20%",
    }

    def serves():
        done = subprocess.run(
            [environment["RACKRATE"], "runs", "list"], env=environment, capture_output=True
        )
        return done.returncode == 0

    eventually(serves, "the web server")

    def called(change, host=machine.name, **given):
        done = subprocess.run(
            ["sh", str(ROOT / "docs/examples/regression-gate.sh"), host, "sh", "-c", change],
            env=environment | given, capture_output=True, text=True,
        )  # fmt: skip
        NOTES.append(f"gate around {change!r}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode

    return called


def newest_pair():
    after, before = Run.objects.order_by("-created_at")[:2]
    assert (before.labels, after.labels) == ({"gate": "before"}, {"gate": "after"})
    assert (before.state, after.state) == (RunState.DONE, RunState.DONE)
    return before, after


def assert_disturbed(*runs):
    """Unclear for the one good reason: others' work beside all repeats of a metric."""
    repeats = defaultdict(list)
    for run in runs:
        for metric, flags in run.samples.values_list("metric", "flags"):
            repeats[run.pk, metric].append("disturbed" in flags)
    assert any(all(one) for one in repeats.values()), dict(repeats)


def test_gate_fails_where_a_quota_takes_a_processor_away(gate, machine):
    for _ in range(TRIES):
        status = gate(machine.limit)
        assert status in {WORSE, UNCLEAR}
        runs = newest_pair()
        if status == WORSE:
            return
        assert_disturbed(*runs)
        subprocess.run(["sh", "-c", machine.unlimit], check=True)
    pytest.skip("the work of others disturbed every benchmark")


def test_gate_passes_where_nothing_changed(gate):
    for _ in range(TRIES):
        status = gate("true", LOSS="50%")
        assert status in {FINE, UNCLEAR}
        runs = newest_pair()
        if status == FINE:
            return
        assert_disturbed(*runs)
    pytest.skip("the work of others disturbed every benchmark")


def test_gate_is_unclear_where_nothing_was_measured(gate):
    assert gate("true", host="nosuch") == UNCLEAR
    assert gate("true", BENCHMARK="--probe nosuch") == UNCLEAR
