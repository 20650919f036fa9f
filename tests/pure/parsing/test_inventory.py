"""Facts about a host in the runner's inventory."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import inventory
from backend.measure.readers.inventory import Dimm
from backend.measure.readers.inventory_devices import BlockDisk, Directory, Interface, Raid

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


def test_inventory_describes_the_host_of_a_recorded_output(recorded):
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


def test_inventory_needs_only_kernel_memory_and_cpus():
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


def test_inventory_reads_the_cpus_of_a_published_server(recorded):
    text = recorded("inventory-e5-2620-v4-published")
    facts = inventory.parse(text)
    assert facts.cpu_model == "Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz"
    # 2 sockets × 8 cores × 2 threads
    assert (facts.vcpu_count, facts.sockets, facts.threads_per_core) == (32, 2, 2)
    assert facts.numa_node_count == 2
    nodes = [line.split()[-1] for line in text.split("\n") if line.startswith("NUMA node")][1:]
    assert nodes == ["0-7,16-23", "8-15,24-31"]
    assert [inventory.cpu_list_count(node) for node in nodes] == [16, 16]


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
def test_inventory_names_the_hypervisor_from_any_one_source(sections, virtualization):
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


# ---- what the second version of the inventory adds


def test_inventory_has_more_fields_in_its_second_version(recorded):
    facts = inventory.parse(recorded("inventory-debian-12-second"))
    assert (facts.usable_cpu_count, facts.microcode) == (2, "0x1000065")
    assert (facts.vulnerable_count, facts.mitigation_count) == (2, 2)
    assert facts.vulnerable_to == ("spec_rstack_overflow", "spec_store_bypass")
    assert (facts.transparent_hugepages, facts.congestion) == ("madvise", "bbr")
    assert facts.interfaces == (Interface("eth0", 1400, None, "virtio_net"),)
    assert (facts.mtu, facts.scheduler) == (1400, "mq-deadline")
    assert facts.disks == (
        BlockDisk(
            name="vda",
            size_bytes=274877906944,
            model=None,
            transport=None,
            is_rotational=True,
            scheduler="mq-deadline",
            write_cache="write-back",
            can_discard=True,
            physical_block_bytes=4096,
        ),
    )
    assert [(place.path, place.filesystem) for place in facts.directories] == [
        ("/srv/data", "ext4"),
        ("/dev/shm", "tmpfs"),
    ]
    assert facts.directories[0].available_bytes == 81359316 * 1024
    assert (facts.fio_version, facts.iperf3_version) == ("fio-3.33", "iperf 3.12")
    # The limit of the cgroup is above all memory there can be.
    assert (facts.cgroup_memory_bytes, facts.cloud_provider, facts.warnings) == (None, None, ())


def test_inventory_reads_the_first_version_without_the_newer_fields(recorded):
    facts = inventory.parse(recorded("inventory-debian-12-container"))
    # From lscpu, whose own words for them differ.
    assert facts.vulnerable_to == ("spec_rstack_overflow", "spec_store_bypass")
    assert [(disk.name, disk.scheduler, disk.can_discard) for disk in facts.disks] == [
        ("vda", None, None)
    ]
    assert (facts.directories[0].path, facts.directories[0].device) == ("/srv/data", None)
    assert (facts.mtu, facts.scheduler, facts.fio_version) == (None, None, None)


def test_inventory_knows_nothing_of_weaknesses_when_none_are_listed():
    facts = inventory.parse(_framed())
    assert (facts.vulnerable_count, facts.mitigation_count) == (None, None)


def test_inventory_counts_memory_slots_when_they_are_real():
    slots = f"{MODULE}\n{MODULE}\n{EMPTY}\n{EMPTY}"
    facts = inventory.parse(_framed(dmidecode=slots))
    assert (facts.dimm_slot_count, facts.dimm_count) == (4, 2)


@pytest.mark.parametrize(
    ("text", "driver", "max_mhz", "is_boost_on"),
    [
        (
            "cpu0/cpufreq/scaling_driver: intel_pstate\ncpu0/cpufreq/scaling_max_freq: 3600000\n"
            "intel_pstate/no_turbo: 0",
            "intel_pstate",
            3600,
            True,
        ),
        ("intel_pstate/no_turbo: 1", None, None, False),
        ("cpufreq/boost: 1", None, None, True),
        ("cpufreq/boost: 0", None, None, False),
        ("cpufreq/boost: ?", None, None, None),
        ("", None, None, None),
    ],
)
def test_inventory_has_the_clock_settings_of_the_kernel(text, driver, max_mhz, is_boost_on):
    facts = inventory.parse(_framed(frequency=text))
    assert (facts.clock_driver, facts.max_mhz, facts.is_boost_on) == (driver, max_mhz, is_boost_on)
    assert len(facts.warnings) == (is_boost_on is False)


def test_inventory_takes_microcode_from_its_section_without_cpuinfo():
    assert inventory.parse(_framed(microcode="0xf0")).microcode == "0xf0"


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("max\n2147483648\n1073741824", GIB),
        ("max", None),
        ("9223372036854771712", None),
        ("", None),
    ],
)
def test_inventory_takes_the_lowest_memory_limit_when_cgroups_nest(limits, found):
    facts = inventory.parse(_framed(**{"cgroup-memory": limits}))
    assert facts.cgroup_memory_bytes == found
    # 65,536,000 KiB are 62.5 GiB.
    expected = ("a cgroup limits this environment to 1 of 62.5 GiB of memory",) if found else ()
    assert facts.warnings == expected


@pytest.mark.parametrize(
    ("said", "is_warned"),
    [("always [madvise] never", False), ("always madvise [never]", True), ("", False)],
)
def test_inventory_warns_when_huge_pages_are_switched_off(said, is_warned):
    facts = inventory.parse(_framed(hugepages=said))
    expected = "huge pages are switched off: memory latency reads higher than with them"
    assert facts.warnings == ((expected,) if is_warned else ())


def test_inventory_warns_when_processes_may_not_run_on_every_cpu():
    facts = inventory.parse(_framed(allowed="0-7,16"))
    assert facts.usable_cpu_count == 9
    assert facts.warnings == ("only 9 of 32 CPUs may be used here",)


@pytest.mark.parametrize(
    ("cloud", "provider", "region", "instance_type"),
    [
        ("sys_vendor: Amazon EC2\nproduct_name: m7g.2xlarge", "aws", None, None),
        ("product_name: Google Compute Engine", "gcp", None, None),
        (
            "sys_vendor: Microsoft Corporation\n"
            "chassis_asset_tag: 7783-7084-3265-9085-8269-3286-77",
            "azure",
            None,
            None,
        ),
        ("sys_vendor: Microsoft Corporation\nproduct_name: Virtual Machine", None, None, None),
        ("sys_vendor: Hetzner\nproduct_name: vServer", "hetzner", None, None),
        ("sys_vendor: QEMU\nproduct_name: Standard PC", None, None, None),
        (
            "cloud-id: gce\nregion: europe-west1\nmachine-type: projects/1/machineTypes/n2-standard-4",
            "gcp",
            "europe-west1",
            "n2-standard-4",
        ),
        ("cloud_name: upcloud\ninstance_type: 2xCPU-4GB", "upcloud", None, "2xCPU-4GB"),
        ("cloud-id: nocloud\nsys_vendor: DigitalOcean", "digitalocean", None, None),
        ("", None, None, None),
    ],
)
def test_inventory_names_the_provider_when_firmware_or_cloud_init_does(
    cloud, provider, region, instance_type
):
    facts = inventory.parse(_framed(cloud=cloud))
    assert facts.cloud_provider == provider
    assert (facts.cloud_region, facts.instance_type) == (region, instance_type)


def test_inventory_names_the_provider_of_the_first_version():
    facts = inventory.parse(_framed(dmi="Hetzner\nvServer"))
    assert (facts.cloud_provider, facts.cloud_zone) == ("hetzner", None)


@pytest.mark.parametrize(
    "text",
    ["", "not JSON", "[]", "{}", '{"blockdevices": 1}', '{"blockdevices": [1]}', "[" * 99999],
)
def test_inventory_takes_disks_from_sysfs_when_lsblk_is_unreadable(text):
    facts = inventory.parse(_framed(lsblk=text, block="sdb scheduler=none rotational=0\n\nsda x"))
    assert [(disk.name, disk.is_rotational) for disk in facts.disks] == [
        ("sdb", False),
        ("sda", None),
    ]
    assert facts.scheduler == "none"


def test_inventory_lists_whole_disks_only_when_lsblk_lists_more():
    listed = (
        '{"blockdevices": [{"name": "sda", "type": "disk", "size": "512", "rota": "1", "model": " X "},'
        '{"name": "sr0", "type": "rom", "size": 1}, {"name": "zram0", "type": "disk", "size": 0}]}'
    )
    (disk,) = inventory.parse(
        _framed(lsblk=listed, block="sr0 rotational=1\nsda discard_max_bytes=0")
    ).disks
    assert (disk.name, disk.size_bytes, disk.model) == ("sda", 512, "X")
    assert (disk.is_rotational, disk.can_discard) == (True, False)


def test_inventory_has_record_size_and_ashift_on_zfs():
    facts = inventory.parse(
        _framed(
            **{
                "df /tank/data": "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
                "tank/data 1000 10 990 1% /tank/data",
                "mount /tank/data": "/tank/data zfs rw,xattr",
                "device /tank/data": "tank/data",
                "zfs /tank/data": "recordsize\t128K\ncompression\tlz4\nashift 9",
            }
        )
    )
    assert facts.directories == (
        Directory(
            path="/tank/data",
            device="tank/data",
            mount_point="/tank/data",
            filesystem="zfs",
            mount_options="rw,xattr",
            size_bytes=1_024_000,
            available_bytes=1_013_760,
            ashift=9,
            zfs={"recordsize": "128K", "compression": "lz4"},
        ),
    )
    assert facts.warnings == ("the ZFS pool of /tank/data writes sectors of 512 bytes (ashift 9)",)


def test_inventory_has_only_the_path_of_an_empty_directory_entry():
    (place,) = inventory.parse(_framed(**{"mount /gone": ""})).directories
    assert place == Directory("/gone", None, None, None, None, None, None, None, {})


def test_inventory_takes_the_smallest_mtu_of_several_interfaces():
    text = "eth0 mtu=9000 speed=10000 driver=ixgbe\nwg0 mtu=1420\ntun0 speed=-1"
    facts = inventory.parse(_framed(network=text))
    assert facts.mtu == 1420
    assert facts.interfaces[0] == Interface("eth0", 9000, 10000, "ixgbe")
    assert facts.interfaces[2] == Interface("tun0", None, None, None)


def test_inventory_warns_when_a_raid_lacks_a_member():
    text = (
        "Personalities : [raid1] [raid6]\n"
        "md0 : active raid1 sdb1[1] sda1[0]\n      1046528 blocks super 1.2 [2/2] [UU]\n\n"
        "md1 : active (auto-read-only) raid6 sdc[2] sdd[3]\n      99 blocks level 6 [4/3] [UU_U]\n\n"
        "md2 : active raid0 sde[0] sdf[1]\n      99 blocks\nmd3 : active raid0 sdg[0]"
    )
    facts = inventory.parse(_framed(mdstat=text))
    assert facts.raids == (
        Raid("md0", "raid1", False),
        Raid("md1", "raid6", True),
        Raid("md2", "raid0", False),
        Raid("md3", "raid0", False),
    )
    assert facts.warnings == ("the RAID md1 (raid6) lacks a member",)


def test_inventory_leaves_a_nul_out_when_firmware_wrote_one():
    assert inventory.parse(_framed(lscpu="Model name: Xe\0on")).cpu_model == "Xeon"


def test_inventory_is_refused_when_it_is_cut_off_anywhere(recorded):
    text = recorded("inventory-debian-12-second")
    for end in range(0, len(text), 50):
        try:
            inventory.parse(text[:end])
        except ProbeError:
            continue
        # Only between two sections, when the needed ones are there.
        assert text[:end].rstrip().endswith("rc=0")


INTEL = "vendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R) Processor"
GRAVITON = "CPU implementer : 0x41\nCPU part : 0xd40"


@pytest.mark.parametrize(
    ("arch", "cpuinfo", "virtualization", "is_emulated"),
    [
        ("x86_64", INTEL, "kvm", False),
        ("x86_64", INTEL, "none", False),
        ("aarch64", GRAVITON, "none", False),
        # systemd takes it from the machine's tables there, which say QEMU under KVM, too.
        ("aarch64", GRAVITON, "qemu", False),
        # qemu-user shows the /proc of the machine below: docker run --platform.
        ("aarch64", INTEL, "kvm", True),
        ("aarch64", "vendor_id : AuthenticAMD", "none", True),
        ("x86_64", GRAVITON, "none", True),
        # qemu's own processor, and Apple's translator.
        ("aarch64", "CPU implementer : 0x00\nCPU part : 0x051", "none", True),
        ("x86_64", "vendor_id : VirtualApple\nmodel name : VirtualApple @ 2.50GHz", "none", True),
        # On x86 the processor itself names TCG where there is no KVM.
        ("x86_64", INTEL, "qemu", True),
    ],
)
def test_inventory_flags_emulation(arch, cpuinfo, virtualization, is_emulated):
    text = _framed(uname=f"Linux 6.1 {arch}", cpuinfo=cpuinfo, virtualization=virtualization)
    facts = inventory.parse(text)
    assert facts.is_emulated is is_emulated
    told = [warning for warning in facts.warnings if "emulated" in warning]
    assert told == (["the processor is emulated: its figures take no rank"] if is_emulated else [])


def _stat(nice, policy):
    """/proc/self/stat of a program with a difficult name: field 19 is nice, 41 the policy."""
    fields = ["0"] * 52
    fields[0], fields[1], fields[2] = "77", "(a) b (c)", "R"
    fields[18], fields[40] = str(nice), str(policy)
    return " ".join(fields)


@pytest.mark.parametrize(
    ("nice", "policy", "io_class", "told"),
    [
        (0, 0, "none: prio 0", []),
        (0, 0, "best-effort: prio 4", []),
        (19, 0, "none: prio 0", ["nice 19"]),
        (-5, 0, "none: prio 0", ["nice -5"]),
        (0, 5, "none: prio 0", ["CPU policy idle"]),
        (0, 3, "idle", ["CPU policy batch", "disk class idle"]),
    ],
)
def test_inventory_warns_of_a_login_that_is_not_served_as_others(nice, policy, io_class, told):
    facts = inventory.parse(_framed(scheduling=_stat(nice, policy), ionice=io_class))
    assert (facts.nice, facts.io_class) == (nice, io_class.partition(":")[0])
    found = [warning for warning in facts.warnings if warning.startswith("the login runs")]
    assert [words for words, text in zip(told, found, strict=True) if words in text] == told
