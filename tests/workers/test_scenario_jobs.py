"""Workers that share a job, or are killed in the midst of it: real processes, a real kill."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection

from backend.config.celery import app
from backend.core import clock
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.models import JobState, ScenarioJob, ScenarioJobPiece
from backend.scenarios.services import job_requests
from backend.scenarios.services import jobs as services
from backend.scenarios.services.job_requests import job_create
from backend.scenarios.services.jobs import jobs_wake
from tests import factories
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from workers import scenario_jobs, tasks
from workers.engine import periodic

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import os, sys, uuid
os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
import django
django.setup()
from workers.scenario_jobs import work
while work(uuid.UUID(sys.argv[1])):
    print("piece", flush=True)
"""


def environment() -> dict[str, str]:
    """That of a worker on the test's own database; its messages go nowhere."""
    place = connection.settings_dict
    address = f"{place['HOST']}:{place['PORT']}/{place['NAME']}"
    return {
        **os.environ,
        "DATABASE_URL": f"postgresql://{place['USER']}:{place['PASSWORD']}@{address}",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }


def worker(job: ScenarioJob) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(job.pk)]
    return subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)


def document(options: int, days: int = 1, **given: Any) -> Document:
    rates = [all_of(f"cloud {n}", price(f"0.{40 + n}")) for n in range(options - 1)]
    horizon = {"start": "2026-01-01T00:00:00+00:00", "days": days, "step_s": 60}
    both = hybrid("both", price("100", "monthly"), price("0.4"), count=3)
    return startup(*rates, both, horizon=horizon, **given)


def made(given: Document) -> ScenarioJob:
    return job_create(workspace=factories.workspace(), document=given, actor="ada")


def outcome(job: ScenarioJob) -> dict[str, Any]:
    job.refresh_from_db()
    assert (job.state, job.failure) == (JobState.DONE, "")
    result: dict[str, Any] = json.loads(job.result or "")
    result.pop("data_version")
    return result


def test_two_workers_share_a_job_and_make_the_one_result(
    queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_requests, "PIECE_WORK", 1)
    given = document(8, days=120, uncertainty={"draws": 50, "seed": 1, "demand_growth_cv": "0.1"})
    job = made(given)
    pair = [worker(job) for _ in range(2)]
    done = [one.communicate(timeout=120)[0].count("piece") for one in pair]
    assert sum(done) in {8, 9}
    assert all(done)
    while scenario_jobs.work(job.pk):  # the last one to end its part compares, or we do
        pass
    assert outcome(job) == simulate(given)


def test_piece_of_a_killed_worker_is_taken_up_after_its_lease(
    queued: list[Any], settings: LazySettings
) -> None:
    given = document(6, days=365, policy={"kind": "step"})
    job = made(given)
    with worker(job) as killed:
        deadline = time.monotonic() + 60
        while not ScenarioJobPiece.objects.filter(lease_until__isnull=False).exists():
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    piece = job.pieces.filter(lease_token=1).get()
    assert piece.figures is None
    assert jobs_wake() == 0
    # The time of the lease passes.
    past = clock.now() - dt.timedelta(seconds=settings.LEASE_S)
    ScenarioJobPiece.objects.filter(pk=piece.pk).update(lease_until=past)
    ScenarioJob.objects.update(woken_at=past)
    queued.clear()
    periodic.tick()
    woken = [arguments for name, arguments in queued if name == "workers.simulate_job"]
    assert {one["job_id"] for one in woken} == {str(job.pk)}
    while scenario_jobs.work(job.pk):
        pass
    assert outcome(job) == simulate(given)


def test_job_that_ends_its_workers_again_and_again_fails(queued: list[Any]) -> None:
    job = made(document(2))
    for _ in range(services.MOST_ATTEMPTS):
        assert services.piece_claim(job_id=job.pk) is not None
        assert services.piece_claim(job_id=job.pk) is None
        ScenarioJobPiece.objects.filter(count__gt=0).update(lease_until=clock.now())
    assert scenario_jobs.work(job.pk) is False
    job.refresh_from_db()
    assert (job.state, job.reason) == (JobState.FAILED, "interrupted")
    assert job.failure == "calculating it ended a worker 3 times"


def test_worker_that_lost_its_lease_writes_nothing(queued: list[Any]) -> None:
    job = made(document(2))
    slow = services.piece_claim(job_id=job.pk)
    assert slow is not None
    ScenarioJobPiece.objects.filter(pk=slow.pk).update(lease_until=clock.now())
    taken = services.piece_claim(job_id=job.pk)
    assert taken is not None
    assert taken.pk == slow.pk
    for write in (
        lambda: services.piece_keep(piece=slow),
        lambda: services.piece_done(piece=slow, figures=[]),
    ):
        with pytest.raises(services.JobEnded):
            write()
    services.piece_keep(piece=taken)
    ScenarioJobPiece.objects.filter(pk=slow.pk).update(lease_until=clock.now())
    while scenario_jobs.work(job.pk):
        pass
    assert outcome(job) == simulate(document(2))


def test_messages_carry_the_job_alone_and_take_it_to_its_end(
    queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_requests, "PIECE_WORK", 1)
    given = document(3)
    job = made(given)
    assert queued == [(tasks.simulate_job.name, {"job_id": str(job.pk)})] * 3
    while queued:
        name, arguments = queued.pop(0)
        assert sorted(arguments) == ["job_id"]
        app.tasks[name](**arguments)
    assert outcome(job) == simulate(given)
