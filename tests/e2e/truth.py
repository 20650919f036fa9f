"""What must hold about a run, whatever was done to us while it was under way."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from backend.benchmarks.models import TERMINAL_STATES, Run, RunState
from tests.fakes.sshd import processes_in

SERIES = ("cmips_score", "cmips_single_score")
# Between two repeats the runner needs a few hundredths; more only when the machine is busy.
GAP_S = 3.0


def ended(*runs: Run) -> Callable[[], bool]:
    """Whether each is in a terminal state by now."""
    keys = [run.pk for run in runs]
    return lambda: not Run.objects.filter(pk__in=keys).exclude(state__in=TERMINAL_STATES).exists()


def has_results(count: int, *runs: Run) -> Callable[[], bool]:
    """Whether each has so many results stored by now."""
    return lambda: all(run.evidence.count() >= count for run in runs)


def assert_undisturbed(run: Run) -> None:
    """The runner went from repeat to repeat without a break, by the target's own clock."""
    steps = sorted(
        (record["started_s"], record["started_s"] + record["wall_s"])
        for record in run.evidence.values_list("conditions", flat=True)
    )
    gaps = [after[0] - before[1] for before, after in pairwise(steps)]
    assert max(gaps, default=0) < GAP_S, f"the runner paused: {gaps}"
    assert run.runner_s is not None
    assert -0.1 < run.runner_s - steps[-1][1] < GAP_S, (run.runner_s, steps)


def assert_whole(run: Run, *, repeats: int) -> None:
    """A run of cmips is done: each repeat once, each transition once, no break in between."""
    run.refresh_from_db()
    said = list(run.events.values_list("kind", "detail"))
    assert (run.state, run.failure_detail) == (RunState.DONE, ""), said
    taken = Counter(run.samples.values_list("metric", "variant", "repeat"))
    wanted = {(metric, repeat): 1 for metric in SERIES for repeat in range(repeats)}
    assert {(metric, repeat): count for (metric, _, repeat), count in taken.items()} == wanted
    assert len(taken) == len(wanted)
    numbers = sorted(run.evidence.values_list("n", flat=True))
    assert numbers == list(range(1, 2 * repeats + 2))
    states = Counter(detail for kind, detail in said if kind == "state")
    assert set(states.values()) == {1}, states
    assert [kind for kind, _ in said].count("finished") == 1
    assert not run.steps.filter(finished_at=None).exists()
    assert_undisturbed(run)


def assert_part(run: Run, *, reason: str, at_least: int) -> None:
    """A failed run that kept what was measured: repeats without a hole, each once."""
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == (RunState.FAILED, reason), run.failure_detail
    numbers = sorted(run.evidence.values_list("n", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= at_least
    taken = Counter(run.samples.values_list("metric", "variant", "repeat"))
    assert set(taken.values()) == {1}
    assert len(taken) >= at_least - 1  # the inventory has none


def assert_clean(directory: Path) -> None:
    """Nothing of ours is left on the target: no directory, no lock, no process."""
    assert [path.name for path in directory.glob("rackrate-*")] == []
    assert processes_in(directory) == []
