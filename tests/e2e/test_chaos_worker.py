"""The worker is killed wherever a run may be; each run ends as if it had not been."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from django.db.models.functions import Now

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import TERMINAL_STATES, Host, Run, RunState, Step
from backend.benchmarks.services.hosts import host_local
from tests.e2e.chaos_form import FORM, LEASE_S, MORE_KILLS, RESUME_SLACK_S, case
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, assert_whole, ended
from tests.e2e.watch import Change, Watch, watching

pytestmark = [pytest.mark.chaos, pytest.mark.serial, pytest.mark.native]

# Of hosts that are simply there.
STATES = (
    *(RunState.QUEUED, RunState.REACHABLE, RunState.PREPARED, RunState.RUNNING),
    *(RunState.COLLECTING, RunState.PARSED, RunState.TEARING_DOWN, RunState.VERIFIED_GONE),
)
REPEATS = 2
SECONDS = 0.3
# How far into a state a kill may come; the others last some milliseconds.
MAX_DELAY_S = {RunState.REACHABLE: 0.2, RunState.PREPARED: 0.4, RunState.RUNNING: 1.5}
SEED = 1


@dataclass
class Sweep:
    """Kills the worker again and again, each time in the state that was hit least so far."""

    stack: Stack
    watch: Watch
    hosts: Sequence[Host]
    begin: Callable[..., Run]
    runs: list[Run] = field(default_factory=list)
    hits: Counter[RunState] = field(default_factory=Counter)
    struck: list[tuple[str, str, float]] = field(default_factory=list)
    """(run, its state, when) for each run that a kill met under way."""
    kills: int = 0
    choice: random.Random = field(default_factory=lambda: random.Random(SEED))

    def keep_busy(self) -> None:
        """A new run for each host whose last one ended."""
        others = Run.objects.filter(state__in=TERMINAL_STATES).exclude(state=RunState.DONE)
        assert list(others.values_list("host__name", "failure_reason", "failure_detail")) == []
        busy = set(Run.objects.exclude(state__in=TERMINAL_STATES).values_list("host_id", flat=True))
        for host in self.hosts:
            if host.pk not in busy:
                self.runs.append(self.begin(host, repeats=REPEATS, seconds=SECONDS))

    def next_in(self, state: RunState) -> None:
        """Wait until some run's step of this state is claimed."""
        since = time.time()

        def is_it(change: Change) -> bool:
            return change.state == state and change.token > 0 and change.at >= since

        for _ in range(60):
            self.keep_busy()
            if self.watch.until(is_it, within_s=1):
                return
        raise AssertionError(f"no run came into {state}")

    def is_enough(self) -> bool:
        """Whether as many kills as planned met every state, or too many did not."""
        if len(self.hits) == len(STATES):
            return self.kills >= FORM.kills
        return self.kills >= max(FORM.kills, len(STATES)) + MORE_KILLS

    def kill(self) -> None:
        self.kills += 1
        state = min(STATES, key=lambda state: self.hits[state])
        self.next_in(state)
        time.sleep(self.choice.choice((0, self.choice.uniform(0, MAX_DELAY_S.get(state, 0)))))
        self.stack.kill("worker")
        at = time.time()
        under_way = Step.objects.filter(finished_at=None, lease_until__gt=Now())
        for run, hit in under_way.values_list("run_id", "state"):
            self.hits[RunState(hit)] += 1
            self.struck.append((str(run), hit, at))
        self.stack.up("worker")

    def resumes(self) -> list[tuple[float, str]]:
        """For each run that a kill met: the state, and the seconds from the last kill before the
        next thing that happened to it."""
        self.watch.read()
        found = []
        for run, state, at in self.struck:
            change = self.watch.first_after(run, at)
            if change is not None:
                last = max(kill for _, _, kill in self.struck if kill < change.at)
                found.append((change.at - last, state))
        return found


def test_runs_end_done_when_the_worker_is_killed_in_every_state(stack, make_host, begin):
    targets = [make_host(name) for name in ("first", "second")]
    hosts = [*(host for _, host in targets), host_local(workspace=default_workspace())]
    with (
        case("worker killed in every state", stack.said) as done,
        watching(stack.database.url) as watch,
    ):
        sweep = Sweep(stack, watch, hosts, begin)
        while not sweep.is_enough():
            sweep.kill()
        eventually(ended(*sweep.runs), "the end of every run")
        done.resumes = sweep.resumes()
        hits = ", ".join(f"{state} {sweep.hits[state]}" for state in STATES)
        done.did = f"{sweep.kills} kills of the worker, {len(sweep.runs)} runs ({hits})"
        for run in sweep.runs:
            assert_whole(run, repeats=REPEATS)
        assert set(sweep.hits) == set(STATES)
        assert len(done.resumes) == len(sweep.struck)
        assert done.worst_s <= LEASE_S + RESUME_SLACK_S
        for directory in (stack.target, *(sshd.temporary for sshd, _ in targets)):
            assert_clean(directory)
