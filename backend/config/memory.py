"""How this process gives memory back."""

import ctypes

# Numbers of mallopt(3) in glibc.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE_BYTES = 128 * 1024


def return_large_blocks() -> None:
    """Arrays of so many bytes are given back to the system as soon as nobody holds them.

    Whenever one is freed, glibc takes blocks of its size from the heap from then on, up to 32 MB
    (mallopt(3), M_MMAP_THRESHOLD): what is small and lies behind them then keeps them from the
    system. Setting the threshold stops that. Elsewhere nothing happens.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, LARGE_BYTES)
