"""Bills over the API: sent, read by a worker, answered, removed; and seen by nobody else."""

import gzip
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from backend.accounts.models import Workspace
from backend.bills.models import Bill, BillUpload, BillUploadPart
from backend.bills.services import importing, uploads
from backend.bills.services.reading import bill_read
from backend.core.alone import alone
from tests.backend.conftest import API, fields
from workers import bills as worker
from workers.engine import periodic

pytestmark = pytest.mark.django_db
BILLS = f"{API}/bills"
SAMPLE = (Path(__file__).parents[2] / "fixtures/bills/focus/focus_1_0_sample.csv").read_bytes()


@pytest.fixture(autouse=True)
def sent(queued):
    """Messages to workers, which nobody takes here."""
    return queued


@pytest.fixture
def writer(caller):
    return caller("write")


def posted(client, content=SAMPLE, **query):
    return client.post(BILLS, content, content_type="application/octet-stream", query_params=query)


def test_body_that_is_sent_is_read_by_a_worker_and_answered(
    writer, sent, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = posted(writer, gzip.compress(SAMPLE), name="Our September")
    assert response.status_code == 202
    assert ("workers.read_bills", {}) in sent
    job = response["Location"]
    found = writer.get(job).json()
    assert (found["state"], found["progress"], found["result_url"]) == ("queued", 0.0, None)
    assert (found["failure"], found["error"]) == ("", None)
    assert worker.read_waiting() == 1
    done = writer.get(job).json()
    assert (done["state"], done["progress"]) == ("done", 1.0)
    bill = writer.get(done["result_url"]).json()
    assert (bill["name"], bill["slug"], bill["currency"]) == (
        "Our September",
        "our-september",
        "USD",
    )
    assert (bill["total"], bill["lines"]) == ("18.29761088869", 299)
    assert bill["machines"][0]["type"] == "g5.4xlarge"
    # What was sent is gone: only sums are kept.
    assert not BillUploadPart.objects.exists()


def test_empty_body_and_one_of_ten_gigabytes_are_refused_at_once(writer):
    empty = posted(writer, b"")
    assert (empty.status_code, empty.json()["errors"]) == (
        400,
        [{"field": "/file", "detail": "it is empty"}],
    )
    large = writer.post(BILLS, b"x", content_type="text/csv", CONTENT_LENGTH=str(10 * 10**9))
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    assert not BillUploadPart.objects.exists()


def test_form_with_a_file_is_taken_too_in_pieces(writer, monkeypatch):
    monkeypatch.setattr(uploads, "PART_BYTES", 10_000)
    file = SimpleUploadedFile("september.csv", SAMPLE)
    assert writer.post(BILLS, {"file": file}).status_code == 202
    upload = BillUpload.objects.get()
    assert (upload.size_bytes, upload.parts.count()) == (len(SAMPLE), len(SAMPLE) // 10_000 + 1)
    worker.read_waiting()
    assert Bill.objects.get().slug == "september"


def test_progress_is_said_while_a_file_is_read(writer, monkeypatch):
    monkeypatch.setattr(uploads, "PART_BYTES", 10_000)
    monkeypatch.setattr(importing, "PROGRESS_S", -1)
    posted(writer)
    seen = []

    def read(*given, **more):
        reading = bill_read(*given, **more)
        seen.append(BillUpload.objects.get().progress_ratio)
        return reading

    monkeypatch.setattr(importing, "bill_read", read)
    worker.read_waiting()
    assert 0.9 < seen[0] < 1


def test_file_that_is_no_bill_says_why_on_its_job(writer):
    job = posted(writer, b"a,b\n1,2\n")["Location"]
    worker.read_waiting()
    answer = writer.get(job).json()
    assert answer["state"] == "failed"
    assert "the columns are those of no bill" in answer["failure"]
    assert not BillUploadPart.objects.exists()


@pytest.mark.parametrize(
    ("content", "query", "field"),
    [
        (b"", {}, "/file"),
        (SAMPLE, {"format": "excel"}, "/format"),
        (SAMPLE, {"name": "x" * 101}, "/name"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_once(writer, content, query, field):
    response = posted(writer, content, **query)
    assert (response.status_code, fields(response)) == (400, [field])
    assert not BillUpload.objects.exists()


def test_form_without_a_file_is_refused(writer):
    response = writer.post(BILLS, {"other": "x"})
    assert (response.status_code, fields(response)) == (400, ["/file"])


def test_bill_is_listed_and_removed(writer):
    posted(writer, name="September")
    worker.read_waiting()
    (row,) = writer.get(BILLS).json()["results"]
    assert (row["slug"], row["total"], row["unreadable_count"]) == (
        "september",
        "18.29761088869",
        0,
    )
    assert writer.delete(f"{BILLS}/september").status_code == 204
    assert writer.get(f"{BILLS}/september").status_code == 404
    assert writer.get(BILLS).json()["results"] == []


def test_strangers_viewers_and_other_workspaces_see_no_bill(writer, caller, settings):
    settings.PUBLIC_READ = True
    job = posted(writer, name="September")["Location"]
    worker.read_waiting()
    assert Client().get(BILLS).status_code == 401
    assert Client().get(f"{BILLS}/september").status_code == 401
    assert caller("read").get(BILLS).status_code == 403
    other = caller(
        "admin", workspace=Workspace.objects.create(slug="other", name="Other"), name="other"
    )
    assert other.get(BILLS).json()["results"] == []
    assert other.get(f"{BILLS}/september").status_code == 404
    assert other.delete(f"{BILLS}/september").status_code == 404
    assert other.get(job).status_code == 404


def test_upload_that_ended_its_workers_is_given_to_no_further_one(writer, monkeypatch):
    job = posted(writer)["Location"]

    def killed(*_, **__):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(importing, "bill_import", killed)
        for _ in range(importing.MOST_ATTEMPTS):
            with pytest.raises(SystemExit):
                worker.read_waiting()
    assert writer.get(job).json()["state"] == "queued"
    worker.read_waiting()
    answer = writer.get(job).json()
    assert (answer["state"], answer["failure"]) == (
        "failed",
        "reading it ended a worker several times",
    )


def test_tick_asks_for_a_worker_while_something_waits(
    writer, sent, django_capture_on_commit_callbacks
):
    posted(writer)
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        periodic.tick()
    assert ("workers.read_bills", {}) in sent


@pytest.mark.django_db(transaction=True)
def test_one_process_reads_at_a_time(writer):
    posted(writer)
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [worker.LOCK])
    assert worker.read_waiting() == 0
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s)", [worker.LOCK])
    other.close()
    with alone(worker.LOCK) as is_alone:
        assert is_alone
    assert worker.read_waiting() == 1
