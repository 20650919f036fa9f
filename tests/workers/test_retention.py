"""What is old goes, in batches, and never what a number on screen refers to."""

import datetime as dt
import gzip
import hashlib
import io

import pytest
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Event, Evidence, Run, RunState, Sample
from backend.benchmarks.selectors.evidence import TextDeleted, evidence_text
from backend.benchmarks.services.imports import sample_exclude, sample_include
from backend.core import clock, retention
from tests import factories
from workers.retention import POLICIES, delete_expired

pytestmark = pytest.mark.django_db
OLD = dt.timedelta(days=1000)


def ended(**given: object) -> Run:
    run = factories.run(state=RunState.DONE, finished_at=clock.now() - OLD, **given)
    Event.objects.create(run=run, kind="finished", at=clock.now() - OLD)
    Evidence.objects.create(
        run=run,
        n=1,
        probe="cmips",
        command="x",
        raw_gzip=gzip.compress(b"score 7"),
        size_bytes=7,
        sha256=hashlib.sha256(b"score 7").hexdigest(),
        series={"cpu": [1]},
    )
    return run


def gone() -> dict[str, int]:
    return {policy.kind: count for policy, count in delete_expired()}


def test_text_and_series_stay_while_a_sample_of_their_run_counts() -> None:
    counts, failed = ended(), ended()
    sample = factories.sample(counts.offer, 1.0, run=counts)
    assert (gone()["series"], gone()["evidence"]) == (1, 0)
    assert counts.evidence.get().series == {"cpu": [1]}
    assert evidence_text(counts.evidence.get()) == "score 7"
    assert (failed.evidence.get().series, bytes(failed.evidence.get().raw_gzip)) == (None, b"")
    sample.excluded_reason = "noise"
    sample.save()
    assert gone()["evidence"] == 1
    assert bytes(counts.evidence.get().raw_gzip) == b""


@pytest.mark.parametrize("is_excluded", [False, True])
def test_retention_keeps_every_sample_and_evidence_row_when_a_run_is_old(is_excluded) -> None:
    run = ended()
    sample = factories.sample(run.offer, 1.0, run=run, evidence=run.evidence.get())
    if is_excluded:
        Sample.objects.filter(pk=sample.pk).update(excluded_reason="noise")
    before = Evidence.objects.values("run", "n", "sha256", "size_bytes", "command").get()
    gone()
    assert Sample.objects.get().evidence_id == run.evidence.get().pk
    assert Evidence.objects.values("run", "n", "sha256", "size_bytes", "command").get() == before
    sample = sample_include(workspace=run.workspace, sample=sample, actor="ada")
    assert sample.excluded_reason == ""


def test_retention_writes_each_deleted_text_to_the_trail_once() -> None:
    run = ended()
    assert (gone()["series"], gone()["evidence"]) == (1, 0)
    actions = AuditEntry.objects.filter(object_id=str(run.pk)).order_by("id")
    assert [(entry.action, entry.detail, entry.workspace) for entry in actions] == [
        ("series_delete", {"evidence": [1]}, run.workspace),
        ("evidence_text_delete", {"evidence": [1]}, run.workspace),
    ]
    with pytest.raises(TextDeleted, match="RETAIN_EVIDENCE_DAYS"):
        evidence_text(run.evidence.get())


def test_texts_stay_when_a_person_left_the_samples_out_today() -> None:
    run = ended()
    sample = factories.sample(run.offer, 1.0, run=run, evidence=run.evidence.get())
    sample_exclude(workspace=run.workspace, sample=sample, reason="noise", actor="ada")
    assert (gone()["series"], gone()["evidence"]) == (0, 0)
    assert evidence_text(run.evidence.get()) == "score 7"


def test_page_and_api_name_the_reason_when_a_text_was_deleted(client, settings) -> None:
    settings.PUBLIC_READ = True
    run = ended()
    gone()
    page = client.get(f"/runs/{run.pk}/evidence/1/")
    assert "deleted because of its age" in page.content.decode()
    answer = client.get(f"/api/v1/runs/{run.pk}/evidence/1")
    assert answer.status_code == 404
    assert "RETAIN_EVIDENCE_DAYS" in answer.content.decode()
    assert client.get(f"/api/v1/runs/{run.pk}/archive").status_code == 409


def test_events_and_text_of_a_run_that_goes_on_stay() -> None:
    run = ended()
    Run.objects.filter(pk=run.pk).update(finished_at=None)
    assert not any(gone().values())


def test_old_entries_of_the_trail_go_and_young_ones_stay() -> None:
    entry = AuditEntry(workspace=factories.workspace(), actor="ada", action="test")
    entry.save()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        AuditEntry.objects.update(at=clock.now() - OLD)
        cursor.execute("SET LOCAL session_replication_role = origin")
    AuditEntry(workspace=entry.workspace, actor="ben", action="test").save()
    assert gone()["audit"] == 1
    assert AuditEntry.objects.get().actor == "ben"


def test_rows_go_in_batches_and_no_more_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for n in range(5):
        Session.objects.create(session_key=f"old{n}", expire_date=clock.now() - OLD)
    Session.objects.create(session_key="valid", expire_date=clock.now())
    (sessions,) = [policy for policy in POLICIES if policy.kind == "sessions"]
    assert retention.forget_old(sessions, most=3) == 3
    assert retention.forget_old(sessions, most=100) == 2
    assert Session.objects.get().session_key == "valid"


def test_command_says_what_would_go_and_leaves_it(settings: LazySettings) -> None:
    settings.RETAIN_EVENTS_DAYS = 0
    Session.objects.create(session_key="old", expire_date=clock.now() - OLD)
    ended()
    out = io.StringIO()
    call_command("retention", "--dry-run", stdout=out)
    assert "kept 1 days (RETAIN_SESSIONS_DAYS): 1 would be deleted" in out.getvalue()
    assert "kept for good: 0 would be deleted" in out.getvalue()
    assert Session.objects.exists()
    call_command("retention", stdout=out)
    assert not Session.objects.exists()
    assert Event.objects.exists()
