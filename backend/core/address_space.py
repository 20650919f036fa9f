"""A bound on the memory that one piece of work may take."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_lock = threading.Lock()
# Those from before, one for each piece of work under way.
_limits: list[tuple[int, int]] = []


@contextmanager
def address_space(more_bytes: int) -> Iterator[None]:
    """Let the process grow by so many bytes at most meanwhile; beyond them comes MemoryError.

    Of the whole process, so the bound leaves room for what its other threads need. Of several at
    once the first sets it and the last lifts it.
    """
    with _lock:
        _limits.append(resource.getrlimit(resource.RLIMIT_AS))
        if len(_limits) == 1:
            soft, hard = _limits[0]
            bound = _size_bytes() + more_bytes
            known = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
            resource.setrlimit(resource.RLIMIT_AS, (min([bound, *known]), hard))
    try:
        yield
    finally:
        with _lock:
            if len(_limits) == 1:
                resource.setrlimit(resource.RLIMIT_AS, _limits[0])
            _limits.pop()


def _size_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
