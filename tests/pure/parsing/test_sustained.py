"""The share of the first score that is left under a long load."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.metrics import METRICS
from backend.measure.readers import sustained


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def _windows(text: str, *scores: float, window_s: float = 1) -> str:
    """A run of two threads whose windows had these scores."""
    seconds = len(scores) * window_s
    iterations = int(sum(scores) * window_s * 1_024_000)
    return _changed(
        text, windows=scores, window_s=window_s, seconds=seconds, iterations=iterations, cpu_s=1
    )


def test_sustained_compares_the_last_windows_with_the_first_when_recorded(recorded):
    (sample,) = sustained.parse(recorded("sustained-x86_64"))
    assert (sample.metric, sample.variant, sample.unit) == ("cmips_sustained_ratio", "all", "ratio")
    # The median of the last three of twelve windows: 1888.281, 1890.625, 1855.469.
    assert sample.value == pytest.approx(1888.281 / 1567.578)
    parameters = sample.parameters
    assert (parameters["first"], parameters["last"]) == (1567.578, 1888.281)
    assert parameters["worst"] == 1051.953
    assert parameters["drop_ratio"] == pytest.approx(1 - 1888.281 / 1567.578)
    assert parameters["window_s"] == 0.5
    assert parameters["windows"] == json.loads(recorded("sustained-x86_64"))["windows"]
    assert parameters["threads"] == 2


def test_sustained_is_computed_as_its_definition_says():
    """W23: windows, not minutes, on the metric's page as in the arithmetic."""
    metric = METRICS["cmips_sustained_ratio"]
    assert "window" in metric.definition
    assert "a quarter of all, ten at most" in metric.method
    assert (sustained.LAST_PART, sustained.MAX_LAST) == (4, 10)
    assert "minute" not in metric.definition + metric.method


def test_sustained_shows_the_drop_when_a_burst_ends(recorded):
    text = _windows(recorded("sustained-x86_64"), 1000, 990, 980, 400, 310, 300, 290, 300)
    (sample,) = sustained.parse(text)
    # The last quarter of eight windows: (290 + 300) / 2.
    assert sample.value == 0.295
    assert sample.parameters["drop_ratio"] == pytest.approx(0.705)


def test_sustained_takes_ten_windows_as_the_last_when_there_are_very_many(recorded):
    scores = [1000.0] * 2870 + [500.0] * 10
    (sample,) = sustained.parse(_windows(recorded("sustained-x86_64"), *scores))
    assert sample.value == 0.5


def test_sustained_takes_the_last_of_two_when_there_are_no_more(recorded):
    assert sustained.parse(_windows(recorded("sustained-x86_64"), 1000, 900))[0].value == 0.9


def test_sustained_leaves_out_an_incomplete_last_window(recorded):
    text = _changed(_windows(recorded("sustained-x86_64"), 1000, 900), seconds=2.9)
    assert sustained.parse(text)[0].value == 0.9


def test_sustained_keeps_a_window_in_which_the_machine_stood_still(recorded):
    text = _windows(recorded("sustained-x86_64"), 1000, 0, 1000, 1000)
    assert sustained.parse(text)[0].parameters["worst"] == 0


def test_sustained_names_the_thread_count_when_it_is_not_all(recorded):
    text = _changed(recorded("sustained-x86_64"), usable_cpus=4)
    assert sustained.parse(text)[0].variant == "2_threads"


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"windows": None}, "windows is None"),
        ({"windows": []}, "0 windows"),
        ({"windows": [1.0]}, "1 windows"),
        ({"windows": [1.0] * 13}, "13 windows"),
        ({"windows": [1.0] * 11}, "11 windows"),
        ({"windows": [1.0, -1.0]}, "negative"),
        ({"windows": [1.0] * 11 + [1e9]}, "impossible"),
        ({"windows": [1800.0] * 12}, "more than all iterations"),
        ({"windows": [0.0] + [1.0] * 11}, "nothing was done"),
        ({"windows": [1.0] * 9 + [0.0] * 3}, "nothing was done"),
        ({"window_s": 0}, "window_s"),
        ({"window_s": 5e-324}, "12 windows"),
        ({"checksum_ok": False}, "checksum_ok"),
    ],
)
def test_sustained_is_refused_when_a_field_cannot_be(recorded, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        sustained.parse(_changed(recorded("sustained-x86_64"), **fields))


def test_sustained_is_refused_when_the_run_had_no_windows(recorded):
    with pytest.raises(ProbeError, match="window_s"):
        sustained.parse(recorded("cmips-all-x86_64"))
