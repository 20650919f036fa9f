"""The document of an array as it goes over the wire (schema 1), and what the array holds and does."""

from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from backend.domain.documents.model import Document
from backend.domain.documents.values import Number, Object, Version, WholeNumber, Word
from backend.domain.errors import InvalidDocument, InvalidValue
from backend.domain.storage.arrays import LEVELS, Array, ArrayDisk, estimate
from backend.domain.storage.zfs import CURRENT, GENERATIONS
from backend.domain.texts import text as _

Rate = Annotated[Fraction, Number(_("Of one disk"), "bytes/s", is_above=True)]
Operations = Annotated[
    Fraction | None,
    Number(_("Small random ones of one disk; null = not known"), "1/s", is_above=True),
]


class DiskDocument(Document):
    """A disk like the others."""

    bytes: Annotated[int, WholeNumber(_("Size of one disk"))]
    read_bytes_per_s: Rate
    write_bytes_per_s: Annotated[
        Fraction | None,
        Number(_("Of one disk; null = as it reads"), "bytes/s", is_above=True),
    ] = None
    read_iops: Operations = None
    write_iops: Operations = None

    def disk(self) -> ArrayDisk:
        """The disk, in floating point as the estimate takes it."""
        writes = self.write_bytes_per_s
        return ArrayDisk(
            bytes=self.bytes,
            read_bytes_per_s=float(self.read_bytes_per_s),
            write_bytes_per_s=float(self.read_bytes_per_s if writes is None else writes),
            read_iops=None if self.read_iops is None else float(self.read_iops),
            write_iops=None if self.write_iops is None else float(self.write_iops),
        )


class ArrayDocument(Document):
    """Equal disks as an array."""

    version: Annotated[int, Version(_("Version of the document"))] = Field(alias="schema")
    level: Annotated[str, Word(_("How the disks are arranged"), choices=tuple(LEVELS))]
    disks: Annotated[int, WholeNumber(_("All together, spares among them"))]
    disk: Annotated[DiskDocument, Object(_("Each of them"))]
    groups: Annotated[int, WholeNumber(_("Equal sets that data is striped over"))] = 1
    spares: Annotated[int, WholeNumber(_("Idle disks; on dRAID spread over all of them"))] = 0
    data_disks: Annotated[int, WholeNumber(_("Data columns, of dRAID only"))] = 8
    record_bytes: Annotated[int, WholeNumber(_("Record or volume block, of ZFS only"))] = (
        128 * 2**10
    )
    ashift: Annotated[int, WholeNumber(_("Sectors of 2^ashift bytes, of ZFS only"))] = 12
    controller_bytes_per_s: Annotated[
        Fraction | None,
        Number(_("What controllers carry together; null = no limit"), "bytes/s", is_above=True),
    ] = None
    used_ratio: Annotated[Fraction, Number(_("Filled when a disk fails"), high="1")] = Fraction(1)
    zfs: Annotated[
        str, Word(_("Whose rules decide what ZFS keeps for itself"), choices=tuple(GENERATIONS))
    ] = CURRENT


def array_estimate(document: object) -> dict[str, Any]:
    """Capacity (bytes), throughput (bytes and operations per second) and rebuild (s) of an array.

    Raises InvalidDocument with every field that is wrong.
    """
    read = ArrayDocument.read(document)
    controller = read.controller_bytes_per_s
    array = Array(
        level=read.level,
        disks=read.disks,
        disk=read.disk.disk(),
        groups=read.groups,
        spares=read.spares,
        data_disks=read.data_disks,
        record_bytes=read.record_bytes,
        ashift=read.ashift,
        controller_bytes_per_s=None if controller is None else float(controller),
    )
    rules = GENERATIONS[read.zfs].rules
    try:
        return asdict(estimate(array, used_ratio=float(read.used_ratio), rules=rules))
    except InvalidValue as error:
        raise InvalidDocument([(error.field, error.detail)]) from None
