"""Arrays of disks: usable capacity, expected throughput, and the time that a rebuild takes.

The expectation is what the disks can do when nothing else limits them: a bound to compare a
measurement against (`efficiency_ratio`), not a promise. Sequential throughput is that of streams
enough to keep every disk busy; a single stream reads a plain mirror at the speed of one disk.

Sequential: disks × speed × share of the space that is data, as heads and buses also pass over
parity and padding. Mirrors write every copy and read from all of them.

Random: a read takes one disk on striped, mirrored and parity levels. A small write on RAID 5 or 6
reads and writes the data and each parity (4 and 6 operations). RAIDZ spreads every record: a read
takes its data sectors' disks, a write these and the parity's, so a wide record runs at the speed of
one disk for each group. dRAID: ⌊(N − S) / (D + P)⌋ disks' worth (man 7 zpoolconcepts).

Rebuild, the shortest possible: RAID writes a whole disk. RAIDZ writes what was in use. dRAID with a
spare reads D columns and writes one for each that is lost, on all N − 1 disks left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

from backend.domain.errors import InvalidValue
from backend.domain.storage.zfs import (
    REPORTING_RECORD_BYTES,
    Allocation,
    PoolRules,
    bytes_by_zfs,
    draid_allocation,
    group_bytes,
    raidz_allocation,
    slop_bytes,
)

MAX_DISKS = 10_000
MAX_DRAID_DISKS = 255
MIN_DISK_BYTES = 10**9
MAX_DISK_BYTES = 10**15
ASHIFTS = range(9, 17)
MIN_RECORD_BYTES = 512
MAX_RECORD_BYTES = 16 * 2**20
RAID10_COPIES = 2


@dataclass(frozen=True)
class Level:
    """How disks are arranged; `parity` sectors or disks beside the data, none for mirrors."""

    label: str
    family: str
    parity: int
    min_disks: int
    """Least disks of one group, spares not counted."""


LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "raid0": Level("RAID 0", "stripe", 0, 1),
        "raid1": Level("RAID 1", "mirror", 0, 2),
        "raid10": Level("RAID 10", "mirror", 0, 2),
        "raid5": Level("RAID 5", "parity", 1, 3),
        "raid6": Level("RAID 6", "parity", 2, 4),
        "raidz1": Level("RAIDZ1", "raidz", 1, 2),
        "raidz2": Level("RAIDZ2", "raidz", 2, 3),
        "raidz3": Level("RAIDZ3", "raidz", 3, 4),
        "draid1": Level("dRAID1", "draid", 1, 2),
        "draid2": Level("dRAID2", "draid", 2, 3),
        "draid3": Level("dRAID3", "draid", 3, 4),
    }
)


@dataclass(frozen=True)
class ArrayDisk:
    """A disk like the others. Operations per second are those of small random ones, or unknown."""

    bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float | None = None
    write_iops: float | None = None


@dataclass(frozen=True)
class Array:
    """`disks` equal disks, spares among them, as `groups` equal sets that data is striped over.

    RAID 10 finds its pairs itself. dRAID is one group: `disks` are its children, its spares are
    spread over all of them, and `data_disks` (dRAID only) are its data columns; elsewhere spares
    are idle. `record_bytes` (record or volume block) and `ashift` (sectors of 2^ashift bytes)
    matter to RAIDZ and dRAID.
    `controller_bytes_per_s` is what controllers and cables carry together, None = no limit.
    """

    level: str
    disks: int
    disk: ArrayDisk
    groups: int = 1
    spares: int = 0
    data_disks: int = 8
    record_bytes: int = 128 * 2**10
    ashift: int = 12
    controller_bytes_per_s: float | None = None

    @property
    def active_disks(self) -> int:
        """Disks that hold data: on dRAID as many as the spread spares leave."""
        return self.disks - self.spares

    @property
    def group_disks(self) -> int:
        return RAID10_COPIES if self.level == "raid10" else self.active_disks // self.groups


@dataclass(frozen=True)
class Capacity:
    """Where the raw bytes go; the parts add up to `raw_bytes`.

    `usable_bytes` hold records of the array's size. `redundancy_bytes` are parity or copies,
    `reserved_bytes` what ZFS keeps for itself. `reported_bytes` is what `zfs list` offers of an
    empty pool, at 128 KiB records whatever is stored; None without ZFS.
    """

    raw_bytes: int
    usable_bytes: int
    redundancy_bytes: int
    padding_bytes: int
    spare_bytes: int
    reserved_bytes: int
    reported_bytes: int | None


@dataclass(frozen=True)
class Throughput:
    """Expected together of all disks; operations are None where the disk's are unknown."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float | None
    write_iops: float | None


