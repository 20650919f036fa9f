"""The hosts that benches follow, which run nothing, are to a worker as true ones are."""

import pytest

from backend.benchmarks.models import Evidence, RunState, Sample
from backend.benchmarks.services.runs import run_create
from tests.bench._farm import Farm
from tests.bench.engine import farm_hosts
from workers.engine.pump import Pump

pytestmark = pytest.mark.django_db(transaction=True)
STEPS = 4


@pytest.mark.usefixtures("queued")
def test_run_on_the_farm_is_done_with_every_step() -> None:
    farm = Farm(2, 0.5, STEPS)
    runs = [
        run_create(
            host=host,
            profile="quick",
            probes=["cmips"],
            parameters={"seconds": 0.5, "repeats": STEPS, "quiet_budget_s": 0},
            actor="tester",
        )
        for host in farm_hosts(farm.shown)
    ]
    pump = Pump()
    while any(not run.is_finished for run in runs):
        pump.once()
        for run in runs:
            run.refresh_from_db()
    seen = farm.end()
    assert {run.state for run in runs} == {RunState.DONE}
    assert seen["steps"] == len(runs) * STEPS
    assert Evidence.objects.filter(probe="cmips").count() == seen["steps"]
    assert Sample.objects.filter(run__in=runs).count() == seen["steps"]
    assert seen["gaps_s"]
