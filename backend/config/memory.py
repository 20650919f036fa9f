"""How a process of the web keeps and gives back memory."""

import ctypes
import time
from threading import Event, Thread
from typing import Any

from django.core.signals import request_finished

# Numbers of mallopt(3) in glibc.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
# The most that glibc takes for the second: smaller blocks come from the heap.
KEPT_BYTES = 32 * 1024 * 1024
GIVE_BACK_AFTER_S = 0.5

_libc = ctypes.CDLL(None)
_has_finished = Event()


def keep_blocks_for_a_while() -> None:
    """Blocks that are freed are used again, and given back to the system soon after a request.

    To rank 100,000 offers takes some hundred arrays, one after the other. By its defaults glibc gives
    most of them back at once, and the system clears every page of the next one: a third of the whole
    time. Never to give them back would leave as much memory as the largest request took. Where there
    is no glibc nothing happens.
    """
    if not hasattr(_libc, "malloc_trim"):
        return
    # One heap for all threads: of the others the end is never given back on request.
    _libc.mallopt(M_ARENA_MAX, 1)
    _libc.mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
    _libc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    request_finished.connect(_on_finish)
    Thread(target=_give_back, name="memory", daemon=True).start()


def _on_finish(**_: Any) -> None:
    _has_finished.set()


def _give_back() -> None:
    while _has_finished.wait():
        # Once for all requests of that time: it takes a millisecond, in which nobody gets memory.
        time.sleep(GIVE_BACK_AFTER_S)
        _has_finished.clear()
        # Whole pages within the heap too, whatever small lies behind them (malloc_trim(3)).
        _libc.malloc_trim(0)
