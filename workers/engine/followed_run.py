"""A running run as the poller sees it: what it knows, what it reads, what it decides."""

import datetime as dt
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from backend.benchmarks.models import Evidence, Run, Sample
from backend.benchmarks.selectors.runs import run_cost
from backend.benchmarks.services.leases import Claim, whole_steps
from backend.core import clock
from backend.foundation.errors import DriverError, ProbeError, Reason
from backend.measure.readers import observe
from backend.measure.readers.runner_status import RunnerStatus
from backend.measure.repeats import Repeat
from backend.measure.stats import UNFIT, is_settled
from workers.engine.steps import plan_of_run, target_of
from workers.remote import pipeline
from workers.remote.bounds import RunBounds
from workers.remote.connections import Connections
from workers.remote.driver import MachineDriver, Target, Transport
from workers.remote.probes.pinned_plan import PinnedPlan
from workers.remote.registry import driver

# How often a run is read. More seldom where the reading takes CPU from what is measured.
PERIOD_S = 1.0
LOCAL_PERIOD_S = 2.0
# Shortly before the expected end we look more often: the hosts wait for the next run meanwhile.
END_PERIOD_S = 0.25
LOCAL_END_PERIOD_S = 1.0
# The series of the running repeat is only for the page that shows it, and costs a process on the host.
LIVE_PERIOD_S = 3.0
# A reading that says what the one before said is written this seldom: rows would change each second for
# nothing.
UNCHANGED_S = 5.0
Pair = tuple[str, str]


@dataclass
class Followed:
    """A run with the open way to its host. The poller's thread owns it; `read` is the exception,
    which runs in the thread of the connections while nobody else touches it."""

    claim: Claim
    run: Run
    """As it was when we took it up; state and progress go on in the database."""
    deadline_at: dt.datetime | None
    plan: PinnedPlan
    machine: MachineDriver
    target: Target
    bounds: RunBounds = field(init=False)
    after: int = 0
    """Number of the last result that is stored."""
    measured: set[Pair] = field(default_factory=set)
    values: dict[Pair, list[float]] = field(default_factory=dict)
    """Values for the stopping rule: undisturbed and uncached, in the order of the repeats."""
    transport: Transport | None = None
    reading: "Future[pipeline.Snapshot] | None" = None
    next_at: float = 0
    orders: set[str] = field(default_factory=set)
    """Files to create on the target next: `cancel`, `stop/<probe>-<variant>`."""
    sent: set[str] = field(default_factory=set)
    """Orders that go with the reading that is under way."""
    ordered: set[str] = field(default_factory=set)
    is_silent: bool = False
    """Its host did not answer the last time."""
    is_restarting: bool = False
    """The runner is dead: starting it again makes it tidy up and say so."""
    live_at: float = 0
    written: tuple[object, ...] = ()
    written_at: float = 0

    def __post_init__(self) -> None:
        self.bounds = self.plan.bounds

    @property
    def is_local(self) -> bool:
        """True if it runs on the very machine that we take CPU from."""
        return self.run.host.worker_id is not None

    @property
    def period_s(self) -> float:
        return LOCAL_PERIOD_S if self.is_local else PERIOD_S

    @property
    def end_period_s(self) -> float:
        return LOCAL_END_PERIOD_S if self.is_local else END_PERIOD_S

    @property
    def directory(self) -> str:
        return str(self.run.live["directory"])

    async def read(self, connections: Connections) -> pipeline.Snapshot:
        """Give the orders and read the run's directory; raises DriverError."""
        now = time.monotonic()
        is_live = now >= self.live_at + LIVE_PERIOD_S
        if is_live:
            self.live_at = now
        try:
            if self.transport is None:
                self.transport = await connections.acquire(
                    self.run.pk, self.machine, self.target, is_silent=self.is_silent
                )
            # Starting adopts a runner that lives after all, so a reading that fails later may do it
            # again.
            if self.is_restarting:
                await pipeline.start(self.transport, self.directory)
            snapshot = await pipeline.read(
                self.transport,
                self.directory,
                after=self.after,
                orders=sorted(self.sent),
                is_live=is_live,
            )
            self.bounds.take(snapshot.results)
            return snapshot
        except ProbeError as error:
            # One answer that does not parse ends no run: the runner measures on, and the next
            # reading may be whole.
            raise DriverError(Reason.BUG, str(error), retryable=True) from error
        except BaseException:
            # Also when a window that closes cancels the reading: nobody else would close the
            # connection after that.
            await self.close()
            raise

    async def close(self) -> None:
        # Cleared before the wait: whoever comes meanwhile must not use a connection that is being
        # closed.
        transport, self.transport = self.transport, None
        if transport is not None:
            await transport.close()

    # --- what was read -------------------------------------------------------------------------

    def take_in(self, readings: Sequence[Repeat]) -> None:
        """Remember what new results mean for the rest of the run."""
        for reading in readings:
            pair = (reading.probe, reading.variant)
            self.after = reading.raw.number
            self.measured.add(pair)
            for sample in reading.samples:
                self.take_in_value(pair, sample.metric, sample.value, reading.flags(sample))
            if reading.unavailable:  # it stays so for the other repeats
                self.order({f"stop/{reading.probe}-{reading.variant}"})

    def take_in_value(self, pair: Pair, metric: str, value: float, flags: Iterable[str]) -> None:
        is_judged = pair in self.plan.rule and metric == self.plan.metrics[pair]
        # Repeats that do not count must not narrow the interval.
        if is_judged and UNFIT.isdisjoint(flags):
            self.values.setdefault(pair, []).append(value)

    def order(self, names: set[str]) -> None:
        """Orders for the target with the next reading, each once."""
        # An order is a file on the target: creating it again would wake the runner for nothing.
        self.orders |= names - self.ordered

    def orders_are_given(self) -> None:
        """The last reading took its orders to the target."""
        self.ordered |= self.sent
        # Only now: a reading that failed may not have left its orders there.
        self.orders -= self.sent

    @property
    def is_late(self) -> bool:
        """True if the runner should have been over by now."""
        return self.deadline_at is not None and clock.now() > self.deadline_at

    def series_to_end(self, status: RunnerStatus) -> set[str]:
        """Orders to leave out the rest of each series that needs no more repeats: its interval
        is narrow enough, or the profile's time is over and it has one."""
        # By the runner's own clock: it measures on while nobody reaches the host.
        if status.monotonic_s > self.plan.time_cap_s:
            ended = self.measured & set(self.plan.metrics)
        else:
            ended = {
                pair
                for pair, rule in self.plan.rule.items()
                if is_settled(self.values.get(pair, []), rule)
            }
        return {f"stop/{probe}-{variant}" for probe, variant in ended}

    # --- what is shown -------------------------------------------------------------------------

    def fields(self, snapshot: pipeline.Snapshot, status: RunnerStatus) -> dict[str, Any] | None:
        """Fields of a reading to be written (progress.Progress.fields); None for nothing."""
        now = time.monotonic()
        said = (status.state, status.probe, status.variant, status.step, status.progress)
        rows = _rows(snapshot.live)
        is_same = said == self.written and rows is None and not snapshot.last_lines
        if is_same and now < self.written_at + UNCHANGED_S:
            return None
        self.written, self.written_at = said, now
        live: dict[str, Any] = {
            "state": status.state,
            "variant": status.variant,
            "repeat": status.repeat,
            "step": status.step,
            "steps": status.steps,
            "quiet_wait_s": status.quiet_wait_s,
            "read_at": clock.now().isoformat(),
            "cost": run_cost(self.run),
        }
        if snapshot.last_lines:
            live["last_lines"] = list(snapshot.last_lines)
        if rows is not None:
            live["series"] = rows
        return {
            "probe": status.probe or "",
            "progress_ratio": status.progress,
            "runner_s": status.monotonic_s,
            "live": live,
        }


