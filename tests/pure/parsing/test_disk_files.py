"""Where the file of a disk test lay, and whether memory explains its rate."""

import pytest

from backend.measure.readers.disk_files import is_implausible, lies_in_memory, memory_directories

GIB = 1024**3


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/dev/shm", True),
        ("/dev/shm/fio.tmp", True),
        ("//dev//shm/x", True),
        ("/run/user/1000/x", True),
        ("/run/media/ann/disk/x", False),
        ("/dev/shmx", False),
        ("/srv/dev/shm/x", False),
        ("/running/x", False),
        ("", False),
    ],
)
def test_paths_of_memory_are_known(path, expected):
    assert lies_in_memory(path) is expected


@pytest.mark.parametrize(
    ("bytes_per_s", "memory", "file_bytes", "expected"),
    [
        (3.9e9, None, GIB, False),
        (4.03e9, None, GIB, True),
        (4.03e9, 100e9, GIB, True),
        (2.0e9, 3e9, GIB, True),  # one copy moves each byte twice: 1.5 GB/s are the most
        (1.4e9, 3e9, GIB, False),
        (6.4e9, None, 16 * GIB, False),  # twice the memory: it cannot have held the file
        (6.4e9, None, None, True),
    ],
)
def test_rate_is_implausible_where_memory_explains_it(bytes_per_s, memory, file_bytes, expected):
    """S16: a read beyond what one drive or this memory copies is memory, unless the file is not."""
    rated = is_implausible(bytes_per_s, memory, file_bytes=file_bytes, ram_bytes=8 * GIB)
    assert rated is expected


BANDWIDTH = ("memory_bandwidth_bytes_per_s", 20e9, {})


def read(directory, bytes_per_s):
    return ("disk_read_bytes_per_s", bytes_per_s, {"directory": directory})


@pytest.mark.parametrize(
    ("samples", "directories"),
    [
        # Half of 20 GB/s are 10: what is faster never came from a disk.
        ([BANDWIDTH, read("/a", 10.1e9), read("/b", 9.9e9)], {"/a"}),
        # Without the speed of the memory nothing is said of reads.
        ([read("/a", 50e9)], set()),
        # The best of several rounds counts.
        ([("memory_bandwidth_bytes_per_s", 5e9, {}), BANDWIDTH, read("/a", 9e9)], set()),
        # No device is asked in 1.9 µs; an Optane needs about ten.
        ([("fsync_p99_ns", 1_900, {"directory": "/mnt/x/rackrate-1.small"})], {"/mnt/x"}),
        ([("fsync_p99_ns", 2_100, {"directory": "/mnt/x/rackrate-1.small"})], set()),
        # A device of its own has no directory, and writes say nothing.
        ([BANDWIDTH, read("", 30e9), ("disk_write_bytes_per_s", 30e9, {"directory": "/a"})], set()),
    ],
)
def test_memory_directories_are_those_that_are_too_fast_for_a_disk(samples, directories):
    assert memory_directories(samples) == directories
