"""What charts of rankings draw, worked by hand: bars, the frontier, captions, frozen reports."""

import datetime as dt
import math
from decimal import Decimal

import pytest

from backend.measure.metrics import METRICS
from backend.rankings.pages.compare import page as compare
from backend.rankings.pages.frontier import page as frontier
from backend.rankings.selectors.compare import (
    COST,
    FACTS,
    METRIC,
    ComparedCell,
    ComparedItem,
    Comparison,
)
from backend.rankings.selectors.frontier import Frontier
from backend.rankings.selectors.query import Filter
from backend.rankings.selectors.ranking import Ranking
from backend.reports.pages.ranked import RankedReport
from backend.site import charts, figures
from backend.site.basis import basis_words, picture
from tests.frontend.ranking_rows import ranking_row

CMIPS = METRICS["cmips_score"]
FSYNC = METRICS["fsync_p99_ns"]
PLAIN = figures.UnitScale(1, "CMIPS")


@pytest.fixture(autouse=True)
def _today(monkeypatch):
    monkeypatch.setattr("backend.core.clock.now", lambda: dt.datetime(2026, 11, 22, tzinfo=dt.UTC))


def ranking(*rows, metric=CMIPS) -> Ranking:
    return Ranking(
        rows=rows, unscored=(), basis={}, data_version=7, metric=metric, unpriced_count=0
    )


# --- names and bars -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "m5 · eu-west-1"),
        ({"region": None}, "m5"),
        ({"price_observed_on": None}, "m5 · eu-west-1"),
        ({"price_observed_on": dt.date(2025, 1, 1)}, "m5 · eu-west-1"),
        ({"price_observed_on": dt.date(2024, 12, 31)}, "m5 · eu-west-1, 2024"),
        ({"price_observed_on": dt.date(2013, 6, 1), "region": None}, "m5, 2013"),
    ],
)
def test_name_in_a_chart_has_the_region_and_the_year_of_an_old_price(given, label):
    assert charts.row_label(ranking_row("m5", 1.0, "1", **given)) == label


def test_bar_is_in_the_unit_of_its_scale_with_seven_digits():
    scale = figures.UnitScale(1e9, "GB/s")
    assert charts.bar("a", "A", "aws", scale, (Decimal(12345678912), 1e9, None)) == {
        "offer": "a",
        "label": "A",
        "provider": "aws",
        "providerName": "AWS",
        "value": 12.34568,
        "low": 1.0,
        "high": None,
    }


def test_bars_are_the_best_first_whichever_direction_is_better():
    rows = [ranking_row("slow", 10.0, "1"), ranking_row("fast", 30.0, "6")]
    chart = charts.ranking_chart(ranking(*rows), PLAIN, "USD/hour", {})
    assert [bar["offer"] for bar in chart["modes"]["score"]["bars"]] == ["fast", "slow"]
    assert [bar["offer"] for bar in chart["modes"]["value"]["bars"]] == ["slow", "fast"]
    assert [bar["value"] for bar in chart["modes"]["value"]["bars"]] == [10.0, 5.0]
    assert chart["modes"]["value"]["unit"] == "CMIPS per USD/hour"
    lower = charts.ranking_chart(ranking(*rows, metric=FSYNC), PLAIN, "USD/hour", {})
    assert [bar["offer"] for bar in lower["modes"]["score"]["bars"]] == ["slow", "fast"]


def test_bars_carry_the_interval_of_what_they_show():
    row = ranking_row(
        "m5", 10.0, "2", value_per_cost_ci95_low=Decimal(4), value_per_cost_ci95_high=Decimal(6)
    )
    modes = charts.ranking_chart(ranking(row), PLAIN, "USD/hour", {})["modes"]
    (score,), (value,) = modes["score"]["bars"], modes["value"]["bars"]
    assert (score["low"], score["value"], score["high"]) == (9.0, 10.0, 11.0)
    assert (value["low"], value["value"], value["high"]) == (4.0, 5.0, 6.0)


