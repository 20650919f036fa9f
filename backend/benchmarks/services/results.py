"""Stores what was measured: evidence, samples, host facts. Storing twice changes nothing."""

import gzip
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from backend.benchmarks.calc.targets import target
from backend.benchmarks.models import Evidence, Host, Resource, Run, Sample, Source
from backend.benchmarks.selectors.evidence import NOT_AVAILABLE, evidence_text
from backend.benchmarks.services.offered_machine import offer_contradiction, offer_facts_record
from backend.core import clock
from backend.foundation.reading.texts import text_of
from backend.measure.credits import credit_flag
from backend.measure.metrics import METRICS
from backend.measure.metrics.general_performance import (
    MAX_WEB_VCPUS,
    WEB,
    general_performance_with_web,
)
from backend.measure.probes import NETWORK, PACKAGES, PROBES
from backend.measure.readers import ParsedSample
from backend.measure.readers.disk_files import (
    MEMORY_BANDWIDTH,
    directory_of,
    memory_directories,
)
from backend.measure.readers.network import bytes_of_test
from backend.measure.repeats import STDERR_MARK, VOLUME_SMALL, Repeat
from backend.measure.stats import CACHED, EMULATED, UNLIKE_OFFER
from backend.providers.base import Volume
from backend.providers.registry import provider

WARNING = "warning"
UNAVAILABLE = "unavailable"
BOOT_TIME = "boot_time_s"
GENERAL = "general_performance"
WITH_WEB_PROBES = ("general", "web")
OTHERS_UNSEEN = "the host does not show what its CPUs do: other work stays hidden"
# What tells memory from a disk: all figures of disks, and the speed of the memory.
DISK_AND_MEMORY_METRICS = frozenset(
    metric
    for probe in PROBES.values()
    if probe.io == "disk" or MEMORY_BANDWIDTH in probe.metrics
    for metric in probe.metrics
)


def repeats_store(runs: Sequence[tuple[Run, Sequence[Repeat]]]) -> None:
    """Evidence and samples of each run's repeats that are not stored yet, and its host's facts.

    To be called within the fence of the runs' steps, so that nobody else stores the same.
    """
    pairs = [(run, repeat) for run, repeats in runs for repeat in repeats]
    if not pairs:
        return
    known = set(
        Evidence.objects.filter(
            run__in={run.pk for run, _ in pairs}, n__in={repeat.raw.number for _, repeat in pairs}
        ).values_list("run_id", "n")
    )
    fresh = [(run, repeat) for run, repeat in pairs if (run.pk, repeat.raw.number) not in known]
    for run, repeat in fresh:
        if repeat.facts is not None:
            run.host.facts = asdict(repeat.facts)
            offer_facts_record(run=run)
    evidence = Evidence.objects.bulk_create([_evidence(*pair) for pair in fresh])
    # A step may be done twice. Samples are unique by run, metric, variant and repeat, so what was
    # stored the first time stays.
    Sample.objects.bulk_create(
        [
            _sample(run, stored, repeat, sample)
            for stored, (run, repeat) in zip(evidence, fresh, strict=True)
            for sample in repeat.samples
        ],
        ignore_conflicts=True,
    )
    for run in {
        run for run, repeat in fresh if {s.metric for s in repeat.samples} & DISK_AND_MEMORY_METRICS
    }:
        memory_figures_flag(run=run)
    for run in {run for run, repeat in fresh if repeat.probe in WITH_WEB_PROBES}:
        with_web_store(run=run)
    for run, repeat in fresh:
        _note(run, repeat)
    for run in {run for run, _ in fresh}:
        if unlike := offer_contradiction(run):
            _note_once(run, WARNING, unlike)
            _flag(run.samples.all(), UNLIKE_OFFER)


def memory_figures_flag(*, run: Run) -> None:
    """Flag the disk figures of directories where the figures themselves show that memory answered."""
    samples = list(run.samples.filter(metric__in=DISK_AND_MEMORY_METRICS))
    directories = memory_directories((s.metric, s.value, s.parameters) for s in samples)
    _flag((s for s in samples if directory_of(s.parameters) in directories), CACHED)


