"""Output of `openssl speed -mr … -evp sha256`, versions 1.1.1 to 3.5: lines for machines.

`+H` has the sizes of a block, `+F` a rate for each in bytes per second; with `-multi N` each process
has its own ("Got: …"), and the last `+F` is their sum.
"""

import re
from dataclasses import dataclass

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample

TOOL = "openssl"
METRIC, UNIT = "openssl_sha256_bytes_per_s", "bytes/s"
DIGEST = "sha256"
BLOCK_BYTES = "16384"
MAX_CHARACTERS = 2**18
MAX_RATE = 1e15
TOLERANCE = 0.001
SIZES = re.compile(r"\+H((?::[0-9]{1,9}){1,12})")
RATES = re.compile(r"\+F:[0-9]{1,3}:([A-Za-z0-9-]{1,40})((?::[0-9]{1,15}\.[0-9]{2}){1,12})")
GOT = re.compile(r"Got: (.+) from [0-9]{1,6}")
OTHER = re.compile(r"Forked child [0-9]{1,6}|\+DT:.{1,60}|\+R:.{1,60}|\+A?E[DC]?:.{1,60}")


@dataclass(frozen=True)
class Speed:
    """The bytes per second of all processes together, and their number."""

    bytes_per_s: float
    processes: int


def parse(text: str) -> list[ParsedSample]:
    """openssl_sha256_bytes_per_s (bytes/s) in blocks of 16,384 bytes: variant single, or of several
    processes together `N_processes`. Raises ProbeError."""
    speed = read_speed(text, DIGEST)
    return [
        ParsedSample(
            metric=METRIC,
            variant="single" if speed.processes == 1 else f"{speed.processes}_processes",
            value=speed.bytes_per_s,
            unit=UNIT,
            parameters={"threads": speed.processes, "block_bytes": int(BLOCK_BYTES)},
        )
    ]


def read_speed(text: str, algorithm: str) -> Speed:
    """The speed of one algorithm in blocks of 16,384 bytes. Raises ProbeError."""
    processes: list[float] = []
    total: float | None = None
    sizes: tuple[str, ...] = ()
    lines = check_text(TOOL, text, most=MAX_CHARACTERS).split("\n")
    for number, whole in enumerate(lines, start=1):
        line = whole.strip()
        got = GOT.fullmatch(line)
        if match := SIZES.fullmatch(got[1] if got else line):
            sizes = tuple(match[1].split(":")[1:])
        elif match := RATES.fullmatch(got[1] if got else line):
            # Several processes are summed under this name by 1.1.1.
            names = (algorithm,) if got or not processes else (algorithm, "evp")
            rate = _rate(match, names, sizes, number)
            if got:
                processes.append(rate)
            elif total is not None:
                raise ProbeError(TOOL, "twice, give one run at a time", number)
            else:
                total = rate
        elif line and not OTHER.fullmatch(line):
            raise ProbeError(TOOL, f"not a line of openssl speed -mr: {line[:80]!r}", number)
    if total is None:
        raise ProbeError(TOOL, "the rate of all is missing: no whole result", len(lines))
    if processes and abs(sum(processes) - total) > TOLERANCE * total:
        raise ProbeError(TOOL, f"{total:g} is not the sum of the processes", len(lines))
    return Speed(total, max(1, len(processes)))


def _rate(
    match: re.Match[str], names: tuple[str, ...], sizes: tuple[str, ...], number: int
) -> float:
    """The rate of the largest usual block."""
    # Ciphers are named in capitals, digests are not.
    if match[1].lower() not in names:
        raise ProbeError(TOOL, f"{match[1]} instead of {names[0]}", number)
    rates = match[2].split(":")[1:]
    if len(rates) != len(sizes) or BLOCK_BYTES not in sizes:
        detail = f"no rate for blocks of {BLOCK_BYTES} bytes"
        raise ProbeError(TOOL, detail, number)
    rate = float(rates[sizes.index(BLOCK_BYTES)])
    if not 0 < rate < MAX_RATE:
        raise ProbeError(TOOL, f"{rate:g} bytes/s", number)
    return rate
