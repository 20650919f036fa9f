import math
import random
from operator import itemgetter
from statistics import NormalDist
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InsufficientSamples, InvalidValue
from backend.measure import stats
from backend.measure.stats import IntervalBasis, StoppingRule
from backend.measure.student_t import MAX_EXACT_DEGREES, _t_quantile_expanded, t_quantile

values_above_zero = st.floats(0.01, 1e12)
QUICK = StoppingRule(min_repeats=3, max_repeats=12, half_width_ratio=0.03)


def summarise(values_by_instance, cv=0.05, target=0.03):
    """Each machine's values in one run, unless they are given by run."""
    machines = {
        name: values if isinstance(values, dict) else {"run": values}
        for name, values in values_by_instance.items()
    }
    return stats.summary(machines, between_instance_cv=cv, target_half_width_ratio=target)


def ends(values):
    interval = stats.order_interval(values)
    return interval.low, interval.high


# --- Student's t ---


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [
        (0.975, 1, 12.706204736),
        (0.975, 2, 4.302652730),
        (0.975, 3, 3.182446305),
        (0.975, 4, 2.776445105),
        (0.975, 5, 2.570581836),
        (0.975, 9, 2.262157163),
        (0.975, 10, 2.228138852),
        (0.975, 20, 2.085963447),
        (0.975, 30, 2.042272456),
        (0.975, 60, 2.000297822),
        (0.975, 100, 1.983971519),
        (0.975, 120, 1.979930405),
        (0.975, 1000, 1.962339081),
        (0.975, 10**9, 1.959963985),
        (0.995, 2, 9.924843201),
        (0.95, 5, 2.015048373),
        (0.5, 7, 0.0),
        (0.025, 9, -2.262157163),
    ],
)
def test_t_quantile_equals_the_printed_tables(probability, degrees, expected):
    assert t_quantile(probability, degrees) == pytest.approx(expected, abs=1e-8)


def test_t_quantile_joins_smoothly_where_the_series_ends():
    exact = t_quantile(0.975, MAX_EXACT_DEGREES)
    expanded = _t_quantile_expanded(NormalDist().inv_cdf(0.975), MAX_EXACT_DEGREES)
    assert exact == pytest.approx(expanded, abs=5e-9)


@pytest.mark.parametrize(("probability", "degrees"), [(0.0, 3), (1.0, 3), (0.975, 0)])
def test_t_quantile_refuses_what_has_none(probability, degrees):
    with pytest.raises(InvalidValue):
        t_quantile(probability, degrees)


# --- plain intervals and the stopping rule ---


def test_t_half_width_of_a_hand_worked_sample():
    # mean 10, s = √((1+0+1)/2) = 1, t(2) = 4.302653, half-width = 4.302653/√3 = 2.484138
    assert stats.t_half_width([9.0, 10.0, 11.0]) == pytest.approx(2.484138, abs=1e-6)
    assert stats.half_width_ratio([9.0, 10.0, 11.0]) == pytest.approx(0.2484138, abs=1e-7)


@pytest.mark.parametrize("function", [stats.half_width_ratio, stats.t_half_width])
def test_t_half_width_needs_two_values(function):
    with pytest.raises(InsufficientSamples):
        function([1.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100.0, 100.0], False),  # precise, but under the minimum
        ([100.0, 100.5, 101.0], True),  # 4.3027 × 0.5 / √3 / 100.5 = 1.24 %
        ([100.0, 102.0, 104.0], False),  # 4.3027 × 2 / √3 / 102 = 4.87 %
        ([50.0, 150.0] * 6, True),  # wild, but at the maximum
    ],
)
def test_is_settled_follows_the_rule(values, expected):
    assert stats.is_settled(values, QUICK) is expected


@pytest.mark.parametrize(("low", "high", "ratio"), [(1, 5, 0.03), (5, 3, 0.03), (3, 5, 0.0)])
def test_stopping_rule_refuses_numbers_that_make_no_rule(low, high, ratio):
    with pytest.raises(InvalidValue):
        StoppingRule(low, high, ratio)


# --- which repeats count ---


def repeat(value, *flags, excluded_reason=""):
    return SimpleNamespace(value=value, flags=list(flags), excluded_reason=excluded_reason)


def test_counted_repeats_are_the_clean_ones_where_there_are_any():
    clean = repeat(2.0, "burstable")
    others = [repeat(1.0, "disturbed"), repeat(3.0, "cached"), repeat(4.0, excluded_reason="test")]
    assert stats.repeats_that_count([*others, clean]) == ([clean], False)


