"""A finished run as one file, and that file in a second installation."""

import datetime as dt
import gzip
import hashlib
import io
import json
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.calc.archived_run import ArchiveRefused
from backend.benchmarks.models import Evidence, Host, Run, RunState, Sample
from backend.benchmarks.selectors.archive import RunNotFinished, run_archive
from backend.benchmarks.selectors.evidence import EvidenceDamaged, evidence_raw
from backend.benchmarks.services import archive_reading
from backend.benchmarks.services.archive_import import run_import
from backend.benchmarks.services.hosts import host_scan
from backend.benchmarks.services.imports import AlreadyImported
from backend.benchmarks.services.results import with_web_store
from backend.benchmarks.services.runs import run_create
from backend.catalog.models import DataVersion, Offer
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS
from backend.measure.readers import inventory, observe
from backend.measure.repeats import STDERR_MARK, reparse
from backend.rankings.selectors.scores import scores
from tests import factories
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db

PROBES = Path(__file__).parents[2] / "fixtures" / "probes"
AT = factories.AT
MEASURED = (
    ("inventory", "host", "inventory-debian-12-second"),
    ("cmips", "all", "cmips-all-x86_64"),
    ("dd", "write", "dd-gnu-9.1-write-tmpfs"),
    ("fio", "rand_read_qd32", "fio-3.33-framed-rand-read-qd32"),
    ("network", "udp", "network-udp"),
)
ADDRESS = "198.51.100.77"
PEER = "198.51.100.7"


def recorded(name: str) -> str:
    return (PROBES / f"{name}.txt").read_text(encoding="utf-8")


def finished_run(**given: Any) -> Run:
    """A run with the recorded outputs and the samples that they hold."""
    offer = factories.offer("own-rack-7", provider_slug="own", kind="dedicated")
    host = factories.host(offer, name="rack-7", address=ADDRESS, username="bench-user")
    peer = factories.host(name="rack-8", address=PEER)
    price = factories.price(offer, "49.00", currency="EUR", unit="month")
    run = factories.run(
        host,
        **{
            "state": RunState.DONE,
            "price": price,
            "peer": peer,
            "parameters": {"disk_s": 5, "peer": str(peer.pk), "peer_address": PEER},
            "started_at": AT,
            "finished_at": AT + dt.timedelta(minutes=2),
            "runner_s": 118.5,
            "requested_by": "ann",
            **given,
        },
    )
    run.events.create(kind="created", detail="quick by ann")
    run.events.create(kind="warning", detail=f"no route from {ADDRESS} to {PEER}")
    for n, (probe, variant, name) in enumerate(MEASURED, start=1):
        measured(run, n, probe, variant, recorded(name))
    evidence(run, 9, "sustained", "all", "=== failure unavailable: no\n", exit_code=7, error="no")
    Host.objects.filter(pk=host.pk).update(
        facts=asdict(inventory.parse(recorded("inventory-debian-12-second")))
    )
    return Run.objects.get(pk=run.pk)


def evidence(run: Run, n: int, probe: str, variant: str, text: str, **given: Any) -> Evidence:
    raw = text.encode()
    return Evidence.objects.create(
        **{
            "run": run,
            "n": n,
            "probe": probe,
            "variant": variant,
            "command": f"network.sh udp {PEER} 5201" if probe == "network" else probe,
            "tool_version": f"{probe} 1",
            "exit_code": 0,
            "conditions": {"wall_s": 2.5},
            "series": {"t_s": [1, 2], "mhz": [2400.0, None]},
            "raw_gzip": gzip.compress(raw),
            "size_bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
            **given,
        }
    )


def measured(run: Run, n: int, probe: str, variant: str, text: str) -> None:
    kept = evidence(run, n, probe, variant, text + STDERR_MARK + "a complaint\n")
    for sample in reparse(probe, variant, text):
        factories.sample(
            run.offer,
            sample.value,
            run=run,
            host=run.host,
            evidence=kept,
            metric=sample.metric,
            variant=sample.variant,
            unit=sample.unit,
            parameters=dict(sample.parameters),
            flags=[*sample.flags, *(["disturbed"] if probe == "cmips" else [])],
            method_version=f"{probe} 1",
            excluded_reason="too warm" if probe == "dd" else "",
        )


