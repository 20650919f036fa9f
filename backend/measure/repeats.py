"""A repeat of a series: the files that the target wrote, and what was measured or why nothing was."""

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from backend.foundation.errors import ProbeError, Reason
from backend.foundation.reading.texts import text_of
from backend.measure.cmips import is_disturbed
from backend.measure.credits import CREDIT_FLAGS
from backend.measure.probes import PROBES
from backend.measure.readers import ParsedSample, observe
from backend.measure.readers.inventory import HostFacts
from backend.measure.readers.observe import Conditions
from backend.measure.stats import DISTURBED, EMULATED, UNLIKE_OFFER

# Exit codes of the scripts and probes on the target (workers/remote/probes/native/probe.h).
EXIT_DISK_FULL = 5
EXIT_UNAVAILABLE = 7
UNAVAILABLE = re.compile(r"^=== failure unavailable: (.*)$", re.MULTILINE)
VOLUME_SMALL = "volume_small"
# How a machine was rented and what it is, which the evidence of a repeat does not show.
MACHINE_FLAGS = CREDIT_FLAGS | {VOLUME_SMALL, EMULATED, UNLIKE_OFFER}
MIB = 2**20
# How often a kernel looks who runs on a CPU, at least.
LOOKS_PER_S = 100
# Between what a command printed and what it complained of, in the text that is stored.
STDERR_MARK = "\n--- stderr ---\n"


@dataclass(frozen=True)
class RawResult:
    """A finished repeat as the target wrote it."""

    number: int
    name: str
    """`<nnn>-<probe>-<variant>-<repeat>`."""
    out: bytes
    err: bytes
    record: bytes
    """The JSON line of `observe`."""
    series: bytes = b""
    """Observations of `observe`, one a second; empty for a short repeat."""

    @property
    def size_bytes(self) -> int:
        return len(self.out) + len(self.err) + len(self.record) + len(self.series)

    @property
    def file_hashes(self) -> dict[str, str]:
        """sha256 of its files by their suffix."""
        files = {".out": self.out, ".err": self.err, ".json": self.record, ".series": self.series}
        return {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}


@dataclass(frozen=True)
class Repeat:
    """A repeat, parsed. With an error it has no samples; the text stays as evidence."""

    raw: RawResult
    probe: str
    variant: str
    repeat: int
    conditions: Conditions | None
    samples: tuple[ParsedSample, ...] = ()
    facts: HostFacts | None = None
    series: Mapping[str, list[float | None]] | None = None
    """Observations of `observe`, one a second (measure.readers.observe.series)."""
    reason: Reason | None = None
    error: str = ""
    """Without a reason it is a warning only."""
    unavailable: str = ""
    """Why this cannot be measured on the host at all, which fails nothing."""

    @property
    def is_disturbed(self) -> bool:
        """True if other work took CPU from the repeat; unknown counts as not."""
        if self.conditions is None:
            return False
        return was_disturbed(
            self.probe, self.conditions, [sample.parameters for sample in self.samples]
        )

    def flags(self, sample: ParsedSample) -> list[str]:
        """Why a figure is not to be trusted: what its tool says, and what was seen around it."""
        return [*sample.flags, *([DISTURBED] if self.is_disturbed else [])]


def was_disturbed(
    probe: str, conditions: Conditions, parameters: Iterable[Mapping[str, object]]
) -> bool:
    """True if other work took CPU from a repeat (backend.measure.cmips.is_disturbed), from what was
    seen around it and the parameters of its samples."""
    share, steal = None, None
    for known in parameters:
        cpu_share, threads = known.get("cpu_share"), known.get("threads")
        if isinstance(cpu_share, float) and isinstance(threads, int):
            quota = known.get("quota_cpus")
            limit = quota if isinstance(quota, float) else math.inf
            # The share is of the probe's own threads, the steal of all usable CPUs.
            usable = min(conditions.usable_cpus, limit) / min(threads, limit)
            share, steal = cpu_share, (conditions.steal_ratio or 0) * usable
            break
    # The kernel works for disks and networks in threads and interrupts that belong to nobody, so
    # only the user time of others disturbs those. Older records have no user time.
    is_io = probe in PROBES and bool(PROBES[probe].io)
    user = _certain_user_ratio(conditions) if is_io else None
    return is_disturbed(share, conditions.foreign_cpu_ratio if user is None else user, steal)


def _certain_user_ratio(conditions: Conditions) -> float | None:
    """The user time of others (ratio) less two standard errors; None where it was not observed.

    A kernel does not measure user time, it counts who runs at each timer tick (Linux,
    Documentation/admin-guide/cpu-load.rst): of a repeat of half a second those are a hundred
    looks, and three of them more or less are chance.
    """
    user = conditions.foreign_user_ratio
    if user is None:
        return None
    looks = LOOKS_PER_S * conditions.wall_s * conditions.usable_cpus
    ratio = min(user, 1.0)
    return ratio - 2 * math.sqrt(ratio * (1 - ratio) / looks)