def test_chart_leaves_out_unfit_results_and_has_a_median_from_three_on():
    rows = [ranking_row(f"o{n}", 10.0 * n, "1") for n in (1, 2, 6)]
    bad = [
        ranking_row("bad", 90.0, "1", flags="imported disturbed"),
        ranking_row("memory", 95.0, "1", flags="cached"),
    ]
    mode = charts.ranking_chart(ranking(*rows, *bad), PLAIN, "USD/hour", {})["modes"]["score"]
    assert [bar["offer"] for bar in mode["bars"]] == ["o6", "o2", "o1"]
    assert (mode["median"], mode["medianLabel"]) == (20.0, "median of 3")
    two = charts.ranking_chart(ranking(*rows[:2]), PLAIN, "USD/hour", {})["modes"]["score"]
    assert two["median"] is None


def test_chart_shows_scores_where_nothing_has_a_price():
    chart = charts.ranking_chart(ranking(ranking_row("m5", 10.0, None)), PLAIN, "USD/hour", {})
    assert chart["default"] == "score"
    assert chart["modes"]["value"]["summary"] == f"{CMIPS.label}: value per cost: nothing to show."
    assert "First is m5 · eu-west-1 with 10 CMIPS" in chart["modes"]["score"]["summary"]


def test_chart_sends_more_bars_than_it_draws_and_says_how_many_there_are():
    rows = [ranking_row(f"o{n:02}", float(n), "1", region=None) for n in range(1, 41)]
    mode = charts.ranking_chart(ranking(*rows), PLAIN, "USD/hour", {})["modes"]["score"]
    assert len(mode["bars"]) == charts.MOST_BARS_SENT
    assert mode["medianLabel"] == "median of 40"
    assert "The best 20 of 40 offers. First is o40 with 40 CMIPS, last shown o21" in mode["summary"]


# --- captions -------------------------------------------------------------------------------------


def test_basis_names_the_span_of_days_that_the_figures_rest_on():
    rows = [
        ranking_row("a", 1.0, "1", fx_date=dt.date(2026, 11, 2)),
        ranking_row("b", 1.0, "1", price_observed_on=dt.date(2026, 10, 5)),
        ranking_row("c", 1.0, None, price_observed_on=None),
    ]
    assert basis_words({"hours_per_month": ["500"]}, rows) == [
        "On demand",
        "prices as of 2026-10-05 to 2026-11-01",
        "rates as of 2026-11-02",
        "500 h/month",
    ]
    assert basis_words({"term": ["purchase"]}, []) == ["Purchase"]


def test_saved_chart_says_its_filters_day_and_data_version():
    captions = picture("cmips", {"provider": ["aws"], "vcpu__gte": ["8"]}, ["On demand"], 7)
    assert captions == {
        "name": "rackrate-cmips-2026-11-22",
        "subtitle": "Provider: AWS; vCPU: ≥ 8 · On demand",
        "footer": "Rackrate, 2026-11-22, data version 7. Whiskers are 95% intervals.",
    }
    assert picture("x", {}, ["On demand"], 7)["subtitle"] == "all offers · On demand"


# --- the frontier ---------------------------------------------------------------------------------


def front(*within, beyond=(), limits=(), metric=CMIPS) -> Frontier:
    return Frontier(metric, within, beyond, limits, left_out_count=0, data_version=7)


def drawn(*within, scale=PLAIN, **given):
    return frontier.frontier_chart(front(*within, **given), scale, "USD/hour", {})


def test_line_of_the_frontier_runs_from_the_cheapest_to_the_dearest():
    rows = [
        ranking_row("dear", 90.0, "9", pareto=True),
        ranking_row("poor", 5.0, "5", pareto=False),
        ranking_row("cheap", 10.0, "1", pareto=True),
    ]
    chart = drawn(*rows)
    assert chart["line"] == [[1.0, 10.0], [9.0, 90.0]]
    assert [point["offer"] for point in chart["points"]] == ["cheap", "dear", "poor"]
    assert [point["isFrontier"] for point in chart["points"]] == [True, True, False]
    assert chart["dots"] == []
    assert chart["thinned"] == 0
    assert "from cheap · eu-west-1 at 1 USD/hour with 10 to dear" in chart["summary"]


