"""Lines of samples, facts and prices as the pages list them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.conf import settings
from django.urls import reverse

from backend.benchmarks.models import Evidence, Sample
from backend.measure.metrics import BESIDE
from backend.measure.stats import repeats_that_count
from backend.providers.base import Volume
from backend.site import figures, words
from backend.site.language import _, lazy

# Words and order of what the inventory and `observe` report; other names follow as they are.
FACTS = {
    "cpu_model": lazy("Processor"),
    "arch": lazy("Architecture"),
    "vcpu_count": lazy("CPUs seen"),
    "usable_cpus": lazy("Usable CPUs"),
    "threads_per_core": lazy("Threads per core"),
    "sockets": lazy("Sockets"),
    "memory_bytes": lazy("Memory"),
    "os_name": lazy("System"),
    "kernel": lazy("Kernel"),
    "virtualization": lazy("Virtualisation"),
    "container": lazy("Container"),
    "is_emulated": lazy("Emulated processor"),
    "governor": lazy("Clock governor"),
    "nice": lazy("Nice value of the login"),
    "scheduling": lazy("CPU policy of the login"),
    "io_class": lazy("Disk class of the login"),
    "microcode": lazy("Microcode"),
    "numa_node_count": lazy("NUMA nodes"),
    "transparent_hugepages": lazy("Transparent huge pages"),
    "is_smt_active": lazy("Simultaneous multithreading"),
    "cgroup_quota_cpus": lazy("CPU quota of its group"),
    "wall_s": lazy("Duration"),
    "cpu_s": lazy("CPU time"),
    "cpu_share": lazy("CPU share of the probe"),
    "mtu": lazy("Largest packet (MTU), bytes"),
    "congestion": lazy("Congestion control of TCP"),
    "vulnerable_count": lazy("Unmitigated CPU vulnerabilities"),
    "mitigation_count": lazy("Mitigated CPU vulnerabilities"),
    "usable_cpu_count": lazy("CPUs that the probes may use"),
    "scheduler": lazy("I/O scheduler of the disks"),
    "fio_version": lazy("Version of fio"),
    "iperf3_version": lazy("Version of iperf3"),
    "max_mhz": lazy("Highest clock as stated, MHz"),
    "dimm_slot_count": lazy("Slots for memory modules"),
    "dimm_count": lazy("Memory modules"),
    "mhz_mean": lazy("Mean clock, MHz"),
    "mhz_min": lazy("Lowest clock, MHz"),
    "mhz_max": lazy("Highest clock, MHz"),
    "foreign_user_ratio": lazy("CPU used by other programs"),
    "foreign_cpu_ratio": lazy("CPU used by others, kernel included"),
    "steal_ratio": lazy("CPU taken by the hypervisor (steal)"),
    "iowait_ratio": lazy("CPU waiting for disks"),
    "is_quiet": lazy("Host was quiet before"),
    "quiet_wait_s": lazy("Waited for quiet"),
    "started_s": lazy("Started after"),
    "is_timed_out": lazy("Ran into its time limit"),
    "is_cancelled": lazy("Was cancelled"),
    "is_memory_short": lazy("Stopped to leave memory to others"),
    "memory_available_bytes": lazy("Memory available to others"),
    "signal": lazy("Ended by signal"),
}
# Said elsewhere on the page, or of no use to readers.
HIDDEN = {"schema", "command", "probe", "variant", "repeat", "exit_code"}


@dataclass(frozen=True)
class SampleLine:
    """A sample with its value in the unit that all samples of its metric share on the page."""

    sample: Sample
    label: str
    shown: str
    unit: str
    evidence_n: int | None
    evidence_url: str | None

    @property
    def variant(self) -> str:
        return variant_of(self.sample)


def sample_lines(samples: Iterable[Sample]) -> list[SampleLine]:
    """Samples in order; those with evidence include it (without its text)."""
    listed = list(samples)
    scales = _scales(listed)
    return [
        SampleLine(
            sample=sample,
            label=words.metric(sample.metric),
            shown=scales[sample.metric].text(sample.value),
            unit=scales[sample.metric].unit,
            evidence_n=sample.evidence.n if sample.evidence else None,
            evidence_url=evidence_url(sample.evidence) if sample.evidence else None,
        )
        for sample in listed
    ]


def _scales(samples: Sequence[Sample]) -> dict[str, figures.UnitScale]:
    # One scale for each metric, so that the figures below each other compare.
    of_metric: dict[str, list[Sample]] = {}
    for sample in samples:
        of_metric.setdefault(sample.metric, []).append(sample)
    return {
        metric: figures.scale(group[0].unit, (sample.value for sample in group))
        for metric, group in of_metric.items()
    }


def evidence_url(evidence: Evidence) -> str:
    """Page of the raw text: of a run's command, or of a text that was imported."""
    if evidence.run_id is None:
        return reverse("imported-evidence", args=[evidence.pk])
    return reverse("evidence", args=[evidence.run_id, evidence.n])


