"""What one repeat measured, or the named reason why it measured nothing; free of Django."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.domain.cmips import is_disturbed
from backend.domain.errors import ProbeError, Reason
from backend.domain.parsing import ParsedSample, observe
from backend.domain.parsing.inventory import HostFacts
from backend.domain.parsing.observe import Conditions
from workers.remote.pipeline import RawResult, text_of
from workers.remote.probes.registry import PROBES

# Exit codes of the scripts and probes on the target (native/probe.h).
EXIT_DISK_FULL = 5
EXIT_UNAVAILABLE = 7
UNAVAILABLE = re.compile(r"^=== failure unavailable: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """One repeat, read. With an error it carries no samples; the text stays as evidence."""

    raw: RawResult
    probe: str
    variant: str
    repeat: int
    conditions: Conditions | None
    samples: tuple[ParsedSample, ...] = ()
    facts: HostFacts | None = None
    series: Mapping[str, list[float | None]] | None = None
    """What `observe` saw once a second (domain.parsing.observe.series)."""
    reason: Reason | None = None
    error: str = ""
    """Without a reason it is a warning only."""
    unavailable: str = ""
    """Why this cannot be measured on the host at all, which fails nothing."""

    @property
    def is_disturbed(self) -> bool:
        """Whether other work took CPU from the repeat (backend.domain.cmips.is_disturbed).

        Disks and networks are judged by foreign user time: the kernel's share is their own work.
        """
        if self.conditions is None:
            return False
        shares = [sample.parameters.get("cpu_share") for sample in self.samples]
        share = next((share for share in shares if isinstance(share, float)), None)
        foreign, user = self.conditions.foreign_cpu_ratio, self.conditions.foreign_user_ratio
        is_io = self.probe in PROBES and PROBES[self.probe].is_io
        return is_disturbed(share, user if is_io and user is not None else foreign)


def reading(raw: RawResult, damage: str = "") -> Reading:
    """What one repeat measured, or the named reason why it measured nothing."""
    _, probe, variant, repeat = (*raw.name.split("-"), "", "", "", "")[:4]
    place = f"{probe} {variant}, repeat {repeat}"
    made = Reading(raw, probe, variant, int(repeat or 0), None)
    try:
        if damage:
            raise ProbeError("runner", damage)
        conditions = observe.parse(raw.record.decode())
    except (ProbeError, UnicodeDecodeError) as error:
        return replace(made, reason=Reason.INTERRUPTED, error=f"{place}: {error}")
    made = _with_series(replace(made, conditions=conditions), place)
    if conditions.exit_code == EXIT_UNAVAILABLE:
        return replace(made, unavailable=_unavailable(raw))
    if not conditions.is_complete:
        reason, said = _incomplete(conditions, raw)
        return replace(made, reason=reason, error=f"{place}: {said}")
    try:
        found = PROBES[probe].parse(raw.out.decode(), variant)
    except (ProbeError, KeyError, UnicodeDecodeError) as error:
        return replace(made, reason=Reason.BUG, error=f"{place}: {error}")
    if isinstance(found, HostFacts):
        return replace(made, facts=found)
    return replace(made, samples=tuple(found))


def _with_series(made: Reading, place: str) -> Reading:
    """A series that cannot be read is a warning: the repeat itself is not in doubt."""
    if not made.raw.series:
        return made
    try:
        return replace(made, series=observe.series(made.raw.series.decode()))
    except (ProbeError, UnicodeDecodeError) as error:
        return replace(made, error=f"{place}: {error}")


def _unavailable(raw: RawResult) -> str:
    said = UNAVAILABLE.findall(text_of(raw.out))
    return said[-1].strip()[:300] if said else "the host cannot run it"


def _incomplete(conditions: Conditions, raw: RawResult) -> tuple[Reason, str]:
    said = text_of(raw.err or raw.out).strip().split("\n")[-1][:200]
    if conditions.is_timed_out:
        return Reason.TIMEOUT, f"took longer than allowed, {conditions.wall_s:.0f} s"
    if conditions.is_cancelled:
        return Reason.INTERRUPTED, "cancelled"
    if conditions.signal is not None:
        return Reason.INTERRUPTED, f"killed by signal {conditions.signal}"
    if conditions.exit_code == EXIT_DISK_FULL:
        return Reason.DISK_FULL, said
    return Reason.UNSUPPORTED, f"ended with status {conditions.exit_code}: {said}"
