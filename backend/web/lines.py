"""Lines of samples, facts and prices as the pages list them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from backend.benchmarks.models import Sample
from backend.domain.metrics import METRICS
from backend.web import figures

# Words and order of what the inventory and `observe` tell; other names follow as they are.
FACTS = {
    "cpu_model": "Processor",
    "arch": "Architecture",
    "vcpu_count": "CPUs seen",
    "usable_cpus": "Usable CPUs",
    "threads_per_core": "Threads per core",
    "sockets": "Sockets",
    "memory_bytes": "Memory",
    "os_name": "System",
    "kernel": "Kernel",
    "virtualization": "Virtualisation",
    "container": "Container",
    "governor": "Clock governor",
    "microcode": "Microcode",
    "numa_node_count": "NUMA nodes",
    "is_smt_active": "Simultaneous multithreading",
    "cgroup_quota_cpus": "CPU quota of its group",
    "wall_s": "Duration",
    "cpu_s": "CPU time",
    "cpu_share": "CPU share of the probe",
    "foreign_cpu_ratio": "CPU used by others",
    "steal_ratio": "CPU taken by the hypervisor (steal)",
    "iowait_ratio": "CPU waiting for disks",
    "is_quiet": "Host was quiet before",
    "quiet_wait_s": "Waited for quiet",
    "started_s": "Started after",
    "is_timed_out": "Ran into its time limit",
    "is_cancelled": "Was cancelled",
}
HIDDEN = {"schema", "command", "probe", "variant", "repeat", "exit_code"}


@dataclass(frozen=True)
class SampleLine:
    """One sample with its value in the unit that all samples of its metric share on the page."""

    sample: Sample
    label: str
    shown: str
    unit: str
    evidence_n: int | None


def sample_lines(samples: Iterable[Sample], evidence: Mapping[int, int]) -> list[SampleLine]:
    """Samples in order; `evidence` gives the number of each evidence by its key."""
    listed = list(samples)
    scales = {
        metric: figures.scale(
            next(s.unit for s in listed if s.metric == metric),
            (s.value for s in listed if s.metric == metric),
        )
        for metric in {s.metric for s in listed}
    }
    return [
        SampleLine(
            sample=sample,
            label=METRICS[sample.metric].label if sample.metric in METRICS else sample.metric,
            shown=figures.figure(scales[sample.metric].shown(sample.value)),
            unit=scales[sample.metric].unit,
            evidence_n=evidence.get(sample.evidence_id) if sample.evidence_id else None,
        )
        for sample in listed
    ]


def facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts as pairs of words and text; nested values and unknown ones are left out."""
    names = [name for name in FACTS if name in found]
    names += [name for name in found if name not in FACTS and name not in HIDDEN]
    return [
        (FACTS.get(name, name.replace("_", " ").capitalize()), _text(name, found[name]))
        for name in names
        if found[name] not in (None, "") and not isinstance(found[name], dict | list)
    ]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith(("_ratio", "_share")):
            return f"{value:.1%}".replace("%", " %")
        if name.endswith("_bytes"):
            return f"{value / 2**30:.2f} GiB" if value >= 2**28 else figures.size(int(value))
        if name.endswith("_s"):
            return f"{value:.2f} s"
        return figures.quantity(value)
    return str(value)


def own_path(url: str | None) -> str | None:
    """An address of this site without its host, so that links work under every name of it."""
    return url.removeprefix(settings.PUBLIC_URL.rstrip("/")) if url else None
