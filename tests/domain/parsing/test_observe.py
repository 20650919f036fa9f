"""The conditions record and the runner's status."""

import json

import pytest

from backend.domain.errors import ProbeError
from backend.domain.parsing import observe, runner_status


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def test_observe_tells_the_conditions_when_the_repeat_was_whole(recorded):
    conditions = observe.parse(recorded("observe-complete"))
    assert (conditions.probe, conditions.variant, conditions.repeat) == ("cmips", "all", 0)
    assert (conditions.exit_code, conditions.signal) == (0, None)
    assert conditions.command == "bin/cmips --threads all --seconds 1"
    assert conditions.is_complete
    assert conditions.wall_s > 1


def test_observe_is_not_complete_when_the_timeout_ended_the_repeat(recorded):
    conditions = observe.parse(recorded("observe-timeout"))
    assert (conditions.exit_code, conditions.signal) == (None, 15)
    assert conditions.is_timed_out
    assert not conditions.is_complete


@pytest.mark.parametrize("fields", [{"exit_code": 1}, {"timed_out": True}, {"cancelled": True}])
def test_observe_is_not_complete_when_the_command_failed_or_was_ended(recorded, fields):
    assert not observe.parse(_changed(recorded("observe-complete"), **fields)).is_complete


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"exit_code": None}, "exactly one"),
        ({"signal": 9}, "exactly one"),
        ({"wall_s": 0}, "wall_s"),
        ({"foreign_cpu_ratio": -0.1}, "foreign_cpu_ratio"),
        ({"is_quiet": "yes"}, "is_quiet"),
        ({"command": None}, "command"),
    ],
)
def test_observe_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        observe.parse(_changed(recorded("observe-complete"), **fields))


def test_runner_status_is_over_when_the_run_is_finished(recorded):
    status = runner_status.parse(recorded("runner-finished"))
    assert (status.state, status.progress, status.step, status.failure) == (
        "finished",
        1.0,
        10,
        None,
    )
    assert status.is_over


def test_runner_status_has_no_probe_when_nothing_ran_yet(recorded):
    text = _changed(
        recorded("runner-finished"),
        state="running",
        probe=None,
        variant=None,
        repeat=None,
        step=0,
        progress=0,
    )
    status = runner_status.parse(text)
    assert (status.probe, status.variant, status.repeat) == (None, None, None)
    assert not status.is_over


def test_runner_status_names_the_failure_when_the_disk_was_full(recorded):
    text = _changed(recorded("runner-finished"), state="failed", failure="disk_full")
    assert runner_status.parse(text).failure == "disk_full"


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"state": "done"}, "state"),
        ({"failure": "tired"}, "failure"),
        ({"progress": 1.1}, "progress"),
        ({"step": 11}, "step 11 of 10"),
        ({"pid": 0}, "pid"),
        ({"boot_id": None}, "boot_id"),
    ],
)
def test_runner_status_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        runner_status.parse(_changed(recorded("runner-finished"), **fields))
