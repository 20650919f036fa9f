"""status.json, which the runner on a target replaces about once a second."""

from dataclasses import dataclass

from backend.foundation.errors import ProbeError
from backend.measure.readers.record import ProbeRecord, read_record

TOOL = "runner"
# Ours has some 300.
MAX_CHARACTERS = 4096
MAX_PROBE, MAX_VARIANT = 20, 40
STATES = ("running", "finished", "cancelled", "failed")
FAILURES = ("disk_full", "killed", "memory", "unsupported")


@dataclass(frozen=True)
class RunnerStatus:
    """Where a run stands; times are seconds since the runner's own start, by a monotonic clock."""

    state: str
    probe: str | None
    variant: str | None
    repeat: int | None
    step: int
    steps: int
    progress: float
    monotonic_s: float
    boot_id: str
    pid: int
    quiet_wait_s: float
    failure: str | None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


def parse(text: str) -> RunnerStatus:
    """The status in one line. Raises ProbeError."""
    if len(text) > MAX_CHARACTERS:
        raise ProbeError(TOOL, f"a status of {len(text)} characters is none of ours")
    record = read_record(TOOL, text)
    failure = _optional_text(record, "failure")
    status = RunnerStatus(
        state=record.text("state"),
        probe=_optional_text(record, "probe"),
        variant=_optional_text(record, "variant"),
        repeat=None if record.is_null("repeat") else record.count("repeat"),
        step=record.count("step"),
        steps=record.count("steps"),
        progress=record.number("progress"),
        monotonic_s=record.number("monotonic_s"),
        boot_id=record.text("boot_id"),
        pid=record.count("pid", minimum=1),
        quiet_wait_s=record.number("quiet_wait_s"),
        failure=failure,
    )
    if status.state not in STATES:
        record.fail(f"state {status.state!r} is unknown")
    if failure is not None and failure not in FAILURES:
        record.fail(f"failure {failure!r} is unknown")
    if status.progress > 1 or status.step > status.steps:
        record.fail(f"step {status.step} of {status.steps}, progress {status.progress}")
    if len(status.probe or "") > MAX_PROBE or len(status.variant or "") > MAX_VARIANT:
        record.fail(f"probe {status.probe!r} or variant {status.variant!r} is too long")
    return status


def _optional_text(record: ProbeRecord, key: str) -> str | None:
    return None if record.is_null(key) else record.text(key)
