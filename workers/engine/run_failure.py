"""Why a run whose runner is over has failed, and what a run that is done could not measure."""

from collections.abc import Collection, Iterator, Sequence

from backend.foundation.errors import Reason
from backend.measure.probes import INVENTORY, PACKAGES, PROBES
from backend.measure.repeats import Repeat
from workers.remote.pipeline import Snapshot

BEST_EFFORT = {INVENTORY, PACKAGES}
RUNNER_REASONS = {
    "disk_full": (Reason.DISK_FULL, "no space left on the host"),
    "killed": (Reason.INTERRUPTED, "the runner was killed"),
    "memory": (Reason.INTERRUPTED, "less than a fifth of the host's memory was left to others"),
    "unsupported": (Reason.UNSUPPORTED, "the probes do not run on this host"),
}


def run_failure(
    snapshot: Snapshot, repeats: Sequence[Repeat], measured_probes: Collection[str] = ()
) -> tuple[Reason, str] | None:
    """Why a run whose runner is over is a failed one; None when it measured what it could.

    `repeats` are those that were read last, failed ones among them; `measured_probes` have figures.
    A probe that failed beside others that measured is no failure of the run (`remarks_on_failed_probes`), and
    the inventory and the package manager are best effort.
    """
    status = snapshot.status
    if status is not None and status.state == "cancelled":
        return None
    # The first reason that a probe gives says more than how the runner then ended.
    for repeat in _failures(repeats):
        if not set(measured_probes) - {repeat.probe}:
            return repeat.reason or Reason.BUG, repeat.error
    if status is not None and status.failure is not None:
        return RUNNER_REASONS[status.failure]
    if status is None or status.state == "running" or snapshot.manifest is None:
        return Reason.INTERRUPTED, "the runner ended without listing its results"
    return None


def remarks_on_failed_probes(
    repeats: Sequence[Repeat], measured_metrics: Collection[str]
) -> Iterator[str]:
    """A remark on the metrics that each failed probe leaves missing; why stands beside its repeats."""
    for probe in dict.fromkeys(repeat.probe for repeat in _failures(repeats)):
        missing = [metric for metric in PROBES[probe].metrics if metric not in measured_metrics]
        if missing:
            yield f"{probe} failed, so the run has no {', '.join(missing)}"


def _failures(repeats: Sequence[Repeat]) -> Iterator[Repeat]:
    return (r for r in repeats if r.reason is not None and r.probe not in BEST_EFFORT)
