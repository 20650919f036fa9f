"""Two workers that are two machines: a run on the one is never touched by the other."""

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Run, RunState, Worker
from backend.benchmarks.services.hosts import host_local
from backend.benchmarks.services.workers import worker_left, workers_alive
from tests.e2e.stack import NEIGHBOUR, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended

pytestmark = [pytest.mark.serial, pytest.mark.native]


@pytest.fixture
def hosts(stack):
    """The machine of the first worker and that of the second one, both at work."""
    stack.down("pump")
    made = [host_local(workspace=default_workspace(), worker_id=id_) for id_ in (None, NEIGHBOUR)]
    # The neighbour of the test before is dead; its row would say for a minute that it is there.
    worker_left(worker_id=NEIGHBOUR, instance=Worker.objects.get(pk=NEIGHBOUR).instance)
    stack.up("broker", "worker", "neighbour", "beat")
    eventually(lambda: workers_alive().count() == 2, "both workers")
    yield made
    stack.down("neighbour")


def test_local_runs_end_done_and_untouched_when_two_workers_serve(stack, hosts, begin):
    here, there = hosts
    assert here.offer_id != there.offer_id
    before = stack.neighbour.stat().st_mtime_ns
    runs = [begin(here, repeats=1) for _ in range(5)]
    eventually(ended(*runs), "the end of all five runs")
    for run in runs:
        assert_whole(run, repeats=1)
    assert_clean(stack.target)
    # Even a look at a machine leaves a trace: a file is tried out there.
    assert stack.neighbour.stat().st_mtime_ns == before

    before = stack.target.stat().st_mtime_ns
    run = begin(there, repeats=1)
    eventually(ended(run), "the end of the neighbour's run")
    assert_whole(run, repeats=1)
    assert stack.target.stat().st_mtime_ns == before
    run = Run.objects.get(pk=run.pk)
    assert run.live["directory"].startswith(str(stack.neighbour))


def test_local_run_waits_and_fails_with_a_reason_when_its_worker_is_gone(stack, hosts, begin):
    stack.kill("neighbour")
    run = begin(hosts[1], repeats=1)
    eventually(ended(run), "the end of a run that nobody can do")
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unreachable")
    assert run.failure_detail.startswith("no worker with the WORKER_ID neighbour has been there")
    assert not run.events.filter(detail=RunState.VERIFIED_GONE).exists()


def test_local_run_goes_on_when_its_worker_comes_back(stack, hosts, begin):
    stack.kill("neighbour")
    run = begin(hosts[1], repeats=1)
    stack.up("neighbour")
    eventually(ended(run), "the end of the run")
    assert_whole(run, repeats=1)
    assert Worker.objects.get(pk=NEIGHBOUR).instance