def gone(run: Run) -> None:
    """As another installation would be: without the run, its host and its samples."""
    Run.objects.filter(pk=run.pk).delete()
    Host.objects.filter(pk=run.host_id).delete()


def packed(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


def changed(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(content)
    change(document)
    return packed(document)


def entry_of(document: dict[str, Any], n: int) -> dict[str, Any]:
    entry: dict[str, Any] = next(each for each in document["evidence"] if each["n"] == n)
    return entry


def take(content: bytes, offer: Offer) -> Run:
    return run_import(workspace=factories.workspace(), offer=offer, content=content, actor="bob")


@pytest.fixture
def run(db: None) -> Run:
    return finished_run()


@pytest.fixture
def content(run: Run) -> bytes:
    """The archive of a run that is no longer here."""
    made = run_archive(run)
    gone(run)
    return made


@pytest.fixture
def target(db: None) -> Offer:
    return factories.offer("aws-m5-large")


# --- taking along -----------------------------------------------------------------------------


def test_archive_is_the_same_bytes_every_time(run: Run) -> None:
    assert run_archive(run) == run_archive(Run.objects.get(pk=run.pk))


def test_archive_holds_facts_outputs_series_and_checksums(run: Run) -> None:
    document = json.loads(run_archive(run))
    for entry in document["evidence"]:
        assert hashlib.sha256(entry["text"].encode()).hexdigest() == entry["sha256"]
    cmips = entry_of(document, 2)
    assert cmips["text"].startswith(recorded("cmips-all-x86_64"))
    assert cmips["series"]["mhz"] == [2400.0, None]
    assert document["schema"] == 2
    assert document["price"]["amount"] == "49"
    assert document["host"]["facts"]["arch"]
    assert len(document["samples"]) == run.samples.count()


def test_archive_contains_neither_address_nor_user_of_the_host(run: Run) -> None:
    document = json.loads(run_archive(run))
    for entry in document["evidence"]:
        del entry["text"]
    told = json.dumps(document)
    for secret in (ADDRESS, PEER, "bench-user", "peer_address", "ann"):
        assert secret not in told, secret
    assert "network.sh udp … 5201" in entry_of(document, 5)["command"]


def test_output_that_is_no_utf_8_stays_as_it_was(run: Run, target: Offer) -> None:
    raw = b"=== failure unavailable: \xff\x00\n"
    run.evidence.filter(n=9).update(
        raw_gzip=gzip.compress(raw), sha256=hashlib.sha256(raw).hexdigest(), size_bytes=len(raw)
    )
    made = run_archive(run)
    gone(run)
    assert evidence_raw(take(made, target).evidence.get(n=9)) == raw


def test_archive_is_refused_while_the_run_goes_on_or_a_text_is_damaged(run: Run) -> None:
    Run.objects.update(state=RunState.RUNNING)
    with pytest.raises(RunNotFinished, match="is running"):
        run_archive(Run.objects.get(pk=run.pk))
    Run.objects.update(state=RunState.DONE)
    run.evidence.filter(n=2).update(raw_gzip=gzip.compress(b"other"))
    with pytest.raises(EvidenceDamaged):
        run_archive(Run.objects.get(pk=run.pk))


# --- bringing in ------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_imported_run_is_the_one_that_was_taken_along(
    run: Run, target: Offer, pack: Callable[[bytes], bytes]
) -> None:
    def figures(of: Run) -> list[Any]:
        columns = ("metric", "variant", "repeat", "value", "unit", "flags", "excluded_reason")
        return list(of.samples.order_by("metric", "variant").values_list(*columns, "measured_at"))

    before, raw = figures(run), list(run.evidence.values_list("n", "sha256", "series", "command"))
    made = run_archive(run)
    gone(run)
    taken = take(pack(made), target)
    assert taken.pk == run.pk
    assert figures(taken) == before
    kept = list(taken.evidence.values_list("n", "sha256", "series", "command"))
    assert [row[:3] for row in kept] == [row[:3] for row in raw]
    assert set(taken.samples.values_list("source", "offer")) == {("imported", target.pk)}
    assert (taken.state, taken.runner_s, taken.started_at) == ("done", 118.5, AT)
    assert taken.created_at == run.created_at
    assert taken.parameters == {"disk_s": 5}
    told = [(event.kind, event.detail) for event in taken.events.all()]
    assert ("warning", "no route from … to …") in told
    assert ("price", "in force there: 49 EUR month") in told
    assert told[-1] == ("imported", "from an archive by bob")
    again = json.loads(run_archive(taken))
    assert entry_of(again, 3)["text"].startswith("=== conditions")
    assert again["samples"] == json.loads(made)["samples"]


def test_imported_run_has_general_performance_with_web_again(target: Offer) -> None:
    run = finished_run()
    for n, (probe, variant, name) in enumerate(
        (
            ("general", "all", "general-openssl-3.0.19-redis-7.0.15"),
            ("web", "64k", "web-nginx-1.22.1-wrk-4.1.0-64k"),
            ("web", "1k", "web-nginx-1.22.1-wrk-4.1.0-1k"),
        ),
        start=10,
    ):
        measured(run, n, probe, variant, recorded(name))
    with_web_store(run=run)
    before = run.samples.get(variant="with_web")
    made = run_archive(run)
    gone(run)
    sample = take(made, target).samples.get(variant="with_web")
    assert (sample.value, sample.source) == (before.value, "imported")


def test_import_is_audited_and_counts_up_the_data_version(content: bytes, target: Offer) -> None:
    before = DataVersion.objects.get_or_create(pk=1)[0].number
    taken = take(content, target)
    entry = AuditEntry.objects.get(action="run_import")
    assert (entry.actor, entry.object_id) == ("bob", str(taken.pk))
    assert DataVersion.objects.get().number == before + 1


def test_imported_score_leads_to_the_run(content: bytes, target: Offer) -> None:
    taken = take(content, target)
    score = dict(scores(METRICS["disk_rand_read_iops"]))[target.pk]
    assert score.source == "imported"
    assert f"/runs/{taken.pk}/" in (score.result_url or "")


def test_nothing_can_be_run_on_the_host_of_an_archive(content: bytes, target: Offer) -> None:
    host = take(content, target).host
    assert (host.driver, host.address, host.sealed_private_key) == ("archive", "", None)
    assert host.name == "rack-7 (archive)"
    assert host.facts["arch"]
    with pytest.raises(InvalidValue, match="came with an archive"):
        run_create(host=host, profile="quick", probes=None, parameters={}, actor="ann")
    with pytest.raises(InvalidValue, match="came with an archive"):
        host_scan(host=host, actor="ann")


def test_runs_of_one_host_come_to_one_host(run: Run, target: Offer) -> None:
    first = run_archive(run)
    second = changed(first, lambda told: told["run"].update(id=str(uuid4())))
    gone(run)
    factories.host(name="rack-7 (archive)")
    hosts = {take(made, target).host_id for made in (first, second)}
    assert len(hosts) == 1
    assert Host.objects.get(pk=hosts.pop()).name == "rack-7 (archive 2)"


def test_run_that_is_here_is_refused_and_stays(run: Run, target: Offer) -> None:
    made = run_archive(run)
    with pytest.raises(AlreadyImported, match="already here"):
        take(made, target)
    gone(run)
    take(made, target)
    with pytest.raises(AlreadyImported):
        take(made, target)
    assert Run.objects.count() == 1


# --- what is refused --------------------------------------------------------------------------


def assert_refused(content: bytes, offer: Offer, detail: str) -> None:
    """Refused with these words, and nothing of it is kept."""
    hosts = Host.objects.count()
    with pytest.raises(ArchiveRefused, match=detail):
        take(content, offer)
    assert not Run.objects.exists()
    assert not Evidence.objects.exists()
    assert not Sample.objects.exists()
    assert Host.objects.count() == hosts


def sample_change(metric: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        next(s for s in told["samples"] if s["metric"] == metric).update(values)

    return change


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (sample_change("cmips_score", value=99_999.0), "cmips_score all, repeat 0, is 99999.0"),
        (sample_change("cmips_score", unit="MIPS"), "raw output says .* CMIPS"),
        (sample_change("cmips_score", variant="single"), "in the raw output and in no sample"),
        (sample_change("cmips_score", repeat=1), "in the raw output and in no sample"),
        (sample_change("cmips_score", evidence=3), "belongs to evidence 2"),
        (sample_change("cmips_score", flags=["a" * 21]), "/flags/0: .*at most 20"),
        (sample_change("cmips_score", measured_at="yesterday"), "measured_at: .*valid datetime"),
        (sample_change("cmips_score", measured_at="2026-11-01T00:00:00"), "timezone"),
        (sample_change("cmips_score", measured_at="1999-11-01T00:00:00+00:00"), "between 2000"),
        (sample_change("cmips_score", method_version="v" * 81), "at most 80"),
        (lambda told: told["samples"].pop(), "in the raw output and in no sample"),
        (lambda told: told["samples"].append(told["samples"][0]), "is there twice"),
        (
            lambda told: told["samples"].append({**told["samples"][0], "variant": "made_up"}),
            "is in no raw output",
        ),
        (lambda told: told.update(schema=1), "/schema"),
        (lambda told: told["run"].update(id="7"), "/run/id: .*UUID"),
        (lambda told: told["run"].update(state="running"), "/run/state"),
        (lambda told: told["run"].update(profile="p" * 11), "/run/profile"),
        (lambda told: told["run"].update(runner_s=-1), "runner_s"),
        (
            lambda told: told["run"].update(parameters={"a": "x" * 200_000}),
            "/run/parameters: .*larger",
        ),
        (lambda told: told["run"].update(failure_detail="a\0b"), "NUL"),
        (lambda told: told["host"].update(name=7), "/host/name"),
        (lambda told: told.pop("events"), "/events"),
        (
            lambda told: told["events"].extend([told["events"][0]] * 10_001),
            "/events: .*at most 10000",
        ),
    ],
)
def test_changed_run_is_refused_although_its_checksums_are_right(
    content: bytes, target: Offer, change: Callable[[dict[str, Any]], None], detail: str
) -> None:
    assert_refused(changed(content, change), target, detail)


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda entry: entry.update(n=3), "the same number"),
        (lambda entry: entry.update(n=7), "belongs to evidence 7"),
        (lambda entry: entry.update(probe="memory"), "cannot be read by this version"),
        (lambda entry: entry.update(sha256="0" * 64), "does not match its checksum"),
        (lambda entry: entry.update(text=None, base64="=="), "does not match its checksum"),
        (lambda entry: entry.update(exit_code=-1), "exit_code"),
        (lambda entry: entry.update(repeat=2**40), "repeat"),
        (lambda entry: entry.update(command=None), "command"),
        (lambda entry: entry.update(conditions=[]), "conditions"),
        (lambda entry: entry.update(error="a\0b"), "NUL"),
        (lambda entry: entry["series"].update(mhz=[float("nan")]), "series: .*JSON compliant"),
    ],
)
def test_changed_evidence_is_refused_although_its_checksums_are_right(
    content: bytes, target: Offer, change: Callable[[dict[str, Any]], None], detail: str
) -> None:
    made = changed(content, lambda document: change(entry_of(document, 2)))
    assert_refused(made, target, detail)


