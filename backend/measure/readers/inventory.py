"""Facts about a host, from the framed text of the runner's inventory.

Each section is best effort on the target; only the kernel, the memory and the CPU count must be
there.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend.foundation.errors import ProbeError
from backend.foundation.printable import printable
from backend.measure.readers.frames import sections
from backend.measure.readers.inventory_cloud import cloud
from backend.measure.readers.inventory_cpus import cpu_models
from backend.measure.readers.inventory_devices import (
    BlockDisk,
    Directory,
    Interface,
    Raid,
    directories,
    disks,
    interfaces,
    raids,
)
from backend.measure.readers.inventory_values import KIB, colon_values, cpu_list_count, whole

TOOL = "inventory"
DIMM_UNITS = {"kB": KIB, "KB": KIB, "MB": KIB**2, "GB": KIB**3, "TB": KIB**4}
CHOSEN = re.compile(r"\[([a-z_-]{1,20})\]")
VERSION = re.compile(r"(?:fio-|iperf )[0-9][0-9A-Za-z.+-]{0,30}")
LSCPU_VULNERABILITY = "Vulnerability "
SECTOR_ASHIFT = 9
NICE_FIELD, POLICY_FIELD = 19 - 3, 41 - 3
POLICIES = {"0": "other", "1": "fifo", "2": "rr", "3": "batch", "5": "idle", "6": "deadline"}
# Names that /proc/cpuinfo gives on x86 and not on ARM, and of a processor that is translated.
X86_VENDORS = {"GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls"}
TRANSLATED_VENDOR = "VirtualApple"
# "Reserved for software use" by ARM's architecture reference manual (MIDR_EL1): qemu's own processor.
SOFTWARE_IMPLEMENTER = "0x00"


@dataclass(frozen=True)
class Dimm:
    """A memory slot; size_bytes None = empty. Speeds in million transfers per second."""

    slot: str
    size_bytes: int | None
    rated_mt_per_s: int | None
    configured_mt_per_s: int | None


@dataclass(frozen=True)
class HostFacts:
    """Facts of a host. None = the host did not say; virtualization "none" = bare metal."""

    arch: str
    kernel: str
    os_name: str | None
    cpu_model: str | None
    microcode: str | None
    vcpu_count: int
    usable_cpu_count: int | None
    """CPUs on which our processes may run."""
    threads_per_core: int | None
    sockets: int | None
    numa_node_count: int | None
    is_smt_active: bool | None
    governor: str | None
    nice: int | None
    """How far the commands of the login give way to others: 19 is the most."""
    scheduling: str | None
    """How the kernel shares out CPU among them: other, batch, idle, fifo, rr, deadline."""
    io_class: str | None
    """How it shares out the disk: none, best-effort, idle, realtime."""
    clock_driver: str | None
    max_mhz: float | None
    is_boost_on: bool | None
    cgroup_quota_cpus: float | None
    memory_bytes: int
    cgroup_memory_bytes: int | None
    """The lowest limit below the memory of the machine."""
    transparent_hugepages: str | None
    dimm_slot_count: int | None
    dimm_count: int | None
    dimms: tuple[Dimm, ...]
    virtualization: str | None
    container: str | None
    is_emulated: bool
    """True if a program imitates the processor (qemu, Rosetta): its speed is that of the program."""
    cloud_provider: str | None
    cloud_region: str | None
    cloud_zone: str | None
    instance_type: str | None
    vulnerable_count: int | None
    """CPU weaknesses that the kernel knows and does not work around."""
    mitigation_count: int | None
    """Vulnerabilities that it works around, at some cost."""
    vulnerable_to: tuple[str, ...]
    congestion: str | None
    mtu: int | None
    """The smallest of the interfaces that are up."""
    interfaces: tuple[Interface, ...]
    scheduler: str | None
    """The I/O schedulers in use, in words."""
    disks: tuple[BlockDisk, ...]
    raids: tuple[Raid, ...]
    directories: tuple[Directory, ...]
    fio_version: str | None
    iperf3_version: str | None
    warnings: tuple[str, ...]


def parse(text: str) -> HostFacts:
    """The facts in one inventory. Raises ProbeError when a fact that must be there is not."""
    # A section that failed on the target printed an error message, not a fact; a NUL is none.
    parts = {
        # device-tree and DMI texts end with a NUL, which PostgreSQL cannot store.
        part.name: printable(part.text.replace("\0", ""))
        for part in sections(TOOL, text)
        if part.exit_code == 0
    }
    uname = parts.get("uname", "").split()
    # Without kernel and architecture no result can be told from one of another machine.
    if len(uname) != 3:
        raise ProbeError(TOOL, "uname does not name system, kernel and architecture")
    cpu = colon_values(parts.get("lscpu", ""))
    memory_kib = whole(colon_values(parts.get("meminfo", "")).get("MemTotal", "").split(" ")[0])
    vcpu_count = cpu_list_count(parts.get("online", "")) or whole(cpu.get("CPU(s)"))
    if not memory_kib or not vcpu_count:
        raise ProbeError(TOOL, "neither meminfo nor the CPU list may be missing")
    facts = HostFacts(
        arch=uname[2],
        kernel=uname[1],
        os_name=_os_name(parts.get("os-release", "")),
        vcpu_count=vcpu_count,
        memory_bytes=memory_kib * KIB,
        cgroup_memory_bytes=_memory_limit(parts.get("cgroup-memory", ""), memory_kib * KIB),
        **_cpu(parts, cpu),
        **_machine(parts, cpu),
        **_vulnerabilities(parts, cpu),
        **_devices(parts),
        fio_version=_version(parts, "fio"),
        iperf3_version=_version(parts, "iperf3"),
        warnings=(),
    )
    return HostFacts(**{**vars(facts), "warnings": tuple(_warnings(facts))})


def _cpu(parts: Mapping[str, str], cpu: Mapping[str, str]) -> dict[str, Any]:
    first_cpu = colon_values(parts.get("cpuinfo", ""))
    frequency = {
        key.rpartition("/")[2]: value
        for key, value in colon_values(parts.get("frequency", "")).items()
    }
    smt = _word(parts, "smt")
    # The limit in force, not that of the hardware (cpuinfo_max_freq), which a governor may forbid.
    max_khz = whole(frequency.get("scaling_max_freq"))
    # acpi-cpufreq says boost, intel_pstate the opposite, no_turbo.
    boost = {"boost1": True, "boost0": False, "no_turbo0": True, "no_turbo1": False}
    nice, scheduling = _scheduling(parts.get("scheduling", ""))
    said = [boost.get(f"{key}{frequency.get(key)}") for key in ("boost", "no_turbo")]
    return {
        "cpu_model": cpu_models(
            parts.get("lscpu", ""), parts.get("cpus") or parts.get("cpuinfo", "")
        ),
        "microcode": first_cpu.get("microcode") or _word(parts, "microcode"),
        "usable_cpu_count": cpu_list_count(parts.get("allowed", "")),
        # lscpu is missing on small images; the kernel's files always are there.
        "threads_per_core": whole(cpu.get("Thread(s) per core"))
        or cpu_list_count(parts.get("siblings", "")),
        "sockets": whole(cpu.get("Socket(s)")) or whole(_word(parts, "packages")),
        "numa_node_count": whole(cpu.get("NUMA node(s)")) or whole(_word(parts, "nodes")),
        "is_smt_active": None if smt is None else smt == "1",
        "governor": _word(parts, "governor"),
        "nice": nice,
        "scheduling": scheduling,
        "io_class": (_word(parts, "ionice") or "").rstrip(":") or None,
        "clock_driver": frequency.get("scaling_driver"),
        "max_mhz": max_khz / 1000 if max_khz else None,
        "is_boost_on": next((is_on for is_on in said if is_on is not None), None),
        "cgroup_quota_cpus": _quota(parts.get("cgroup", "")),
    }


def _scheduling(stat: str) -> tuple[int | None, str | None]:
    """Nice value and policy, from /proc/self/stat (proc(5): fields 19 and 41)."""
    # A program's name may hold blanks and brackets; the third field comes behind the last of them.
    fields = stat.rpartition(")")[2].split()
    if len(fields) <= POLICY_FIELD:
        return None, None
    nice = re.fullmatch(r"-?[0-9]{1,2}", fields[NICE_FIELD], re.ASCII)
    return int(nice[0]) if nice else None, POLICIES.get(fields[POLICY_FIELD])


def _machine(parts: Mapping[str, str], cpu: Mapping[str, str]) -> dict[str, Any]:
    first_cpu = colon_values(parts.get("cpuinfo", ""))
    virtualization = _word(parts, "virtualization") or _virtualization(cpu, first_cpu)
    # A guest sees the slots that its hypervisor made up.
    # Slots made up would be advised upon as if somebody could fill them.
    dimms = _dimms(parts.get("dmidecode", "")) if virtualization in {None, "none"} else ()
    chosen = CHOSEN.search(parts.get("hugepages", ""))
    emulated = _is_emulated(parts.get("uname", "").split()[2], first_cpu, virtualization)
    belongs = cloud(colon_values(parts.get("cloud", "")), parts.get("dmi", ""))
    return {
        "transparent_hugepages": chosen and chosen[1],
        "dimm_slot_count": len(dimms) or None,
        "dimm_count": len([dimm for dimm in dimms if dimm.size_bytes]) or None,
        "dimms": dimms,
        "virtualization": virtualization,
        "container": _word(parts, "container"),
        "is_emulated": emulated,
        "cloud_provider": belongs.provider,
        "cloud_region": belongs.region,
        "cloud_zone": belongs.zone,
        "instance_type": belongs.instance_type,
    }


def _is_emulated(arch: str, first_cpu: Mapping[str, str], virtualization: str | None) -> bool:
    """True if the CPU that answers is not the one that programs see."""
    vendor, implementer = first_cpu.get("vendor_id", ""), first_cpu.get("CPU implementer", "")
    if arch == "aarch64":
        return vendor in X86_VENDORS or implementer == SOFTWARE_IMPLEMENTER
    # On x86 the processor names its hypervisor, KVM or TCG; on ARM "qemu" says nothing of it.
    return bool(implementer) or vendor == TRANSLATED_VENDOR or virtualization == "qemu"


def _vulnerabilities(parts: Mapping[str, str], cpu: Mapping[str, str]) -> dict[str, Any]:
    """From the section of its own, else from lscpu, which names them in other words."""
    # The kernel's files name each weakness as it is known; lscpu writes the same in words.
    vulnerabilities = colon_values(parts.get("vulnerabilities", "")) or {
        key.removeprefix(LSCPU_VULNERABILITY).lower().replace(" ", "_"): value
        for key, value in cpu.items()
        if key.startswith(LSCPU_VULNERABILITY)
    }
    open_ones = tuple(
        name for name, value in vulnerabilities.items() if value.startswith("Vulnerable")
    )
    worked_around = [value for value in vulnerabilities.values() if value.startswith("Mitigation")]
    return {
        "vulnerable_count": len(open_ones) if vulnerabilities else None,
        "mitigation_count": len(worked_around) if vulnerabilities else None,
        "vulnerable_to": open_ones,
    }


def _devices(parts: Mapping[str, str]) -> dict[str, Any]:
    listed, links = disks(parts), interfaces(parts.get("network", ""))
    schedulers = sorted({disk.scheduler for disk in listed if disk.scheduler})
    return {
        "congestion": _word(parts, "congestion"),
        # A path is as narrow as its narrowest interface.
        "mtu": min((link.mtu for link in links if link.mtu), default=None),
        "interfaces": links,
        "scheduler": ", ".join(schedulers) or None,
        "disks": listed,
        "raids": tuple(raids(parts.get("mdstat", ""))),
        "directories": directories(parts),
    }


def _version(parts: Mapping[str, str], tool: str) -> str | None:
    version = VERSION.match(parts.get(tool, ""))
    return version and version[0]


def _memory_limit(text: str, memory_bytes: int) -> int | None:
    """The lowest limit of the cgroups above us; one above the memory is none."""
    limits = [limit for line in text.split("\n") if (limit := whole(line.strip()))]
    lowest = min(limits, default=memory_bytes)
    # cgroup v1 prints 2^63 rounded to pages for no limit.
    return lowest if lowest < memory_bytes else None


def _word(parts: Mapping[str, str], section: str) -> str | None:
    words = parts.get(section, "").split()
    return words[0] if words else None


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
        numbers = whole(quota), whole(period)
        if numbers[0] and numbers[1]:
            limits.append(numbers[0] / numbers[1])
    return min(limits, default=None)


def _dimms(text: str) -> tuple[Dimm, ...]:
    blocks = re.split(r"(?m)^Memory Device$", text)[1:]
    return tuple(_dimm(colon_values(block.split("\n\n")[0])) for block in blocks)


def _dimm(values: Mapping[str, str]) -> Dimm:
    size, _, unit = values.get("Size", "").partition(" ")
    number = whole(size)
    configured = values.get("Configured Memory Speed") or values.get("Configured Clock Speed", "")
    return Dimm(
        slot=values.get("Locator", "?"),
        size_bytes=number * DIMM_UNITS[unit] if number and unit in DIMM_UNITS else None,
        rated_mt_per_s=whole(values.get("Speed", "").split(" ")[0]),
        configured_mt_per_s=whole(configured.split(" ")[0]),
    )


def _warnings(facts: HostFacts) -> list[str]:
    warnings = []
    if facts.is_emulated:
        warnings.append("the processor is emulated: its figures take no rank")
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
    warnings += _priority_warnings(facts)
    if facts.is_boost_on is False:
        warnings.append("the CPU's boost is switched off: clocks are held down")
    if facts.transparent_hugepages == "never":
        warnings.append("huge pages are switched off: memory latency reads higher than with them")
    return [*warnings, *_limit_warnings(facts), *_device_warnings(facts)]


def _priority_warnings(facts: HostFacts) -> Iterator[str]:
    if facts.nice:
        order = "after" if facts.nice > 0 else "before"
        yield f"the login runs at nice {facts.nice}: its programs get CPU {order} others"
    if facts.scheduling not in {None, "other"}:
        yield f"the login runs under the CPU policy {facts.scheduling}: figures may be of its rules"
    if facts.io_class not in {None, "none", "best-effort"}:
        yield f"the login runs under the disk class {facts.io_class}: figures may be of its rules"


def _limit_warnings(facts: HostFacts) -> Iterator[str]:
    if facts.cgroup_quota_cpus is not None and facts.cgroup_quota_cpus < facts.vcpu_count:
        yield (
            f"a cgroup limits this environment to {facts.cgroup_quota_cpus:g} "
            f"of {facts.vcpu_count} CPUs"
        )
    if facts.usable_cpu_count is not None and facts.usable_cpu_count < facts.vcpu_count:
        yield f"only {facts.usable_cpu_count} of {facts.vcpu_count} CPUs may be used here"
    if facts.cgroup_memory_bytes is not None:
        yield (
            f"a cgroup limits this environment to {facts.cgroup_memory_bytes / KIB**3:.3g} "
            f"of {facts.memory_bytes / KIB**3:.3g} GiB of memory"
        )


def _device_warnings(facts: HostFacts) -> Iterator[str]:
    for raid in facts.raids:
        if raid.is_degraded:
            yield f"the RAID {raid.name} ({raid.level}) lacks a member"
    for directory in facts.directories:
        if directory.ashift == SECTOR_ASHIFT:
            yield f"the ZFS pool of {directory.path} writes sectors of 512 bytes (ashift 9)"