def with_web_store(*, run: Run) -> None:
    """Store general performance with the web server, for each repeat that has all its parts."""
    parts: dict[int, dict[str, Sample]] = defaultdict(dict)
    for sample in run.samples.filter(
        metric__in=(GENERAL, "web_requests_per_s"),
        variant__in=("standard", *WEB),
        excluded_reason="",
    ):
        parts[sample.repeat][sample.variant] = sample
    Sample.objects.bulk_create(
        [
            _with_web(by_variant["standard"], {size: by_variant[size] for size in WEB})
            for by_variant in parts.values()
            if by_variant.keys() == {"standard", *WEB}
            and by_variant["64k"].parameters["threads"] <= MAX_WEB_VCPUS
        ],
        ignore_conflicts=True,
    )


def _with_web(general: Sample, web: Mapping[str, Sample]) -> Sample:
    first = web["64k"]
    flags = [flag for sample in (general, *web.values()) for flag in sample.flags]
    # No single output states it: its evidence is that of the whole run.
    return Sample(
        offer_id=general.offer_id,
        host_id=general.host_id,
        run_id=general.run_id,
        metric=GENERAL,
        variant="with_web",
        repeat=general.repeat,
        value=general_performance_with_web(
            general.value, {size: sample.value for size, sample in web.items()}
        ),
        unit=general.unit,
        parameters={"threads": first.parameters["threads"]},
        flags=list(dict.fromkeys(flags)),
        source=general.source,
        # The web server first: what is cut off at the end is the name of Redis' client.
        method_version=f"{first.method_version}, {general.method_version}"[:80],
        measured_at=max(sample.measured_at for sample in (general, *web.values())),
    )


def _flag(samples: Iterable[Sample], flag: str) -> None:
    changed = [sample for sample in samples if flag not in sample.flags]
    for sample in changed:
        sample.flags = [*sample.flags, flag]
    Sample.objects.bulk_update(changed, ["flags"])


def record_sent_bytes(*, run: Run) -> None:
    """Record the bytes sent in the run's network tests: of a pair of rented machines each run says
    it of its own, as providers charge it by the machine."""
    tests = run.evidence.filter(probe=NETWORK)
    texts = [evidence_text(test).partition(STDERR_MARK)[0] for test in tests]
    if not texts:
        return
    host, peer = map(sum, zip(*map(bytes_of_test, texts), strict=True))
    Run.objects.filter(pk=run.pk).update(sent_bytes=host)
    if run.server_id is not None:
        Run.objects.filter(pk=run.server_id).update(sent_bytes=peer)


def _note(run: Run, repeat: Repeat) -> None:
    """Note the remarks of a repeat beside its figures."""
    if repeat.facts is not None:
        Host.objects.filter(pk=run.host_id).update(facts=asdict(repeat.facts))
        for warning in repeat.facts.warnings:
            run.events.create(kind=WARNING, detail=warning)
    if repeat.probe == PACKAGES and repeat.conditions and not repeat.unavailable:
        lines = text_of(repeat.raw.out).splitlines()
        said = "\n".join(line for line in lines if line.strip() and not line.startswith("==="))
        # The end is where package managers say what became of it.
        run.events.create(kind=PACKAGES, detail=said[-1000:])
    if repeat.conditions and repeat.conditions.foreign_cpu_ratio is None:
        _note_once(run, WARNING, OTHERS_UNSEEN)
    if repeat.unavailable:
        unavailable_note(run=run, probe=repeat.probe, why=repeat.unavailable)
    if repeat.error:
        run.events.create(kind=WARNING, detail=repeat.error)


def unavailable_note(*, run: Run, probe: str, why: str) -> None:
    """Say once that a probe cannot be measured on the host, however often it was tried."""
    _note_once(run, UNAVAILABLE, f"{probe}: not available: {why}")


def _note_once(run: Run, kind: str, detail: str) -> None:
    if not run.events.filter(kind=kind, detail=detail).exists():
        run.events.create(kind=kind, detail=detail)


