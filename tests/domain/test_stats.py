import math
import random
from operator import itemgetter
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain import stats
from backend.domain.errors import InsufficientSamples, InvalidValue
from backend.domain.stats import IntervalBasis, StoppingRule
from backend.domain.student_t import MAX_EXACT_DEGREES, _t_quantile_expanded, t_quantile

values_above_zero = st.floats(0.01, 1e12)
QUICK = StoppingRule(min_repeats=3, max_repeats=12, half_width_ratio=0.03)


def summarise(values_by_instance, cv=0.05, target=0.03, **more):
    return stats.summary(
        values_by_instance, between_instance_cv=cv, target_half_width_ratio=target, **more
    )


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
    assert stats.counted_repeats([*others, clean]) == ([clean], False)


def test_counted_repeats_are_the_unfit_ones_where_none_is_clean():
    unfit = [repeat(1.0, "disturbed"), repeat(3.0, "cached")]
    left_out = repeat(4.0, excluded_reason="test")
    assert stats.counted_repeats([*unfit, left_out]) == (unfit, True)


def test_counted_repeats_are_none_where_a_person_left_all_out():
    left_out = repeat(4.0, "disturbed", excluded_reason="test")
    assert stats.counted_repeats([left_out]) == ([], False)


def test_counted_repeats_read_rows_by_the_marks_given():
    row = {"flags": ["disturbed"], "excluded_reason": ""}
    marks = itemgetter("flags", "excluded_reason")
    assert stats.counted_repeats([row], marks) == ([row], True)


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


def test_summary_of_one_machine_adds_repeat_spread_in_quadrature():
    step = math.exp(0.02)
    found = summarise({"m": [100 / step, 100.0, 100 * step]})
    # s = 0.02, within = 4.302653 × 0.02 / √3 = 0.0496828; with 0.0979388: √(…) = 0.1098196
    assert math.log(found.ci95_high / 100) == pytest.approx(0.1098196, abs=1e-6)
    assert math.log(100 / found.ci95_low) == pytest.approx(0.1098196, abs=1e-6)
    assert found.is_unstable is True  # about 5 % against a target of 3 %


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
    # s = √(4 × 0.02² / 4) = 0.02 with 6 − 2 = 4 degrees: 2.776445 × 0.02 / √6 = 0.0226696
    assert math.log(found.ci95_high / 100) == pytest.approx(0.0226696, abs=1e-6)


def test_summary_of_single_repeats_has_no_interval():
    found = summarise({"a": [100.0], "b": [130.0]})
    assert (found.value, found.ci95_low, found.ci95_high) == (115.0, None, None)
    assert found.interval_basis == IntervalBasis.NONE
    assert found.is_unstable is False


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


def test_summary_of_ten_machines_is_the_bootstrap():
    machines = {f"m{i}": [100.0 + i] for i in range(10)}
    found = summarise(machines)
    assert found.interval_basis == IntervalBasis.INSTANCES_BOOTSTRAP
    assert found.value == 104.5
    assert (found.ci95_low, found.ci95_high) == stats.bca_median_interval(
        [100.0 + i for i in range(10)]
    )


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
    if found.interval_basis is IntervalBasis.NONE:
        assert found.ci95_low is None
        assert found.ci95_high is None
    else:
        assert 0 < found.ci95_low <= found.value <= found.ci95_high


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


def test_bootstrap_covers_nearly_95_of_100_true_medians():
    draw = random.Random(7)
    hits = 0
    for _ in range(200):
        low, high = stats.bca_median_interval([draw.lognormvariate(5, 0.1) for _ in range(15)])
        hits += low <= math.exp(5) <= high
    assert 0.90 <= hits / 200 <= 0.99


def test_widened_interval_covers_a_second_machine_of_the_stated_spread():
    draw = random.Random(11)
    hits = 0
    for _ in range(1000):
        machine = draw.lognormvariate(5, 0.05)
        found = summarise({"m": [machine * draw.lognormvariate(0, 0.01) for _ in range(5)]})
        hits += found.ci95_low <= math.exp(5) <= found.ci95_high
    assert 0.93 <= hits / 1000 <= 0.98


# --- the bootstrap itself ---


def test_bca_median_interval_is_stable_and_scales_with_its_values():
    values = [100.0, 103.0, 99.0, 120.0, 101.0, 98.0, 104.0, 102.0, 97.0, 110.0]
    low, high = stats.bca_median_interval(values, seed=1)
    assert (low, high) == stats.bca_median_interval(values, seed=1)
    assert stats.bca_median_interval([v * 8 for v in values], seed=1) == (low * 8, high * 8)
    assert min(values) <= low <= 101.5 <= high <= max(values)


def test_bca_median_interval_of_even_steps_is_the_exact_one():
    # The bootstrap median of 11 is at most the k-th value when 6 or more of 11 draws are, each
    # with probability k/11: 0.7 % for k = 2 and 5.1 % for k = 3, so 2.5 % is reached at 3. Equal
    # steps have neither bias nor acceleration, and the other end mirrors it.
    reached = [
        sum(math.comb(11, j) * (k / 11) ** j * (1 - k / 11) ** (11 - j) for j in range(6, 12))
        for k in (2, 3)
    ]
    assert reached == pytest.approx([0.0072, 0.0512], abs=1e-4)
    assert stats.bca_median_interval([float(i) for i in range(1, 12)]) == (3.0, 9.0)


