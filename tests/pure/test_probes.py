"""The table of probes."""

import pytest

from backend.measure.metrics import METRICS
from backend.measure.probes import CHOICES, PROBES, probes_to_measure, series_of
from backend.measure.probes.disk import MATRIX


def test_every_series_names_a_metric_that_its_probe_measures():
    for name in CHOICES:
        assert {s.metric for s in PROBES[name].series} <= set(PROBES[name].metrics)
        assert set(PROBES[name].metrics) <= set(METRICS)
    for variant in ("read_qd1_jobs1", "write_qd64_jobs4"):
        assert series_of(MATRIX, variant).metric in PROBES[MATRIX].metrics


def test_unknown_series_is_a_key_error():
    with pytest.raises(KeyError):
        series_of("cmips", "none")
    with pytest.raises(KeyError):
        series_of(MATRIX, "read")  # only its single tests have a command


def test_series_of_a_grid_has_its_depth_and_jobs_in_its_command():
    series = series_of(MATRIX, "write_qd064_jobs4")
    assert series.variant == "write_qd064_jobs4"
    assert "64" in series.command
    assert "4" in series.command
    assert not any("{depth}" in word or "{jobs}" in word for word in series.command)


def test_variants_of_a_probe_are_those_of_its_series():
    assert PROBES["cmips"].variants == ("all", "single")
    assert series_of("cmips", "single") is PROBES["cmips"].series[1]


def test_probe_is_left_to_the_one_that_contains_it():
    assert probes_to_measure({"redis", "cmips"}) == ["cmips", "redis"]
    assert probes_to_measure({"redis", "general", "cmips"}) == ["cmips", "general"]
    assert probes_to_measure({"inventory", "nothing"}) == []
