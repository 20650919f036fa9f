"""The table of states, and the one way to move between them."""

import pytest

from backend.benchmarks.models import TERMINAL_STATES, Run, RunState
from backend.benchmarks.services.transitions import TRANSITIONS, StaleState, move
from tests import factories
from workers.engine import rented_steps
from workers.engine.dispatch import HANDLERS


def reachable_from(state):
    found, open_states = set(), {state}
    while open_states:
        found |= open_states
        open_states = {after for s in open_states for after in TRANSITIONS[s]} - found
    return found


def test_table_knows_every_state_and_ends_only_in_terminal_ones():
    assert set(TRANSITIONS) == set(RunState)
    assert {state for state, after in TRANSITIONS.items() if not after} == set(TERMINAL_STATES)


def test_every_state_is_reached_and_comes_to_an_end():
    assert reachable_from(RunState.QUEUED) == set(RunState)
    for state in RunState:
        assert reachable_from(state) & set(TERMINAL_STATES)


def test_every_end_but_of_an_unbegun_run_passes_the_teardown():
    assert TRANSITIONS[RunState.QUEUED] & set(TERMINAL_STATES) == {"failed", "cancelled"}
    for state, following in TRANSITIONS.items():
        if following & set(TERMINAL_STATES) and state != RunState.QUEUED:
            assert state in {RunState.TEARING_DOWN, RunState.VERIFIED_GONE}


def test_every_state_of_a_run_on_a_standing_machine_has_a_handler():
    launched_only = {RunState.BUDGET_RESERVED, RunState.LAUNCHING, RunState.BOOTING}
    followed = {RunState.RUNNING}  # by the poller
    assert set(HANDLERS) == set(RunState) - set(TERMINAL_STATES) - launched_only - followed


def test_every_state_of_a_run_on_a_rented_machine_has_a_handler():
    # A running one is followed, and worked on when its host falls silent.
    assert set(rented_steps.HANDLERS) == set(RunState) - set(TERMINAL_STATES)


@pytest.mark.django_db
@pytest.mark.parametrize("source", list(RunState))
def test_move_follows_the_table_and_nothing_else(source):
    run = factories.run()
    for target in RunState:
        Run.objects.filter(pk=run.pk).update(state=source, finished_at=None)
        run.refresh_from_db()
        if target in TRANSITIONS[source]:
            move(run, target)
            assert run.state == target
            assert (run.finished_at is not None) == (target in TERMINAL_STATES)
        else:
            with pytest.raises(ValueError, match="cannot go"):
                move(run, target)


@pytest.mark.django_db
def test_move_fails_when_somebody_else_moved_the_run():
    run = factories.run()
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    with pytest.raises(StaleState):
        move(run, RunState.REACHABLE)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
