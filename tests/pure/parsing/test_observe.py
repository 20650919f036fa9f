"""The conditions record, the time series beside it, and the runner's status."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import observe, runner_status


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def test_observe_has_the_conditions_of_a_complete_repeat(recorded):
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


def test_observe_has_the_clocks_of_a_written_series(recorded):
    conditions = observe.parse(recorded("observe-clocks"))
    assert (conditions.mhz_min, conditions.mhz_mean) == (2596.1, 2596.1)
    text = _changed(recorded("observe-clocks"), mhz_min=None, mhz_mean=None)
    assert observe.parse(text).mhz_mean is None


def test_observe_has_no_clocks_when_the_record_is_of_an_older_version(recorded):
    conditions = observe.parse(recorded("observe-complete"))
    assert (conditions.mhz_min, conditions.mhz_mean) == (None, None)


HEADER = (
    "t_s cpu_ratio steal_ratio iowait_ratio mhz load disk_read_bytes_per_s disk_write_bytes_per_s "
    "net_receive_bytes_per_s net_send_bytes_per_s\n"
)


def test_series_gives_a_column_of_each_name_when_it_is_recorded(recorded):
    assert observe.series(recorded("observe-series")) == {
        "t_s": [1.0, 2.0, 3.0, 3.411],
        "cpu_ratio": [0.7649, 0.6048, 0.815, 0.985],
        "steal_ratio": [0, 0, 0.04, 0.0122],
        "iowait_ratio": [0.065, 0, 0.005, 0],
        "mhz": [2596.1] * 4,
        "load": [0.98] * 4,
        "disk_read_bytes_per_s": [389_090, 0, 1_982_553, 0],
        "disk_write_bytes_per_s": [311_292_503, 20_475, 16_385, 0],
        "net_receive_bytes_per_s": [0] * 4,
        "net_send_bytes_per_s": [0] * 4,
    }


def test_series_has_none_where_the_machine_gives_no_value():
    columns = observe.series(HEADER + "1.000 0.5 - - - 0.10 - - 7 8\n")
    assert {name: values[0] for name, values in columns.items()} == {
        "t_s": 1.0,
        "cpu_ratio": 0.5,
        "steal_ratio": None,
        "iowait_ratio": None,
        "mhz": None,
        "load": 0.1,
        "disk_read_bytes_per_s": None,
        "disk_write_bytes_per_s": None,
        "net_receive_bytes_per_s": 7,
        "net_send_bytes_per_s": 8,
    }


def test_series_leaves_out_the_last_line_when_it_is_cut_anywhere(recorded):
    text = recorded("observe-series")
    whole = observe.series(text)["t_s"]
    for length in range(len(HEADER), len(text)):
        times = observe.series(text[:length])["t_s"]
        assert times == whole[: text.count("\n", 0, length) - 1]


def test_series_is_empty_when_only_its_header_was_written():
    assert set(map(tuple, observe.series(HEADER).values())) == {()}


@pytest.mark.parametrize(
    ("text", "detail", "line"),
    [
        ("", "names of its columns", 1),
        (HEADER[:-1], "names of its columns", 1),
        ("1 2 3\n", "names of its columns", 1),
        (HEADER + "1 0 0 0 0 0 0 0 0\n", "9 values", 2),
        (HEADER + "1 0 0 0 0 0 0 0 0 0 0\n", "11 values", 2),
        (HEADER + "1 0 0 0 0 0 0 0 0 0\n1 0 0 0 0 0 0 0 0 0\n", "does not grow", 3),
        (HEADER + "- 0 0 0 0 0 0 0 0 0\n", "does not grow", 2),
        (HEADER + "1 1.1 0 0 0 0 0 0 0 0\n", "cpu_ratio is 1.1", 2),
        (HEADER + "1 nan 0 0 0 0 0 0 0 0\n", "cpu_ratio is 'nan'", 2),
        (HEADER + "1 0 0 0 -1 0 0 0 0 0\n", "mhz is '-1'", 2),
        (HEADER + "1 0 0 0 0,5 0 0 0 0 0\n", "mhz is '0,5'", 2),
        (HEADER + "1 0 0 0 \u0661 0 0 0 0 0\n", "mhz", 2),
        (HEADER + "1 0 0 0 " + "9" * 31 + " 0 0 0 0 0\n", "mhz", 2),
        (HEADER + "\n", "1 values", 2),
    ],
)
def test_series_is_refused_when_a_line_cannot_be(text, detail, line):
    with pytest.raises(ProbeError, match=detail) as refused:
        observe.series(text)
    assert refused.value.line == line


def test_series_is_refused_when_it_is_longer_than_any_of_ours():
    lines = "".join(f"{second} 0 0 0 - 0 0 0 0 0\n" for second in range(10_001))
    with pytest.raises(ProbeError, match="more than 10000 lines"):
        observe.series(HEADER + lines + lines)
    assert len(observe.series(HEADER + lines[: lines.index("10000 ")])["t_s"]) == 10_000


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
        ({"probe": "p" * 21}, "is too long"),
        ({"variant": "v" * 41}, "is too long"),
        ({"boot_id": "b" * 4096}, "a status of 4"),
    ],
)
def test_runner_status_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        runner_status.parse(_changed(recorded("runner-finished"), **fields))


def test_observe_separates_foreign_user_time_where_observed(recorded):
    assert observe.parse(recorded("observe-complete")).foreign_user_ratio is None
    text = _changed(recorded("observe-complete"), foreign_user_ratio=0.0123)
    assert observe.parse(text).foreign_user_ratio == 0.0123
