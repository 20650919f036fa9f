"""Facts about a host in the runner's inventory."""

import pytest

from backend.domain.errors import ProbeError
from backend.domain.parsing import inventory
from backend.domain.parsing.inventory import Dimm

GIB = 1024**3

MODULE = """Handle 0x0042, DMI type 17, 84 bytes
Memory Device
\tSize: 32 GB
\tLocator: DIMM_A1
\tType: DDR4
\tSpeed: 2400 MT/s
\tConfigured Memory Speed: 2133 MT/s
"""
EMPTY = """Handle 0x0043, DMI type 17, 84 bytes
Memory Device
\tSize: No Module Installed
\tLocator: DIMM_A2
\tSpeed: Unknown
"""


def _framed(**sections: str) -> str:
    parts = {
        "uname": "Linux 6.1.0 x86_64",
        "meminfo": "MemTotal:       65536000 kB\nMemFree: 1 kB",
        "online": "0-31",
        **sections,
    }
    return "".join(f"=== {name}\n{text}\n=== end {name} rc=0\n" for name, text in parts.items())


def test_inventory_tells_the_host_when_it_is_recorded(recorded):
    facts = inventory.parse(recorded("inventory-debian-12-container"))
    assert (facts.arch, facts.os_name) == ("x86_64", "Debian GNU/Linux 12 (bookworm)")
    assert (facts.cpu_model, facts.vcpu_count, facts.threads_per_core) == ("AMD EPYC", 2, 1)
    assert (facts.sockets, facts.numa_node_count, facts.is_smt_active) == (1, 1, False)
    assert facts.memory_bytes == 24684084 * 1024
    assert facts.microcode == "0x1000065"
    # The governor's file does not exist in a guest: a failed section is no fact.
    assert (facts.governor, facts.cgroup_quota_cpus, facts.warnings) == (None, None, ())
    assert facts.virtualization == "kvm"
    assert facts.container == "docker"


def test_inventory_needs_only_kernel_memory_and_cpus_when_the_rest_is_missing():
    facts = inventory.parse(_framed())
    assert (facts.vcpu_count, facts.memory_bytes) == (32, 65536000 * 1024)
    assert facts.cpu_model is None
    assert facts.virtualization is None
    assert facts.dimms == ()


def test_inventory_ignores_blank_lines_when_they_are_between_sections():
    text = _framed()
    assert inventory.parse(text.replace("=== online", "\n \n=== online")) == inventory.parse(text)


@pytest.mark.parametrize("missing", ["uname", "meminfo", "online"])
def test_inventory_is_refused_when_a_needed_fact_is_missing(missing):
    with pytest.raises(ProbeError):
        inventory.parse(_framed(**{missing: "?"}))


@pytest.mark.parametrize(
    ("text", "count"), [("0", 1), ("0-3,8", 5), ("0-1,4-7", 6), ("0-8191", 8192)]
)
def test_inventory_counts_cpus_when_the_list_has_gaps(text, count):
    assert inventory.parse(_framed(online=text)).vcpu_count == count


@pytest.mark.parametrize("text", ["3-0", "0-99999", "x", ""])
def test_inventory_takes_lscpu_when_the_cpu_list_is_none(text):
    assert inventory.parse(_framed(online=text, lscpu="CPU(s): 6")).vcpu_count == 6


def test_inventory_warns_when_each_socket_has_one_module():
    facts = inventory.parse(
        _framed(
            lscpu="Socket(s): 2\nThread(s) per core: 2\nNUMA node(s): 2\nModel name: Xeon",
            virtualization="none",
            governor="powersave",
            smt="1",
            dmidecode="# dmidecode 3.4\n\n" + 2 * f"{MODULE}\n{EMPTY}\n",
        )
    )
    assert facts.dimms[0] == Dimm("DIMM_A1", 32 * GIB, 2400, 2133)
    assert facts.dimms[1] == Dimm("DIMM_A2", None, None, None)
    assert facts.is_smt_active is True
    assert facts.warnings == (
        "2 of 4 memory slots are filled: memory channels may be unused",
        "one memory module per socket: memory runs on a single channel",
        "memory runs at 2133 MT/s, its modules are made for 2400",
        "the CPU governor is powersave: clocks may be held down",
    )


def test_inventory_does_not_warn_when_every_slot_runs_at_its_speed():
    module = MODULE.replace("Configured Memory Speed: 2133", "Configured Clock Speed: 2400")
    facts = inventory.parse(
        _framed(
            lscpu="Socket(s): 1",
            governor="performance",
            dmidecode="\n".join([module, module.replace("32 GB", "32768 MB")]),
        )
    )
    assert [dimm.size_bytes for dimm in facts.dimms] == [32 * GIB, 32 * GIB]
    assert facts.warnings == ()


def test_inventory_ignores_memory_slots_when_a_hypervisor_made_them_up():
    facts = inventory.parse(_framed(virtualization="kvm", dmidecode=MODULE))
    assert facts.dimms == ()
    assert facts.warnings == ()


@pytest.mark.parametrize(
    ("sections", "virtualization"),
    [
        ({"virtualization": "vmware"}, "vmware"),
        ({"lscpu": "Hypervisor vendor: KVM"}, "kvm"),
        ({"cpuinfo": "flags : fpu hypervisor sse"}, "unknown"),
        ({"cpuinfo": "flags : fpu sse"}, None),
    ],
)
def test_inventory_finds_the_hypervisor_when_one_source_tells(sections, virtualization):
    assert inventory.parse(_framed(**sections)).virtualization == virtualization


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("max 100000", None),
        ("-1 100000", None),
        ("150000 100000\nmax 100000\n50000 100000", 0.5),
        ("junk", None),
    ],
)
def test_inventory_takes_the_lowest_quota_when_cgroups_nest(text, quota):
    assert inventory.parse(_framed(cgroup=text)).cgroup_quota_cpus == quota


def test_inventory_warns_when_a_cgroup_takes_cpus_away():
    facts = inventory.parse(_framed(cgroup="150000 100000"))
    assert facts.warnings == ("a cgroup limits this environment to 1.5 of 32 CPUs",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("=== uname\nLinux", 2),
        ("=== uname\nLinux\n", 2),
        ("loose text\n", 1),
        ("=== end uname rc=0\n", 1),
        ("=== a\n=== b\n=== end a rc=0\n", 2),
        ("=== a\n=== end b rc=0\n", 2),
    ],
)
def test_inventory_is_refused_with_its_line_when_the_frame_is_damaged(text, line):
    with pytest.raises(ProbeError) as refused:
        inventory.parse(text)
    assert refused.value.line == line
