"""True if the file of a disk test can have been on a disk, for every tool that tests disks."""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

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

# Lines of our own runs: the device and the file system that keep the bytes in the end, below overlayfs,
# loop devices and the like, and yes where memory keeps or caches them all the same.
STORED_KEYS = ("stored_on", "stored_as", "root_on", "in_memory")
# How large the test file should have been, where there was no room for it.
ASKED_KEY = "asked_bytes"
SMALL_FILE = "small_file"
MEMORY_BANDWIDTH = "memory_bandwidth_bytes_per_s"
# A device that has to be asked takes longer; a file system that only says so does not.
LEAST_FLUSH_NS = 2_000
# Reads of a disk pass memory once, copies within memory twice.
MAX_MEMORY_SHARE = 0.5


def storage_parameters(values: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a sample that say what keeps its files; empty for older records."""
    return {key: values[key] for key in STORED_KEYS[:3] if key in values}


def size_flags(values: Mapping[str, object]) -> tuple[str, ...]:
    """The flag of a test file that was made smaller than asked, for want of room."""
    return (SMALL_FILE,) if ASKED_KEY in values else ()


def directory_of(parameters: Mapping[str, object]) -> str:
    """The directory that was measured; small_files names its own one below it. "" for none."""
    path = str(parameters.get("directory") or "")
    return str(PurePosixPath(path).parent) if path.endswith(".small") else path


def memory_directories(
    samples: Iterable[tuple[str, float, Mapping[str, object]]],
) -> frozenset[str]:
    """Directories of one run where memory stood in for the disk, whatever the host said of them.

    `samples` are metric, value and parameters of all of the run. A flush that takes no time, or a
    read faster than half of what the memory of the machine carries, never came from a disk.
    """
    samples = list(samples)
    bandwidths = [value for metric, value, _ in samples if metric == MEMORY_BANDWIDTH]
    limit = MAX_MEMORY_SHARE * max(bandwidths) if bandwidths else float("inf")
    directories = {
        directory_of(parameters)
        for metric, value, parameters in samples
        if (metric == "fsync_p99_ns" and value < LEAST_FLUSH_NS)
        or (metric == "disk_read_bytes_per_s" and value > limit)
    }
    return frozenset(directories - {""})


def lies_in_memory(path: str) -> bool:
    """True if a path is below the directories that every Linux keeps in memory."""
    return _MEMORY_PATH.match(path) is not None


def is_implausible(
    bytes_per_s: float,
    memory_bytes_per_s: float | None,
    *,
    file_bytes: int | None,
    ram_bytes: int | None,
) -> bool:
    """True if memory explains a rate better than a disk: it is above what one drive, or this machine's
    memory (`memory_bytes_per_s`, None = not measured), can copy.

    A file of at least twice the machine's memory is from the disk at any rate.
    """
    if file_bytes is not None and ram_bytes is not None and file_bytes >= 2 * ram_bytes:
        return False
    of_memory = math.inf if memory_bytes_per_s is None else memory_bytes_per_s / COPIES
    return bytes_per_s > min(PLAUSIBLE_BYTES_PER_S, of_memory)
