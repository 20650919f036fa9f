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
from typing import Annotated

from pydantic import Field

from backend.calculators.calc.zfs import (
    CURRENT,
    GENERATIONS,
    REPORTING_RECORD_BYTES,
    Allocation,
    bytes_by_zfs,
    draid_allocation,
    group_bytes,
    raidz_allocation,
    slop_bytes,
)
from backend.foundation.documents.model import Document, Faults, Result
from backend.foundation.documents.values import Float, Object, Version, WholeNumber, Word
from backend.foundation.texts import text as _

MAX_DISKS = 10_000
MAX_DRAID_DISKS = 255
RAID10_COPIES = 2


@dataclass(frozen=True)
class Level:
    """How disks are arranged; `parity` sectors or disks beside the data, none for mirrors."""

    label: str
    family: str
    parity: int
    min_disks: int
    """Least disks of one group, spares not counted."""

    @property
    def is_zfs(self) -> bool:
        return self.family in ("raidz", "draid")


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


Operations = Annotated[
    float | None,
    Float(_("Small random ones of one disk; null = not known"), "1/s", is_above=True),
]


class DiskDocument(Document):
    """A disk like the others."""

    bytes: Annotated[int, WholeNumber(_("Size of one disk"), low=10**9, high=10**15)]
    read_bytes_per_s: Annotated[float, Float(_("For one disk"), "bytes/s", is_above=True)]
    write_bytes_per_s: Annotated[
        float | None, Float(_("For one disk; null = as it reads"), "bytes/s", is_above=True)
    ] = None
    read_iops: Operations = None
    write_iops: Operations = None

    @property
    def stream_write_bytes_per_s(self) -> float:
        """Speed of writing: as it reads unless stated."""
        return self.write_bytes_per_s or self.read_bytes_per_s


class ArrayDocument(Document):
    """Equal disks as an array."""

    # RAID 10 finds its pairs itself. dRAID is one group: `disks` are its children.
    version: Annotated[int, Version(_("Version of the document"))] = Field(alias="schema")
    level: Annotated[str, Word(_("How the disks are arranged"), choices=tuple(LEVELS))]
    disks: Annotated[int, WholeNumber(_("All together, spares among them"), low=1, high=MAX_DISKS)]
    disk: Annotated[DiskDocument, Object(_("Each of them"))]
    groups: Annotated[
        int, WholeNumber(_("Equal sets that data is striped over"), low=1, high=MAX_DISKS)
    ] = 1
    spares: Annotated[
        int, WholeNumber(_("Idle disks; on dRAID spread over all of them"), high=MAX_DISKS)
    ] = 0
    data_disks: Annotated[
        int, WholeNumber(_("Data columns, of dRAID only"), low=1, high=MAX_DISKS)
    ] = 8
    record_bytes: Annotated[
        int, WholeNumber(_("Record or volume block, of ZFS only"), low=512, high=16 * 2**20)
    ] = 128 * 2**10
    ashift: Annotated[
        int, WholeNumber(_("Sectors of 2^ashift bytes, of ZFS only"), low=9, high=16)
    ] = 12
    controller_bytes_per_s: Annotated[
        float | None,
        Float(_("What controllers carry together; null = no limit"), "bytes/s", is_above=True),
    ] = None
    used_ratio: Annotated[float, Float(_("Filled when a disk fails"), high="1")] = 1.0
    zfs: Annotated[
        str, Word(_("Whose rules decide what ZFS keeps for itself"), choices=tuple(GENERATIONS))
    ] = CURRENT

    @property
    def layout(self) -> Level:
        return LEVELS[self.level]

    @property
    def active_disks(self) -> int:
        """Disks that hold data: on dRAID as many as the spread spares leave."""
        return self.disks - self.spares

    @property
    def group_disks(self) -> int:
        return RAID10_COPIES if self.level == "raid10" else self.active_disks // self.groups

    def faults(self) -> Faults:
        if self.record_bytes.bit_count() != 1:
            yield "record_bytes", f"{self.record_bytes} is not a power of two"
        if self.spares >= self.disks:
            yield "spares", f"{self.spares} is not a whole number from 0 to {self.disks - 1}"
        else:
            yield from self._layout_faults()

    def _layout_faults(self) -> Faults:
        level, active = self.layout, self.active_disks
        most_data = active - level.parity
        is_one_group = self.level in ("raid0", "raid10") or level.family == "draid"
        if level.family == "stripe" and self.spares:
            yield "spares", f"{level.label} cannot use a spare"
        elif is_one_group and self.groups != 1:
            yield "groups", f"{level.label} is one group"
        elif active % self.groups:
            yield "disks", f"{active} disks do not make {self.groups} equal groups"
        elif self.level == "raid10" and active % RAID10_COPIES:
            yield "disks", f"{active} disks do not make pairs"
        elif active // self.groups < level.min_disks:
            yield "disks", f"a group of {level.label} needs {level.min_disks} disks"
        elif level.family == "draid" and self.disks > MAX_DRAID_DISKS:
            yield "disks", f"{level.label} has at most {MAX_DRAID_DISKS} disks"
        elif level.family == "draid" and self.data_disks > most_data:
            yield "data_disks", f"{self.data_disks} is not a whole number from 1 to {most_data}"


