"""Frontier, comparison and metrics in a real browser: charts, picks, pictures, access."""

import json
import struct
import zlib
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backend.catalog.services.data_version import data_version_bump
from backend.site.figures import figure
from tests import factories
from tests.e2e.browser import opened
from tests.frontend.spacing import brief

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def market(site):
    """Five offers with scores and spreads; `cheap`, `middle` and `top` are beaten by none."""
    for slug, score, price in (
        ("cheap", 100.0, "0.01"),
        ("middle", 1000.0, "0.1"),
        ("dear", 900.0, "0.2"),
        ("top", 5000.0, "1"),
        ("waste", 4000.0, "3"),
    ):
        offer = factories.offer(slug, vcpu_count=4, memory_bytes=16 * 2**30)
        spread = {"source": "published", "published_sd_ratio": 0.05, "published_count": 9}
        factories.sample(offer, score, **spread)
        factories.price(offer, price)
    data_version_bump()


def test_frontier_shows_the_data_that_it_draws(browser, site, market):
    with opened(browser, site) as page:
        page.goto("/frontier/?score__gte=500", wait_until="networkidle")
        data = json.loads(page.locator("#chart-json").text_content() or "")
        page.locator("#chart-details summary").click()
        rows = page.locator("#chart-data tbody tr")
        expect(rows).to_have_count(len(data["points"]) + len(data["dots"]))
        shown = [row.split("\t") for row in rows.all_inner_texts()]
        for point, cells in zip(data["points"], shown, strict=False):
            assert [cells[0], cells[2], cells[3]] == [
                point["label"],
                figure(point["x"]),
                figure(point["y"]),
            ]
            assert cells[4] == f"{figure(point['low'])} to {figure(point['high'])} (95%)"
        assert shown[-1][5] == "beyond the limits"


def test_offers_picked_in_table_and_chart_are_compared(browser, site, market):
    with opened(browser, site) as page:
        page.goto("/frontier/?score__gte=500&period=month", wait_until="networkidle")
        page.get_by_label("Pick middle").check()
        canvas = page.locator("#chart")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        # `cheap` is beyond the limit and so in no table: its point is the lowest, at the left.
        for across, up in product(range(100, 180, 6), range(60, 110, 6)):
            page.mouse.click(box["x"] + across, box["y"] + box["height"] - up)
            page.evaluate("() => new Promise(requestAnimationFrame)")
            if page.locator("#picked-beside input").count():
                break
        expect(page.locator("#picked")).to_have_text("2 of at most 6 picked.")
        page.get_by_role("button", name="Compare the picked offers").click()
        expect(page.locator("h1")).to_have_text("Side by side")
        assert "period=month" in page.url
        heads = page.locator("#comparison thead a[href^='/offers/']").all_inner_texts()
        assert sorted(heads) == ["cheap", "middle"]


def test_comparison_works_without_scripts(browser, site, market):
    with opened(browser, site, is_scripted=False) as page:
        page.goto("/compare/?o=cheap,middle")
        page.get_by_label("Move cheap to the right").click()
        assert brief(page.url).endswith("/compare/?o=middle,cheap&base=cheap")
        page.locator("#add").fill("top")
        page.get_by_role("button", name="Find").click()
        expect(page.locator("#comparison thead a[href^='/offers/']")).to_have_count(3)
        page.get_by_label("Remove middle").click()
        expect(page.locator("#comparison thead a[href^='/offers/']")).to_have_count(2)


def texts_of(picture: Path) -> dict[str, str]:
    """What the tEXt chunks of a PNG say; their checksums must hold."""
    content, found, at = picture.read_bytes(), {}, 8
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + size]
        if kind == b"tEXt":
            assert struct.unpack(">I", content[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
                kind + body
            )
            keyword, _, text = body.decode("latin-1").partition("\0")
            found[keyword] = text
        at += 12 + size
    return found


@pytest.mark.parametrize(
    "chart",
    [
        ("/frontier/?price__lte=2", "#chart-save"),
        ("/compare/?o=cheap,middle", "[data-save=small-cmips_score]"),
        ("/offers/", "#chart-save"),
    ],
)
def test_picture_of_a_chart_has_its_title_filters_version_and_page(
    browser, site, market, tmp_path, chart
):
    path, button = chart
    with opened(browser, site) as page:
        page.goto(path, wait_until="networkidle")
        with page.expect_download() as download:
            page.locator(button).click()
        picture = tmp_path / download.value.suggested_filename
        download.value.save_as(picture)
    assert picture.stat().st_size > 10_000
    told = texts_of(picture)
    assert told["Title"].startswith("CPU, all threads")
    assert brief(told["Source"]) == site + path
    assert "data version" in told["Description"]
    assert ("Price: <= 2" in told["Description"]) == ("price__lte" in path)
