"""Stores what was measured: evidence, samples, host facts. Storing twice changes nothing."""

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from backend.benchmarks.models import Evidence, Host, Run, Sample, Source
from backend.catalog.models import Offer
from backend.catalog.services import data_version_bump
from backend.common import clock
from backend.domain.errors import Reason
from backend.domain.parsing import ParsedSample
from workers.pipeline import Reading, Snapshot
from workers.probes.registry import INVENTORY, PROBES

DISTURBED = "disturbed"


def readings_store(run: Run, readings: Sequence[Reading]) -> None:
    """Evidence and samples of each repeat that is not stored yet, and the host's facts."""
    known = set(run.evidence.values_list("n", flat=True))
    for reading in readings:
        if reading.raw.number in known:
            continue
        evidence = _evidence(run, reading)
        Sample.objects.bulk_create(
            [_sample(run, evidence, reading, sample) for sample in reading.samples],
            ignore_conflicts=True,
        )
        if reading.facts is not None:
            Host.objects.filter(pk=run.host_id).update(facts=asdict(reading.facts))
            for warning in reading.facts.warnings:
                run.events.create(kind="warning", detail=warning)
        if reading.error:
            run.events.create(kind="warning", detail=reading.error)


def _evidence(run: Run, reading: Reading) -> Evidence:
    raw = reading.raw.out
    if reading.raw.err:
        raw += b"\n--- stderr ---\n" + reading.raw.err
    conditions = reading.conditions
    return Evidence.objects.get_or_create(
        run=run,
        n=reading.raw.number,
        defaults={
            "probe": reading.probe,
            "variant": reading.variant,
            "repeat": reading.repeat,
            "command": conditions.command if conditions else "",
            "tool_version": _tool_version(reading),
            "conditions": asdict(conditions) if conditions else {},
            "exit_code": conditions.exit_code if conditions else None,
            "error": reading.error,
            "raw_gzip": gzip.compress(raw, mtime=0),
            "size_bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
        },
    )[0]


def _tool_version(reading: Reading) -> str:
    """The probe's own version, and the build or the program that did the work."""
    words = [reading.probe]
    if reading.probe in PROBES:
        words.append(PROBES[reading.probe].version)
    for sample in reading.samples[:1]:
        build = str(sample.parameters.get("build_sha256", ""))[:12]
        words += filter(None, [build, str(sample.parameters.get("dd", ""))])
    return " ".join(words)[:80]


def _sample(run: Run, evidence: Evidence, reading: Reading, sample: ParsedSample) -> Sample:
    flags = [*sample.flags, *([DISTURBED] if reading.is_disturbed else [])]
    return Sample(
        offer=run.offer,
        host=run.host,
        run=run,
        evidence=evidence,
        metric=sample.metric,
        variant=sample.variant,
        repeat=reading.repeat,
        value=sample.value,
        unit=sample.unit,
        parameters=dict(sample.parameters),
        flags=flags,
        source=Source.MEASURED,
        method_version=evidence.tool_version,
        measured_at=clock.now(),
    )


def run_failure(snapshot: Snapshot, readings: Sequence[Reading]) -> tuple[Reason, str] | None:
    """Why a run whose runner is over is a failed one; None when everything planned is there.

    The inventory is best effort: what it could not tell is a warning.
    """
    status = snapshot.status
    if status is not None and status.state == "cancelled":
        return None
    for reading in readings:
        if reading.reason is not None and reading.probe != INVENTORY:
            return reading.reason, reading.error
    if status is not None and status.failure is not None:
        return RUNNER_REASONS[status.failure]
    if status is None or status.state == "running" or snapshot.manifest is None:
        return Reason.INTERRUPTED, "the runner ended without listing its results"
    return None


RUNNER_REASONS = {
    "disk_full": (Reason.DISK_FULL, "no space left on the host"),
    "killed": (Reason.INTERRUPTED, "the runner was killed"),
    "unsupported": (Reason.UNSUPPORTED, "the probes do not run on this host"),
}


def offer_facts_record(run: Run) -> None:
    """Fill what an offer of one's own does not tell yet from the host's inventory."""
    host = Host.objects.get(pk=run.host_id)
    if not host.facts or run.offer.provider.slug != "own":
        return
    facts = host.facts
    quota = facts.get("cgroup_quota_cpus")
    wanted = {
        "arch": facts.get("arch") or "",
        "cpu_model": (facts.get("cpu_model") or "")[:150],
        "vcpu_count": quota or facts.get("vcpu_count"),
        "thread_count": facts.get("vcpu_count"),
        "memory_bytes": facts.get("memory_bytes"),
    }
    missing = {
        name: value
        for name, value in wanted.items()
        if value and getattr(run.offer, name) in (None, "")
    }
    if missing:
        Offer.objects.filter(pk=run.offer_id).update(**missing)
        data_version_bump()