def test_flags_are_what_the_evidence_gives_today(content: bytes, target: Offer) -> None:
    """W1: an archive of a version that took stolen time for a disturbance, or missed a cache."""
    record = json.loads(recorded("observe-clocks"))
    seen = {**record, "foreign_cpu_ratio": 0.01, "steal_ratio": 0.45}
    conditions = asdict(observe.parse(json.dumps(seen) + "\n"))
    older = changed(content, sample_change("disk_write_bytes_per_s", flags=["outlier"]))
    older = changed(older, lambda document: entry_of(document, 2).update(conditions=conditions))
    flags = dict(take(older, target).samples.values_list("metric", "flags"))
    assert flags["cmips_score"] == []
    assert flags["disk_write_bytes_per_s"] == ["cached", "outlier"]


def test_changed_output_is_refused_by_its_checksum(content: bytes, target: Offer) -> None:
    def change(document: dict[str, Any]) -> None:
        entry = entry_of(document, 2)
        entry["text"] = entry["text"].replace("seconds", "seconD")

    assert_refused(changed(content, change), target, "evidence 2 does not match its checksum")


def test_output_that_this_version_cannot_read_is_refused(content: bytes, target: Offer) -> None:
    for given in ({"text": "no JSON\n"}, {"text": None, "base64": "/w=="}):
        raw = b"\xff" if given["text"] is None else b"no JSON\n"
        sha256 = hashlib.sha256(raw).hexdigest()
        made = changed(content, lambda doc: entry_of(doc, 2).update(given, sha256=sha256))  # noqa: B023
        assert_refused(made, target, "evidence 2 cannot be read by this version")


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"", "Invalid JSON"),
        (b"hello", "Invalid JSON"),
        (b"\xff", "Invalid JSON"),
        (b"[]", "valid dictionary|object"),
        (b'{"schema": 2}', "/evidence: Field required|/run: Field required"),
        (b'{"schema": 2, "more": 1}', "required|not permitted"),
        (b"PK\x03\x04", "Invalid JSON"),
    ],
)
def test_file_that_is_no_document_of_a_run_is_refused(
    target: Offer, content: bytes, detail: str
) -> None:
    assert_refused(content, target, detail)


