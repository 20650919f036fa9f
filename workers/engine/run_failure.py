"""Why a run whose runner is over has failed."""

from collections.abc import Sequence

from backend.domain.errors import Reason
from backend.domain.probes import INVENTORY, PACKAGES
from backend.domain.repeats import Repeat
from workers.remote.pipeline import Snapshot

BEST_EFFORT = {INVENTORY, PACKAGES}
RUNNER_REASONS = {
    "disk_full": (Reason.DISK_FULL, "no space left on the host"),
    "killed": (Reason.INTERRUPTED, "the runner was killed"),
    "memory": (Reason.INTERRUPTED, "less than a fifth of the host's memory was left to others"),
    "unsupported": (Reason.UNSUPPORTED, "the probes do not run on this host"),
}


def run_failure(snapshot: Snapshot, repeats: Sequence[Repeat]) -> tuple[Reason, str] | None:
    """Why a run whose runner is over is a failed one; None when everything planned is there.

    The inventory and the package manager are best effort: what they could not do is a warning.
    """
    status = snapshot.status
    if status is not None and status.state == "cancelled":
        return None
    # The first reason that a probe gives says more than how the runner then ended.
    for repeat in repeats:
        if repeat.reason is not None and repeat.probe not in BEST_EFFORT:
            return repeat.reason, repeat.error
    if status is not None and status.failure is not None:
        return RUNNER_REASONS[status.failure]
    if status is None or status.state == "running" or snapshot.manifest is None:
        return Reason.INTERRUPTED, "the runner ended without listing its results"
    return None
