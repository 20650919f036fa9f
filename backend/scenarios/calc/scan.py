"""A year of a clamp recursion without a loop over its steps.

n ← clip(n, lo, hi) is a function of n that two numbers describe, and so is one such step after
another: first [a, b], then [lo, hi], is the clamp to [clip(a, lo, hi), clip(b, lo, hi)]. So the
state after every step is a prefix scan, done by doubling, exact, and over as soon as both numbers
agree everywhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Counts a step, of any unsigned or signed integer type.
Servers = NDArray[Any]


def clamp_steps(lo: Servers, hi: Servers) -> Servers:
    """n of each step with n ← clip(n, lo, hi); lo ≤ hi, and both agree at step 0, the start."""
    # Twice the same bounds clip as once.
    starts = np.append(0, flag_positions((lo[1:] != lo[:-1]) | (hi[1:] != hi[:-1])) + 1)
    lengths = np.diff(np.append(starts, lo.size))
    return np.repeat(_clamp_segment(lo[starts], hi[starts]), lengths)


def _clamp_segment(lo: Servers, hi: Servers) -> Servers:
    bounds, later = (lo, hi), (np.empty_like(lo), np.empty_like(hi))
    stride = 1
    while stride < lo.size and not np.array_equal(*bounds):
        least, most = (bound[stride:] for bound in bounds)
        # From one pair of arrays into the other: making new ones takes as long as filling them.
        for bound, out in zip(bounds, later, strict=True):
            out[:stride] = bound[:stride]
            np.maximum(bound[:-stride], least, out=out[stride:])
            np.minimum(out[stride:], most, out=out[stride:])
        bounds, later = later, bounds
        stride *= 2
    return bounds[0]


def sliding_min(values: Servers, width: int) -> Servers:
    """Smallest of the last `width` values up to each step; before the first all was like it."""
    return _sliding(values, width, np.minimum)


def sliding_max(values: Servers, width: int) -> Servers:
    """Largest of the last `width` values up to each step; before the first all was like it."""
    return _sliding(values, width, np.maximum)


def _sliding(values: Servers, width: int, best: Any) -> Servers:
    width = min(width, values.size)
    if width <= 1:
        return values
    extremes = np.concatenate([np.full(width - 1, values[0], dtype=values.dtype), values])
    done = 1
    while 2 * done <= width:
        extremes = best(extremes[done:], extremes[:-done])
        done *= 2
    rest = width - done
    return best(extremes[rest:], extremes[: extremes.size - rest]) if rest else extremes


def shift(values: Servers, lag: int) -> Servers:
    """The values as they were `lag` steps ago; before the first all was like it."""
    if lag <= 0:
        return values
    lag = min(lag, values.size)
    head = np.full(lag, values[0], dtype=values.dtype)
    return np.concatenate([head, values[: values.size - lag]])


def flag_positions(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The positions of few flags among many, in half the time of numpy's way: those of eight at once
    first."""
    whole = flags.size // 8 * 8
    eights = flags[:whole].view(np.uint64)
    at = np.flatnonzero(eights != 0)
    within = np.flatnonzero(eights[at].view(np.bool_))
    rest = np.flatnonzero(flags[whole:]) + whole
    return np.concatenate((at[within >> 3] * 8 + (within & 7), rest))
