"""The record that `observe` writes beside every repeat: under which conditions it ran."""

from dataclasses import dataclass

from backend.domain.parsing.record import read_record

TOOL = "observe"


@dataclass(frozen=True)
class Conditions:
    """How one repeat ran. Times are seconds, ratios are of all usable CPU time.

    `exit_code` is None when a signal ended the command, `signal` when none did.
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
    foreign_cpu_ratio: float
    steal_ratio: float
    iowait_ratio: float
    quiet_wait_s: float
    is_quiet: bool

    @property
    def is_complete(self) -> bool:
        """Whether the command ended by itself and called that a success."""
        return self.exit_code == 0 and not (self.is_timed_out or self.is_cancelled)


def parse(text: str) -> Conditions:
    """The conditions in one record. Raises ProbeError."""
    record = read_record(TOOL, text)
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
        foreign_cpu_ratio=record.number("foreign_cpu_ratio"),
        steal_ratio=record.number("steal_ratio"),
        iowait_ratio=record.number("iowait_ratio"),
        quiet_wait_s=record.number("quiet_wait_s"),
        is_quiet=record.flag("is_quiet"),
    )
