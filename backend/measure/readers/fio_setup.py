"""Settings of a fio job, from the options that its JSON repeats."""

import re
from dataclasses import dataclass, field

from backend.measure.readers.document import Node

READ, WRITE = "read", "write"
WORKS = {
    "read": (READ,),
    "write": (WRITE,),
    "rw": (READ, WRITE),
    "readwrite": (READ, WRITE),
    "randread": (READ,),
    "randwrite": (WRITE,),
    "randrw": (READ, WRITE),
}
# With fio's default base a plain prefix is binary and one with an i is decimal: 4k is 4096, 4ki 4000; with
# kb_base 1000 it is the other way round.
SIZE = re.compile(r"([0-9]{1,15})([kmgtp]?)(i?)b?", re.IGNORECASE)
TIME = re.compile(r"([0-9]{1,9})(usec|us|msec|ms|s|m|h|d)?", re.IGNORECASE)
CLOCK = re.compile(r"(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-9]{1,4})")
TIME_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# With one of them a job does less than the disk could.
LIMITS = ("rate_iops", "rate", "thinktime")
SEVERAL_SIZES = ("bssplit", "bsrange", "bs_unaligned")
MAX_DEPTH = 1 << 16


@dataclass(frozen=True)
class Setup:
    """A job's options. None = not said (file_bytes also: as a share of the device)."""

    work: str
    block_bytes: int
    depth: int
    jobs: int
    runtime_s: float | None
    engine: str
    is_direct: bool
    is_flushed: bool
    """True if writes are flushed to the disk as they go."""
    file_bytes: int | None
    read_percent: int
    """Share of reads in mixed work."""
    limit: str
    """The option that keeps the job below what the disk could do, with its value; "" for none."""
    path: str = field(compare=False)
    """The files, separated by colons, or their directory; "" where fio chose it."""

    @property
    def directions(self) -> tuple[str, ...]:
        return WORKS[self.work]

    @property
    def is_random(self) -> bool:
        return self.work.startswith("rand")

    @property
    def is_mixed(self) -> bool:
        return len(self.directions) > 1

    @property
    def block(self) -> str:
        """The block size as fio writes it: 4k, 1m, 512."""
        for unit, name in ((2**20, "m"), (2**10, "k")):
            if self.block_bytes % unit == 0:
                return f"{self.block_bytes // unit}{name}"
        return str(self.block_bytes)


def setup(options: Node) -> Setup:
    """The setup that these options make. Raises ProbeError for work that has no one name."""
    work = _text(options, "rw", "read")
    if work not in WORKS:
        options.fail(f"rw {work!r} is not a plain pattern of reads or writes")
    # fio takes a size each for reads, writes and trims: they have to agree.
    is_si = _text(options, "kb_base", "1024") == "1000"
    sizes = {size_bytes(part, is_si=is_si) for part in _text(options, "bs", "4k").split(",")}
    block_bytes = sizes.pop()
    if sizes or not block_bytes or any(options.has(key) for key in SEVERAL_SIZES):
        options.fail("bs is not one block size")
    # Two names of one switch in fio: each is the opposite of the other.
    is_buffered = _text(options, "direct", "0") == "0" and _text(options, "buffered", "1") != "0"
    flushes = (_text(options, key, "0") for key in ("fsync", "fdatasync", "sync"))
    # `size` is what a job transfers; `filesize`, where it is stated, is how large its files are.
    size_key = "filesize" if options.has("filesize") else "size"
    return Setup(
        work=work,
        block_bytes=block_bytes,
        depth=_count(options, "iodepth", 1, (1, MAX_DEPTH)),
        jobs=_count(options, "numjobs", 1, (1, MAX_DEPTH)),
        runtime_s=_seconds(options),
        engine=_text(options, "ioengine", "psync"),
        is_direct=not is_buffered,
        is_flushed=any(flush not in {"0", "none"} for flush in flushes),
        file_bytes=size_bytes(_text(options, size_key, ""), is_si=is_si),
        read_percent=_read_percent(options),
        limit=next(
            (f"{key} {said}" for key in LIMITS if (said := _text(options, key, "0")).strip("0,")),
            "",
        ),
        path=_text(options, "directory", "") or _text(options, "filename", ""),
    )


def _text(options: Node, key: str, default: str) -> str:
    return options.text(key) if options.has(key) else default


def _count(options: Node, key: str, default: int, bounds: tuple[int, int]) -> int:
    text = _text(options, key, str(default))
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not bounds[0] <= number <= bounds[1]:
        options.fail(f"{key} {text!r} is not a number from {bounds[0]} to {bounds[1]}")
    return number


def _read_percent(options: Node) -> int:
    if options.has("rwmixwrite"):
        return 100 - _count(options, "rwmixwrite", 50, (0, 100))
    return _count(options, "rwmixread", 50, (0, 100))


def _seconds(options: Node) -> float | None:
    if not options.has("runtime"):
        return None
    if clock := CLOCK.fullmatch(options.text("runtime")):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return float(3600 * hours + 60 * minutes + seconds) or None
    time = TIME.fullmatch(options.text("runtime"))
    if time is None:
        options.fail(f"runtime {options.text('runtime')!r} is not a time")
    return int(time[1]) * TIME_S[(time[2] or "s").lower().removesuffix("ec")] or None


def size_bytes(text: str, *, is_si: bool = False) -> int | None:
    """Bytes of a size as fio reads it, `is_si` with its kb_base of 1000; None for what is none, or a
    percentage."""
    size = SIZE.fullmatch(text.strip())
    if size is None:
        return None
    base = 1024 if bool(size[3]) is is_si else 1000
    unit: int = base ** " kmgtp".index(size[2].lower() or " ")
    return int(size[1]) * unit