@dataclass(frozen=True)
class Estimate:
    """`survived_failures`: disks that may fail at once, whichever they are. No redundancy: there
    is no rebuild."""

    capacity: Capacity
    throughput: Throughput
    survived_failures: int
    rebuild_s: float | None


def estimate(array: Array, *, used_ratio: float = 1.0, rules: PoolRules | None = None) -> Estimate:
    """Space and performance of the array; `used_ratio` of it is filled when a disk fails.

    Raises InvalidValue with the field as a JSON pointer into the array.
    """
    _check(array)
    if not 0 <= used_ratio <= 1:
        raise InvalidValue("/used_ratio", f"{used_ratio} is not between 0 and 1")
    level = LEVELS[array.level]
    return Estimate(
        capacity=_capacity(array, rules or PoolRules()),
        throughput=_throughput(array),
        survived_failures=array.group_disks - 1 if level.family == "mirror" else level.parity,
        rebuild_s=_rebuild_s(array, used_ratio),
    )


def _allocation(array: Array, record_bytes: int) -> Allocation:
    """Allocation of a record, or of the bytes of one stripe where records do not matter."""
    level = LEVELS[array.level]
    if level.family == "raidz":
        return raidz_allocation(record_bytes, array.group_disks, level.parity, array.ashift)
    if level.family == "draid":
        return draid_allocation(record_bytes, array.data_disks, level.parity, array.ashift)
    if level.family == "mirror":
        return Allocation(1, array.group_disks - 1, 0)
    return Allocation(array.group_disks - level.parity, level.parity, 0)


def _is_zfs(array: Array) -> bool:
    return LEVELS[array.level].family in ("raidz", "draid")


def _capacity(array: Array, rules: PoolRules) -> Capacity:
    allocation = _allocation(array, array.record_bytes)
    space, reported = array.active_disks * array.disk.bytes, None
    if _is_zfs(array):
        space = array.groups * group_bytes(array.group_disks, array.disk.bytes, rules)
        converted = bytes_by_zfs(space, _allocation(array, REPORTING_RECORD_BYTES))
        reported = converted - slop_bytes(converted, rules)
        space = space * reported // converted
    usable = space * allocation.data_bytes // allocation.allocated_bytes
    redundancy = space * allocation.parity_bytes // allocation.allocated_bytes
    padding = space * allocation.padding_bytes // allocation.allocated_bytes
    raw = array.disks * array.disk.bytes
    spare = array.spares * array.disk.bytes
    reserved = raw - usable - redundancy - padding - spare
    return Capacity(raw, usable, redundancy, padding, spare, reserved, reported)


def _throughput(array: Array) -> Throughput:
    disk, active = array.disk, array.active_disks
    limit = array.controller_bytes_per_s or inf
    share = _allocation(array, array.record_bytes).data_ratio
    # Every copy of a mirror answers reads, so its redundancy costs no speed of reading.
    read_share = 1.0 if LEVELS[array.level].family == "mirror" else share
    return Throughput(
        read_bytes_per_s=min(active * disk.read_bytes_per_s * read_share, limit),
        # Copies, parity and padding pass the controllers too.
        write_bytes_per_s=min(active * disk.write_bytes_per_s, limit) * share,
        read_iops=_read_iops(array),
        write_iops=_write_iops(array),
    )


