"""Whether a run measured less than another one: false alarms, losses, and what cannot be said."""

import itertools
import random
import sys

import pytest

from backend.benchmarks.calc.run_changes import RunChange, metric_change, overall
from backend.measure.metrics import METRICS
from backend.measure.profiles import PROFILES
from backend.measure.stats import StoppingRule, is_settled

CMIPS = METRICS["cmips_score"]
LATENCY = METRICS["net_rtt_ns"]
# What one run differs from another by is in the repeats of neither.
DAY_CV = 0.005


def change(before, after, *, metric=CMIPS, cv=0.0, count=1, least=0.05):
    return metric_change(metric, "x", before, after, cv=cv, count=count, least_loss_ratio=least)


def series(random_numbers, metric, level, repeat_cv):
    """Repeats of one series of the profile standard, until it is settled."""
    standard = PROFILES["standard"]
    rule = StoppingRule(standard.min_repeats, standard.max_repeats, metric.target_half_width_ratio)
    centre = level * random_numbers.lognormvariate(0, DAY_CV)
    values = []
    while len(values) < 2 or not is_settled(values, rule):
        values.append(centre * random_numbers.lognormvariate(0, repeat_cv))
    return values


def gated(seed, *, loss_ratio):
    """The outcome for two runs of eight metrics each, of which the first has lost so much."""
    numbers = random.Random(seed)
    cvs = [0.005, 0.01, 0.02, 0.03, 0.005, 0.01, 0.02, 0.03]
    lost = [loss_ratio] + [0.0] * 7
    return overall(
        change(
            series(numbers, CMIPS, 1000, cv),
            series(numbers, CMIPS, 1000 * (1 - share), cv),
            count=len(cvs),
        )
        for cv, share in zip(cvs, lost, strict=True)
    )


def test_equal_runs_raise_no_more_than_5_percent_false_alarms():
    outcomes = [gated(seed, loss_ratio=0.0) for seed in range(200)]
    alarms = outcomes.count(RunChange.WORSE)
    sys.stdout.write(f"{alarms} false alarms of 200\n")
    assert alarms <= 10


@pytest.mark.parametrize("cv", [0.005, 0.01, 0.02])
def test_loss_of_a_tenth_is_seen_in_95_percent_of_pairs(cv):
    numbers = random.Random(17)
    outcomes = [
        change(series(numbers, CMIPS, 1000, cv), series(numbers, CMIPS, 900, cv), count=8).outcome
        for _ in range(200)
    ]
    seen = outcomes.count(RunChange.WORSE)
    sys.stdout.write(f"a loss of a tenth is seen {seen} times of 200 at a CV of {cv}\n")
    assert seen >= 190


def test_loss_in_one_of_eight_metrics_is_seen():
    outcomes = [gated(seed, loss_ratio=0.1) for seed in range(200)]
    seen = outcomes.count(RunChange.WORSE)
    sys.stdout.write(f"a loss in one of eight metrics is seen {seen} times of 200\n")
    assert seen >= 190


def test_quiet_runs_that_are_equal_are_fine():
    numbers = random.Random(3)
    outcomes = [
        change(
            series(numbers, CMIPS, 1000, 0.01), series(numbers, CMIPS, 1000, 0.01), count=8
        ).outcome
        for _ in range(200)
    ]
    assert outcomes.count(RunChange.FINE) >= 190


QUIET = [100.0, 100.5, 99.5, 100.2, 99.8]


def scaled(values, factor):
    return [value * factor for value in values]


@pytest.mark.parametrize(
    ("factor", "outcome", "is_apart"),
    [
        (1.0, RunChange.FINE, False),
        (1.2, RunChange.FINE, True),
        (0.97, RunChange.FINE, True),
        (0.95, RunChange.WORSE, True),
        (0.9, RunChange.WORSE, True),
        (0.952, RunChange.UNCLEAR, True),
    ],
)
def test_change_is_fine_worse_or_unclear(factor, outcome, is_apart):
    made = change(QUIET, scaled(QUIET, factor))
    assert (made.outcome, made.is_apart) == (outcome, is_apart)
    assert made.change_ratio == pytest.approx(factor - 1)
    assert (made.metric, made.variant, made.unit) == ("cmips_score", "x", CMIPS.unit)


def test_more_is_worse_where_less_is_better():
    assert change(QUIET, scaled(QUIET, 1.1), metric=LATENCY).outcome == RunChange.WORSE
    assert change(QUIET, scaled(QUIET, 0.9), metric=LATENCY).outcome == RunChange.FINE


def test_noisy_repeats_leave_it_unclear():
    noisy = [100.0, 70.0, 130.0, 90.0, 110.0]
    assert change(noisy, scaled(noisy, 0.9)).outcome == RunChange.UNCLEAR


def test_two_machines_differ_by_their_stated_spread_too():
    lower = scaled(QUIET, 0.9)
    assert change(QUIET, lower).outcome == RunChange.WORSE
    assert change(QUIET, lower, cv=0.28).outcome == RunChange.UNCLEAR


def test_single_repeats_decide_nothing_small():
    assert change([100.0], [94.0]).outcome == RunChange.UNCLEAR
    assert change([100.0], [50.0]).outcome == RunChange.WORSE


def test_values_of_zero_have_no_ratio():
    made = change([0.0, 0.0], [0.0, 0.0])
    assert (made.change_ratio, made.outcome) == (None, RunChange.FINE)
    made = change([0.0, 0.0], [1.0, 1.0])
    assert (made.change_ratio, made.is_apart, made.outcome) == (None, True, RunChange.UNCLEAR)


def test_worse_comes_before_unclear_and_nothing_compared_is_unclear():
    fine, worse, unclear = (
        change(QUIET, QUIET), change(QUIET, scaled(QUIET, 0.5)), change([100.0], [96.0])
    )  # fmt: skip
    for order in itertools.permutations([fine, worse, unclear]):
        assert overall(order) == RunChange.WORSE
    assert overall([fine, unclear]) == RunChange.UNCLEAR
    assert overall([fine]) == RunChange.FINE
    assert overall([]) == RunChange.UNCLEAR
