"""What a run may ask for."""

import pytest

from backend.domain.errors import InvalidValue
from backend.domain.profiles import PROFILES, checked_parameters, checked_probes, profile_named


def test_profile_is_found_by_name():
    assert profile_named("quick") is PROFILES["quick"]


@pytest.mark.parametrize("name", ["", "Quick", None, 3])
def test_unknown_profile_is_refused(name):
    with pytest.raises(InvalidValue, match="quick, standard, full"):
        profile_named(name)


def test_probes_are_kept_once_and_none_means_all():
    assert checked_probes(None) is None
    assert checked_probes(["dd", "cmips", "dd"]) == ["dd", "cmips"]
    assert checked_probes(["inventory"]) == ["inventory"]


@pytest.mark.parametrize(
    ("names", "field"), [([], "/probes"), (["cmips", "x"], "/probes/1"), ([None], "/probes/0")]
)
def test_unknown_probe_is_refused_by_place(names, field):
    with pytest.raises(InvalidValue) as raised:
        checked_probes(names)
    assert raised.value.field == field


def test_parameters_are_typed():
    given = {"seconds": 5, "repeats": 3.0, "file_bytes": 2**30, "directory": "/data/a b"}
    checked = checked_parameters(given)
    assert checked == given
    assert [type(value) for value in checked.values()] == [float, int, int, str]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", 0), ("seconds", 0.1), ("seconds", 121), ("seconds", "5"), ("seconds", True),
        ("seconds", float("nan")), ("repeats", 2.5), ("repeats", 0), ("file_bytes", 1),
        ("directory", "data"), ("directory", "/a/../b"), ("directory", "/a\nb"), ("directory", 5),
        ("directory", "/" + "a" * 500), ("iodepth", 4),
    ],
)  # fmt: skip
def test_parameter_out_of_its_range_is_refused_by_name(name, value):
    with pytest.raises(InvalidValue) as raised:
        checked_parameters({name: value})
    assert raised.value.field == f"/parameters/{name}"
