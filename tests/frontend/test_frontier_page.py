"""The price-performance chart: its points are the ranking's, its line the ranking's frontier."""

import datetime as dt
import json
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import PriceObservation
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.measure.metrics import METRICS
from backend.rankings.pages.frontier import page as frontier
from backend.rankings.selectors import frontier as selectors
from backend.rankings.selectors.query import Filter, RankingQuery
from backend.site import figures
from tests import factories
from tests.frontend.rows import published
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def market():
    """Price an hour and CMIPS: `cheap`, `middle` and `top` are beaten by none."""
    for slug, score, price in (
        ("cheap", 100.0, "0.01"),
        ("middle", 1000.0, "0.1"),
        ("dear", 900.0, "0.2"),
        ("top", 5000.0, "1"),
        ("waste", 4000.0, "3"),
    ):
        published(slug, score, price, provider_slug="hetzner" if slug == "dear" else "aws")
    published("unpriced", 700.0, None)


def html(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return shown(answer)


def chart(text):
    return json.loads(
        text.partition('<script id="chart-json" type="application/json">')[2].partition("</")[0]
    )


def frontier_of(*filters, metric="cmips_score"):
    current_stamp()
    return selectors.frontier(RankingQuery(metric=metric, filters=filters))


def drawn(one):
    return frontier.frontier_chart(one, figures.scale(one.metric.unit, []), "USD/hour", {})


def test_line_joins_the_offers_that_nothing_beats_from_the_cheapest_on(client, market):
    data = chart(html(client, "/frontier/"))
    assert data["line"] == [[0.01, 100.0], [0.1, 1000.0], [1.0, 5000.0]]
    assert [p["offer"] for p in data["points"]][:3] == ["cheap", "middle", "top"]
    assert {p["offer"]: p["isFrontier"] for p in data["points"]} == {
        **dict.fromkeys(["cheap", "middle", "top"], True),
        **dict.fromkeys(["dear", "waste"], False),
    }
    assert (data["dots"], data["thinned"]) == ([], 0)


def test_tables_hold_the_figures_of_the_chart(client, market):
    text = html(client, "/frontier/")
    rows = re.findall(r'name="o" value="([^"]+)"', text)
    assert rows == ["cheap", "middle", "top", "dear", "waste"]
    assert "5 offers, 3 on the line" in text
    assert "1 scored offer is not shown: it has no price" in text
    assert '<td class="number" title="5000.0">5,000' in text or 'title="5000">5,000' in text


def test_limits_mark_what_is_beyond_them_and_leave_the_line(client, market):
    text = html(client, "/frontier/?price__lte=0.5&score__gte=500")
    data = chart(text)
    assert [p["offer"] for p in data["points"]] == ["middle", "dear"]
    assert data["line"] == [[0.1, 1000.0]]
    assert {dot[0] for dot in data["dots"]} == {"cheap", "top", "waste"}
    assert all(is_beyond for *_, is_beyond in data["dots"])
    assert data["limits"] == [
        {"axis": "x", "value": 0.5, "label": "price at most 0.5 USD/hour"},
        {"axis": "y", "value": 500.0, "label": "score at least 500 CMIPS"},
    ]
    assert data["x"]["min"] < 0.01
    assert data["x"]["max"] > 3
    assert 'name="price__lte" value="0.5"' in text


def test_limits_that_nothing_meets_are_a_sentence(client, market):
    text = html(client, "/frontier/?price__lte=0.000001")
    assert "None of the 5 offers is within these limits." in text
    assert "<canvas" not in text


def test_frontier_without_figures_is_a_sentence(client, market):
    text = html(client, "/frontier/?metric=fsync_p99_ns")
    assert "No offer here has both a price and a score" in text
    assert "<canvas" not in text


def test_filters_of_the_ranking_hold_and_travel_with_the_form(client, market):
    text = html(client, "/frontier/?provider=hetzner&foo=1")
    assert [p["offer"] for p in chart(text)["points"]] == ["dear"]
    assert '<input type="hidden" name="provider" value="hetzner">' in text
    assert "unknown parameter foo was ignored" in text
    assert 'href="/offers/?provider=hetzner"' in text


def test_bad_values_are_errors_beside_their_fields_and_filter_nothing(client, market):
    text = html(client, "/frontier/?price__lte=much&vcpu__gte=x")
    assert 'id="price__lte_error"' in text
    assert 'value="much"' in text
    assert "<strong>vCPU</strong> filters nothing" in text
    assert len(chart(text)["points"]) == 5


def test_picks_of_the_address_are_ticked_also_those_beyond_the_tables(client, market):
    text = html(client, "/frontier/?provider=aws&o=top,dear&currency=USD&period=month")
    assert re.search(r'value="top" aria-label="Pick top"\s+checked', text)
    assert '<label><input type="checkbox" name="o" value="dear" checked>dear</label>' in text
    form = text[text.index('<form id="picks"') :]
    assert 'action="/compare/"' in form
    assert '<input type="hidden" name="period" value="month">' in form
    assert 'name="provider"' not in form


def test_lower_is_better_turns_the_axis_and_the_limit(client):
    for slug, score, price in (("slow", 200.0, "0.1"), ("fast", 50.0, "0.2"), ("bad", 90.0, "0.3")):
        offer = factories.offer(slug)
        given = {
            "metric": "memory_latency_ns",
            "variant": METRICS["memory_latency_ns"].canonical_variant,
        }
        factories.sample(offer, score, unit="ns", source="published", **given)
        factories.price(offer, price)
    text = html(client, "/frontier/?metric=memory_latency_ns")
    data = chart(text)
    assert data["line"] == [[0.1, 200.0], [0.2, 50.0]]
    assert data["isHigherBetter"] is False
    assert 'name="score__lte"' in text
    assert "Lower is better" in text


def test_interval_down_to_zero_is_cut_at_a_floor_and_marked(market, monkeypatch):
    one = frontier_of()
    low = [
        row.__class__(**{**vars(row), "score_ci95_low": -5.0, "score_ci95_high": 2000.0})
        if row.offer_id == "middle"
        else row
        for row in one.within
    ]
    data = drawn(replace(one, within=low))
    point = next(p for p in data["points"] if p["offer"] == "middle")
    assert point["isCut"] is True
    assert 0 < point["low"] < 100
    assert 0 < data["y"]["min"] < point["low"]
    assert not any(p["isCut"] for p in data["points"] if p["offer"] != "middle")


def test_limit_at_or_below_zero_draws_no_line(market):
    data = drawn(frontier_of(Filter("score", "__gte", (Decimal(0),))))
    assert data["limits"] == []
    assert data["y"]["min"] > 0


def test_single_point_still_has_an_axis(db):
    published("only", 100.0, "0.1")
    data = drawn(frontier_of())
    assert data["x"]["min"] < 0.1 < data["x"]["max"]
    assert data["y"]["min"] < 100 < data["y"]["max"]


def test_points_beyond_the_cap_are_thinned_and_the_rest_counted(market, monkeypatch):
    monkeypatch.setattr(frontier, "MOST_POINTS", 4)
    data = drawn(frontier_of())
    assert len(data["points"]) == 4
    assert [p["offer"] for p in data["points"]][:3] == ["cheap", "middle", "top"]
    assert data["dots"] == [["waste", "waste", "aws", 3.0, 4000.0, False]]
    monkeypatch.setattr(frontier, "MOST_DOTS", 0)
    assert drawn(frontier_of())["thinned"] == 1


def test_dots_of_one_cell_are_one(monkeypatch):
    monkeypatch.setattr(frontier, "MOST_POINTS", 1)
    for n in range(5):
        published(f"same-{n}", 100.0, "0.1")
    published("apart", 10.0, "10")
    data = drawn(frontier_of())
    assert [dot[0] for dot in data["dots"]] == ["apart"]
    assert data["thinned"] == 4


def test_summary_says_what_the_chart_shows(market):
    said = drawn(frontier_of())["summary"]
    assert "Scatter chart of 5 offers" in said
    assert "3 of them have the best score at their price" in said
    assert "from cheap at 0.01 USD/hour with 100 to top at 1 USD/hour with 5,000 CMIPS" in said


def test_row_is_marked_where_its_price_is_older_than_the_rest(client, market):
    newer = clock.now() - dt.timedelta(days=60)
    PriceObservation.objects.exclude(offer__slug="cheap").update(observed_at=newer)
    oldest = clock.now() - dt.timedelta(days=400)
    PriceObservation.objects.filter(offer__slug="cheap").update(observed_at=oldest)
    page = html(client, "/frontier/")
    assert "1 older one is marked" in page
    assert page.count(">old price<") == 1


def test_frontier_page_keeps_to_its_queries(client, market, django_assert_max_num_queries):
    data_version_bump()
    html(client, "/frontier/?period=year")  # what changed is worked off by the first who reads
    with django_assert_max_num_queries(12):
        html(client, "/frontier/?price__lte=0.5&currency=USD")
