"""Charts of scenarios as data: amounts never without what is unserved, months, spans, tornado."""

import datetime as dt
from typing import Any

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.pages import decisions, plots
from backend.scenarios.pages.figures import mark_options, share
from backend.scenarios.pages.span import series_of_worst_span
from backend.scenarios.selectors.scenarios import Simulated, scenario_series
from backend.scenarios.services.scenarios import scenario_create


def option(name: str, cost: str, unserved: float, **given: Any) -> dict[str, Any]:
    return {"name": name, "cost_total": cost, "unserved_share": unserved, **given}


def marks(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The options of a result whose prices are no examples and whose unmet demand costs nothing."""
    result = {"options": options, "demand": {"unit_hours": "100"}}
    return mark_options(options, Simulated(result, {"options": []}, 0))


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(0.0, "0%"), (0.5, "50%"), (0.01234, "1.23%"), (1e-7, "< 0.01%"), (1.0, "100%")],
)
def test_share_is_never_rounded_to_nothing(ratio: float, told: str) -> None:
    assert share(ratio) == told


def test_months_of_years_are_drawn_in_groups_that_add_up() -> None:
    told = series(TEMPLATES["own_rack"].document, most_points=50)
    plot = plots.months_plot(told, 1)
    assert len(told["months"]) == 36
    assert len(plot.x) == 8
    assert plot.x[0] == "Jan 2026, to May 2026"
    assert plot.x[2] == "Nov 2026, to Mar 2027"
    assert plot.x_text[0] == "2026-01 to 2026-05"
    assert sum(value or 0 for value in plot.marks[0].values) == 72_000
    assert plot.extra["unmet"] == ["0%"] * 8


def test_money_spent_ends_with_the_bill_and_shows_what_leaving_costs() -> None:
    told = series(TEMPLATES["project_may_fail"].document, most_points=50)
    plot = plots.cash_plot(told)
    labels = [mark.label for mark in plot.marks]
    assert "dedicated, 12 months, paid and owed on leaving" in labels
    assert "cloud, no contract, paid and owed on leaving" not in labels
    owed = plot.marks[labels.index("dedicated, 12 months, paid and owed on leaving")].values
    assert owed[0] == 1200
    assert owed[-1] == 2400
    assert plot.x[0] == 1000 * dt.datetime(2026, 2, 1, tzinfo=dt.UTC).timestamp()
    assert plot.x[-1] == 1000 * dt.datetime(2028, 1, 1, tzinfo=dt.UTC).timestamp()
    assert plot.extra["cloud, no contract, unmet"] == ["0%"] * 24


def test_option_without_a_base_is_one_band() -> None:
    told = series(TEMPLATES["startup"].document, most_points=100)
    labels = [mark.label for mark in plots.duration_plot(told, 0).marks]
    assert labels == ["as needed", "demand, servers", "unmet, servers"]


def test_reservations_are_a_band_of_their_own() -> None:
    told = series(TEMPLATES["hybrid"].document, most_points=100)
    plot = plots.duration_plot(told, 3)
    assert [mark.label for mark in plot.marks[:2]] == ["reserved", "beyond it"]
    assert plot.is_stacked


def test_every_amount_has_its_unserved_demand_beside_it() -> None:
    result = simulate(TEMPLATES["events"].document)
    options = result["options"]
    words = "1.18% unmet"
    for plot in (
        plots.cost_plot(result, "USD"),
        decisions.odds_plot(options),
        decisions.spread_plot(options, "USD"),
    ):
        assert plot is not None
        assert str(plot.x[0]).endswith(words)
    tornado = decisions.tornado_plot(result, "USD")
    assert tornado is not None
    assert "20 wait for it (0% unmet as stated)" in tornado.note  # the other drops load


def test_tornado_says_where_another_option_wins() -> None:
    plot = decisions.tornado_plot(simulate(TEMPLATES["startup"].document), "USD")
    assert plot is not None
    assert plot.x[0] == "demand"
    # More demand than stated leaves 20 dedicated servers short, fewer users make three enough.
    assert plot.extra["cheapest at that end"][0] == "hybrid"
    assert "demand 1,020 to 2,256" in plot.summary
    assert plot.heads[:2] == ["at the low end, USD", "at the high end, USD"]
    assert plot.rows[0].cells[:2] == ["1,020", "2,256"]


def test_plots_of_uncertainty_are_left_out_without_any() -> None:
    document = {k: v for k, v in TEMPLATES["startup"].document.items() if k != "uncertainty"}
    result = simulate(document)
    assert decisions.odds_plot(result["options"]) is None
    assert decisions.spread_plot(result["options"], "USD") is None
    assert decisions.tornado_plot(result, "USD") is None


def test_options_are_marked_where_they_are_the_cheapest() -> None:
    options = [
        option("cheap", "1", 0.2), option("whole", "3", 0.0), option("dear", "4", 0.0),
        option("same", "1", 0.2), option("worse", "2", 0.3),
    ]  # fmt: skip
    summary = decisions.pareto_plot(options, "USD").summary
    assert summary.endswith("Nothing beats cheap, same, whole.")
    flagged = {one["name"]: (one["is_cheapest"], one["is_short"]) for one in marks(options)}
    assert flagged["cheap"] == (False, True)
    assert flagged["whole"] == (True, False)
    tiny = option("tiny", "1", 0.0, cost_per_demand_unit_hour="0.000037")
    none = option("none", "2", 0.0, cost_per_demand_unit_hour=None)
    assert [one["unit_hour"] for one in marks([tiny, none])] == ["0.000037", ""]
    only = marks([option("short", "1", 0.1)])
    assert only[0]["is_short"]


@pytest.mark.django_db
def test_span_is_the_day_of_the_worst_moment_at_close_range() -> None:
    document = dict(TEMPLATES["startup"].document)
    document["policy"] = {"kind": "perfect", "warmup_s": 180}
    window = {"from": "10:00", "to": "15:00", "level": 20, "weekdays": [4]}
    document["demand"] = {"kind": "daily", "unit": "servers", "base": 3, "windows": [window]}
    scenario = scenario_create(workspace=default_workspace(), document=document, actor="ada")
    whole = scenario_series(scenario, most_points=240)
    day = series_of_worst_span(scenario, whole, 0, "day")
    assert day["t"][0] == "2026-01-02T00:00:00+00:00"  # the first Friday
    assert day["point_s"] == 360
    assert len(day["t"]) == len(day["options"][0]["unserved"]) == 240
    assert max(day["options"][0]["unserved"]) == 17
    week = series_of_worst_span(scenario, whole, 0, "week")
    assert (week["t"][0][:10], week["t"][-1][:10]) == ("2026-01-02", "2026-01-08")
    assert series_of_worst_span(scenario, whole, 0, "all") is whole
