"""Where the file of a disk test lay, and whether memory explains its rate."""

import pytest

from backend.domain.parsing.disk_files import is_implausible, lies_in_memory

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