class CapacityResult(Result):
    """Where the raw bytes of an array go."""

    # The parts add up to `raw_bytes`, and those that are usable hold records of the array's size.

    raw_bytes: int
    usable_bytes: int
    redundancy_bytes: int
    padding_bytes: int
    spare_bytes: int
    reserved_bytes: int = Field(description="what ZFS keeps for itself")
    # Of an empty pool, at records of 128 KiB whatever is stored; None without ZFS.
    reported_bytes: int | None = Field(description="by zfs list")


class ThroughputResult(Result):
    """Expected of all disks together; null where the disk's own figure is not known."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float | None
    write_iops: float | None


class ArrayResult(Result):
    """Space and performance of an array of disks."""

    capacity: CapacityResult
    throughput: ThroughputResult
    # Whichever they are; without redundancy there is no rebuild.
    survived_failures: int = Field(description="disks that may fail at once")
    rebuild_s: float | None = Field(description="the shortest; null: none")


def estimate(array: ArrayDocument) -> ArrayResult:
    """Space and performance of the array, and the time to replace a disk."""
    level = array.layout
    return ArrayResult(
        capacity=_capacity(array),
        throughput=_throughput(array),
        survived_failures=array.group_disks - 1 if level.family == "mirror" else level.parity,
        rebuild_s=_rebuild_s(array),
    )


def _allocation(array: ArrayDocument, record_bytes: int) -> Allocation:
    """Allocation of a record, or of the bytes of one stripe where records do not matter."""
    level = array.layout
    if level.family == "raidz":
        return raidz_allocation(record_bytes, array.group_disks, level.parity, array.ashift)
    if level.family == "draid":
        return draid_allocation(record_bytes, array.data_disks, level.parity, array.ashift)
    if level.family == "mirror":
        return Allocation(1, array.group_disks - 1, 0)
    return Allocation(array.group_disks - level.parity, level.parity, 0)


def _capacity(array: ArrayDocument) -> CapacityResult:
    rules = GENERATIONS[array.zfs].rules
    allocation = _allocation(array, array.record_bytes)
    space, reported = array.active_disks * array.disk.bytes, None
    if array.layout.is_zfs:
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
    return CapacityResult(
        raw_bytes=raw,
        usable_bytes=usable,
        redundancy_bytes=redundancy,
        padding_bytes=padding,
        spare_bytes=spare,
        reserved_bytes=reserved,
        reported_bytes=reported,
    )


def _throughput(array: ArrayDocument) -> ThroughputResult:
    disk, active = array.disk, array.active_disks
    limit = array.controller_bytes_per_s or inf
    share = _allocation(array, array.record_bytes).data_ratio
    # Every copy of a mirror answers reads, so its redundancy costs no speed of reading.
    read_share = 1.0 if array.layout.family == "mirror" else share
    return ThroughputResult(
        read_bytes_per_s=min(active * disk.read_bytes_per_s * read_share, limit),
        # Copies, parity and padding pass the controllers too.
        write_bytes_per_s=min(active * disk.stream_write_bytes_per_s, limit) * share,
        read_iops=_read_iops(array),
        write_iops=_write_iops(array),
    )


def _record_disks(array: ArrayDocument) -> int:
    """Disks of a RAIDZ group that hold the data of one record."""
    sectors = -(-array.record_bytes // (1 << array.ashift))
    return min(sectors, array.group_disks - array.layout.parity)


def _read_iops(array: ArrayDocument) -> float | None:
    each = array.disk.read_iops
    if each is None:
        return None
    family = array.layout.family
    if family == "raidz":
        return array.groups * (array.group_disks // _record_disks(array)) * each
    if family == "draid":
        return _draid_groups(array) * each
    return array.active_disks * each


def _write_iops(array: ArrayDocument) -> float | None:
    reads, writes = array.disk.read_iops, array.disk.write_iops
    if writes is None:
        return None
    level = array.layout
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


def _draid_groups(array: ArrayDocument) -> int:
    return array.active_disks // (array.data_disks + array.layout.parity)


def _rebuild_s(array: ArrayDocument) -> float | None:
    level, disk = array.layout, array.disk
    if level.family == "stripe":
        return None
    read, write = disk.read_bytes_per_s, disk.stream_write_bytes_per_s
    # ZFS rebuilds what is stored; other arrays copy the whole disk.
    lost_bytes = array.used_ratio * disk.bytes if level.is_zfs else disk.bytes
    if level.family != "draid" or not array.spares:
        return lost_bytes / min(read, write)
    # dRAID: a part of each disk is spare space, and all other disks rebuild at once.
    lost_bytes *= array.active_disks / array.disks
    columns = array.data_disks
    by_disks = (columns / read + 1 / write) / (array.disks - 1)
    by_controller = (columns + 1) / (array.controller_bytes_per_s or inf)
    return lost_bytes * max(by_disks, by_controller)
