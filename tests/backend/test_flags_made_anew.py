"""Migration 0009: flags of stored samples are made anew from their evidence."""

import gzip
import hashlib
import json
from dataclasses import asdict
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from backend.benchmarks.models import Evidence, Sample
from backend.domain.parsing import observe
from backend.domain.repeats import reparse
from tests import factories
from tests.domain.parsing.conftest import FIXTURES

migration = import_module("backend.benchmarks.migrations.0009_flags_from_the_evidence")
pytestmark = pytest.mark.django_db


def recorded(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text()


def evidence(text: str, **given: Any) -> Evidence:
    raw = text.encode()
    fields = {
        "n": 1,
        "command": "",
        "raw_gzip": gzip.compress(raw),
        "size_bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    return Evidence.objects.create(**fields, **given)


def measured(probe: str, variant: str, text: str, flags: list[str], **seen: Any) -> Sample:
    run = factories.run()
    record = {**json.loads(recorded("observe-clocks")), "foreign_cpu_ratio": 0.01, **seen}
    conditions = asdict(observe.parse(json.dumps(record) + "\n"))
    kept = evidence(text, run=run, probe=probe, variant=variant, conditions=conditions)
    (sample, *_) = reparse(probe, variant, text)
    return factories.sample(
        run.offer,
        sample.value,
        run=run,
        evidence=kept,
        metric=sample.metric,
        variant=sample.variant,
        flags=flags,
    )


def test_stolen_time_is_taken_off_and_foreign_work_stays(capsys: Any) -> None:
    """W1: stored repeats of a host that steals rank again, and the run's history says so."""
    stolen = measured(
        "cmips", "all", recorded("cmips-all-x86_64"), ["disturbed", "outlier"], steal_ratio=0.45
    )
    foreign = measured(
        "cmips", "all", recorded("cmips-all-x86_64"), ["disturbed"], foreign_cpu_ratio=0.2
    )
    migration.flags_make_anew(apps, None)
    stolen.refresh_from_db()
    foreign.refresh_from_db()
    assert (stolen.flags, foreign.flags) == (["outlier"], ["disturbed"])
    assert stolen.run is not None
    said = [(event.kind, event.detail) for event in stolen.run.events.all()]
    assert said == [("flags", "cmips_score all, repeat 0: disturbed outlier → outlier")]
    assert "1 samples, disturbed outlier → outlier" in capsys.readouterr().out
    migration.flags_make_anew(apps, None)
    assert stolen.run.events.count() == 1


def test_network_of_one_machine_and_zfs_reads_are_flagged() -> None:
    """W4, 3.1: what memory stood in for loses its rank, in runs that are stored already."""
    looped = measured("network", "tcp_parallel", recorded("network-tcp-parallel"), [])
    text = recorded("dd-gnu-9.1-read-direct").replace("filesystem ext4", "filesystem zfs")
    text = text.replace("conditions direct", "conditions fdatasync")
    text = "\n".join(
        "drop_caches yes" if line.startswith("drop_caches") else line for line in text.split("\n")
    )
    arc = measured("dd", "read", text, [])
    migration.flags_make_anew(apps, None)
    looped.refresh_from_db()
    arc.refresh_from_db()
    assert (looped.flags, arc.flags) == (["cached"], ["cached"])


@pytest.mark.parametrize(
    ("tool", "text", "flags"),
    [
        ("iperf3", recorded("iperf3-3.12-tcp"), ["cached"]),
        ("fio", recorded("fio-3.33-rand-read-qd1").replace("/srv/data", "/dev/shm"), ["cached"]),
        ("fio", recorded("fio-3.33-rand-read-qd1"), []),
        ("fio", "not to be read", []),
    ],
)
def test_imports_are_flagged_by_what_they_say(tool: str, text: str, flags: list[str]) -> None:
    """W4, W5: texts that were imported before they would have been refused or flagged."""
    offer = factories.offer()
    kept = evidence(text, offer=offer, probe=tool)
    metric, variant = {
        "iperf3": ("net_tcp_bits_per_s", "tcp_single"),
        "fio": ("disk_rand_read_iops", "fio_4k_qd1"),
    }[tool]
    stored = factories.sample(offer, 1.0, evidence=kept, metric=metric, variant=variant)
    migration.flags_make_anew(apps, None)
    stored.refresh_from_db()
    assert stored.flags == flags
