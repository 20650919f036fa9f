"""The document of a run: what is refused names its field, and outputs come back as they were."""

import datetime as dt
import hashlib
import json
from typing import Any

import pytest

from backend.benchmarks.calc.archived_run import (
    ArchiveRefused,
    EvidenceEntry,
    read_run,
    write_output,
)

AT = "2026-11-02T10:00:00+00:00"
LATEST = dt.datetime(2026, 11, 3, tzinfo=dt.UTC)
TEXT = "=== failure unavailable: no\n"
RUN = {
    "id": "6a6a3c5e-3d0e-4b7e-9e38-0d4f3e1f2a10", "profile": "quick", "probes": None, "parameters": {},
    "state": "done", "created_at": AT, "started_at": AT, "finished_at": None, "runner_s": 1.5,
    "failure_reason": "", "failure_detail": "",
}  # fmt: skip
EVIDENCE = {
    "n": 1, "probe": "dd", "variant": "write", "repeat": 0, "command": "dd", "tool_version": "9.1",
    "conditions": {}, "series": None, "exit_code": 7, "error": "no",
    "sha256": hashlib.sha256(TEXT.encode()).hexdigest(), "text": TEXT,
}  # fmt: skip


SAMPLE = {
    "metric": "disk_write_bytes_per_s", "variant": "write", "repeat": 0, "value": 1, "unit": "B/s",
    "parameters": {}, "flags": [], "evidence": 1, "measured_at": AT, "method_version": "dd 9.1",
    "excluded_reason": "",
}  # fmt: skip


def content(**parts: Any) -> bytes:
    host = {"id": RUN["id"], "name": "rack-7", "facts": {}}
    lists = {"samples": [], "events": [], "evidence": [EVIDENCE]}
    document = {"schema": 2, "run": RUN, "host": host, "offer": {}, "price": None, **lists, **parts}
    return json.dumps(document).encode()


def test_document_is_read_with_its_output():
    document = read_run(content(samples=[SAMPLE]), latest=LATEST)
    assert document.samples[0].key == ("disk_write_bytes_per_s", "write", 0)
    assert document.run.created_at == dt.datetime(2026, 11, 2, 10, tzinfo=dt.UTC)
    assert [entry.raw for entry in document.evidence] == [TEXT.encode()]


@pytest.mark.parametrize(
    ("parts", "detail"),
    [
        ({"run": RUN | {"created_at": "2026-11-03T00:00:01+00:00"}}, "/run/created_at: .*between"),
        ({"run": RUN | {"created_at": "1999-11-03T00:00:01+00:00"}}, "/run/created_at: .*between"),
        ({"run": RUN | {"parameters": {"a": "x" * 100_000}}}, "/run/parameters: .*larger than"),
        ({"offer": {"vcpu": float("inf")}}, "/offer: .*JSON compliant"),
        ({"evidence": [EVIDENCE | {"error": "a\0b"}]}, "a NUL character"),
    ],
)
def test_wrong_field_is_refused_by_its_name(parts, detail):
    with pytest.raises(ArchiveRefused, match=detail):
        read_run(content(**parts), latest=LATEST)


@pytest.mark.parametrize(
    "given", [{"text": "other"}, {"text": None, "base64": "a"}, {"text": None}]
)
def test_output_is_refused_when_its_checksum_is_another(given):
    with pytest.raises(ArchiveRefused, match="evidence 1 does not match its checksum"):
        _ = EvidenceEntry.model_validate(EVIDENCE | given).raw


@pytest.mark.parametrize("raw", [b"plain\r\n", "ü\0".encode(), b"\xff\xfe"])
def test_output_comes_back_as_it_was(raw):
    sha256 = hashlib.sha256(raw).hexdigest()
    entry = EVIDENCE | {"text": None, "sha256": sha256} | write_output(raw)
    assert EvidenceEntry.model_validate(entry).raw == raw
