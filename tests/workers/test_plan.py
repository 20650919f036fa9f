"""Probes as data, and the plan that is made of them."""

import shlex
import subprocess

import pytest

from backend.domain.metrics import METRICS
from backend.domain.profiles import PROBE_SERIES, PROFILES
from workers.probes.registry import INVENTORY, PROBES, plan, plan_script, seconds_of, series


def steps(planned):
    lines = [shlex.split(line) for line in plan_script(planned).splitlines()]
    return [words[1:] for words in lines if words[0] == "step"]


def test_registry_has_every_series_that_a_run_may_ask_for():
    assert {name: tuple(s.variant for s in probe.series) for name, probe in PROBES.items()} == {
        INVENTORY: ("host",),
        **PROBE_SERIES,
    }


def test_every_series_names_a_metric_that_its_probe_measures():
    for name in PROBE_SERIES:
        assert {s.metric for s in PROBES[name].series} == set(PROBES[name].metrics)
        assert set(PROBES[name].metrics) <= set(METRICS)


def test_unknown_series_is_a_key_error():
    with pytest.raises(KeyError):
        series("cmips", "none")


def test_plan_goes_round_by_round_with_the_inventory_first():
    planned = plan(PROFILES["quick"], None, {}, run_directory="/tmp/r")
    rounds = [("cmips", "all"), ("cmips", "single"), ("memory", "bandwidth"),
              ("memory", "latency"), ("dd", "write"), ("dd", "read")]  # fmt: skip
    expected = [("inventory", "host", "0")]
    expected += [(*pair, str(repeat)) for repeat in range(3) for pair in rounds]
    assert [tuple(words[:3]) for words in steps(planned)] == expected


def test_quick_takes_at_most_ninety_seconds_in_all():
    planned = plan(PROFILES["quick"], None, {}, run_directory="/tmp/r")
    # inventory 1, and three times: cmips 4.5 + 4.5, memory 2 + 3, dd 4 + 4
    assert planned.expected_s == 1 + 3 * (4.5 + 4.5 + 2 + 3 + 4 + 4)
    assert planned.expected_s + planned.profile.quiet_budget_s <= 90
    # after the cap no repeat is begun, and a copy is cut off
    assert planned.profile.time_cap_s + int(planned.values["disk_s"]) <= 90


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
        return plan(PROFILES["quick"], probes, {}, run_directory="/tmp/r").programs

    assert programs("inventory") == ("observe",)
    assert programs("cmips") == ("observe", "cmips")
    assert programs("dd") == ("observe", "memory")


def test_every_word_of_the_plan_is_quoted(tmp_path):
    nasty = "/data/$(touch x) `id`; 'a' \"b\" &"
    planned = plan(PROFILES["quick"], ["dd"], {"directory": nasty}, run_directory="/tmp/r")
    shown = 'step() { printf "%s\\n" "$6"; }; expected() { :; }; quiet_budget() { :; }\n'
    done = subprocess.run(
        ["sh"], input=shown + plan_script(planned), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [nasty] * 7
    assert list(tmp_path.iterdir()) == []


def test_slow_disk_is_cut_off_by_time_not_by_failure():
    planned = plan(PROFILES["quick"], ["dd"], {"file_bytes": 320 * 2**20}, run_directory="/tmp/r")
    words = next(words for words in steps(planned) if words[0] == "dd")
    # 320 MiB at 32 MiB/s are 10 s for the copy, and a minute more before it is given up
    assert words == ["dd", "write", "0", "70", "dd_write", "/tmp/r", "335544320", "10"]


def test_deadline_is_beyond_the_plan():
    for profile in PROFILES.values():
        planned = plan(profile, None, {}, run_directory="/tmp/r")
        assert planned.deadline_s > planned.expected_s + profile.quiet_budget_s


@pytest.mark.parametrize(("formula", "found"), [("20", 20), ("seconds+0.5", 3.5)])
def test_seconds_are_a_number_or_follow_a_value(formula, found):
    assert seconds_of(formula, {"seconds": 3.0}) == found
