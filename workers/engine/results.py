"""Stores what was measured: evidence, samples, host facts. Storing twice changes nothing."""

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from backend.benchmarks.models import Evidence, Host, Run, Sample, Source
from backend.benchmarks.selectors.evidence import NOT_AVAILABLE
from backend.catalog.models import Offer
from backend.catalog.services.data_version import data_version_bump
from backend.common import clock
from backend.domain.architectures import architecture
from backend.domain.errors import Reason
from backend.domain.metrics import METRICS
from backend.domain.parsing import ParsedSample
from backend.domain.parsing.probes import STDERR_MARK
from backend.domain.stats import DISTURBED
from workers.remote.pipeline import Snapshot, text_of
from workers.remote.probes.registry import INVENTORY, PACKAGES, PROBES
from workers.remote.readings import Reading

WARNING = "warning"
UNAVAILABLE = "unavailable"
BOOT_TIME = "boot_time_s"


def readings_store(found: Sequence[tuple[Run, Sequence[Reading]]]) -> None:
    """Evidence and samples of each run's repeats that are not stored yet, and its host's facts.

    To be called within the fence of the runs' steps, so that nobody else stores the same.
    """
    pairs = [(run, reading) for run, readings in found for reading in readings]
    if not pairs:
        return
    known = set(
        Evidence.objects.filter(
            run__in={run.pk for run, _ in pairs}, n__in={reading.raw.number for _, reading in pairs}
        ).values_list("run_id", "n")
    )
    fresh = [(run, reading) for run, reading in pairs if (run.pk, reading.raw.number) not in known]
    evidence = Evidence.objects.bulk_create([_evidence(*pair) for pair in fresh])
    Sample.objects.bulk_create(
        [
            _sample(run, stored, reading, sample)
            for stored, (run, reading) in zip(evidence, fresh, strict=True)
            for sample in reading.samples
        ],
        ignore_conflicts=True,
    )
    for run, reading in fresh:
        _note(run, reading)


def _note(run: Run, reading: Reading) -> None:
    """What a person is to know of a repeat beside its figures."""
    if reading.facts is not None:
        Host.objects.filter(pk=run.host_id).update(facts=asdict(reading.facts))
        for warning in reading.facts.warnings:
            run.events.create(kind=WARNING, detail=warning)
    if reading.probe == PACKAGES and reading.conditions and not reading.unavailable:
        lines = text_of(reading.raw.out).splitlines()
        said = "\n".join(line for line in lines if line.strip() and not line.startswith("==="))
        run.events.create(kind=PACKAGES, detail=said[-1000:])
    if reading.unavailable:
        unavailable_note(run, reading.probe, reading.unavailable)
    if reading.error:
        run.events.create(kind=WARNING, detail=reading.error)


def unavailable_note(run: Run, probe: str, why: str) -> None:
    """Say once that a probe cannot be measured on the host, however often it was tried."""
    detail = f"{probe}: not available: {why}"
    if not run.events.filter(kind=UNAVAILABLE, detail=detail).exists():
        run.events.create(kind=UNAVAILABLE, detail=detail)


def _evidence(run: Run, reading: Reading) -> Evidence:
    raw = reading.raw.out
    if reading.raw.err:
        raw += STDERR_MARK.encode() + reading.raw.err
    conditions = reading.conditions
    error = f"{NOT_AVAILABLE}{reading.unavailable}" if reading.unavailable else reading.error
    return Evidence(
        run=run,
        n=reading.raw.number,
        probe=reading.probe,
        variant=reading.variant,
        repeat=reading.repeat,
        command=conditions.command if conditions else "",
        tool_version=_tool_version(reading),
        conditions=asdict(conditions) if conditions else {},
        series=dict(reading.series) if reading.series and any(reading.series.values()) else None,
        exit_code=conditions.exit_code if conditions else None,
        error=error,
        raw_gzip=gzip.compress(raw, mtime=0),
        size_bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        file_hashes=reading.raw.file_hashes,
    )


def _tool_version(reading: Reading) -> str:
    """The probe's own version, and the build or the program that did the work."""
    words = [reading.probe]
    if reading.probe in PROBES:
        words.append(PROBES[reading.probe].version)
    for sample in reading.samples[:1]:
        build = str(sample.parameters.get("build_sha256", ""))[:12]
        tools = (str(sample.parameters.get(name) or "") for name in ("dd", "fio", "tool"))
        words += filter(None, [build, *tools])
    return " ".join(words)[:80]  # as long as method_version of a sample


def _sample(run: Run, evidence: Evidence, reading: Reading, sample: ParsedSample) -> Sample:
    return Sample(
        offer_id=run.offer_id,
        host_id=run.host_id,
        run=run,
        evidence=evidence,
        metric=sample.metric,
        variant=sample.variant,
        repeat=reading.repeat,
        value=sample.value,
        unit=sample.unit,
        parameters=dict(sample.parameters),
        flags=flags_of(reading, sample),
        source=Source.MEASURED,
        method_version=evidence.tool_version,
        measured_at=clock.now(),
    )


def boot_store(run: Run, seconds: float) -> None:
    """How long the run's machine took from the request to the first login. The controller's own
    clock told it: there is no output to keep beside it."""
    Sample.objects.bulk_create(
        [
            Sample(
                offer_id=run.offer_id,
                host_id=run.host_id,
                run=run,
                metric=BOOT_TIME,
                variant=METRICS[BOOT_TIME].canonical_variant or "",
                value=seconds,
                unit=METRICS[BOOT_TIME].unit,
                source=Source.MEASURED,
                method_version="first login",
                measured_at=clock.now(),
            )
        ],
        ignore_conflicts=True,
    )


def flags_of(reading: Reading, sample: ParsedSample) -> list[str]:
    """Why a figure is not to be trusted: what its tool says, and what was seen around it."""
    return [*sample.flags, *([DISTURBED] if reading.is_disturbed else [])]


def run_failure(snapshot: Snapshot, readings: Sequence[Reading]) -> tuple[Reason, str] | None:
    """Why a run whose runner is over is a failed one; None when everything planned is there.

    The inventory and the package manager are best effort: what they could not do is a warning.
    """
    status = snapshot.status
    if status is not None and status.state == "cancelled":
        return None
    for reading in readings:
        if reading.reason is not None and reading.probe not in BEST_EFFORT:
            return reading.reason, reading.error
    if status is not None and status.failure is not None:
        return RUNNER_REASONS[status.failure]
    if status is None or status.state == "running" or snapshot.manifest is None:
        return Reason.INTERRUPTED, "the runner ended without listing its results"
    return None


BEST_EFFORT = {INVENTORY, PACKAGES}
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
        "arch": architecture(facts.get("arch") or ""),
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
