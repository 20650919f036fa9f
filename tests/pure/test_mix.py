"""Several metrics in one score."""

import math
import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS, metric
from backend.measure.stats import IntervalBasis, Summary
from backend.rankings.calc.mix import MIX, MixPart, mix_log, mix_summary
from tests.pure.candidates import RankedOffer, ranked

SCORE = metric("cmips_score")
BANDWIDTH = metric("memory_bandwidth_bytes_per_s")
LATENCY = metric("memory_latency_ns")


def summary(value, low=None, high=None, n_instances=None, n_repeats=None, **more):
    low, high = low or value / 1.1, high or value * 1.1
    return Summary(value, low, high, n_instances, n_repeats, IntervalBasis.INSTANCES_T, **more)


def parts(*pairs):
    return [MixPart(one, Decimal(weight)) for one, weight in pairs]


def mix(of, summaries, baseline):
    return mix_summary(of, summaries, mix_log(of, baseline))


def test_mix_is_the_weighted_geometric_mean_of_the_ratios():
    # ratios 4 and 2, weights 2 and 1: (4² · 2)^(1/3) = 32^(1/3) = 3.1748
    of = parts((SCORE, 2), (BANDWIDTH, 1))
    found = mix(of, [summary(400), summary(20)], [100, 10])
    assert found.value == pytest.approx(32 ** (1 / 3), rel=1e-14)
    # the sum of the weights does not matter
    doubled = mix(parts((SCORE, 4), (BANDWIDTH, 2)), [summary(400), summary(20)], [100, 10])
    assert doubled.value == found.value


def test_mix_turns_the_ratio_over_where_lower_is_better():
    # half the latency is twice as good: (2 · 2)^(1/2)
    found = mix(parts((SCORE, 1), (LATENCY, 1)), [summary(200), summary(50)], [100, 100])
    assert found.value == pytest.approx(2, rel=1e-14)


def test_baseline_scores_one():
    of = parts((SCORE, 3), (LATENCY, 1))
    assert mix(of, [summary(123.4), summary(87.6)], [123.4, 87.6]).value == 1


def test_interval_is_the_root_of_the_weighted_squares_on_the_logarithm():
    # up: shares ¾ and ¼ of ln 1.1 and ln 1.2; down: of ln (100/80) and ln (10/9)
    of = parts((SCORE, 3), (BANDWIDTH, 1))
    found = mix(of, [summary(100, 80, 110), summary(10, 9, 12)], [100, 10])
    up = math.sqrt((0.75 * math.log(1.1)) ** 2 + (0.25 * math.log(1.2)) ** 2)
    down = math.sqrt((0.75 * math.log(100 / 80)) ** 2 + (0.25 * math.log(10 / 9)) ** 2)
    assert found.ci95_high == pytest.approx(math.exp(up), rel=1e-14)
    assert found.ci95_low == pytest.approx(math.exp(-down), rel=1e-14)
    assert found.interval_basis == IntervalBasis.COMBINED


def test_interval_of_a_lower_is_better_metric_is_turned_over():
    # a latency of 100 (50 … 125) against 100: the score is 1 (0.8 … 2)
    found = mix(parts((LATENCY, 1)), [summary(100, 50, 125)], [100])
    assert found.ci95_low == pytest.approx(0.8, rel=1e-14)
    assert found.ci95_high == pytest.approx(2, rel=1e-14)


def test_errors_of_one_resource_are_added():
    """W21: as independent, two CPU metrics of one machine (ρ = 0.9) were covered in 85 %."""
    single = metric("cmips_single_score")
    of, ends = parts((SCORE, 1), (single, 1)), (100 / 1.1, 110)
    found = mix(of, [summary(100, *ends), summary(100, *ends)], [100, 100])
    assert (found.ci95_low, found.ci95_high) == pytest.approx((1 / 1.1, 1.1))
    draw, hits = random.Random(21), 0
    for _ in range(2000):
        shared, errors = draw.gauss(0, 1), [draw.gauss(0, 1) for _ in of]
        mean = sum(0.9**0.5 * shared + 0.1**0.5 * error for error in errors) / 2
        hits += abs(mean) * math.log(1.1) / 1.96 <= math.log(found.ci95_high)
    assert 0.94 <= hits / 2000 <= 0.97


def test_counts_are_the_least_of_the_metrics_and_unknown_where_one_is():
    of = parts((SCORE, 1), (BANDWIDTH, 1))
    found = mix(
        of,
        [summary(1, n_instances=3, n_repeats=15), summary(1, n_instances=2, n_repeats=20)],
        [1, 1],
    )
    assert (found.n_instances, found.n_repeats) == (2, 15)
    found = mix(of, [summary(1, n_instances=3, is_unstable=True), summary(1)], [1, 1])
    assert (found.n_instances, found.n_repeats, found.is_unstable) == (None, None, True)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_mix_refuses_a_value_that_is_not_above_zero(value):
    with pytest.raises(InvalidValue):
        mix_log(parts((SCORE, 1)), [value])


@pytest.mark.parametrize("of", [[], parts((SCORE, 0)), parts((SCORE, 1), (BANDWIDTH, -1))])
def test_mix_refuses_weights_that_are_not_above_zero(of):
    with pytest.raises(InvalidValue, match="weights"):
        mix_log(of, [1.0] * len(of))


def test_mix_is_no_metric_of_which_there_are_samples():
    assert MIX.key not in METRICS
    assert MIX.ranking_variants == ()


# --- properties ---

# Six digits: nobody measures more, and values that differ by less than a mix can tell are one.
scores = st.sampled_from([1.0, 2.0, 3.0, 7.0, 0.1]) | st.floats(1e-3, 1e6).map(
    lambda value: float(f"{value:.6g}")
)
values = st.lists(st.tuples(scores, scores, st.sampled_from([1, 2, 3, 7])), min_size=1, max_size=8)


def candidate(offer_id, score, price):
    return RankedOffer(offer_id=offer_id, summary=score, price=float(price))


def order(of, rows, baseline):
    """(Offer id, rank) in the order of the ranking."""
    log = mix_log(of, baseline)
    candidates = [
        candidate(f"o{n}", mix_summary(of, [summary(a), summary(b)], log), price)
        for n, (a, b, price) in enumerate(rows)
    ]
    return [(one.offer_id, standing.rank) for one, standing in ranked(candidates, MIX)]


@given(values, st.data())
def test_order_and_ranks_do_not_depend_on_the_baseline(rows, data):
    of = parts((SCORE, 2), (LATENCY, 3))
    base = data.draw(st.sampled_from(rows))
    assert order(of, rows, base[:2]) == order(of, rows, rows[0][:2])


@given(values)
def test_one_metric_alone_ranks_as_that_metric(rows):
    of = parts((LATENCY, 5))
    log = mix_log(of, [rows[0][0]])
    mixes = [
        candidate(f"o{n}", mix_summary(of, [summary(a)], log), price)
        for n, (a, _, price) in enumerate(rows)
    ]
    plain = [candidate(f"o{n}", summary(a), price) for n, (a, _, price) in enumerate(rows)]
    assert [one.offer_id for one, _ in ranked(mixes, MIX)] == [
        one.offer_id for one, _ in ranked(plain, LATENCY)
    ]