def repeat_of(raw: RawResult, damage: str = "") -> Repeat:
    """Measurements of a repeat, or the named reason why there are none."""
    _, probe, variant, number = (*raw.name.split("-"), "", "", "", "")[:4]
    repeat = Repeat(raw, probe, variant, int(number or 0), None)
    title = f"{probe} {variant}, repeat {repeat.repeat + 1}"
    try:
        if damage:
            raise ProbeError("runner", damage)
        conditions = observe.parse(raw.record.decode())
    except (ProbeError, UnicodeDecodeError) as error:
        return replace(repeat, reason=Reason.INTERRUPTED, error=f"{title}: {error}")
    repeat = _with_series(replace(repeat, conditions=conditions), title)
    if conditions.exit_code == EXIT_UNAVAILABLE or conditions.is_memory_short:
        return replace(repeat, unavailable=_unavailable(raw, conditions))
    if not conditions.is_complete:
        reason, detail = _incomplete(conditions, raw)
        return replace(repeat, reason=reason, error=f"{title}: {detail}")
    try:
        parsed = PROBES[probe].parse(raw.out.decode(), variant)
    except (ProbeError, KeyError, UnicodeDecodeError) as error:
        return replace(repeat, reason=Reason.BUG, error=f"{title}: {error}")
    if isinstance(parsed, HostFacts):
        return replace(repeat, facts=parsed)
    return replace(repeat, samples=tuple(parsed))


def _with_series(repeat: Repeat, title: str) -> Repeat:
    """A series that cannot be read is a warning: the repeat itself is as good as without it."""
    if not repeat.raw.series:
        return repeat
    try:
        return replace(repeat, series=observe.series(repeat.raw.series.decode()))
    except (ProbeError, UnicodeDecodeError) as error:
        return replace(repeat, error=f"{title}: {error}")


def _unavailable(raw: RawResult, conditions: Conditions) -> str:
    if conditions.is_memory_short:
        left, memory = conditions.memory_available_bytes or 0, conditions.memory_bytes or 0
        return (
            f"stopped: only {left / MIB:.0f} of {memory / MIB:.0f} MiB of memory stayed available "
            "to other programs"
        )
    reasons = UNAVAILABLE.findall(text_of(raw.out))
    return reasons[-1].strip()[:300] if reasons else "the host cannot run it"


def _incomplete(conditions: Conditions, raw: RawResult) -> tuple[Reason, str]:
    last_line = text_of(raw.err or raw.out).strip().split("\n")[-1][:200]
    # The marker is for programs; what stands behind it is for people.
    last_line = re.sub(r"^=== failure [a-z_]+: ", "", last_line)
    last_line = re.sub(r'^\{"schema":1,"probe":"[a-z_]+","error":"([^"]+)".*', r"\1", last_line)
    if conditions.is_timed_out:
        return Reason.TIMEOUT, f"took longer than allowed, {conditions.wall_s:.0f} s"
    if conditions.is_cancelled:
        return Reason.INTERRUPTED, "cancelled"
    if conditions.signal is not None:
        return Reason.INTERRUPTED, f"killed by signal {conditions.signal}"
    if conditions.exit_code == EXIT_DISK_FULL:
        return Reason.DISK_FULL, last_line
    return Reason.UNSUPPORTED, f"ended with status {conditions.exit_code}: {last_line}"


def output_of(stored: str) -> str:
    """Output of the command itself."""
    return stored.partition(STDERR_MARK)[0]


def reparse(probe: str, variant: str, stored: str) -> list[ParsedSample]:
    """The samples of a stored text for today's parsers; none of the inventory.

    Raises ProbeError, also for a probe that this version does not know.
    """
    if probe not in PROBES:
        raise ProbeError(probe, "this version does not know the probe")
    parsed = PROBES[probe].parse(output_of(stored), variant)
    return [] if isinstance(parsed, HostFacts) else list(parsed)


def flags_by_sample(
    probe: str,
    samples: Iterable[ParsedSample],
    conditions: Mapping[str, object],
    stated: Collection[str] = (),
) -> Mapping[tuple[str, str], list[str]]:
    """(metric, variant) of each sample of one stored repeat → the flags that today's rules give.

    `conditions` are as they were stored; where they do not say enough, the flag "disturbed" is
    taken over from those `stated`, as those of the machine always are.
    """
    samples = list(samples)
    seen = observe.read_conditions(conditions)
    parameters = [sample.parameters for sample in samples]
    is_disturbed = was_disturbed(probe, seen, parameters) if seen else DISTURBED in stated
    later = [*([DISTURBED] if is_disturbed else []), *sorted(MACHINE_FLAGS & set(stated))]
    return {
        (sample.metric, sample.variant): list(dict.fromkeys([*sample.flags, *later]))
        for sample in samples
    }
