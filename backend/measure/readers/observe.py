"""Output of `observe` beside every repeat: under which conditions it ran, and a time series."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from backend.foundation.errors import ProbeError
from backend.measure.readers.record import MAX_NUMBER, ProbeRecord, read_record

TOOL = "observe"
COLUMNS = (
    "t_s",
    "cpu_ratio",
    "steal_ratio",
    "iowait_ratio",
    "mhz",
    "load",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "net_receive_bytes_per_s",
    "net_send_bytes_per_s",
)
UNKNOWN = "-"
MAX_LINES = 10_000
NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Conditions:
    """How one repeat ran. Times are seconds, ratios are of all usable CPU time.

    `exit_code` is None when a signal ended the command, `signal` when none did. The clocks are
    means over CPUs, the lowest and the mean of all lines of the series. The ratios of foreign CPU,
    steal and iowait are None where the host does not show its CPUs. None is unknown.
    """

    probe: str
    variant: str
    repeat: int
    command: str
    exit_code: int | None
    signal: int | None
    is_timed_out: bool
    is_cancelled: bool
    started_s: float
    wall_s: float
    cpu_s: float
    usable_cpus: int
    cpu_share: float
    foreign_cpu_ratio: float | None
    steal_ratio: float | None
    iowait_ratio: float | None
    quiet_wait_s: float
    is_quiet: bool
    mhz_min: float | None
    mhz_mean: float | None
    foreign_user_ratio: float | None = None
    """Foreign CPU without the kernel's own work; None where it was not observed."""
    is_memory_short: bool = False
    """True if it was ended because too little memory stayed available to others."""
    memory_available_bytes: float | None = None
    """When it was last looked at."""
    memory_bytes: float | None = None
    """Memory of the machine or of its cgroup; None where it was not observed."""

    @property
    def is_complete(self) -> bool:
        """True if the command ended by itself and called that a success."""
        return self.exit_code == 0 and not (self.is_timed_out or self.is_cancelled)


def parse(text: str) -> Conditions:
    """The conditions in one record. Raises ProbeError."""
    return _conditions(read_record(TOOL, text))


def read_conditions(fields: Mapping[str, object]) -> Conditions | None:
    """The conditions as they were stored; None where a version stored less, or there were none."""
    renamed = {
        "timed_out": fields.get("is_timed_out"),
        "cancelled": fields.get("is_cancelled"),
        "memory_short": fields.get("is_memory_short", False),
    }
    try:
        return _conditions(ProbeRecord(TOOL, {**fields, **renamed}))
    except ProbeError:
        return None


def _conditions(record: ProbeRecord) -> Conditions:
    exit_code = None if record.is_null("exit_code") else record.count("exit_code")
    signal = None if record.is_null("signal") else record.count("signal", minimum=1)
    if (exit_code is None) == (signal is None):
        record.fail("exactly one of exit_code and signal must be there")
    return Conditions(
        probe=record.text("probe"),
        variant=record.text("variant"),
        repeat=record.count("repeat"),
        command=record.text("command"),
        exit_code=exit_code,
        signal=signal,
        is_timed_out=record.flag("timed_out"),
        is_cancelled=record.flag("cancelled"),
        started_s=record.number("started_s"),
        wall_s=record.positive("wall_s"),
        cpu_s=record.number("cpu_s"),
        usable_cpus=record.count("usable_cpus", minimum=1),
        cpu_share=record.number("cpu_share"),
        foreign_cpu_ratio=_ratio(record, "foreign_cpu_ratio"),
        steal_ratio=_ratio(record, "steal_ratio"),
        iowait_ratio=_ratio(record, "iowait_ratio"),
        quiet_wait_s=record.number("quiet_wait_s"),
        is_quiet=record.flag("is_quiet"),
        mhz_min=record.number_or_none("mhz_min"),
        mhz_mean=record.number_or_none("mhz_mean"),
        foreign_user_ratio=record.number_or_none("foreign_user_ratio"),
        # Archives of earlier versions do not have it.
        is_memory_short="memory_short" in record.fields and record.flag("memory_short"),
        memory_available_bytes=record.number_or_none("memory_available_bytes"),
        memory_bytes=record.number_or_none("memory_bytes"),
    )


def _ratio(record: ProbeRecord, key: str) -> float | None:
    return None if record.is_null(key) else record.number(key)


def series(text: str) -> Mapping[str, list[float | None]]:
    """The columns of one time series by name, all of the same length; None is unknown.

    `t_s` is seconds since the command began and grows from line to line. A last line that is cut
    off is left out: the file may still be growing. Raises ProbeError.
    """
    lines = text.split("\n", MAX_LINES + 2)[:-1]
    if not lines or lines[0] != " ".join(COLUMNS):
        raise ProbeError(TOOL, "the series does not begin with the names of its columns", 1)
    if len(lines) > MAX_LINES + 1:
        raise ProbeError(TOOL, f"the series has more than {MAX_LINES} lines", MAX_LINES + 2)
    columns: dict[str, list[float | None]] = {name: [] for name in COLUMNS}
    last_s = -1.0
    for number, line in enumerate(lines[1:], 2):
        values = _values(line, number)
        if values[0] is None or values[0] <= last_s:
            raise ProbeError(TOOL, "the time does not grow", number)
        last_s = values[0]
        for name, value in zip(COLUMNS, values, strict=True):
            columns[name].append(value)
    return columns


def _values(line: str, number: int) -> list[float | None]:
    words = line.split(" ")
    if len(words) != len(COLUMNS):
        raise ProbeError(TOOL, f"{len(words)} values, not {len(COLUMNS)}", number)
    values: list[float | None] = []
    for name, word in zip(COLUMNS, words, strict=True):
        if word != UNKNOWN and not NUMBER.fullmatch(word):
            raise ProbeError(TOOL, f"{name} is {word[:40]!r}, not a number", number)
        value = None if word == UNKNOWN else float(word)
        if value is not None and value > (1 if name.endswith("_ratio") else MAX_NUMBER):
            raise ProbeError(TOOL, f"{name} is {word} and too large", number)
        values.append(value)
    return values
