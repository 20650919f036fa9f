"""Whether the file of a disk test can have been on a disk, for every tool that tests disks."""

import re

# File systems without a disk; they accept O_DIRECT all the same.
IN_MEMORY = ("tmpfs", "ramfs")
# Its cache, the ARC, is neither passed by O_DIRECT nor emptied by /proc/sys/vm/drop_caches.
OWN_CACHE = "zfs"
# Desktops mount removable disks below /run/media.
_MEMORY_PATH = re.compile(r"/+(?:dev/+shm|run(?!/+media/))(?:/|$)")
# Four lanes of PCIe 3.0. A single reader that is faster has as often met memory as a newer drive; a
# file of twice the memory settles it.
PLAUSIBLE_BYTES_PER_S = 3_940_000_000
# A byte that is copied passes the memory bus at least twice: it is read, and it is written.
COPIES = 2


def lies_in_memory(path: str) -> bool:
    """Whether a path is below the directories that every Linux keeps in memory."""
    return _MEMORY_PATH.match(path) is not None


def is_implausible(
    bytes_per_s: float,
    memory_bytes_per_s: float | None,
    *,
    file_bytes: int | None,
    ram_bytes: int | None,
) -> bool:
    """Whether memory explains a rate better than a disk: above what this machine's memory
    (`memory_bytes_per_s`, None = not measured) or one drive can copy, of a file that fits twice.
    """
    if file_bytes is not None and ram_bytes is not None and file_bytes >= 2 * ram_bytes:
        return False
    bound = PLAUSIBLE_BYTES_PER_S
    return bytes_per_s > min(bound, (memory_bytes_per_s or COPIES * bound) / COPIES)