def test_counted_repeats_are_the_unfit_ones_where_none_is_clean():
    unfit = [repeat(1.0, "disturbed"), repeat(3.0, "cached")]
    left_out = repeat(4.0, excluded_reason="test")
    assert stats.repeats_that_count([*unfit, left_out]) == (unfit, True)


def test_counted_repeats_are_none_where_a_person_left_all_out():
    left_out = repeat(4.0, "disturbed", excluded_reason="test")
    assert stats.repeats_that_count([left_out]) == ([], False)


def test_counted_repeats_read_rows_by_the_marks_given():
    row = {"flags": ["disturbed"], "excluded_reason": ""}
    marks = itemgetter("flags", "excluded_reason")
    assert stats.repeats_that_count([row], marks) == ([row], True)


# --- summaries ---


def test_summary_of_one_machine_is_widened_by_the_stated_spread():
    found = summarise({"m": [100.0, 100.0, 100.0]})
    # no repeat spread: half-width = 1.96 × √ln(1 + 0.05²) = 1.96 × 0.0499688 = 0.0979388
    assert found.value == 100.0
    assert found.ci95_low == pytest.approx(100 * math.exp(-0.0979388), rel=1e-7)
    assert found.ci95_high == pytest.approx(100 * math.exp(0.0979388), rel=1e-7)
    assert (found.n_instances, found.n_repeats) == (1, 3)
    assert found.interval_basis == IntervalBasis.REPEATS_WIDENED
    assert found.is_unstable is False


def test_summary_of_one_machine_adds_the_variance_of_its_repeats():
    step = math.exp(0.02)
    found = summarise({"m": [100 / step, 100.0, 100 * step]})
    # v = π/2 · 0.02² / 3 = 2.094395e-4 with 2 degrees, σ² = ln 1.0025 = 2.496879e-3, sum 2.706318e-3:
    # 2 · (2.706318 / 0.2094395)² = 333 degrees, t = 1.967109, half-width 1.967109 · 0.0520223
    assert math.log(found.ci95_high / 100) == pytest.approx(0.1023338, abs=2e-6)
    assert math.log(100 / found.ci95_low) == pytest.approx(0.1023338, abs=2e-6)
    assert found.is_unstable is True  # about 5 % against a target of 3 %


def test_summary_of_runs_that_differ_by_their_days_is_wider():
    """A day is a level of its own (Kalibera and Jones): W2's review, section 5."""
    days = [100.0, 104.0, 98.0, 106.0]
    one_run = summarise({"m": [value for day in days for value in [day] * 3]})
    by_run = summarise({"m": {f"run {n}": [day] * 3 for n, day in enumerate(days)}})
    assert by_run.value == one_run.value
    # logs of the medians: s² = 1.287e-3, v = π/2 · s²/4 = 5.055e-4 against s²·9/11/12 of all repeats
    logs = [math.log(day) for day in days]
    centre = sum(logs) / 4
    variance = math.pi / 2 * sum((x - centre) ** 2 for x in logs) / 3 / 4
    total = variance + math.log1p(0.05**2)
    quantile = t_quantile(0.975, int(3 * (total / variance) ** 2))
    spread = math.log(by_run.ci95_high / by_run.ci95_low) / 2
    assert spread == pytest.approx(quantile * math.sqrt(total), rel=1e-9)
    assert spread > math.log(one_run.ci95_high / one_run.ci95_low) / 2


def test_summary_of_runs_that_agree_rests_on_all_repeats():
    values = [99.0, 100.0, 101.0]
    one_run = summarise({"m": values * 2})
    assert summarise({"m": {"a": values, "b": values}}) == one_run


def test_summary_of_two_machines_uses_the_spread_between_them():
    found = summarise({"a": [100.0, 100.0], "b": [130.0, 130.0]})
    # spread of the two log medians: ln 1.3 / √2 = 0.185520; half-width 1.96 × 0.185520 / √2
    assert found.value == 115.0
    centre = math.sqrt(100 * 130)
    assert math.log(found.ci95_high / centre) == pytest.approx(0.257117, abs=1e-5)
    assert found.ci95_low < 100
    assert found.ci95_high > 130


def test_summary_of_two_like_machines_uses_the_stated_spread():
    found = summarise({"a": [100.0, 100.0], "b": [100.0, 100.0]})
    # 0.0979388 / √2 = 0.0692532
    assert math.log(found.ci95_high / 100) == pytest.approx(0.0692532, abs=1e-6)


