"""How ZFS takes space for records, and what it says it has: exact, in whole bytes.

RAIDZ with g disks and parity p splits a record into d = ⌈record / sector⌉ sectors, adds p parity
sectors for each row of up to g − p of them, and rounds the sum up to a multiple of p + 1, so that
no hole is ever too small for the least record (one sector and its parity). dRAID has rows of fixed
width: the last one is filled up with padding. Source: OpenZFS, module/zfs/vdev_raidz.c and
vdev_draid.c (the functions that turn a size into an allocated size); man 7 zpoolconcepts.

What `zfs list` offers for an empty pool is less than that: disks lose their labels and groups what
does not fill a metaslab, space is converted at the rate of 128 KiB records with a whole number of
512ths, and a part stays reserved ("slop"). Source: OpenZFS, vdev.c and spa_misc.c. Not counted:
partition tables, the log embedded in a pool (it is taken out of the slop) and metadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backend.foundation.texts import text as _

# Four labels and the boot block: 4 MiB before and 512 KiB behind the data of every disk.
LABEL_BYTES = 4 * 2**20 + 2**19
REPORTING_RECORD_BYTES = 128 * 2**10
UNIT_BYTES = 512
METASLAB_SHIFT = 29
MIN_METASLABS = 16
USUAL_METASLABS = 200
EXT4_INODE_BYTES = 256
EXT4_BIG_BYTES = 4 * 2**40
MIN_SLOP_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Allocation:
    """Bytes on disk of one record. Padding includes what the last sector has too much."""

    data_bytes: int
    parity_bytes: int
    padding_bytes: int

    @property
    def allocated_bytes(self) -> int:
        return self.data_bytes + self.parity_bytes + self.padding_bytes

    @property
    def data_ratio(self) -> float:
        """Share of the allocated bytes that are data."""
        return self.data_bytes / self.allocated_bytes


@dataclass(frozen=True)
class PoolRules:
    """Differences between versions of ZFS; the defaults are those of OpenZFS since 2.1."""

    max_metaslab_shift: int = 34
    slop_shift: int = 5
    max_slop_bytes: int = 128 * 2**30


@dataclass(frozen=True)
class Generation:
    """Versions of ZFS that take space by the same rules."""

    label: str
    rules: PoolRules


# Metaslabs were a two-hundredth of a group, however large, until 0.8 made 16 GiB the most. Below 200
# of 512 MiB the older versions made smaller ones: less than one of 512 MiB a group, not counted here.
_NO_LIMIT = 63
GENERATIONS: Mapping[str, Generation] = MappingProxyType(
    {
        "current": Generation(
            _("current, OpenZFS since 2.1: 1/32 kept, at most 128 GiB"), PoolRules()
        ),
        "2019": Generation(
            _("2019, ZFS on Linux 0.7 and dRAID before its release: 1/32 kept"),
            PoolRules(max_metaslab_shift=_NO_LIMIT, max_slop_bytes=2**_NO_LIMIT),
        ),
        "2013": Generation(
            _("2013: 1/64 kept"),
            PoolRules(_NO_LIMIT, slop_shift=6, max_slop_bytes=2**_NO_LIMIT),
        ),
    }
)
CURRENT = "current"


def raidz_allocation(record_bytes: int, disks: int, parity: int, ashift: int) -> Allocation:
    """A record on RAIDZ: `disks` of one group, sectors of 2^`ashift` bytes."""
    sectors = _units(record_bytes, 1 << ashift)
    parity_sectors = parity * _units(sectors, disks - parity)
    used = sectors + parity_sectors
    total = _units(used, parity + 1) * (parity + 1)
    return _allocation(record_bytes, parity_sectors, total, ashift)


def draid_allocation(record_bytes: int, data_disks: int, parity: int, ashift: int) -> Allocation:
    """A record on dRAID: whole rows of `data_disks` + `parity` sectors of 2^`ashift` bytes."""
    rows = _units(_units(record_bytes, 1 << ashift), data_disks)
    return _allocation(record_bytes, rows * parity, rows * (data_disks + parity), ashift)


def _allocation(record_bytes: int, parity_sectors: int, sectors: int, ashift: int) -> Allocation:
    parity_bytes = parity_sectors * (1 << ashift)
    padding_bytes = sectors * (1 << ashift) - parity_bytes - record_bytes
    return Allocation(record_bytes, parity_bytes, padding_bytes)


def group_bytes(disks: int, disk_bytes: int, rules: PoolRules) -> int:
    """Bytes that can be allocated on a group: its disks without their labels, in whole metaslabs."""
    space = disks * (disk_bytes - LABEL_BYTES)
    count = space >> METASLAB_SHIFT
    shift = METASLAB_SHIFT
    if count < MIN_METASLABS:
        shift = (space // MIN_METASLABS).bit_length()
    elif count > USUAL_METASLABS:
        shift = (space // USUAL_METASLABS).bit_length()
    shift = min(shift, rules.max_metaslab_shift)
    return space >> shift << shift


def bytes_by_zfs(allocatable_bytes: int, reporting: Allocation) -> int:
    """Allocatable space as ZFS counts it: as data in records of 128 KiB, given their allocation."""
    per_unit = REPORTING_RECORD_BYTES // (reporting.allocated_bytes // UNIT_BYTES)
    return allocatable_bytes // UNIT_BYTES * per_unit


def slop_bytes(converted: int, rules: PoolRules) -> int:
    """Bytes that a pool of this converted size keeps back."""
    slop = min(converted >> rules.slop_shift, rules.max_slop_bytes)
    return max(slop, min(converted >> 1, MIN_SLOP_BYTES))


def ext4_available_bytes(volume_bytes: int) -> int:
    """Bytes of a volume that ext4 with the defaults of mke2fs leaves to users.

    An inode of 256 bytes for each 16 KiB (32 KiB from 4 TiB on, 64 KiB from 16 TiB on) and 5 % kept
    for root. Source: mke2fs.conf and man 8 mke2fs; bitmaps, journal (at most 1 GiB) and group
    descriptors are not counted.
    """
    ratio = 16 * 2**10
    if volume_bytes >= EXT4_BIG_BYTES:
        ratio *= 2
    if volume_bytes >= 4 * EXT4_BIG_BYTES:
        ratio *= 2
    return volume_bytes - volume_bytes * EXT4_INODE_BYTES // ratio - volume_bytes // 20


def _units(amount: int, unit: int) -> int:
    """Units begun."""
    return -(-amount // unit)
