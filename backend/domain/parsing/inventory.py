"""Facts about a host, from the framed text of the runner's inventory.

Each section is best effort on the target; only the kernel, the memory and the CPU count must be
there.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from backend.domain.errors import ProbeError
from backend.domain.parsing.frames import sections

TOOL = "inventory"
KIB = 1024
MAX_CPUS = 8192
DIMM_UNITS = {"kB": KIB, "KB": KIB, "MB": KIB**2, "GB": KIB**3, "TB": KIB**4}
CPU_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@dataclass(frozen=True)
class Dimm:
    """One memory slot; size_bytes None = empty. Speeds in million transfers per second."""

    slot: str
    size_bytes: int | None
    rated_mt_per_s: int | None
    configured_mt_per_s: int | None


@dataclass(frozen=True)
class HostFacts:
    """What a host is. None = the host did not tell; virtualization "none" = bare metal."""

    arch: str
    kernel: str
    os_name: str | None
    cpu_model: str | None
    microcode: str | None
    vcpu_count: int
    threads_per_core: int | None
    sockets: int | None
    numa_node_count: int | None
    is_smt_active: bool | None
    governor: str | None
    cgroup_quota_cpus: float | None
    memory_bytes: int
    dimms: tuple[Dimm, ...]
    virtualization: str | None
    container: str | None
    warnings: tuple[str, ...]


def parse(text: str) -> HostFacts:
    """The facts in one inventory. Raises ProbeError when a fact that must be there is not."""
    # A section that failed on the target printed an error message, not a fact.
    found = {part.name: part.text for part in sections(TOOL, text) if part.exit_code == 0}
    uname = found.get("uname", "").split()
    if len(uname) != 3:
        raise ProbeError(TOOL, "uname does not tell system, kernel and architecture")
    cpu = _colon_values(found.get("lscpu", ""))
    first_cpu = _colon_values(found.get("cpuinfo", ""))
    memory_kib = _whole(_colon_values(found.get("meminfo", "")).get("MemTotal", "").split(" ")[0])
    vcpu_count = _cpu_list_count(found.get("online", "")) or _whole(cpu.get("CPU(s)"))
    if not memory_kib or not vcpu_count:
        raise ProbeError(TOOL, "neither meminfo nor the CPU list may be missing")
    virtualization = _word(found, "virtualization") or _virtualization(cpu, first_cpu)
    smt = _word(found, "smt")
    dimms = _dimms(found.get("dmidecode", ""))
    facts = HostFacts(
        arch=uname[2],
        kernel=uname[1],
        os_name=_os_name(found.get("os-release", "")),
        cpu_model=cpu.get("Model name") or first_cpu.get("model name"),
        microcode=first_cpu.get("microcode"),
        vcpu_count=vcpu_count,
        threads_per_core=_whole(cpu.get("Thread(s) per core"))
        or _cpu_list_count(found.get("siblings", "")),
        sockets=_whole(cpu.get("Socket(s)")) or _whole(_word(found, "packages")),
        numa_node_count=_whole(cpu.get("NUMA node(s)")) or _whole(_word(found, "nodes")),
        is_smt_active=None if smt is None else smt == "1",
        governor=_word(found, "governor"),
        cgroup_quota_cpus=_quota(found.get("cgroup", "")),
        memory_bytes=memory_kib * KIB,
        # A guest sees the slots that its hypervisor made up.
        dimms=dimms if virtualization in {None, "none"} else (),
        virtualization=virtualization,
        container=_word(found, "container"),
        warnings=(),
    )
    return HostFacts(**{**vars(facts), "warnings": tuple(_warnings(facts))})


def _colon_values(text: str) -> dict[str, str]:
    """`key : value` lines; of a key that occurs more than once, the first."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        if colon and value.strip() not in {"", "-"}:
            values.setdefault(key.strip(), value.strip())
    return values


def _word(found: Mapping[str, str], section: str) -> str | None:
    words = found.get(section, "").split()
    return words[0] if words else None


def _whole(text: str | None) -> int | None:
    """A count above zero, else None."""
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        return None
    return int(text) or None


def _cpu_list_count(text: str) -> int | None:
    """How many CPUs a list like `0-3,8` names."""
    count = 0
    for part in text.strip().split(","):
        bounds = CPU_RANGE.fullmatch(part)
        if bounds is None:
            return None
        count += max(0, int(bounds[2] or bounds[1]) - int(bounds[1]) + 1)
    return count if 0 < count <= MAX_CPUS else None


def _os_name(text: str) -> str | None:
    name = next((line for line in text.split("\n") if line.startswith("PRETTY_NAME=")), "")
    return name.partition("=")[2].strip("\"'") or None


def _virtualization(cpu: Mapping[str, str], first_cpu: Mapping[str, str]) -> str | None:
    if "Hypervisor vendor" in cpu:
        return cpu["Hypervisor vendor"].lower()
    return "unknown" if "hypervisor" in first_cpu.get("flags", "").split() else None


def _quota(text: str) -> float | None:
    """The lowest `quota period` of the cgroups above us, in CPUs; `max` and -1 are no limit."""
    limits = []
    for line in text.split("\n"):
        quota, _, period = line.strip().partition(" ")
        numbers = _whole(quota), _whole(period)
        if numbers[0] and numbers[1]:
            limits.append(numbers[0] / numbers[1])
    return min(limits, default=None)


def _dimms(text: str) -> tuple[Dimm, ...]:
    blocks = re.split(r"(?m)^Memory Device$", text)[1:]
    return tuple(_dimm(_colon_values(block.split("\n\n")[0])) for block in blocks)


def _dimm(values: Mapping[str, str]) -> Dimm:
    size, _, unit = values.get("Size", "").partition(" ")
    number = _whole(size)
    configured = values.get("Configured Memory Speed") or values.get("Configured Clock Speed", "")
    return Dimm(
        slot=values.get("Locator", "?"),
        size_bytes=number * DIMM_UNITS[unit] if number and unit in DIMM_UNITS else None,
        rated_mt_per_s=_whole(values.get("Speed", "").split(" ")[0]),
        configured_mt_per_s=_whole(configured.split(" ")[0]),
    )


def _warnings(facts: HostFacts) -> list[str]:
    warnings = []
    filled = [dimm for dimm in facts.dimms if dimm.size_bytes]
    if filled and len(filled) < len(facts.dimms):
        warnings.append(
            f"{len(filled)} of {len(facts.dimms)} memory slots are filled: "
            "memory channels may be unused"
        )
    if filled and len(filled) <= (facts.sockets or 1):
        warnings.append("one memory module per socket: memory runs on a single channel")
    slow = [
        dimm
        for dimm in filled
        if (dimm.configured_mt_per_s or math.inf) < (dimm.rated_mt_per_s or 0)
    ]
    if slow:
        warnings.append(
            f"memory runs at {slow[0].configured_mt_per_s} MT/s, "
            f"its modules are made for {slow[0].rated_mt_per_s}"
        )
    if facts.governor not in {None, "performance"}:
        warnings.append(f"the CPU governor is {facts.governor}: clocks may be held down")
    if facts.cgroup_quota_cpus is not None and facts.cgroup_quota_cpus < facts.vcpu_count:
        warnings.append(
            f"a cgroup limits this environment to {facts.cgroup_quota_cpus:g} "
            f"of {facts.vcpu_count} CPUs"
        )
    return warnings