def _record_disks(array: Array) -> int:
    """Disks of a RAIDZ group that hold the data of one record."""
    sectors = -(-array.record_bytes // (1 << array.ashift))
    return min(sectors, array.group_disks - LEVELS[array.level].parity)


def _read_iops(array: Array) -> float | None:
    each = array.disk.read_iops
    if each is None:
        return None
    family = LEVELS[array.level].family
    if family == "raidz":
        return array.groups * (array.group_disks // _record_disks(array)) * each
    if family == "draid":
        return _draid_groups(array) * each
    return array.active_disks * each


def _write_iops(array: Array) -> float | None:
    reads, writes = array.disk.read_iops, array.disk.write_iops
    if writes is None:
        return None
    level = LEVELS[array.level]
    if level.family == "raidz":
        taken = _record_disks(array) + level.parity
        return array.groups * (array.group_disks // taken) * writes
    if level.family == "draid":
        return _draid_groups(array) * writes
    if level.family == "parity":
        if reads is None:
            return None
        # Read-modify-write: data and each parity block are read, then written.
        return array.active_disks / ((level.parity + 1) * (1 / reads + 1 / writes))
    copies = array.group_disks if level.family == "mirror" else 1
    return array.active_disks / copies * writes


def _draid_groups(array: Array) -> int:
    return array.active_disks // (array.data_disks + LEVELS[array.level].parity)


def _rebuild_s(array: Array, used_ratio: float) -> float | None:
    level, disk = LEVELS[array.level], array.disk
    if level.family == "stripe":
        return None
    if not _is_zfs(array):
        return disk.bytes / min(disk.read_bytes_per_s, disk.write_bytes_per_s)
    # ZFS rebuilds what is stored; other arrays copy the whole disk.
    lost_bytes = used_ratio * disk.bytes
    if level.family == "raidz" or not array.spares:
        return lost_bytes / min(disk.read_bytes_per_s, disk.write_bytes_per_s)
    # dRAID: a part of each disk is spare space, and all other disks rebuild at once.
    lost_bytes *= array.active_disks / array.disks
    columns = array.data_disks
    of_one_disk = columns / disk.read_bytes_per_s + 1 / disk.write_bytes_per_s
    by_controller = (columns + 1) / (array.controller_bytes_per_s or inf)
    return lost_bytes * max(of_one_disk / (array.disks - 1), by_controller)


def _check(array: Array) -> None:
    level = LEVELS.get(array.level)
    if level is None:
        raise InvalidValue("/level", f"{array.level!r} is not one of {', '.join(LEVELS)}")
    _check_disk(array.disk)
    _check_range("/disks", array.disks, 1, MAX_DISKS)
    _check_range("/groups", array.groups, 1, MAX_DISKS)
    _check_range("/spares", array.spares, 0, array.disks - 1)
    if array.ashift not in ASHIFTS:
        raise InvalidValue("/ashift", f"{array.ashift} is not from 9 to 16")
    record = array.record_bytes
    _check_range("/record_bytes", record, MIN_RECORD_BYTES, MAX_RECORD_BYTES)
    if record.bit_count() != 1:
        raise InvalidValue("/record_bytes", f"{record} is not a power of two")
    if array.controller_bytes_per_s is not None:
        _check_speed("/controller_bytes_per_s", array.controller_bytes_per_s)
    _check_shape(array, level)


def _check_shape(array: Array, level: Level) -> None:
    if level.family == "stripe" and array.spares:
        raise InvalidValue("/spares", f"{level.label} cannot use a spare")
    is_one_group = array.level in ("raid0", "raid10") or level.family == "draid"
    if is_one_group and array.groups != 1:
        raise InvalidValue("/groups", f"{level.label} is one group")
    if array.active_disks % array.groups:
        raise InvalidValue(
            "/disks", f"{array.active_disks} disks do not make {array.groups} equal groups"
        )
    if array.level == "raid10" and array.active_disks % RAID10_COPIES:
        raise InvalidValue("/disks", f"{array.active_disks} disks do not make pairs")
    if array.active_disks // array.groups < level.min_disks:
        raise InvalidValue("/disks", f"a group of {level.label} needs {level.min_disks} disks")
    if level.family == "draid":
        if array.disks > MAX_DRAID_DISKS:
            raise InvalidValue("/disks", f"{level.label} has at most {MAX_DRAID_DISKS} disks")
        _check_range("/data_disks", array.data_disks, 1, array.active_disks - level.parity)


def _check_disk(disk: ArrayDisk) -> None:
    _check_range("/disk/bytes", disk.bytes, MIN_DISK_BYTES, MAX_DISK_BYTES)
    _check_speed("/disk/read_bytes_per_s", disk.read_bytes_per_s)
    _check_speed("/disk/write_bytes_per_s", disk.write_bytes_per_s)
    if disk.read_iops is not None:
        _check_speed("/disk/read_iops", disk.read_iops)
    if disk.write_iops is not None:
        _check_speed("/disk/write_iops", disk.write_iops)


def _check_range(pointer: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidValue(pointer, f"{value} is not a whole number from {low} to {high}")


def _check_speed(pointer: str, value: float) -> None:
    if not 0 < value < inf:
        raise InvalidValue(pointer, f"{value} is not a number above 0")