def test_summary_of_two_machines_pools_the_repeats_within_each():
    up = math.exp(0.02)
    found = summarise({"a": [100 / up, 100.0, 100 * up], "b": [100 / up, 100.0, 100 * up]}, cv=0.0)
    # s = √(4 × 0.02² / 4) = 0.02 with 6 − 2 = 4 degrees: 2.776445 × 0.02 / √6 × √(π/2) = 0.0284121
    assert math.log(found.ci95_high / 100) == pytest.approx(0.0284121, abs=1e-6)


def test_summary_of_a_single_figure_has_the_stated_spread():
    """W2: a figure of one repeat on one machine was a point, certain to rank where it stood."""
    found = summarise({"m": [100.0]}, cv=0.28)
    # σ = √ln(1 + 0.28²) = 0.2747334, 1.96 · σ = 0.5384775
    assert found.interval_basis == IntervalBasis.STATED_SPREAD
    assert math.log(found.ci95_high / 100) == pytest.approx(0.5384775, abs=1e-6)
    assert math.log(100 / found.ci95_low) == pytest.approx(0.5384775, abs=1e-6)


def test_summary_of_single_repeats_has_the_spread_of_its_machines():
    """W2: two machines with one sample each."""
    found = summarise({"a": [100.0], "b": [130.0]})
    assert found.interval_basis == IntervalBasis.STATED_SPREAD
    # of the two log values, as they differ by more than 5 %: 1.96 · ln 1.3 / √2 / √2
    assert math.log(found.ci95_high / found.ci95_low) == pytest.approx(2 * 0.257117, abs=1e-5)
    assert found.is_unstable is False


@pytest.mark.parametrize("count", [3, 7])
def test_summary_of_machines_that_agree_to_the_last_digit_is_no_point(count):
    found = summarise({f"m{n}": [100.0, 100.0] for n in range(count)})
    assert found.interval_basis == IntervalBasis.REPEATS_WIDENED
    assert math.log(found.ci95_high / 100) == pytest.approx(0.0979388 / math.sqrt(count), abs=1e-6)


def test_summary_never_takes_repeats_for_machines():
    one = summarise({"a": [100.0 + i / 10 for i in range(10)]})
    assert one.interval_basis == IntervalBasis.REPEATS_WIDENED
    assert (one.n_instances, one.n_repeats) == (1, 10)
    # a machine measured more often does not pull the value its way
    assert summarise({"a": [100.0] * 9, "b": [130.0], "c": [131.0]}).value == 130.0


def test_summary_of_three_machines_is_the_t_interval_of_logs():
    found = summarise({"a": [100 / math.e], "b": [100.0], "c": [100 * math.e]})
    # logs −1, 0, 1 around ln 100: half-width 4.302653/√3 = 2.484138
    assert found.interval_basis == IntervalBasis.INSTANCES_T
    assert math.log(found.ci95_high / 100) == pytest.approx(2.484138, abs=1e-6)
    assert math.log(100 / found.ci95_low) == pytest.approx(2.484138, abs=1e-6)


def test_summary_of_six_machines_rests_on_their_order():
    found = summarise({f"m{n}": [100.0 + n * n] for n in range(6)})
    assert found.interval_basis == IntervalBasis.INSTANCES_ORDER
    assert (found.ci95_low, found.ci95_high) == ends([100.0 + n * n for n in range(6)])
    assert summarise({f"m{n}": [100.0 + n] for n in range(5)}).interval_basis == "instances_t"


def test_summary_does_not_depend_on_the_order_of_machines():
    machines = {f"m{i}": [90.0 + i * i] for i in range(12)}
    assert summarise(machines) == summarise(dict(reversed(machines.items())))


@pytest.mark.parametrize(
    ("series", "is_unstable"),
    [
        ({"a": [100.0, 100.1, 100.2]}, False),
        ({"a": [100.0, 110.0, 120.0]}, True),
        # the typical machine decides: one wild series among three is an outlier
        ({"a": [100.0, 110.0, 120.0], "b": [100.0, 100.1], "c": [100.0, 100.1]}, False),
    ],
)
def test_summary_is_unstable_when_repeats_end_above_their_target(series, is_unstable):
    assert summarise(series).is_unstable is is_unstable


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=3),
        st.lists(values_above_zero, min_size=1, max_size=6),
        min_size=1,
        max_size=9,
    )
)
def test_summary_interval_holds_its_value(series):
    found = summarise(series)
    assert found.n_repeats == sum(map(len, series.values()))
    assert 0 < found.ci95_low <= found.value <= found.ci95_high
    assert found.ci95_low < found.ci95_high


