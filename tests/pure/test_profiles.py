"""What a run may ask for."""

import pytest

from backend.foundation.errors import InvalidValue
from backend.measure.profiles import (
    PARAMETERS,
    PROFILES,
    check_own,
    check_parameters,
    check_probes,
    may_measure,
    most_sent_bytes,
    profile_named,
    rental_parameters,
)


@pytest.mark.parametrize(
    ("given", "installs"),
    [
        ({}, True),
        ({"install_tools": False}, False),
        # iperf3 would be installed on the peer, too, which is somebody's own.
        ({"peer": "8c0b7c8e-0a4f-4a64-a0a8-1d2f30f1a111"}, None),
        ({"peer": "8c0b7c8e-0a4f-4a64-a0a8-1d2f30f1a111", "install_tools": True}, True),
        ({"careful": True}, None),
    ],
)
def test_tools_are_installed_on_rented_machines_unless_said_otherwise(given, installs):
    parameters = check_parameters(rental_parameters(given))
    assert parameters.get("install_tools") is installs
    assert parameters["purchase_model"] == "on_demand"
    assert rental_parameters({"purchase_model": "spot"})["purchase_model"] == "spot"


def test_profile_is_loaded_by_name():
    assert profile_named("quick") is PROFILES["quick"]


@pytest.mark.parametrize("name", ["", "Quick", None, 3])
def test_unknown_profile_is_refused(name):
    with pytest.raises(InvalidValue, match="quick, standard, full"):
        profile_named(name)


def test_probes_are_kept_once_and_none_means_all():
    assert check_probes(None) is None
    assert check_probes(["dd", "cmips", "dd"]) == ["dd", "cmips"]
    assert check_probes(["inventory"]) == ["inventory"]


@pytest.mark.parametrize(
    ("names", "field"), [([], "/probes"), (["cmips", "x"], "/probes/1"), ([None], "/probes/0")]
)
def test_unknown_probe_is_refused_by_pointer(names, field):
    with pytest.raises(InvalidValue) as raised:
        check_probes(names)
    assert raised.value.field == field


def test_probe_that_formats_a_disk_is_refused_on_machines_of_ones_own():
    check_own(None)
    check_own(["inventory", "dd", "fio", "network"])
    with pytest.raises(InvalidValue) as raised:
        check_own(["dd", "local_disk"])
    assert raised.value.field == "/probes/1"


def test_parameters_are_typed():
    given = {"seconds": 5, "repeats": 3.0, "file_bytes": 2**30, "directory": "/data/a b"}
    checked = check_parameters(given)
    assert checked == given
    assert [type(value) for value in checked.values()] == [float, int, int, str]


def test_parameters_may_be_lists_flags_and_identifiers():
    given = {
        "directories": ["/data/a", "/data/b"],
        "device": "/dev/disk/by-id/nvme-x",
        "peer": "5F0C4B6E-0000-4000-8000-000000000000",
        "peer_address": "10.0.0.7",
        "install_tools": True,
        "matrix_depths": [8, 1, 8],
        "matrix_jobs": [1],
        "purchase_model": "spot",
        "credit_mode": "unlimited",
        "lifetime_s": 3600,
    }
    assert check_parameters(given) == {
        **given,
        "peer": "5f0c4b6e-0000-4000-8000-000000000000",
        "matrix_depths": [1, 8],
    }


def test_nothing_is_installed_on_a_host_in_production():
    with pytest.raises(InvalidValue) as raised:
        check_parameters({"careful": True, "install_tools": True})
    assert raised.value.field == "/parameters/install_tools"


def test_disks_of_a_host_in_production_are_left_alone():
    assert not may_measure("fio", {"careful": True})
    assert may_measure("fio", {"careful": False})
    assert may_measure("cmips", {"careful": True})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("directories", "/a"), ("directories", ["/a"]), ("directories", ["/a", "/a"]),
        ("directories", ["/a"] * 17), ("directories/1", ["/a", "b"]),
        ("device", "sdb"), ("device", "/dev/../etc/passwd"), ("device", 3),
        ("peer", "rack 1"), ("peer_address", 5), ("peer_address", "-oProxyCommand=x"),
        ("install_tools", "yes"), ("matrix_depths", 8), ("matrix_depths", []),
        ("purchase_model", "reserved"), ("purchase_model", ["spot"]), ("lifetime_s", 59),
        ("credit_mode", "free"), ("credit_mode", None), ("lifetime_s", "1 h"), ("lifetime_s", 1e9),
        ("matrix_depths/1", [1, 0]), ("matrix_jobs/0", ["a"]), ("matrix_jobs", [1] * 13),
    ],
)  # fmt: skip
def test_parameter_of_another_kind_is_refused_by_pointer(field, value):
    with pytest.raises(InvalidValue) as raised:
        check_parameters({field.split("/")[0]: value})
    assert raised.value.field == f"/parameters/{field}"


def test_rented_machines_alone_may_send_so_much_and_no_more():
    assert most_sent_bytes("standard", {}) == 0
    assert most_sent_bytes("standard", {"purchase_model": "spot"}) == 50 * 10**9
    for parameters in ({}, {"purchase_model": "spot"}):
        assert most_sent_bytes("full", {**parameters, "sent_bytes": 10**9}) == 10**9


def test_every_profile_has_a_value_for_every_parameter_but_two():
    for profile in PROFILES.values():
        assert set(profile.values) == set(PARAMETERS) - {"repeats", "sent_bytes"}
        for name, value in profile.values.items():
            assert PARAMETERS[name].low <= value <= PARAMETERS[name].high


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", 0), ("seconds", 0.1), ("seconds", 121), ("seconds", "5,5"), ("seconds", True),
        ("seconds", float("nan")), ("repeats", 2.5), ("repeats", 0), ("file_bytes", 1),
        ("directory", "data"), ("directory", "/a/../b"), ("directory", "/a\nb"), ("directory", 5),
        ("directory", "/" + "a" * 500), ("iodepth", 4),
    ],
)  # fmt: skip
def test_parameter_out_of_its_range_is_refused_by_name(name, value):
    with pytest.raises(InvalidValue) as raised:
        check_parameters({name: value})
    assert raised.value.field == f"/parameters/{name}"
