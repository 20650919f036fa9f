"""The target of a disk or network measurement: the volume, its file system and the size of the files,
or the other end of the link.

Figures of two targets are two quantities, however alike machine and method are: they never share a
score. Of disks only the volume that an offer sells ranks.
"""

import re
from collections.abc import Mapping

from backend.foundation.units import BYTES_PER_GIB
from backend.measure.probes import NETWORK, PROBES

BYTES_PER_MIB = 2**20
# As many characters as a stored target has.
MAX_CHARACTERS = 120
# /dev/sda3 is a part of sda, nvme0n1p2 one of nvme0n1, whose own name ends with a digit.
PARTITION = re.compile(r"((?:nvme\d+n|mmcblk)\d+)p\d+|([a-z]+)\d+")


def target(probe: str, parameters: Mapping[str, object], peer: str = "") -> str:
    """The words for what the samples of one repeat are of; "" for what measures the machine alone.

    `peer` names the other end of a network test; where nobody does, its address stands for it.
    """
    if probe == NETWORK:
        other = peer or parameters.get("peer")
        parts = [f"to {other}" if other else "", _many(parameters, "streams")]
    elif probe in PROBES and PROBES[probe].io == "disk":
        stored = " ".join(str(parameters.get(key) or "") for key in ("stored_on", "stored_as"))
        parts = [stored.strip(), *_work(parameters)]
    else:
        return ""
    return ", ".join(filter(None, parts))[:MAX_CHARACTERS]


def is_sold_volume(stored_on: str | None, root_on: str | None) -> bool:
    """True where a directory lies on the disk that the machine runs from: the one that an offer sells.

    So does what does not say where it lies. Both are devices as a run names them: several are joined
    by `+`, and a layer stands before what is below it, as in md/sda1+sdb1.
    """
    return not stored_on or not root_on or _disks(stored_on) == _disks(root_on)


def _disks(device: str) -> list[str]:
    return sorted({_disk(part) for part in re.split("[+/]", device)})


def _disk(part: str) -> str:
    partition = PARTITION.fullmatch(part)
    return part if partition is None else partition[1] or partition[2]


def _work(parameters: Mapping[str, object]) -> list[str]:
    """The program's way to the disk, and how many files of which size, where they are stated."""
    engine = parameters.get("engine")
    way = f"{engine} {'direct' if parameters.get('is_direct') else 'buffered'}" if engine else ""
    size = parameters.get("file_bytes" if "file_bytes" in parameters else "bytes")
    copies = parameters.get("copies")
    if not isinstance(size, int) or not size:
        return [way, _many(parameters, "files")]
    if isinstance(copies, int) and copies:
        # dd's are as large as memory allowed at that moment, so only their power of two is compared.
        return [f"copies from {_size(1 << (size // copies).bit_length() - 1)}"]
    return [way, _many(parameters, "files"), _size(size)]


def _many(parameters: Mapping[str, object], noun: str) -> str:
    count = parameters.get(noun)
    return f"{count} {noun}" if count else ""


def _size(size_bytes: int) -> str:
    for unit, name in ((BYTES_PER_GIB, "GiB"), (BYTES_PER_MIB, "MiB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"
