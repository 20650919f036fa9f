"""Charts in a real browser, against the acceptance list.

That every canvas has a role, a label and a table is walked on all pages (test_checks_pages).
Held elsewhere, check → test:

   28  test_chart_shows_what_its_data_table_says
   28  test_every_chart_is_drawn_and_its_table_says_the_same
   28  test_frontier_shows_the_data_that_it_draws
   30  test_filters_swap_the_results_and_push_the_address
"""

import datetime as dt
import json
import struct
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.rankings.selectors.frontier import Frontier, frontier
from backend.rankings.selectors.query import RankingQuery
from tests import factories
from tests.e2e.browser import opened
from tests.e2e.test_decision_pages import texts_of

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
COLOURS = (
    "canvas => new Set(new Uint32Array(canvas.getContext('2d')"
    ".getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"
)


@pytest.fixture
def market(site):
    for slug, score, price in (
        ("calm", 1000.0, "0.1"),
        ("wild", 2000.0, "0.3"),
        ("quick", 3000.0, "0.5"),
    ):
        offer = factories.offer(slug)
        given = {"source": "published", "published_sd_ratio": 0.01, "published_count": 3}
        factories.sample(offer, score, **given)
        factories.price(offer, price)
    data_version_bump()


@pytest.mark.parametrize("path", ["/", "/offers/", "/frontier/", "/compare/?o=calm,wild"])
def test_check_29_picture_is_large_and_has_its_title_and_day(browser, site, market, tmp_path, path):
    with opened(browser, site) as page:
        page.goto(path, wait_until="networkidle")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save picture").first.click()
        picture = tmp_path / "picture.png"
        download.value.save_as(picture)
    content = picture.read_bytes()
    assert len(content) > 10_000
    width, height = struct.unpack(">II", content[16:24])
    assert width > 600
    assert height > 300
    told = texts_of(picture)
    days = {str(clock.now().date() - dt.timedelta(days=ago)) for ago in (0, 1)}
    assert "CPU, all threads" in told["Title"]
    assert any(day in told["Description"] for day in days)


def wild(query: RankingQuery, *, workspace_slug: str, stamp: DataStamp) -> Frontier:
    """The chart's rows, one of them with an interval that reaches below zero: ours never do."""
    found = frontier(query, workspace_slug=workspace_slug, stamp=stamp)
    rows = [
        replace(row, score_ci95_low=-5.0, score_ci95_high=9000.0) if row.offer == "wild" else row
        for row in found.within
    ]
    return replace(found, within=rows)


def test_check_31_interval_down_to_zero_is_drawn_on_a_log_axis(browser, site, market, monkeypatch):
    monkeypatch.setattr("backend.rankings.pages.frontier.views.frontier", wild)
    with opened(browser, site) as page:  # fails on an exception and on an error of the console
        page.goto("/frontier/", wait_until="networkidle")
        data = json.loads(page.locator("#chart-json").text_content() or "")
        cut = {point["label"]: point["isCut"] for point in data["points"]}
        assert cut == {"calm": False, "wild": True, "quick": False}
        assert min(point["low"] for point in data["points"]) > data["y"]["min"] > 0
        assert page.locator("#chart").evaluate(COLOURS) > 5
        page.locator("#chart-details summary").click()
        row = page.locator("#chart-data tbody tr", has_text="wild")
        expect(row).to_contain_text("0 or less to 9,000")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/", "No server on sale meets this. Ask for less, or remove a filter."),
        ("/offers/", "has not been measured on any offer yet"),
        ("/?metric=fsync_p99_ns", "has not been measured on any offer yet"),
        ("/frontier/", "No offer here has both"),
        ("/compare/", "Nothing is compared yet"),
        ("/hardware/", "No cost model yet"),
        ("/prices/", "No price yet"),
        ("/reports/", "No report yet"),
        ("/scenarios/", "No scenario is saved yet"),
    ],
)
def test_check_32_no_data_is_a_sentence_and_no_canvas(browser, site, path, sentence):
    with opened(browser, site) as page:
        page.goto(path, wait_until="networkidle")
        expect(page.locator("canvas")).to_have_count(0)
        expect(page.locator("main")).to_contain_text(sentence)
