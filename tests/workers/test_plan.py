"""Probes as data, and the plan that is made of them."""

import shlex
import subprocess

import pytest

from backend.measure.probes import INVENTORY, PACKAGES, PROBES
from backend.measure.profiles import PARAMETERS, PROFILES
from workers.remote.probes.plan import plan, plan_script, seconds_of


def steps(made):
    lines = [shlex.split(line) for line in plan_script(made).splitlines()]
    return [words[1:] for words in lines if words[0] == "step"]


EVERYTHING = {
    "peer": "5f0c4b6e-0000-4000-8000-000000000000",
    "directories": ["/data/a", "/data/b c"],
    "device": "/dev/sdb",
    "install_tools": True,
}


def planned(profile="quick", probes=None, peer_port=5201, **parameters):
    return plan(
        PROFILES[profile],
        probes,
        parameters,
        run_directory="/tmp/r",
        peer_address="192.0.2.9",
        peer_port=peer_port,
    )


def test_every_profile_has_a_value_for_every_number_but_two():
    for profile in PROFILES.values():
        assert set(profile.values) == set(PARAMETERS) - {"repeats", "sent_bytes"}


def test_plan_names_the_probes_that_a_full_disk_ends():
    lines = plan_script(planned()).splitlines()
    assert lines[1] == "on_disk dd small_files fio fio_matrix fio_steady local_disk"


def test_variants_fit_into_the_names_of_result_files():
    every = [pair for profile in PROFILES for pair in planned(profile, **EVERYTHING).series]
    assert not any("-" in word for pair in every for word in pair)


def test_plan_goes_round_by_round_with_the_inventory_first():
    rounds = [("cmips", "all"), ("cmips", "single"), ("stress_ng", "all"),
              ("memory", "bandwidth"), ("memory", "latency"), ("dd", "write"), ("dd", "read"),
              ("small_files", "create"), ("fio", "rand_read_qd32"), ("fio", "rand_write_qd32")]  # fmt: skip
    expected = [("inventory", "host", "0")]
    expected += [(*pair, str(repeat)) for repeat in range(3) for pair in rounds]
    assert [tuple(words[:3]) for words in steps(planned())] == expected


def test_series_that_need_a_parameter_are_left_out_without_it():
    def variants(**parameters):
        return {pair for pair in planned(**parameters).series if pair[0] in {"dd", "network"}}

    assert variants() == {("dd", "write"), ("dd", "read")}
    devices = {("dd", "read_outer"), ("dd", "read_inner")}
    assert variants(device="/dev/sdb") == variants() | devices
    network = {("network", variant) for variant in PROBES["network"].variants}
    assert variants(peer=EVERYTHING["peer"]) == variants() | network
    assert variants(peer=EVERYTHING["peer"], peer_port=0) == variants()  # nobody serves them


def test_local_disk_is_measured_on_machines_that_are_rented_only():
    def probes(**parameters):
        return {probe for probe, _ in planned("standard", **parameters).series}

    assert "local_disk" not in probes()
    assert probes(purchase_model="on_demand") == {*probes(), "local_disk"}
    assert planned(probes=["local_disk"]).series == ()


def test_redis_is_measured_once_where_general_performance_contains_it():
    both = planned("full", probes=["redis", "general"]).series
    assert both == (("general", "all"),)
    assert planned("full", probes=["redis"]).series == (("redis", "p16"), ("redis", "p1"))


def test_steady_test_is_taken_when_it_is_named_and_never_else():
    for profile in PROFILES:
        assert "fio_steady" not in {probe for probe, _ in planned(profile, **EVERYTHING).series}
    named = planned(probes=["fio_steady"], steady_s=100, steady_window_s=20, steady_bytes=2**36)
    words = {w[1]: w[3:] for w in steps(named)[1:]}
    assert words["rand_write_qd32"] == [
        "261.8", "disk.sh", "fio_steady", "/tmp/r", "268435456", "randwrite", "4k", "32",
        "1.5", "0.3", "100", "20", "68719476736",
    ]  # fmt: skip


def test_list_of_directories_becomes_as_many_words():
    words = next(w for w in steps(planned(**EVERYTHING)) if w[1] == "write_parallel")
    assert words[4:] == [
        "disk.sh", "dd_parallel", "write", "1073741824", "2", "/data/a", "/data/b c",
    ]  # fmt: skip


def test_network_steps_name_address_and_port_of_the_peer():
    given = {"peer": EVERYTHING["peer"], "network_s": 4, "network_streams": 6}
    words = {w[1]: w[4:] for w in steps(planned(probes=["network"], **given))}
    assert words["tcp_parallel_reverse"] == [
        "network.sh", "tcp", "192.0.2.9", "5201", "4", "6", "reverse", "0",
    ]  # fmt: skip
    assert words["tcp_single"][-3:] == ["1", "forward", "0"]
    assert words["udp"] == [
        "network.sh", "udp", "192.0.2.9", "5201", "4", "100000000", "forward", "0",
    ]  # fmt: skip
    assert words["ping"] == ["network.sh", "ping", "192.0.2.9", "50"]
    other = planned(probes=["network"], peer_address="10.0.0.7", **given)
    assert steps(other)[1][6] == "10.0.0.7"
    rented = planned(probes=["network"], purchase_model="spot", **given)
    assert rented.values["sent_bytes"] > 10**9


def test_nothing_is_installed_for_probes_that_run_no_tool_of_the_host():
    assert steps(planned(probes=["cmips", "dd"], install_tools=True))[0][0] == INVENTORY
    assert steps(planned(probes=["cmips", "fio"], install_tools=True))[0][0] == PACKAGES