def test_archive_that_is_cut_off_or_damaged_is_refused(content: bytes, target: Offer) -> None:
    small = gzip.compress(content)
    for length in (10, 100, len(small) // 2, len(small) - 1):
        assert_refused(small[:length], target, "cut off or damaged")
    assert_refused(content[: len(content) // 2], target, "Invalid JSON")
    middle = len(small) // 2
    damaged = small[:middle] + b"\0\0\0\0" + small[middle + 4 :]
    assert_refused(damaged, target, "damaged|Invalid JSON|match")


def test_whatever_a_field_holds_is_taken_or_refused(content: bytes, target: Offer) -> None:
    """Every field in turn with values of other kinds: nothing but a refusal, or the run."""
    chance = random.Random("archive")
    for path in paths(json.loads(content)):
        value = chance.choice([None, [], {}, "x", -1, 2**70, True, 1.5, [[]], "9" * 200])
        made = changed(content, lambda document: put(document, path, value))  # noqa: B023
        try:
            take(made, target)
        except ArchiveRefused:
            assert not Run.objects.exists()
        Run.objects.all().delete()
        Host.objects.filter(driver="archive").delete()


def paths(document: Any) -> list[tuple[Any, ...]]:
    """Every field of the document but those within free forms; of a list only the first."""
    if isinstance(document, dict):
        free = ("facts", "parameters", "conditions")
        held = [(key, value) for key, value in document.items() if key not in free]
        inner = [(key, path) for key, value in held for path in paths(value)]
        return [(key,) for key in document] + [(key, *path) for key, path in inner]
    if isinstance(document, list) and document and isinstance(document[0], dict):
        return [(0, *path) for path in paths(document[0])]
    return []


def put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


def test_run_without_a_price_an_inventory_or_series_is_taken(run: Run, target: Offer) -> None:
    Run.objects.update(price=None)
    run.evidence.update(series=None)
    run.evidence.filter(probe="inventory").update(exit_code=1, error="no lscpu")
    made = run_archive(Run.objects.get(pk=run.pk))
    gone(run)
    taken = take(made, target)
    assert taken.host.facts == {}
    assert not taken.events.filter(kind="price").exists()
    assert set(taken.evidence.values_list("series", flat=True)) == {None}


def test_bomb_is_refused_before_it_is_unpacked(
    target: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_reading, "MAX_TOTAL_BYTES", 2**20)
    assert_refused(gzip.compress(bytes(2**21)), target, "more than 1048576 bytes when unpacked")
    monkeypatch.setattr(archive_reading, "MAX_PACKED_BYTES", 10)
    assert_refused(bytes(11), target, "too many, 10 the most")


# --- API and command --------------------------------------------------------------------------


def test_api_archive_goes_out_and_comes_in(
    caller: Callable[..., Client], run: Run, target: Offer
) -> None:
    client = caller("write")
    response = client.get(f"{API}/runs/{run.pk}/archive")
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"] == f'attachment; filename="rackrate-run-{run.pk}.json"'
    gone(run)
    url = f"{API}/runs/import?offer=aws-m5-large"
    made = client.post(url, response.content, content_type="application/json")
    assert made.status_code == 201, made.content
    answer = made.json()
    assert (answer["id"], answer["state"], answer["evidence"]) == (str(run.pk), "done", 6)
    assert client.get(made["Location"]).json()["samples"]
    small = gzip.compress(response.content)
    assert client.post(url, small, content_type="application/gzip").status_code == 409


def test_api_archive_of_a_run_that_goes_on_is_a_conflict(
    caller: Callable[..., Client], run: Run
) -> None:
    Run.objects.update(state=RunState.RUNNING)
    client = caller("read")
    assert client.get(f"{API}/runs/{run.pk}/archive").status_code == 409
    assert client.get(f"{API}/runs/{uuid4()}/archive").status_code == 404


def test_api_archive_that_was_damaged_is_an_error(caller: Callable[..., Client], run: Run) -> None:
    run.evidence.filter(n=2).update(raw_gzip=gzip.compress(b"other"))
    assert caller("read").get(f"{API}/runs/{run.pk}/archive").status_code == 500


def test_api_import_is_refused_clearly(caller: Callable[..., Client], target: Offer) -> None:
    client = caller("write")

    def post(query: str, body: bytes = b"hello", **given: Any) -> Any:
        return client.post(f"{API}/runs/import{query}", body, "application/gzip", **given)

    assert fields(post("")) == ["offer"]
    assert fields(post("?offer=none")) == fields(post("?offer=a%00")) == ["/offer"]
    refused = post("?offer=aws-m5-large")
    assert refused.status_code == 400
    assert "Invalid JSON" in refused.json()["detail"]
    assert post("?offer=aws-m5-large", b"").status_code == 400
    assert post("?offer=aws-m5-large", CONTENT_LENGTH=str(10**9)).status_code == 413
    assert caller("read").post(f"{API}/runs/import", b"", "application/gzip").status_code == 403


def test_command_imports_a_run(content: bytes, target: Offer, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(content)
    out = io.StringIO()
    call_command("import_run", str(file), "--offer", "aws-m5-large", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["run"] == str(Run.objects.get().pk)
    assert answer["samples"] == Sample.objects.count()
    Run.objects.all().delete()
    out = io.StringIO()
    call_command("import_run", str(file), "--offer", "aws-m5-large", stdout=out)
    assert "6 raw outputs, all verified" in out.getvalue()


@pytest.mark.parametrize(
    ("name", "offer", "detail"),
    [
        ("run.json", "none", "no offer"),
        ("gone", "aws-m5-large", "No such file"),
        ("run.json", "aws-m5-large", "Invalid JSON"),
    ],
)
def test_command_says_what_is_wrong(
    target: Offer, tmp_path: Path, name: str, offer: str, detail: str
) -> None:
    (tmp_path / "run.json").write_bytes(b"hello")
    with pytest.raises(CommandError, match=detail):
        call_command("import_run", str(tmp_path / name), "--offer", offer)