@pytest.mark.parametrize("series", [{}, {"a": []}])
def test_summary_needs_a_value(series):
    with pytest.raises(InsufficientSamples):
        summarise(series)


@pytest.mark.parametrize("value", [0.0, -3.0, math.nan, math.inf])
def test_summary_refuses_a_value_that_is_not_above_zero(value):
    with pytest.raises(InvalidValue):
        summarise({"a": [1.0, value]})


def test_summary_refuses_a_negative_stated_spread():
    with pytest.raises(InvalidValue):
        summarise({"a": [1.0, 1.0]}, cv=-0.1)


def test_instances_t_covers_95_of_100_true_values():
    draw = random.Random(3)
    hits = 0
    for _ in range(2000):
        found = summarise({str(i): [draw.lognormvariate(5, 0.1)] for i in range(4)})
        hits += found.ci95_low <= math.exp(5) <= found.ci95_high
    assert 0.935 <= hits / 2000 <= 0.965


def test_widened_interval_covers_a_second_machine_of_the_stated_spread():
    draw = random.Random(11)
    hits = 0
    for _ in range(1000):
        machine = draw.lognormvariate(5, 0.05)
        found = summarise({"m": [machine * draw.lognormvariate(0, 0.01) for _ in range(5)]})
        hits += found.ci95_low <= math.exp(5) <= found.ci95_high
    assert 0.93 <= hits / 1000 <= 0.98


# --- order statistics ---


def test_order_interval_is_exact_where_an_order_statistic_has_the_level():
    # 1 − 2 · (1 + 10 + 45) / 1024 = 89.06 % at depth 3 and 1 − 2 · 11 / 1024 = 97.85 % at depth 2:
    # share (0.05 − 0.021484) / (0.109375 − 0.021484) = 0.324444, weight of depth 3
    # 8 · 0.324444 / (2 + 6 · 0.324444) = 0.657658
    low, high = ends([float(n) for n in range(1, 11)])
    assert low == pytest.approx(2.657658, abs=1e-6)
    assert high == pytest.approx(8.342342, abs=1e-6)


@pytest.mark.parametrize("count", [6, 7, 15, 100, 1500])
def test_order_interval_is_symmetric_and_holds_the_median(count):
    low, high = ends([float(n) for n in range(count, 0, -1)])
    assert low + high == pytest.approx(count + 1)
    assert 1 <= low < (count + 1) / 2
    # of many values: the normal approximation, n/2 − 1.96 · √n / 2
    if count >= 100:
        assert low == pytest.approx(count / 2 - 0.98 * math.sqrt(count), abs=1)