def test_axes_end_six_percent_of_the_decades_beyond_the_points():
    chart = drawn(ranking_row("a", 10.0, "1"), ranking_row("b", 1000.0, "100"))
    margin = 10 ** (2 * 0.06)
    assert chart["x"]["min"] == pytest.approx(1 / margin)
    assert chart["x"]["max"] == pytest.approx(100 * margin)
    # Scores from 9 to 1,100, the outermost ends of the intervals.
    margin = 10 ** (math.log10(1100 / 9) * 0.06)
    assert chart["y"]["min"] == pytest.approx(9 / margin)
    assert chart["y"]["max"] == pytest.approx(1100 * margin)


def test_single_point_has_an_axis_around_it():
    x = drawn(ranking_row("a", 10.0, "2"))["x"]
    assert x["min"] == pytest.approx(2 / 10**0.05)
    assert x["max"] == pytest.approx(2 * 10**0.05)


def test_interval_that_reaches_zero_is_cut_at_half_the_smallest_score():
    rows = [
        ranking_row("wide", 10.0, "1", score_ci95_low=-3.0),
        ranking_row("narrow", 8.0, "1", score_ci95_low=6.0),
    ]
    wide, narrow = drawn(*rows)["points"]
    assert (wide["low"], wide["isCut"]) == (3.0, True)
    assert (narrow["low"], narrow["isCut"]) == (6.0, False)


def test_limits_are_drawn_in_the_unit_of_their_axis():
    limits = [
        Filter("price", "__lte", (Decimal("0.0042"),)),
        Filter("score", "__gte", (Decimal(2_500_000),)),
        Filter("price", "__gte", (Decimal(0),)),
    ]
    rows = [ranking_row("a", 3e6, "0.004")]
    chart = drawn(*rows, limits=limits, scale=figures.UnitScale(1e6, "MB/s"))
    assert [(one["axis"], one["value"], one["label"]) for one in chart["limits"]] == [
        ("x", 0.0042, "price at most 0.0042 USD/hour"),
        ("y", 2.5, "score at least 2.5 MB/s"),
    ]


def test_offers_beyond_the_limits_are_dots():
    chart = drawn(ranking_row("a", 10.0, "1"), beyond=[ranking_row("b", 20.0, "3")])
    assert chart["dots"] == [["b", "b · eu-west-1", "aws", 3.0, 20.0, True]]
    assert chart["providers"] == {"aws": "AWS"}


def test_dots_that_lie_on_each_other_are_drawn_once_and_counted():
    rows = [ranking_row(f"o{n}", 10.0 + n, "1") for n in range(frontier.MOST_POINTS)]
    same = [ranking_row(f"same{n}", 5000.0, "70") for n in range(3)]
    chart = drawn(*rows, *same)
    assert len(chart["points"]) == frontier.MOST_POINTS
    assert [dot[0] for dot in chart["dots"]] == ["same0"]
    assert chart["thinned"] == 2


# --- side by side ---------------------------------------------------------------------------------


def item(*cells, key="cmips_score", unit="CMIPS", better="higher", is_estimate=True, group=METRIC):
    return ComparedItem(key, "Label", group, unit, better, cells, is_estimate=is_estimate)


def cell(value, low=None, high=None, **given):
    ends = (None if end is None else Decimal(end) for end in (low, high))
    return ComparedCell(None, Decimal(value), *ends, **given)


def shown_cells(one):
    [(_, [line])] = compare.groups([one], "abcdef"[: len(one.cells)])
    return line.cells


def test_compared_figures_share_the_scale_of_their_line():
    (_, [line]) = compare.groups(
        [item(cell(2_000_000_000), cell(500_000_000), unit="bytes/s")], ["a", "b"]
    )[0]
    assert line.unit == "GB/s"
    assert [one.text for one in line.cells] == ["2.000", "0.500"]
    assert line.cells[1].title == "500000000 bytes/s"


