"""Charts as data: what is drawn, what the table beside it says, and when there is no chart."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest

from backend.benchmarks.pages.runs.spreads import bars, over_time, spreads
from backend.catalog.models import HardwareModel
from backend.catalog.pages.hardware.plots import hardware_plot
from backend.catalog.pages.prices.plots import change_words, price_plot
from backend.catalog.selectors.price_history import PriceKind, PriceSeries
from backend.core import clock
from backend.money.money import EuroRate, RateTable
from backend.site import figures
from backend.site.plots import MOST_POINTS, Axis, Mark, Plot, PlotRow, thin
from backend.site.scaling import scaling

NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


# --- any plot -------------------------------------------------------------------------------------


def plot(*marks: Mark, **more) -> Plot:
    given = {"x": ["one", "two"], "y": Axis("MB/s"), **more}
    return Plot(
        id="plot-x", title="X", x_label="", x_kind="category", marks=marks, summary="", **given
    )


def test_table_has_a_column_for_each_mark_with_its_unit():
    made = plot(
        Mark("read", [1.0, None]),
        Mark("used, MB/s", [3.0, 4.0]),
        Mark("delay", [5.0, 6.0], axis="y2"),
        y2=Axis("ms"),
        extra={"runs": ["7", "8"]},
    )
    assert made.heads == ["read, MB/s", "used, MB/s", "delay, ms", "runs"]
    assert [row.cells for row in made.rows] == [
        ["1", "3", "5", "7"], ["", "4", "6", "8"],
    ]  # fmt: skip


def test_range_of_a_mark_is_in_the_table_and_that_of_a_span_is_not():
    ranged = Mark("read", [2.0, 3.0], lows=[1.0, 2.0], highs=[3.0, None])
    made = plot(ranged, Mark("life", [1.0, 1.0], kind="span", lows=[0.0, 0.0], highs=[1.0, 1.0]))
    assert made.heads == ["read, MB/s", "read, lowest", "read, highest", "life, MB/s"]
    assert made.rows[1].cells == ["3", "2", "", "1"]
    assert "read, from" in plot(ranged, range_words=("from", "to")).heads


def test_rows_have_their_text_address_and_come_before_the_additional_ones():
    made = plot(
        Mark("read", [1.0, 2.0]),
        x=[1.0, 2.5],
        urls=["/a/", None],
        more_rows=[PlotRow("other", None, ["9"])],
    )
    assert [(row.head, row.url) for row in made.rows] == [
        ("1", "/a/"),
        ("2.5", None),
        ("other", None),
    ]
    named = plot(Mark("read", [1.0, 2.0]), x=[1.0, 2.5], x_text=["a", "b"])
    assert [row.head for row in named.rows] == ["a", "b"]


def test_document_numbers_the_colours_unless_a_mark_has_its_own():
    made = plot(Mark("a", [1.0, 2.0]), Mark("b", [1.0, 2.0], tone=7), Mark("c", [None, 2.0]))
    assert [mark["tone"] for mark in made.document["marks"]] == [0, 7, 2]
    assert made.document["marks"][2]["values"] == [None, 2.0]
    assert made.document["y2"] is None
    assert made.json_id == "plot-x-json"


# --- long series ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, MOST_POINTS])
def test_short_series_stays_as_it_is(count):
    x = [float(i) for i in range(count)]
    assert thin(x, [x]) == (x, [x])


@pytest.mark.parametrize("count", [MOST_POINTS + 1, 2 * MOST_POINTS, 1000])
def test_long_series_is_averaged_over_neighbours(count):
    x = [float(i) for i in range(count)]
    short, [mean, gaps] = thin(x, [x, [None] * count])
    size = -(-count // MOST_POINTS)
    assert len(short) == len(mean) == -(-count // size) <= MOST_POINTS
    assert short[:2] == [0.0, float(size)]
    assert mean[0] == (size - 1) / 2
    assert set(gaps) == {None}


def test_average_leaves_gaps_out():
    count = MOST_POINTS + 1
    _, [mean] = thin([float(i) for i in range(count)], [[None, 4.0] + [2.0] * (count - 2)])
    assert mean[:2] == [4.0, 2.0]


# --- repeats --------------------------------------------------------------------------------------


def sample(value, metric="m", variant="v", flags=(), excluded_reason="", **parameters):
    return SimpleNamespace(
        value=value, metric=metric, variant=variant, flags=list(flags),
        excluded_reason=excluded_reason, parameters=parameters, source="measured",
    )  # fmt: skip


def test_repeats_are_gathered_by_variant_without_those_left_out():
    rows = [sample(1.0), sample(9.0, excluded_reason="the disk was full"), sample(3.0, variant="w")]
    made = spreads(rows)
    assert {key: one.values for key, one in made.items()} == {("m", "v"): [1.0], ("m", "w"): [3.0]}
    assert spreads([sample(9.0, excluded_reason="x")]) == {}


def test_disturbed_repeat_is_shown_and_does_not_count():
    [one] = spreads([sample(1.0), sample(2.0), sample(90.0, flags=["disturbed"])]).values()
    assert one.values == [1.0, 2.0]
    assert len(one.shown) == 3
    assert one.middle == 1.5


def test_parameters_are_those_of_the_repeat_in_the_middle():
    rows = [sample(1.0, depth=1), sample(50.0, depth=2), sample(7.0, depth=3)]
    [one] = spreads(rows).values()
    assert (one.middle, one.parameters) == (7.0, {"depth": 3})


def test_bars_have_whiskers_only_when_a_test_was_repeated():
    [single] = spreads([sample(4e9)]).values()
    [double] = spreads([sample(1e9), sample(3e9)]).values()
    gb = figures.scale("bytes/s", [1e9])
    alone = bars("read", [single, None], 0, gb)
    assert (alone.values, alone.lows, alone.highs) == ([4.0, None], None, None)
    both = bars("read", [single, double, None], 0, gb)
    assert both.values == [4.0, 2.0, None]
    assert (both.lows, both.highs) == ([4.0, 1.0, None], [4.0, 3.0, None])
    assert bars("read", [double], 0).values == [2e9]


def test_lines_over_time_share_an_axis_and_keep_their_gaps():
    made = over_time(
        {"a": {0.0: 1e6, 2.0: 3e6}, "b": {1.0: 2e6, 2.0: None}},
        figures.scale("bytes/s", [1e6]), id="plot-t", title="T", note="N",
    )  # fmt: skip
    assert made.x == [0.0, 1.0, 2.0]
    assert [mark.values for mark in made.marks] == [[1.0, None, 3.0], [None, 2.0, None]]
    assert made.summary == "Lines over 2 seconds, in MB/s: a up to 3, b up to 2."


@pytest.mark.parametrize("lines", [{}, {"a": {}}, {"a": {1.0: 2.0}}])
def test_one_moment_is_no_line(lines):
    assert over_time(lines, figures.scale("x", []), id="i", title="t", note="") is None


# --- scaling --------------------------------------------------------------------------------------

SCORES = {("cmips_score", "all"): 6400.0, ("cmips_single_score", "single"): 200.0}


def threads(*counts):
    return [sample(1.0, "cmips_score", "all", threads=count) for count in counts]


def test_scaling_is_the_score_over_that_of_as_many_single_threads():
    made = scaling(SCORES, [*threads(64, 64), sample(1.0, "other", "all", threads=2)])
    assert (made.efficiency_ratio, made.threads) == (0.5, 64)


@pytest.mark.parametrize(
    ("scores", "counts"),
    [
        (SCORES, []),
        (SCORES, [64, 32]),
        (SCORES, [1]),
        (SCORES, ["64"]),
        (SCORES, [None]),
        ({("cmips_score", "all"): 1.0}, [64]),
        ({**SCORES, ("cmips_single_score", "single"): 0.0}, [64]),
    ],
)
def test_scaling_is_unknown_without_both_scores_and_one_count(scores, counts):
    assert scaling(scores, threads(*counts)) is None


def test_threads_of_imported_samples_do_not_count():
    imported = threads(64)
    imported[0].source = "imported"
    assert scaling(SCORES, imported) is None


# --- prices ---------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


def series(*prices, model="on_demand", currency="USD", zone=""):
    """Prices of an hour with the days, counted back from now, from and until which they held."""
    kind = PriceKind(zone, "linux", "shared", model, "", "", currency, "machine", "")
    points = tuple(
        SimpleNamespace(
            since=NOW - since * DAY,
            until=None if until is None else NOW - until * DAY,
            per_hour=lambda price=price: None if price is None else Decimal(price),
        )
        for since, until, price in prices
    )
    return PriceSeries(kind, points)


def test_prices_are_steps_up_to_today():
    made = price_plot([series((10, 4, "0.2"), (4, None, "0.1"))])
    assert made.x_text == ["2026-11-12 12:00", "2026-11-18 12:00", "2026-11-22 12:00"]
    [mark] = made.marks
    assert (mark.values, mark.is_stepped) == ([0.2, 0.1, 0.1], True)
    assert made.y.label == "USD per hour"


def test_price_that_its_list_dropped_leaves_a_gap():
    made = price_plot([series((10, 8, "0.2"), (4, None, "0.1")), series((8, None, "1"), zone="a")])
    assert made.marks[0].values == [0.2, None, 0.1, 0.1]
    assert made.marks[1].values == [None, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "given",
    [
        [],
        [series((10, None, "0.2"))],
        [series((10, 4, None), (4, None, None), model="purchase")],
    ],
)
def test_prices_that_never_changed_are_no_chart(given):
    assert price_plot(given) is None


def test_chart_has_one_currency_and_says_how_many_prices_it_omits():
    changed = (10, 4, "2"), (4, None, "1")
    others = [series(*changed, model="spot", zone=zone) for zone in "abcdefg"]
    made = price_plot([series(*changed, model="spot", currency="EUR"), *others, series(*changed)])
    assert len(made.marks) == 6
    assert made.marks[0].label == "on_demand USD"
    assert not any("EUR" in mark.label for mark in made.marks)
    assert made.note == "3 further kinds of price are in the list."
    assert price_plot([series(*changed)]).note == ""


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(None, ""), (Decimal("0.56"), "−44%"), ("1.5", "+50%"), (Decimal("3.2"), "+220%")],
)
def test_change_of_a_price_reads_in_percent(ratio, shown):
    assert change_words(ratio) == shown


# --- own hardware ---------------------------------------------------------------------------------


def hardware(currency, **breakdown):
    parts = dict.fromkeys(
        ("capital", "spares", "residual", "energy", "space", "support", "staff", "network"), "0"
    )
    return HardwareModel(cost={"currency": currency, "breakdown": {**parts, **breakdown}})


RATES = RateTable({"USD": EuroRate(dt.date(2026, 11, 20), "USD", Decimal("1.25"))})


def test_hardware_parts_are_bands_and_residual_value_lowers_purchase():
    model = hardware("EUR", capital="100", spares="5", residual="-15", energy="20")
    made = hardware_plot([model], ["rack"], RATES)
    assert {mark.label: mark.values for mark in made.marks if mark.values != [0.0]} == {
        "purchase and spares": [90.0], "energy": [20.0],
    }  # fmt: skip
    assert (made.y.label, made.y.most) == ("EUR per month", 110.0)
    assert made.extra == {"total, EUR per month": ["110"]}


def test_models_of_two_currencies_are_compared_in_dollars():
    models = [hardware("EUR", energy="20"), hardware("USD", energy="20")]
    made = hardware_plot(models, ["a", "b"], RATES)
    assert made.y.label == "USD per month"
    assert made.marks[1].values == [25.0, 20.0]


def test_model_without_an_exchange_rate_is_left_out_with_a_note():
    models = [hardware("CHF", energy="20"), hardware("USD", energy="20")]
    made = hardware_plot(models, ["a", "b"], RATES)
    assert made.x == ["b"]
    assert made.note == "1 not shown: no exchange rate is known."
    assert hardware_plot([], [], RATES) is None