def _evidence(run: Run, repeat: Repeat) -> Evidence:
    raw = repeat.raw.out
    if repeat.raw.err:
        raw += STDERR_MARK.encode() + repeat.raw.err
    conditions = repeat.conditions
    error = f"{NOT_AVAILABLE}{repeat.unavailable}" if repeat.unavailable else repeat.error
    return Evidence(
        run=run,
        n=repeat.raw.number,
        probe=repeat.probe,
        variant=repeat.variant,
        repeat=repeat.repeat,
        command=conditions.command if conditions else "",
        tool_version=_tool_version(repeat),
        conditions=asdict(conditions) if conditions else {},
        series=dict(repeat.series) if repeat.series and any(repeat.series.values()) else None,
        exit_code=conditions.exit_code if conditions else None,
        error=error,
        raw_gzip=gzip.compress(raw, mtime=0),
        size_bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        file_hashes=repeat.raw.file_hashes,
    )


def _tool_version(repeat: Repeat) -> str:
    """The probe's own version, and the build or the program that did the work."""
    words = [repeat.probe]
    if repeat.probe in PROBES:
        words.append(PROBES[repeat.probe].version)
    for sample in repeat.samples[:1]:
        build = str(sample.parameters.get("build_sha256", ""))[:12]
        tools = (str(sample.parameters.get(name) or "") for name in ("dd", "fio", "tool"))
        words += filter(None, [build, *tools])
    return " ".join(words)[:80]  # as long as method_version of a sample


def sample_row(evidence: Evidence, parsed: ParsedSample, *, peer: str = "", **given: Any) -> Sample:
    """The sample as it is stored, not saved; `given` are the fields that its text does not say, `peer`
    names the other end of a network test."""
    return Sample(
        **{
            "evidence": evidence,
            "metric": parsed.metric,
            "variant": parsed.variant,
            "repeat": evidence.repeat,
            "value": parsed.value,
            "unit": parsed.unit,
            "parameters": dict(parsed.parameters),
            "target": target(evidence.probe, parsed.parameters, peer),
            **given,
        }
    )


def peer_name(run: Run) -> str:
    """The other end of the run's network tests, by what it is: rented ones are new in each run."""
    if run.peer is None:
        return ""
    slug = run.peer.offer.slug
    return slug if run.peer.is_rented else f"{slug} {str(run.peer_id)[:8]}"


def _sample(run: Run, evidence: Evidence, repeat: Repeat, parsed: ParsedSample) -> Sample:
    version, parameters = evidence.tool_version, dict(parsed.parameters)
    flags = [*repeat.flags(parsed), *_credit_flags(run)]
    if run.host.facts.get("is_emulated"):
        flags.append(EMULATED)
    if PROBES[repeat.probe].io == "disk":
        volume = rented = _volume_of_rental(run)
        named = parameters.get("volume")
        if isinstance(named, Mapping):
            volume = Volume(**named)  # a disk of the machine's own, beside the one we rented
        elif rented and rented.is_small:
            flags.append(VOLUME_SMALL)
        if volume:
            # Its speed is that of the disk we chose: another one is another method.
            version, parameters["volume"] = f"{version} on {volume}"[:80], asdict(volume)
    return sample_row(
        evidence,
        parsed,
        peer=peer_name(run) if repeat.probe == NETWORK else "",
        offer_id=run.offer_id,
        host_id=run.host_id,
        run=run,
        parameters=parameters,
        flags=flags,
        source=Source.MEASURED,
        method_version=version,
        measured_at=clock.now(),
    )


def _volume_of_rental(run: Run) -> Volume | None:
    """The disk that was rented with the run's machine; None where the type decides, or it is ours."""
    if not run.host.is_rented:
        return None
    resource: Resource = run.resource
    volume = provider(resource.account.provider).volume
    return volume(resource.machine_type) if volume else None


def _credit_flags(run: Run) -> list[str]:
    """In which mode of CPU credits the run's machine was rented; none of one that is ours."""
    if not run.host.is_rented or not run.resource.credit_mode:
        return []
    return [credit_flag(run.resource.credit_mode)]


def boot_store(*, run: Run, seconds: float, kernel_s: float) -> None:
    """How long the run's machine took from its launch until it let somebody in, of that its own
    kernel and services. Two clocks measured it: there is no output to keep beside it."""
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
                # Of another method than the time of our first login, which looks seconds apart had.
                method_version="its own clock",
                parameters={"kernel_to_ready_s": kernel_s},
                measured_at=clock.now(),
            )
        ],
        ignore_conflicts=True,
    )