def _rows(live: str | None) -> dict[str, list[float | None]] | None:
    """The last rows of the running series, column → values; None when there is no new one."""
    if live is None:
        return None
    try:
        return dict(observe.series(live))
    except ProbeError:  # it is only shown; what is kept is judged when the repeat is over
        return None


def take_up(claims: Iterable[Claim]) -> list[Followed]:
    """All that is needed to follow the claimed runs, in a few queries whatever their number."""
    by_step = {claim.step_id: claim for claim in claims}
    if not by_step:  # so it is nearly each second, and the queries take long to be made
        return []
    runs = {
        step.run_id: Followed(
            claim=by_step[step.pk],
            run=step.run,
            deadline_at=step.deadline_at,
            plan=plan_of_run(step.run),
            machine=driver(step.run.host.driver),
            target=target_of(step.run.host),
            is_silent="silent_since" in step.run.live,
        )
        for step in whole_steps().filter(pk__in=by_step)
    }
    # From the database, as the run may have been followed by a process that died.
    evidence = Evidence.objects.filter(run__in=runs).order_by("n")
    stored = evidence.values_list("run_id", "n", "size_bytes", "probe", "variant")
    for run_id, n, size_bytes, *pair in stored:
        runs[run_id].after = n
        runs[run_id].bounds.result_count += 1
        runs[run_id].bounds.total_bytes += size_bytes
        runs[run_id].measured.add((pair[0], pair[1]))
    samples = Sample.objects.filter(run__in=runs).order_by("repeat")
    names = ("run_id", "evidence__probe", "evidence__variant", "metric", "value", "flags")
    for run_id, probe, variant, metric, value, flags in samples.values_list(*names):
        if run_id is not None:
            runs[run_id].take_in_value((str(probe), str(variant)), metric, value, flags)
    return list(runs.values())