@pytest.mark.parametrize(
    ("better", "ratio", "is_distinguishable", "delta", "words"),
    [
        ("higher", "0.25", True, "+25%", ("better", "good")),
        ("higher", "-0.25", True, "−25%", ("worse", "bad")),
        ("lower", "-0.25", True, "−25%", ("better", "good")),
        ("lower", "12.5", True, "13.5×", ("worse", "bad")),
        ("higher", "0.01", False, "+1%", ("too close to call", "")),
        ("higher", "0", False, "±0%", ("too close to call", "")),
        ("", "0.5", True, "+50%", ("", "")),
    ],
)
def test_difference_from_the_baseline_has_a_sign_and_a_word(
    better, ratio, is_distinguishable, delta, words
):
    other = cell(5, delta_ratio=Decimal(ratio), is_distinguishable=is_distinguishable)
    base, compared = shown_cells(item(cell(4), other, better=better))
    assert (base.delta, base.outcome) == ("", "")
    assert (compared.delta, compared.outcome, compared.tone) == (delta, *words)


def test_compared_cell_names_its_interval_and_origin():
    full = cell(
        100, 90, 110, source="measured", n_instances=2, n_repeats=5, flags=("unstable",),
        measured_at=dt.datetime(2026, 11, 1, tzinfo=dt.UTC),
    )  # fmt: skip
    (shown,) = shown_cells(item(full))
    assert shown.interval == "90.0 – 110.0"
    assert shown.origin == "measured 2026-11-01, n = 2 × 5"
    assert shown.flags == ("unstable",)
    (published,) = shown_cells(item(cell(100, source="published")))
    assert (published.interval, published.origin) == ("", "published")


@pytest.mark.parametrize(
    ("group", "words"), [(FACTS, "not stated"), (COST, "unknown"), (METRIC, "not measured")]
)
def test_what_is_not_known_of_an_offer_says_so(group, words):
    (shown,) = shown_cells(item(ComparedCell(), group=group))
    assert (shown.text, shown.unknown) == ("", words)


def test_codes_of_a_comparison_read_as_words():
    cells = shown_cells(item(ComparedCell("vps"), key="kind", group=FACTS))
    cells += shown_cells(item(ComparedCell("machine+ip"), key="price_basis", group=COST))
    assert [one.text for one in cells] == ["VPS", "the machine, public IPv4"]


def comparison(*rows, base, items=()) -> Comparison:
    return Comparison(rows, base, items, {}, data_version=7, metric=CMIPS)


def test_links_of_the_heads_move_remove_and_choose_the_baseline():
    rows = [ranking_row(slug, 1.0, "1") for slug in "abc"]
    params = {"o": ["a,b,c"], "base": ["b"], "currency": ["EUR"]}
    first, middle, last = compare.columns(comparison(*rows, base="b"), params, "/compare/")
    assert first.left_url == last.right_url == ""
    assert first.right_url == "/compare/?o=b,a,c&base=b&currency=EUR"
    assert last.left_url == "/compare/?o=a,c,b&base=b&currency=EUR"
    assert middle.without_url == "/compare/?o=a,c&currency=EUR"  # without its baseline
    assert last.base_url == "/compare/?o=a,b,c&base=c&currency=EUR"
    assert [one.is_base for one in (first, middle, last)] == [False, True, False]


def test_small_chart_has_the_baseline_as_its_line_and_skips_the_unknown():
    rows = [ranking_row("a", 1.0, "1"), ranking_row("b", 1.0, "1"), ranking_row("c", 1.0, "1")]
    one = item(cell(2_000_000, 1_000_000, 3_000_000), cell(4_000_000), ComparedCell(),
               unit="bytes/s")  # fmt: skip
    (chart,) = compare.small_charts(comparison(*rows, base="b"), [one])
    assert chart["unit"] == "MB/s"
    assert [(b["label"], b["low"], b["value"], b["high"]) for b in chart["bars"]] == [
        ("a", 1.0, 2.0, 3.0), ("b", None, 4.0, None),
    ]  # fmt: skip
    assert chart["median"] == 4.0
    assert chart["summary"].endswith("higher is better: a 2; b 4.")


