"""How much of a host's answers a run keeps, by its plan: a hostile or broken host fills no disk."""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.foundation.errors import DriverError, Reason
from backend.measure.repeats import RawResult

# A runner that was killed in a step does it again, and its result comes twice then.
RESULTS_PER_STEP = 2
# Of runs that began before plans stated their steps: those of the longest profile with 50 repeats.
MAX_STEPS = 2500
# Outputs and records of probes have some 10 KiB; installing their tools may print much once.
BASE_BYTES = 2**20
STEP_BYTES = 48 * 2**10
# A row of `observe` each second.
SERIES_BYTES_PER_S = 512


@dataclass
class RunBounds:
    """Results and bytes of one run, counted as they come."""

    max_results: int
    max_bytes: int
    result_count: int = 0
    total_bytes: int = 0

    @classmethod
    def of(cls, step_count: int, deadline_s: float) -> "RunBounds":
        return cls(
            max_results=RESULTS_PER_STEP * step_count,
            max_bytes=BASE_BYTES + STEP_BYTES * step_count + int(SERIES_BYTES_PER_S * deadline_s),
        )

    def take(self, results: Iterable[RawResult]) -> None:
        """Count results; raises DriverError once they are more than the plan can give."""
        for result in results:
            self.result_count += 1
            self.total_bytes += result.size_bytes
            if result.number > self.max_results or self.result_count > self.max_results:
                raise _excess(f"more than {self.max_results} results")
            if self.total_bytes > self.max_bytes:
                raise _excess(f"more than {self.max_bytes} bytes of results")


def _excess(amount: str) -> DriverError:
    detail = f"the host sent {amount}, which its plan cannot give; what came before is kept"
    return DriverError(Reason.UNSUPPORTED, detail, retryable=False)