def test_order_interval_needs_six_values():
    with pytest.raises(InsufficientSamples):
        stats.order_interval([1.0, 2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize(("count", "lowest"), [(6, 0.92), (10, 0.93), (20, 0.93)])
def test_order_interval_covers_the_median_of_a_mixture(count, lowest):
    """Two generations of CPUs behind one type: the t interval held the median in half of cases."""
    draw = random.Random(count)
    true = _mixture_median()
    hits = 0
    for _ in range(2000):
        machines = [
            draw.lognormvariate(0, 0.05) * (0.8 if draw.random() < 0.4 else 1) for _ in range(count)
        ]
        low, high = ends(machines)
        hits += low <= true <= high
    assert lowest <= hits / 2000 <= 0.98


def _mixture_median() -> float:
    """Of 60 % of machines around 1 and 40 % around 0.8, each with 5 %: by bisection."""
    low, high = 0.8, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = sum(
            share * NormalDist(math.log(centre), 0.05).cdf(math.log(middle))
            for share, centre in ((0.6, 1.0), (0.4, 0.8))
        )
        low, high = (middle, high) if below < 0.5 else (low, middle)
    return low


# --- published figures ---


def published(value, sd_ratio, count):
    return stats.summary_of_source(value, sd_ratio, count, between_instance_cv=0.05)


def test_published_summary_spans_196_standard_deviations():
    found = published(34735.0, 0.0053, 3672)
    # 34735 × 1.96 × 0.0053 = 360.8272
    assert found.ci95_low == pytest.approx(34374.1728, abs=1e-3)
    assert found.ci95_high == pytest.approx(35095.8272, abs=1e-3)
    assert found.interval_basis == IntervalBasis.PUBLISHED_SD
    assert (found.n_instances, found.n_repeats) == (None, 3672)


@pytest.mark.parametrize("sd_ratio", [None, 0.0, -0.1, math.nan, math.inf])
def test_published_summary_without_a_spread_has_the_stated_one(sd_ratio):
    """W2: rows of 2013 and of other tables were certain to the last digit."""
    found = published(1427.0, sd_ratio, None)
    assert math.log(found.ci95_high / 1427) == pytest.approx(0.0979388, abs=1e-6)
    assert math.log(1427 / found.ci95_low) == pytest.approx(0.0979388, abs=1e-6)
    assert (found.n_repeats, found.interval_basis) == (None, IntervalBasis.STATED_SPREAD)


def test_published_summary_of_a_spread_too_wide_for_a_line_is_log_normal():
    found = published(100.0, 0.6, 3)
    # σ = √ln(1 + 0.6²) = 0.554513
    assert math.log(found.ci95_high / 100) == pytest.approx(1.96 * 0.554513, abs=1e-5)
    assert found.ci95_low > 0
    assert found.interval_basis == IntervalBasis.PUBLISHED_SD


def test_published_summary_refuses_a_score_of_zero():
    with pytest.raises(InvalidValue):
        published(0.0, None, None)


@pytest.mark.parametrize(
    ("lowest", "highest", "low", "high"),
    [
        (99.0, 101.0, 90.67, 110.29),  # 100 · exp(∓ 0.0979388): the runs lie within it
        (70.0, 101.0, 70.0, 110.29),
        (99.0, 130.0, 90.67, 130.0),
    ],
)
def test_published_interval_reaches_the_results_seen(lowest, highest, low, high):
    interval = stats.interval_of_source(100.0, None, 0.05, (lowest, highest))
    assert (interval.low, interval.high) == (pytest.approx(low, 1e-4), pytest.approx(high, 1e-4))
    assert (interval.terms["lowest"], interval.terms["highest"]) == (lowest, highest)
    assert interval.basis == IntervalBasis.STATED_SPREAD


def test_published_interval_refuses_a_lowest_result_of_zero():
    with pytest.raises(InvalidValue):
        stats.interval_of_source(100.0, None, 0.05, (0.0, 110.0))


def test_pooled_groups_have_the_deviation_of_all_results_together():
    # Results 90, 110 and 180, 220, 200, 200: mean 1000 / 6; squares sum to 181,000.
    one = stats.PublishedGroup(100.0, 0.1, 2)
    other = stats.PublishedGroup(200.0, math.sqrt(200) / 200, 4)
    pooled = stats.pool_groups([one, other])
    assert (pooled.mean, pooled.count) == (pytest.approx(1000 / 6), 6)
    deviation = math.sqrt(181_000 / 6 - (1000 / 6) ** 2)
    assert pooled.sd_ratio * pooled.mean == pytest.approx(deviation)
    assert stats.pool_groups([one]) == stats.PublishedGroup(100.0, pytest.approx(0.1), 2)


@pytest.mark.parametrize("groups", [[], [stats.PublishedGroup(100.0, 0.1, 0)]])
def test_pooled_groups_refuse_no_results(groups):
    with pytest.raises(InsufficientSamples):
        stats.pool_groups(groups)


def test_summary_allows_for_the_method_however_many_machines_there_are():
    """Half-widths of logarithms add as squares, as errors that know nothing of each other do."""
    for count in (1, 4, 12):
        machines = {str(n): {"run": [100.0 + n, 101.0 + n]} for n in range(count)}
        plain, wider = (
            stats.machines_interval(machines, 0.05, method_ratio) for method_ratio in (0.0, 0.15)
        )
        half = math.log(plain.high / plain.low) / 2
        assert math.log(wider.high / wider.low) / 2 == pytest.approx(
            math.sqrt(half**2 + math.log(1.15) ** 2)
        )
        assert wider.low * wider.high == pytest.approx(plain.low * plain.high)
        assert (plain.terms.get("method"), wider.terms["method"]) == (None, 0.15)
        whole = stats.summary(
            machines, between_instance_cv=0.05, target_half_width_ratio=0.03, method_ratio=0.15
        )
        assert whole.ci95_low <= wider.low < whole.value < wider.high <= whole.ci95_high