def test_matrix_has_each_depth_with_each_number_of_jobs_once():
    chosen = planned(probes=["fio_matrix"], matrix_depths=[1, 8], matrix_jobs=[2], matrix_s=3)
    names = ["read_qd1_jobs2", "read_qd8_jobs2", "write_qd1_jobs2", "write_qd8_jobs2"]
    assert [words[:3] for words in steps(chosen)] == [
        ["inventory", "host", "0"], *(["fio_matrix", name, "0"] for name in names),
    ]  # fmt: skip
    assert steps(chosen)[2][4:] == [
        "disk.sh", "fio_run", "/tmp/r", "268435456", "randread", "4k", "8", "2", "3", "0.3",
    ]  # fmt: skip


def test_tools_are_installed_first_and_only_when_asked():
    assert steps(planned(install_tools=True))[0][4:] == [
        "packages.sh",
        "install",
        "fio",
        "iperf3",
        "stress-ng",
        "sysbench",
        "openssl",
        "redis-cli",
    ]
    assert steps(planned(install_tools=False))[0][0] == INVENTORY


def test_sustained_test_is_taken_once_in_a_full_run():
    taken = [words[:3] for words in steps(planned("full")) if words[0] == "sustained"]
    assert taken == [["sustained", "all", "0"]]
    assert ("sustained", "all") not in planned("full").rule


def test_quick_takes_a_minute_and_ninety_seconds_at_most():
    quick = planned()
    # inventory 1, and three times: cmips 2 + 2, stress-ng 2.5, memory 2 + 3, dd 2 + 2,
    # small files 1, fio 2.3 + 2.3
    assert quick.expected_s == pytest.approx(
        1 + 3 * (2 + 2 + 2.5 + 2 + 3 + 2 + 2 + 1 + 2.3 + 2.3), abs=1e-9
    )
    assert quick.expected_s + float(str(quick.values["quiet_budget_s"])) <= 90
    # after the cap no repeat is begun
    assert quick.profile.time_cap_s + 3.5 <= 90


def test_likely_time_is_bounded_by_the_cap_of_the_profile():
    assert planned().likely_s == planned().expected_s
    standard = planned("standard")
    # at 780 s at most one of the longest tests is under way: 10.5 s of fio
    assert (standard.likely_s, standard.expected_s > 1000) == (780 + 10.5, True)
    # one round that takes longer than the cap is taken all the same
    long = planned("standard", ["sustained"], sustained_s=5000)
    assert long.likely_s == long.expected_s == 1 + 5001


def test_copy_takes_as_long_as_a_size_asked_for_needs():
    asked = plan(PROFILES["quick"], None, {"file_bytes": 3200 * 2**20}, run_directory="/tmp/r")
    assert asked.values["disk_s"] == 100  # at 32 MiB a second


def test_quick_takes_three_repeats_and_standard_stops_by_the_rule():
    quick = plan(PROFILES["quick"], None, {}, run_directory="/tmp/r")
    assert (quick.repeats, dict(quick.rule)) == (3, {})
    standard = plan(PROFILES["standard"], ["cmips", "dd"], {}, run_directory="/tmp/r")
    rule = standard.rule["cmips", "all"]
    assert (rule.min_repeats, rule.max_repeats, rule.half_width_ratio) == (5, 12, 0.03)
    assert standard.rule["dd", "write"].half_width_ratio == 0.05
    assert standard.repeats == 12
    assert plan(PROFILES["standard"], None, {"repeats": 7}, run_directory="/").rule == {}


def test_only_what_is_needed_is_sent():
    def programs(*probes):
        return planned(probes=probes).programs

    assert programs("inventory") == ("observe",)
    assert programs("cmips") == ("observe", "cmips")
    assert programs("dd") == ("observe", "memory")
    assert programs("small_files", "fio") == ("observe", "small_files")


def test_every_word_of_the_plan_is_quoted(tmp_path):
    nasty = "/data/$(touch x) `id`; 'a' \"b\" &"
    text = plan_script(planned(probes=["dd"], directory=nasty, directories=[nasty, "/b"]))
    shown = 'step() { for word; do printf "%s\\n" "$word"; done; }; expected() { :; }\n'
    done = subprocess.run(
        ["sh"], input=f"{shown}quiet_budget() {{ :; }}\non_disk() {{ :; }}\n{text}", capture_output=True, text=True,
        cwd=tmp_path,
    )  # fmt: skip
    # the inventory, and in each of three rounds write, read and both in parallel
    assert done.stdout.splitlines().count(nasty) == 1 + 3 * 4
    assert (done.stderr, list(tmp_path.iterdir())) == ("", [])


def test_slow_disk_is_cut_off_by_time_not_by_failure():
    words = next(w for w in steps(planned(probes=["dd"], file_bytes=320 * 2**20)) if w[0] == "dd")
    # 320 MiB at 32 MiB/s are 10 s for the copy, and a minute more before it is given up
    assert words == ["dd", "write", "0", "70", "disk.sh", "dd_write", "/tmp/r", "335544320", "10"]


def test_deadline_is_beyond_the_plan():
    for name, profile in PROFILES.items():
        made = planned(name)
        assert made.deadline_s > made.expected_s + profile.values["quiet_budget_s"]


@pytest.mark.parametrize(("formula", "found"), [("20", 20), ("seconds+0.5", 3.5)])
def test_seconds_are_a_number_or_follow_a_value(formula, found):
    assert seconds_of(formula, {"seconds": 3.0}) == found
