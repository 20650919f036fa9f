"""Output of the native cmips probe in windows: what is left of the score under a long load."""

from statistics import median

from backend.measure.cmips import ITERATIONS_PER_CMIPS_S
from backend.measure.readers import ParsedSample
from backend.measure.readers.cmips import MAX_ITERATIONS_PER_S, TOOL, check_work
from backend.measure.readers.record import ProbeRecord, read_record

LAST_PART = 4
MAX_LAST = 10
# The probe prints scores with three decimals.
ROUNDING = 0.0005
TOLERANCE = 1e-6


def parse(text: str) -> list[ParsedSample]:
    """The sustained share of the first score: median of the last windows over the first window.

    The last windows are a quarter of all, ten at most. `windows`, `first`, `last` and `worst` are
    in CMIPS, `drop_ratio` is what was lost (below 0: the end was faster). Raises ProbeError.
    """
    record = read_record(TOOL, text, probe=TOOL)
    threads, iterations, seconds, parameters = check_work(record)
    window_s = record.positive("window_s")
    windows = record.numbers("windows")
    _check(record, threads, iterations, seconds, windows=windows, window_s=window_s)
    first = windows[0]
    last = median(windows[-max(1, min(MAX_LAST, len(windows) // LAST_PART)) :])
    if min(first, last) < ROUNDING:
        record.fail("nothing was done in the first window, or in the last ones")
    return [
        ParsedSample(
            metric="cmips_sustained_ratio",
            variant="all" if threads == parameters["usable_cpus"] else f"{threads}_threads",
            value=last / first,
            unit="ratio",
            parameters={
                **parameters,
                "windows": windows,
                "window_s": window_s,
                "first": first,
                "last": last,
                "worst": min(windows),
                "drop_ratio": 1 - last / first,
            },
        )
    ]


def _check(
    record: ProbeRecord,
    threads: int,
    iterations: int,
    seconds: float,
    *,
    windows: list[float],
    window_s: float,
) -> None:
    """True if the windows can be of this run: as many as fit, and not more work than was done."""
    count = seconds / window_s * (1 + TOLERANCE)
    if not 2 <= len(windows) <= count < len(windows) + 1:
        record.fail(f"{len(windows)} windows of {window_s} s do not make {seconds} s")
    most = MAX_ITERATIONS_PER_S * threads / ITERATIONS_PER_CMIPS_S
    if max(windows) > most:
        record.fail(f"a window of {max(windows)} CMIPS is impossible")
    in_windows = sum(windows) * window_s * ITERATIONS_PER_CMIPS_S
    rounding = len(windows) * ROUNDING * window_s * ITERATIONS_PER_CMIPS_S
    if in_windows > iterations * (1 + TOLERANCE) + rounding:
        record.fail("the windows add up to more than all iterations")
