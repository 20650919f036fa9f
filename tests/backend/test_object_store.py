"""Texts of evidence in an object store: moto's server, which keeps what the interface of S3 is given."""

import datetime as dt
import gzip
import hashlib
from collections.abc import Iterator

import boto3
import pytest
from django.conf import LazySettings
from django.test import Client
from moto.server import ThreadedMotoServer

from backend.benchmarks.models import Evidence, RunState
from backend.benchmarks.selectors.archive import run_archive
from backend.benchmarks.selectors.evidence import EvidenceDamaged, evidence_text
from backend.benchmarks.services.evidence_objects import objects_forget
from backend.core import clock, object_store
from tests import factories
from workers.retention import delete_expired
from workers.tasks import retain

pytestmark = pytest.mark.django_db
RAW = b"cmips 2324\n" * 40
PLACE = {"Bucket": "texts", "Prefix": "site-1/"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(server: str, settings: LazySettings) -> Iterator[object]:
    settings.EVIDENCE_STORE = "s3://texts/site-1"
    settings.EVIDENCE_STORE_ENDPOINT = server
    settings.EVIDENCE_STORE_KEY_ID = "AKIAOFTHETEXTS"
    settings.EVIDENCE_STORE_SECRET = "none-that-counts"
    object_store._store.cache_clear()
    client = boto3.client(
        "s3",
        endpoint_url=server,
        region_name="us-east-1",
        aws_access_key_id="AKIAOFTHETEXTS",
        aws_secret_access_key="none-that-counts",
    )
    client.create_bucket(Bucket="texts")
    yield client
    for one in client.list_objects_v2(Bucket="texts").get("Contents", []):
        client.delete_object(Bucket="texts", Key=one["Key"])
    client.delete_bucket(Bucket="texts")
    object_store._store.cache_clear()


def old_text(raw: bytes = RAW, days: int = 40, **given: object) -> Evidence:
    run = factories.run(state=RunState.DONE, finished_at=clock.now() - dt.timedelta(days=days))
    factories.sample(run.offer, 1.0, run=run)
    values = {
        "n": 1,
        "probe": "cmips",
        "command": "x",
        "raw_gzip": gzip.compress(raw),
        "size_bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    evidence = Evidence.objects.create(run=run, **{**values, **given})
    Evidence.objects.filter(pk=evidence.pk).update(created_at=run.finished_at)
    return evidence


def moved() -> int:
    return {policy.kind: count for policy, count in delete_expired()}["texts"]


def test_old_texts_go_to_the_bucket_and_read_the_same(bucket, client: Client) -> None:
    old, young = old_text(), old_text(days=3)
    address = f"/api/v1/runs/{old.run_id}/evidence/1"
    before = client.get(address).content
    archive = run_archive(old.run)
    assert (moved(), moved()) == (1, 0)
    old.refresh_from_db()
    young.refresh_from_db()
    assert (bytes(old.raw_gzip), young.object_key) == (b"", "")
    (stored,) = bucket.list_objects_v2(**PLACE)["Contents"]
    assert stored["Key"] == f"site-1/{old.object_key}"
    assert evidence_text(old) == RAW.decode()
    assert client.get(address).content == before
    assert run_archive(old.run) == archive


def test_texts_stay_where_no_bucket_is_named(settings: LazySettings) -> None:
    settings.EVIDENCE_STORE = ""
    old_text()
    assert moved() == 0
    assert Evidence.objects.get().object_key == ""


def test_object_that_is_another_text_is_damaged(bucket) -> None:
    evidence = old_text()
    moved()
    evidence.refresh_from_db()
    for content in (gzip.compress(b"another"), b"no gzip", gzip.compress(RAW)[:20]):
        bucket.put_object(Bucket="texts", Key=f"site-1/{evidence.object_key}", Body=content)
        with pytest.raises(EvidenceDamaged):
            evidence_text(evidence)


def test_text_that_is_not_read_back_the_same_stays(bucket, monkeypatch) -> None:
    evidence = old_text()
    monkeypatch.setattr(object_store, "get", lambda _: b"another")
    assert moved() == 0
    assert evidence_text(Evidence.objects.get(pk=evidence.pk)) == RAW.decode()


def test_page_and_api_say_503_while_the_bucket_is_away(
    bucket, client: Client, settings: LazySettings
) -> None:
    evidence = old_text()
    moved()
    settings.EVIDENCE_STORE_ENDPOINT = "http://127.0.0.1:1"
    object_store._store.cache_clear()
    client.raise_request_exception = False
    answer = client.get(f"/api/v1/runs/{evidence.run_id}/evidence/1")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["detail"] == "the object store is away"
    page = client.get(f"/runs/{evidence.run_id}/evidence/1/")
    assert page.status_code == 503
    assert "127.0.0.1" not in page.content.decode()


def test_server_that_is_gone_leaves_texts_in_the_database(settings, caplog) -> None:
    settings.EVIDENCE_STORE = "s3://texts"
    settings.EVIDENCE_STORE_ENDPOINT = "http://127.0.0.1:1"
    settings.EVIDENCE_STORE_KEY_ID = settings.EVIDENCE_STORE_SECRET = "of-nobody"
    object_store._store.cache_clear()
    evidence = old_text()
    retain()
    assert "old texts stay in the database" in caplog.text
    assert evidence_text(Evidence.objects.get(pk=evidence.pk)) == RAW.decode()
    object_store._store.cache_clear()


@pytest.mark.parametrize(("site", "left"), [("", 0), ("drill", 1)])
def test_objects_end_with_their_rows_where_they_were_written(
    bucket, django_capture_on_commit_callbacks, settings: LazySettings, site: str, left: int
) -> None:
    evidence = old_text()
    moved()
    settings.INSTALLATION = site
    rows = Evidence.objects.filter(pk=evidence.pk)
    assert evidence_text(rows.get()) == RAW.decode()
    with django_capture_on_commit_callbacks(execute=True):
        objects_forget(rows)
        rows.delete()
    assert bucket.list_objects_v2(**PLACE)["KeyCount"] == left
