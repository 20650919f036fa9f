"""Speeds of disks and links to begin with, and how much of a sum was really seen; with sources.

"NAS and Gigabit", "DRAID rebuilds" and "2.3 GB/s with 16 drives" are articles that their authors
measured for; each figure is as printed there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backend.foundation.texts import text as _
from backend.foundation.units import BITS_PER_BYTE

MB = 10**6
GIGABIT = 10**9 / BITS_PER_BYTE

NAS = "NAS and Gigabit (2013)"
REBUILDS = "Performance degradation on ZFS (DRAID) rebuilds (2019)"
SIXTEEN = "Achieving 2.3 GB/s with 16 × 4 TB drives (2013)"
MULTIPATH = "Improving iSCSI native multipathing round robin performance (2013)"
ISCSI = "ZFS Improving iSCSI performance for Block Devices"
LINE_RATE = "line rate: bits per second / 8"
NEWS = "News from the blog (2020): the maker's figure"
LOG_DEVICE_WRITES = 45_000
LOG_DEVICES = "tests of storage servers at a hosting company: the maker's writes a second; of 4 KiB, we assume"


@dataclass(frozen=True)
class Preset:
    """A disk's or a link's speed. `kind` is disk or link."""

    label: str
    kind: str
    bytes_per_s: float
    source: str
    write_iops: float | None = None
    """Random writes a second of a disk, where its source states them."""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "sata": Preset(_("SATA disk, mean sequential read"), "disk", 50 * MB, NAS),
        "hdd_4tb": Preset(_("4 TB disk, 7,200 rpm"), "disk", 160 * MB, SIXTEEN),
        "hdd_14tb_outer": Preset(_("14 TB disk, outermost tracks"), "disk", 265 * MB, REBUILDS),
        "hdd_14tb_inner": Preset(_("14 TB disk, innermost tracks"), "disk", 145 * MB, REBUILDS),
        "sas_15k": Preset(
            _("SAS disk, 15,000 rpm, at most"), "disk", 100 * MB, f"{NAS}: nearly twice a SATA disk",
        ),
        "nvme": Preset(_("NVMe SSD, PCIe 4.0 × 4, reading"), "disk", 6_400 * MB, NEWS),
        "log_ssd": Preset(
            _("SSD as log device, small writes"), "disk", LOG_DEVICE_WRITES * 4 * 2**10, LOG_DEVICES,
            LOG_DEVICE_WRITES,
        ),
        "ssd": Preset(_("SATA SSD"), "disk", 550 * MB, NAS),
        "raid5_ssd": Preset(_("RAID 5 of SSDs behind a controller"), "disk", 900 * MB, NAS),
        "sas_controller": Preset(_("SAS-3 controller, peak"), "link", 6_000 * MB, REBUILDS),
        "gigabit": Preset(_("Gigabit Ethernet"), "link", GIGABIT, LINE_RATE),
        "gigabit_usable": Preset(_("Gigabit Ethernet, usable"), "link", 100 * MB, NAS),
        "2_5_gigabit": Preset(_("2.5 Gb Ethernet"), "link", 2.5 * GIGABIT, LINE_RATE),
        "10_gigabit": Preset(_("10 Gb Ethernet"), "link", 10 * GIGABIT, LINE_RATE),
        "20_gigabit": Preset(_("20 Gb fibre"), "link", 20 * GIGABIT, LINE_RATE),
        "25_gigabit": Preset(_("25 Gb Ethernet"), "link", 25 * GIGABIT, LINE_RATE),
        "40_gigabit": Preset(_("40 Gb Ethernet"), "link", 40 * GIGABIT, LINE_RATE),
        "100_gigabit": Preset(_("100 Gb Ethernet"), "link", 100 * GIGABIT, LINE_RATE),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Efficiency:
    """Measured share of what the parts should give together (bytes per second)."""

    label: str
    measured_bytes_per_s: float
    expected_bytes_per_s: float
    source: str

    @property
    def ratio(self) -> float:
        return self.measured_bytes_per_s / self.expected_bytes_per_s


EFFICIENCIES: Mapping[str, Efficiency] = MappingProxyType(
    {
        "disk_set": Efficiency(
            _("16 disks read as one set"), 1_048_576_000_000 / 453.155, 16 * 160 * MB, SIXTEEN
        ),
        "gigabit": Efficiency(_("payload of a gigabit link"), 100 * MB, GIGABIT, NAS),
        "multipath": Efficiency(
            _("iSCSI over 4 × 1 Gb, next path after each I/O"), 350 * MB, 4 * GIGABIT, MULTIPATH
        ),
        "iscsi_volume": Efficiency(
            _("ZFS volume over iSCSI and 40 Gb"), 70 * MB, 40 * GIGABIT, ISCSI
        ),
        "iscsi_file": Efficiency(_("file on ZFS over iSCSI and 40 Gb"), 280 * MB, 40 * GIGABIT, ISCSI),
        "shared_10_gigabit": Efficiency(
            _("10 Gb in a network shared with others"), 6 * GIGABIT, 10 * GIGABIT,
            "tests of storage servers at a hosting company: about 60 % of 10 Gb",
        ),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Aggregation:
    """How several links become one: the share of their sum that all flows get together, and
    whether a single flow uses them all or stays on one. No ratio: never more than one link."""

    label: str
    ratio: float | None
    is_flow_spread: bool
    source: str


AGGREGATIONS: Mapping[str, Aggregation] = MappingProxyType(
    {
        "bond": Aggregation(
            _("bonded links, a flow stays on one"), 1.0, False, "IEEE 802.1AX: frames stay in order"
        ),
        "multipath": Aggregation(
            _("multipath, next path after each I/O"),
            EFFICIENCIES["multipath"].ratio,
            True,
            MULTIPATH,
        ),
        "multipath_default": Aggregation(
            _("multipath, next path after 1,000 I/Os"), None, True, f"{MULTIPATH}: under one link"
        ),
    }
)