@pytest.mark.parametrize(("probability", "expected"), [(0.05, 0.110), (0.95, 0.985)])
def test_bca_share_equals_the_textbook_example(probability, expected):
    # Efron and Tibshirani, 14.3: bias correction 0.146, acceleration 0.061, 90 % interval
    assert stats.bca_share(probability, 0.146, 0.061) == pytest.approx(expected, abs=1e-3)


def test_bca_median_interval_of_equal_values_is_that_value():
    assert stats.bca_median_interval([5.0] * 10) == (5.0, 5.0)


# --- published figures ---


def test_published_summary_spans_196_standard_deviations():
    found = stats.published_summary(34735.0, 0.0053, 3672)
    # 34735 × 1.96 × 0.0053 = 360.8272
    assert found.ci95_low == pytest.approx(34374.1728, abs=1e-3)
    assert found.ci95_high == pytest.approx(35095.8272, abs=1e-3)
    assert found.interval_basis == IntervalBasis.PUBLISHED_SD
    assert (found.n_instances, found.n_repeats) == (None, 3672)


def test_published_summary_without_a_spread_has_no_interval():
    found = stats.published_summary(1427.0, None, None)
    assert (found.ci95_low, found.ci95_high, found.n_repeats) == (None, None, None)
    assert found.interval_basis == IntervalBasis.NONE


@pytest.mark.parametrize("sd_ratio", [-0.1, 0.52, math.nan])
def test_published_summary_refuses_a_spread_that_leaves_no_figure(sd_ratio):
    with pytest.raises(InvalidValue):
        stats.published_summary(100.0, sd_ratio, 3)


def test_published_summary_refuses_a_score_of_zero():
    with pytest.raises(InvalidValue):
        stats.published_summary(0.0, None, None)


# --- common draws ---


def test_common_draws_meet_value_and_bounds_at_their_percentiles():
    draws = stats.common_draws([100.0, 50.0], [(90.0, 130.0), None], n_draws=40_000)
    low, middle, high = np.percentile(draws[:, 0], (2.5, 50, 97.5))
    assert low == pytest.approx(90, rel=0.01)
    assert middle == pytest.approx(100, rel=0.01)
    assert high == pytest.approx(130, rel=0.01)
    assert set(draws[:, 1]) == {50.0}


def test_rank_bounds_count_equal_rows_as_one_rank():
    draws = np.array([[3.0, 2.0, 2.0, 1.0]] * 40)
    assert stats.rank_bounds(draws, [1, 2, 2, 4]) == [(1, 1), (2, 2), (2, 2), (4, 4)]


def test_rank_bounds_always_hold_the_rank_itself():
    # the first row wins every draw, although by value it stands second
    draws = np.array([[2.0, 1.0]] * 40)
    assert stats.rank_bounds(draws, [2, 1]) == [(1, 2), (1, 2)]


def test_rank_bounds_are_rounded_outwards():
    # the second row wins 5 of 100 draws: p95 of the first row's rank is 1.05, p5 of its own 1.95
    draws = np.array([[2.0, 1.0]] * 95 + [[1.0, 2.0]] * 5)
    assert stats.rank_bounds(draws, [1, 2]) == [(1, 2), (1, 2)]


def test_rank_bounds_that_come_to_whole_numbers_are_not_widened():
    # Of 500 sorted ranks of the first row 25 are 1 and the others 21: p5 is the 24.95th,
    # 1 + 0.95 · 20 = 20. Its mirror, ranked first but in 25 draws: p95 is 1 + 0.05 · 20 = 2.
    ahead, behind = [100.0, *range(20, 0, -1)], [0.5, *range(20, 0, -1)]
    assert stats.rank_bounds(np.array([ahead] * 25 + [behind] * 475), [*range(1, 22)])[0] == (1, 21)
    assert stats.rank_bounds(np.array([ahead] * 25 + [behind] * 475), [21] * 21)[0] == (20, 21)
    assert stats.rank_bounds(np.array([ahead] * 475 + [behind] * 25), [1] * 21)[0] == (1, 2)


def test_rank_bounds_and_tie_groups_of_no_rows_are_empty():
    draws = stats.common_draws([], [])
    assert stats.rank_bounds(draws, []) == []
    assert stats.tie_groups(draws) == []


def test_tie_groups_compare_with_the_first_row_of_the_group():
    # 100 ± 3, 97 ± 3, 94 ± 3: the second is tied with the first, the third is not, and although
    # it is tied with the second it opens a group of its own.
    centres = [100.0, 97.0, 94.0]
    draws = stats.common_draws(centres, [(c - 3, c + 3) for c in centres])
    assert stats.tie_groups(draws) == [1, 1, 2]


def test_tie_groups_of_points_join_only_equal_ones():
    draws = stats.common_draws([5.0, 5.0, 4.0], [None, None, None])
    assert stats.tie_groups(draws) == [1, 1, 2]


def test_tie_groups_span_any_number_of_rows():
    centres = [100.0 - i / 1000 for i in range(60)]
    draws = stats.common_draws(centres, [(c - 5, c + 5) for c in centres])
    assert stats.tie_groups(draws) == [1] * 60