def volumes(samples: Iterable[Sample]) -> dict[tuple[str, str], str]:
    """The rented disk that the newest sample of each metric and variant was measured on."""
    named: dict[tuple[str, str], str] = {}
    for sample in sorted(samples, key=lambda sample: sample.measured_at):
        rented = sample.parameters.get("volume")
        named[sample.metric, sample.variant] = str(Volume(**rented)) if rented else ""
    return named


@dataclass(frozen=True)
class Piece:
    """A repeat of a result, with the way to its raw output."""

    n: int | None
    repeat: int
    shown: str
    url: str | None


@dataclass(frozen=True)
class ResultLine:
    """All repeats of one metric and variant in one line."""

    metric: str
    label: str
    variant: str
    median: float
    plain_unit: str
    shown: str
    low: str
    high: str
    unit: str
    flags: list[str]
    # How many do not count: left out by a person, or unfit beside clean ones.
    excluded_count: int
    pieces: Sequence[Piece]

    @property
    def is_of_matrix(self) -> bool:
        """True if it is one cell of the fio matrix, which its chart shows."""
        return self.variant.startswith("matrix_")


def variant_of(sample: Sample) -> str:
    """The variant, with what it was measured on: the disk that was rented for it and how long that
    took to settle, or how much of the memory lay in huge pages."""
    names = ("volume", "settled_s", "huge_page_ratio")
    rented, settled_s, huge_ratio = (sample.parameters.get(name) for name in names)
    words = [sample.variant, *([str(Volume(**rented))] if rented else [])]
    if settled_s is not None:
        words.append(_("after {time}", time=figures.duration(settled_s)))
    if huge_ratio is not None:
        words.append(_("{share} in huge pages", share=figures.percent(huge_ratio, 0)))
    return ", ".join(words)


def result_lines(lines: Iterable[SampleLine]) -> list[ResultLine]:
    """Sample lines of one run gathered by metric, whose variants then stand beside each other, in
    the order of their first one."""
    metrics: dict[str, dict[str, list[SampleLine]]] = {}
    for line in lines:
        variants = metrics.setdefault(line.sample.metric, {})
        variants.setdefault(line.sample.variant, []).append(line)
    groups = [group for variants in metrics.values() for group in variants.values()]
    scales = _scales([line.sample for group in groups for line in group])
    return [_result_line(group, scales[group[0].sample.metric]) for group in groups]


def beside_lines(metric: str, samples: Iterable[Sample]) -> list[ResultLine]:
    """Results of the newest run with each of the variants beside the one that ranks."""
    of_run: dict[tuple[str, object], list[Sample]] = {}
    for sample in samples:
        if sample.metric == metric and not sample.excluded_reason:
            of_run.setdefault((sample.variant, sample.run_id), []).append(sample)
    groups = sorted(of_run.values(), key=lambda group: group[0].measured_at)
    newest = {group[0].variant: group for group in groups}
    chosen = [newest[variant] for variant in BESIDE.get(metric, ()) if variant in newest]
    return result_lines(sample_lines(sample for group in chosen for sample in group))


def _result_line(group: Sequence[SampleLine], scale: figures.UnitScale) -> ResultLine:
    """Median and range of the repeats that count; of all where a person left all out, so that
    there is a line from which to take them back."""
    first = group[0]
    samples = [line.sample for line in group]
    counted, _ = repeats_that_count(samples)
    summarised = counted or samples
    values = [sample.value for sample in summarised]
    is_single = len(values) == 1
    return ResultLine(
        metric=first.sample.metric,
        label=first.label,
        variant=variant_of(first.sample),
        median=float(median(values)),
        plain_unit=first.sample.unit,
        shown=scale.text(float(median(values))),
        low="" if is_single else scale.text(min(values)),
        high="" if is_single else scale.text(max(values)),
        unit=scale.unit,
        flags=sorted({flag for sample in summarised for flag in sample.flags}),
        excluded_count=len(samples) - len(counted),
        pieces=[
            Piece(
                line.evidence_n,
                line.sample.repeat,
                scale.text(line.sample.value),
                line.evidence_url,
            )
            for line in group
        ],
    )


def facts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts as pairs of words and text; nested values and unknown ones are left out."""
    names = [name for name in FACTS if name in values]
    # Also those without words: a new fact of a probe shows before anybody has named it.
    names += [name for name in values if name not in FACTS and name not in HIDDEN]
    return [
        (FACTS.get(name, name.replace("_", " ").capitalize()), _text(name, values[name]))
        for name in names
        if values[name] not in (None, "") and not isinstance(values[name], dict | list)
    ]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        if name.endswith(("_ratio", "_share")):
            return figures.percent(value)
        if name.endswith("_bytes"):
            # Memory and files are sized in powers of two, so GiB read as round numbers.
            return (
                _("{size} GiB", size=figures.quantity(value / 2**30))
                if value >= 2**28
                else figures.size(int(value))
            )
        if name.endswith("_s"):
            return f"{figures.quantity(value)} s"
        return figures.quantity(value)
    return str(value)


def own_path(url: str | None) -> str | None:
    """An address of this site without its host, so that links work under every name of it."""
    return url.removeprefix(settings.PUBLIC_URL.rstrip("/")) if url else None