def test_small_chart_needs_two_figures_and_an_estimate():
    rows = [ranking_row("a", 1.0, "1"), ranking_row("b", 1.0, "1")]
    lone, exact = item(cell(1), ComparedCell()), item(cell(1), cell(2), is_estimate=False)
    assert compare.small_charts(comparison(*rows, base="a"), [lone, exact]) == []


# --- reports --------------------------------------------------------------------------------------


def frozen(slug, score, price, rank, **given):
    value = None if price is None else score / float(price)
    return {
        "offer_id": slug, "offer": slug, "provider": "aws", "region": "eu-west-1",
        "metric": "memory_bandwidth_bytes_per_s", "rank": rank, "rank_low": rank,
        "rank_high": rank, "score": score, "score_ci95_low": 0.9 * score,
        "score_ci95_high": 1.1 * score, "price": price, "period": "hour",
        "value_per_cost": value, "value_per_cost_ci95_low": None,
        "value_per_cost_ci95_high": None, "result_url": None, "licence": None, **given,
    }  # fmt: skip


def report(*rows, **basis):
    known = {
        "metric": "memory_bandwidth_bytes_per_s",
        "unit": "bytes/s",
        "better": "higher",
        "term": "on_demand",
        "currency": "EUR",
        "period": "hour",
    }
    return RankedReport({"basis": {**known, **basis}, "rows": rows, "count": len(rows), "top": 10})


def test_frozen_rows_read_as_on_the_day_with_their_intervals():
    row = frozen(
        "m5", 20e9, "0.5", 2, rank_low=1, rank_high=3,
        value_per_cost_ci95_low=36e9, value_per_cost_ci95_high=44e9,
    )  # fmt: skip
    frozen_report = report(row, frozen("free", 10e9, None, None))
    line, unpriced = frozen_report.lines
    assert (line.rank, line.price) == ("2 (1–3)", "0.5000")
    assert (line.score, line.score_interval) == ("20.00", "18.00 – 22.00")
    assert (line.value, line.value_interval) == ("40.00", "36.00 – 44.00")
    assert (unpriced.rank, unpriced.price, unpriced.value) == ("", "", "")
    assert unpriced.value_interval == ""
    assert frozen_report.units == {
        "score": "GB/s", "price": "EUR/hour", "value": "GB/s per EUR/hour",
    }  # fmt: skip


def test_value_of_a_latency_is_the_inverse_in_the_unit_that_is_shown():
    # 2 ms at 0.5 EUR: 1 / (2 ms × 0.5 EUR) = 1; stored as 1 / (2e6 ns × 0.5) = 1e-6.
    row = frozen("m5", 2e6, "0.5", 1, metric="fsync_p99_ns", value_per_cost=1e-6)
    frozen_report = report(row, unit="ns", better="lower")
    (line,) = frozen_report.lines
    assert (line.score, line.value) == ("2.000", "1.000")
    assert frozen_report.units["value"] == "1 / (ms × EUR/hour)"


def test_purchase_is_counted_without_a_period():
    assert report(term="purchase").units["price"] == "EUR"


def test_report_draws_the_ranked_rows_best_first():
    rows = [frozen("b", 10e9, "1", 2), frozen("a", 20e9, "1", 1), frozen("c", 5e9, None, None)]
    chart = report(*rows).chart
    assert chart is not None
    assert [(bar["label"], bar["value"]) for bar in chart["bars"]] == [
        ("a · eu-west-1", 20.0), ("b · eu-west-1", 10.0),
    ]  # fmt: skip
    assert "the best 2 of 3 offers" in chart["summary"]
    assert report(rows[2]).chart is None
