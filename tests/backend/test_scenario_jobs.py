"""Scenarios that workers calculate: asked for, followed, answered as within a request, cancelled."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import LazySettings
from django.db import InterfaceError, OperationalError
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.core import clock
from backend.scenarios.calc import simulate as simulating
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import ScenarioJob, ScenarioJobPiece
from backend.scenarios.services import job_requests
from tests import factories
from tests.backend.conftest import API, fields
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from workers import retention, scenario_jobs

pytestmark = pytest.mark.django_db
SIMULATE = f"{API}/scenarios/simulate"
ASYNC = "respond-async"
SPREADS = {"draws": 100, "seed": 1, "demand_growth_cv": 0.2, "price_cv": "0.1"}
OFFER = {"offer": "box", "term": "on_demand"}


def document(**given: Any) -> Document:
    return startup(
        all_of("cloud", price("0.4")),
        all_of("rack", price("100", "monthly"), count="peak"),
        hybrid("both", price("100", "monthly"), price("0.4")),
        **given,
    )


@pytest.fixture(autouse=True)
def sent(queued: list[Any]) -> list[Any]:
    """Messages to workers, which nobody takes here."""
    return queued


@pytest.fixture
def writer(caller: Callable[..., Client]) -> Client:
    return caller("write")


def posted(client: Client, given: Any, prefer: str = ASYNC) -> Any:
    headers = {"Prefer": prefer} if prefer else None
    return client.post(SIMULATE, given, content_type="application/json", headers=headers)


def asked(client: Client, given: Any | None = None) -> tuple[ScenarioJob, str]:
    """The job of a request, and its address."""
    response = posted(client, document() if given is None else given)
    assert response.status_code == 202, response.content
    return ScenarioJob.objects.latest("created_at"), response["Location"]


def one_option_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_requests, "PIECE_WORK", 1)


def worked(job: ScenarioJob) -> int:
    """All its pieces; how many there were."""
    count = 0
    while scenario_jobs.work(job.pk):
        count += 1
    return count


# --- asked for --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefer", [ASYNC, 'a="x, y", Respond-Async; z, wait=5', f"{ASYNC}=1"])
def test_client_that_prefers_it_is_answered_with_a_job(
    writer: Client,
    sent: list[Any],
    prefer: str,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = posted(writer, document(), prefer)
    assert response.status_code == 202, response.content
    assert response["Preference-Applied"] == ASYNC
    job = ScenarioJob.objects.get()
    assert response["Location"] == f"http://testserver{API}/jobs/{job.pk}"
    assert response.json() == writer.get(response["Location"]).json()
    found = response.json()
    assert (found["state"], found["progress"], found["result_url"]) == ("queued", 0.0, None)
    assert (found["started_at"], found["finished_at"], found["error"]) == (None, None, None)
    assert ("workers.simulate_job", {"job_id": str(job.pk)}) in sent
    entry = AuditEntry.objects.get(action="scenario_job_create")
    assert entry.object_id == str(job.pk)
    assert entry.detail["options"] == 3


@pytest.mark.parametrize("prefer", ["", "wait=5", 'note="respond-async"', "respond-asynchronously"])
def test_client_that_does_not_is_answered_at_once(writer: Client, prefer: str) -> None:
    response = posted(writer, document(), prefer)
    assert response.status_code == 200
    assert "Preference-Applied" not in response
    assert not ScenarioJob.objects.exists()


def test_document_with_faults_is_refused_as_without_the_preference(writer: Client) -> None:
    wrong = {**document(), "target": 3, "options": []}
    refused = posted(writer, wrong)
    assert (refused.status_code, refused.json()) == (400, posted(writer, wrong, "").json())
    assert not ScenarioJob.objects.exists()


def test_only_who_may_write_has_jobs_made(
    client: Client, caller: Callable[..., Client], settings: LazySettings
) -> None:
    settings.PUBLIC_READ = True
    assert posted(client, document()).status_code == 401
    assert posted(caller("read"), document()).status_code == 403
    assert not ScenarioJob.objects.exists()


def test_workspace_has_so_many_open_jobs(writer: Client, settings: LazySettings) -> None:
    settings.SCENARIO_JOBS_OPEN = 2
    first, address = asked(writer)
    asked(writer)
    refused = posted(writer, document())
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert "2 jobs of this workspace are not done yet" in refused.json()["detail"]
    assert writer.delete(address).status_code == 204
    assert asked(writer)[0].pk != first.pk


def test_refusal_of_what_is_too_large_names_the_preference(
    writer: Client, settings: LazySettings
) -> None:
    year = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}
    options = [all_of(f"{n}", price("0.4")) for n in range(300)]
    large = startup(*options, horizon=year)
    refused = posted(writer, large, "")
    assert fields(refused) == ["/horizon/step_s"]
    assert "send Prefer: respond-async" in refused.json()["errors"][0]["detail"]
    job, _ = asked(writer, large)
    sizes = [piece.count for piece in job.pieces.all()]
    assert sizes == [114, 114, 72, 0]
    settings.WORK_SIGNED_IN_S = -1
    late = posted(writer, document(name="late"), "")
    assert late.status_code == 422
    assert "send Prefer: respond-async" in late.json()["detail"]


# --- calculated -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        document(),
        document(uncertainty=SPREADS, hazard_per_month=0.1),
        document(horizon={"start": "2026-01-01T00:00:00+00:00", "days": 3.0, "step_s": 60}),
        TEMPLATES["game_night"].document,
        startup(all_of("offer", OFFER), all_of("dear", price("1.50")), name="offers"),
    ],
    ids=["plain", "uncertain", "point zero", "template", "offers"],
)
def test_result_is_the_answer_of_a_request_to_the_byte(
    writer: Client, given: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_option_each(monkeypatch)
    factories.price(factories.offer("box"), "0.0123456789")
    within = posted(writer, given, "")
    assert within.status_code == 200, within.content
    job, address = asked(writer, given)
    assert worked(job) == len(given["options"]) + 1
    found = writer.get(address).json()
    assert (found["state"], found["progress"], found["failure"]) == ("done", 1.0, "")
    assert found["created_at"] <= found["started_at"] <= found["finished_at"]
    assert writer.get(found["result_url"]).content == within.content
    assert not ScenarioJobPiece.objects.exists()


def test_progress_counts_the_options_that_are_done(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_option_each(monkeypatch)
    job, address = asked(writer)
    seen = []
    while scenario_jobs.work(job.pk):
        found = writer.get(address).json()
        seen.append((found["state"], found["progress"]))
        if found["state"] == "running":
            early = writer.get(f"{address}/result")
            assert (early.status_code, early.json()["state"]) == (409, "running")
    assert seen == [("running", 0.25), ("running", 0.5), ("running", 0.75), ("done", 1.0)]


def test_prices_are_those_of_the_moment_it_was_asked_for(writer: Client) -> None:
    box = factories.offer("box")
    factories.price(box, "0.5", observed_at=clock.now() - dt.timedelta(days=1))
    given = startup(all_of("offer", OFFER))
    job, address = asked(writer, given)
    expected = posted(writer, given, "").content
    factories.price(box, "0.9")
    worked(job)
    assert posted(writer, {**given, "name": "later"}, "").content != expected
    assert writer.get(f"{address}/result").content == expected


def test_document_without_a_result_fails_with_its_reason(writer: Client) -> None:
    units = {"units_per_server": "0.0001"}
    many = startup(hybrid("both", price("100", "monthly"), price("0.4")), capacity=units)
    many["policy"] = {"kind": "target_tracking"}
    job, address = asked(writer, many)
    assert worked(job) == 1
    found = writer.get(address).json()
    assert (found["state"], found["error"]["reason"]) == ("failed", "unsupported")
    assert "optimal would try" in found["failure"]
    assert found["error"]["status"] == posted(writer, many, "").status_code == 400
    assert writer.get(f"{address}/result").status_code == 409
    job.refresh_from_db()
    assert job.document == ""


def test_document_that_no_database_keeps_is_refused(writer: Client) -> None:
    refused = posted(writer, document(name="a\0b"))
    assert refused.status_code == 400
    assert "NUL" in refused.json()["errors"][0]["detail"]


def test_fault_of_ours_fails_the_job_and_is_logged(
    writer: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job, address = asked(writer)
    monkeypatch.setattr(simulating, "options_written", lambda *_: 1 / 0)
    assert worked(job) == 1
    assert "ZeroDivisionError" in caplog.text
    error = writer.get(address).json()["error"]
    assert (error["status"], error["code"], error["reason"]) == (500, "error", "bug")


def test_part_that_takes_too_long_fails_the_job_with_that_reason(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_option_each(monkeypatch)
    job, address = asked(writer)

    def endless(*_: Any) -> Any:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(simulating, "options_written", endless)
    # The first one ends the job: the others would take as long.
    assert worked(job) == 1
    shown = writer.get(address).json()
    assert (shown["state"], shown["error"]["reason"]) == ("failed", "timeout")
    assert f"longer than {scenario_jobs.TASK_S} s" in shown["failure"]
    job.refresh_from_db()
    assert (job.document, job.pieces.count()) == ("", 0)


@pytest.mark.parametrize("failure", [OperationalError, InterfaceError])
def test_job_outlives_a_database_that_is_away(
    writer: Client, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    job, address = asked(writer)

    def lost(*_: Any) -> Any:
        raise failure

    with monkeypatch.context() as away:
        away.setattr(simulating, "options_written", lost)
        with pytest.raises(failure):
            scenario_jobs.work(job.pk)
    assert writer.get(address).json()["state"] == "running"
    ScenarioJobPiece.objects.filter(job=job).update(lease_until=clock.now())
    assert worked(job) == 2
    assert writer.get(address).json()["state"] == "done"


def test_lease_is_renewed_once_a_beat_while_a_piece_is_calculated(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = asked(writer)
    now = [0.0]
    kept = []

    def written(given: Any, first: int, count: int, check: Callable[[], None]) -> Any:
        for second in (0.5, 1.5, 1.9, 2.4, 2.6):
            now[0] = second * scenario_jobs.BEAT_S
            check()
        return real(given, first, count, check)

    real, keep = simulating.options_written, scenario_jobs.piece_keep
    monkeypatch.setattr(simulating, "options_written", written)
    monkeypatch.setattr(scenario_jobs.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        scenario_jobs, "piece_keep", lambda *, piece: (kept.append(now[0]), keep(piece=piece))
    )
    assert scenario_jobs.work(job.pk)
    # Not with each of its many steps, which are shorter than a write.
    assert kept == [1.5 * scenario_jobs.BEAT_S, 2.6 * scenario_jobs.BEAT_S]


# --- ended ------------------------------------------------------------------------------------------


def test_cancelled_job_is_calculated_no_further(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_option_each(monkeypatch)
    job, address = asked(writer)
    assert scenario_jobs.work(job.pk)
    assert writer.delete(f"{address}?dry_run=1").json()["consequences"]
    assert writer.get(address).json()["state"] == "running"
    assert [writer.delete(address).status_code for _ in range(2)] == [204, 204]
    assert writer.get(address).json()["state"] == "cancelled"
    assert worked(job) == 0
    assert writer.get(f"{address}/result").status_code == 409
    assert AuditEntry.objects.filter(action="scenario_job_cancel").count() == 1


def test_worker_stops_at_the_next_step_of_a_cancelled_job(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, address = asked(writer)
    monkeypatch.setattr(scenario_jobs, "BEAT_S", 0.0)
    looks = []

    def cancelled_meanwhile(given: Any, first: int, count: int, check: Callable[[], None]) -> Any:
        writer.delete(address)
        looks.append(first)
        check()
        return looks.append(-1)

    monkeypatch.setattr(simulating, "options_written", cancelled_meanwhile)
    assert worked(job) == 1
    assert looks == [0]
    assert writer.get(address).json()["state"] == "cancelled"


def test_job_that_is_cancelled_before_its_document_is_read_is_dropped(
    writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, address = asked(writer)
    claim = scenario_jobs.piece_claim
    calculated: list[Any] = []

    def claimed(*, job_id: Any) -> Any:
        piece = claim(job_id=job_id)
        writer.delete(address)
        return piece

    monkeypatch.setattr(scenario_jobs, "piece_claim", claimed)
    monkeypatch.setattr(simulating, "options_written", lambda *given: calculated.append(given))
    assert scenario_jobs.work(job.pk)
    assert writer.get(address).json()["state"] == "cancelled"
    assert calculated == []


def test_done_job_is_not_cancelled(writer: Client) -> None:
    job, address = asked(writer)
    worked(job)
    refused = writer.delete(address)
    assert (refused.status_code, refused.json()["state"]) == (409, "done")


def test_result_is_gone_after_its_days_and_the_job_after_more(writer: Client) -> None:
    job, address = asked(writer)
    worked(job)

    def later(days: int) -> list[int]:
        then = clock.now() - dt.timedelta(days=days)
        ScenarioJob.objects.update(finished_at=then)
        list(retention.delete_expired())
        return [writer.get(one).status_code for one in (f"{address}/result", address)]

    assert later(6) == [200, 200]
    assert later(8) == [410, 200]
    job.refresh_from_db()
    assert (job.document, job.result) == ("", None)
    assert later(91) == [404, 404]


def test_job_of_another_workspace_is_not_there(
    writer: Client, caller: Callable[..., Client]
) -> None:
    job, address = asked(writer)
    worked(job)
    stranger = caller("admin", workspace=Workspace.objects.create(slug="other", name="O"))
    for answer in (
        stranger.get(address),
        stranger.get(f"{address}/result"),
        stranger.delete(address),
    ):
        assert answer.status_code == 404
    assert (
        simulating.simulate(document())["options"]
        == writer.get(f"{address}/result").json()["options"]
    )
