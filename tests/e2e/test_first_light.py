"""A person's way through the pages in a real browser: ranking, offer, run, evidence."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from backend.benchmarks.models import Run, RunState
from tests import factories
from tests.e2e.browser import opened
from tests.frontend.rows import Measured, evidence, measured_offer, published
from tests.frontend.spacing import brief
from tests.market import FEW_OFFERS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def rows(site) -> Measured:
    """One measured offer and a few published ones of several providers."""
    factories.rate("USD", "1.25")
    for n, slug in enumerate(("aws", "gcp", "linode", "rackspace", "ovh"), start=1):
        published(f"{slug}-type", 400.0 * n, f"0.{n}", provider_slug=slug, name=f"{slug}.type")
    return measured_offer()


def drawn(page: Page) -> None:
    """Waits for the chart and its data table."""
    page.locator("#chart-data table").wait_for(state="attached")


def test_reader_goes_from_the_ranking_to_the_raw_output(browser, site):
    FEW_OFFERS.load()
    rows = measured_offer()
    with opened(browser, site) as page:
        page.goto("/offers/")
        drawn(page)
        line = page.locator("tr", has=page.get_by_role("link", name="rack", exact=True))
        assert "1,000" in line.inner_text()
        line.get_by_role("link", name="rack", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("rack")
        expect(page.locator("canvas")).to_have_count(1)
        page.locator(f'a[href="/runs/{rows.run.pk}/"]').first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run on rack")
        page.get_by_role("link", name="raw output 0").click()
        expect(page.locator("#L1")).to_contain_text("1024000000")
        page.goto("/offers/")
        page.locator(f'td > a[href="/runs/{rows.run.pk}/#evidence"]').click()
        page.locator("#evidence").get_by_role("link", name="cmips").first.click()
        expect(page.locator("#L2")).to_contain_text("second line <b>")


def test_filters_swap_the_results_and_push_the_address(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/offers/")
        drawn(page)
        page.evaluate("window.isSamePage = true")
        page.get_by_label("Currency").select_option("EUR")
        expect(page.locator("th", has_text="Price")).to_contain_text("EUR/hour")
        assert brief(page.url) == f"{site}/offers/?currency=EUR"
        page.locator("#provider-menu").click()
        page.locator("input[name=provider][value=aws]").check()
        expect(page.get_by_role("status")).to_have_text(
            "1 offer sorted by Value per cost, highest first"
        )
        expect(page.get_by_role("link", name="Remove filter Provider AWS")).to_be_visible()
        page.locator("#results").get_by_role("link", name="Price").click()
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
        assert brief(page.url) == f"{site}/offers/?currency=EUR&provider=aws&sort=price"
        assert page.evaluate("window.isSamePage")
        expect(page.locator("#chart-data tbody tr")).to_have_count(1)
        page.go_back()
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
        expect(page.locator("input[value=aws]")).to_be_checked()


def test_wrong_value_appears_beside_its_field(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/offers/")
        page.get_by_label("Hours per month").fill("none")
        page.get_by_label("Hours per month").blur()
        expect(page.locator("#hours_per_month_error")).to_contain_text("not a number")
        expect(page.get_by_role("status")).to_contain_text("6 offers")


def test_ranking_works_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        page.goto("/offers/")
        page.get_by_label("Search", exact=True).fill("gcp")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("link", name="Remove filter Search gcp").click()
        page.get_by_role("link", name="Score").click()
        expect(page.locator("tbody tr")).to_have_count(6)
        expect(page.locator("th[aria-sort]")).to_contain_text("Score")


def test_chart_shows_what_its_data_table_says(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/offers/")
        drawn(page)
        data = json.loads(page.locator("#chart-json").text_content() or "")
        labels = page.locator("#chart-data tbody th").all_text_contents()
        assert labels == [bar["label"] for bar in data["modes"]["value"]["bars"]]
        assert page.locator("#chart").get_attribute("role") == "img"
        assert "6 of 6 offers" in (page.locator("#chart").get_attribute("aria-label") or "")
        page.locator(".switch").get_by_text("Score").click()
        expect(page.locator("#chart-data tbody th").first).to_have_text("ovh.type")
        page.get_by_role("button", name="OVH").click()
        expect(page.locator("#chart-data tbody tr")).to_have_count(5)


def test_picture_of_the_chart_is_saved_with_its_title(browser, site, rows, tmp_path: Path):
    with opened(browser, site) as page:
        page.goto("/offers/")
        drawn(page)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save picture").click()
        picture = tmp_path / download.value.suggested_filename
        download.value.save_as(picture)
    assert picture.name.startswith("rackrate-cmips_score-20")
    assert picture.stat().st_size > 10_000
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_run_page_follows_the_run_and_then_stops_asking(browser, site, rows):
    run = factories.run(factories.host(name="busy"), state=RunState.RUNNING, progress_ratio=0.25)
    with opened(browser, site) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"/runs/{run.pk}/")
        expect(page.locator("progress")).to_have_attribute("value", "0.2500")
        piece = evidence(run, 0)
        factories.sample(run.offer, 1234.0, host=run.host, run=run, evidence=piece)
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, progress_ratio=1)
        expect(page.locator("tbody")).to_have_count(3, timeout=10_000)
        expect(page.get_by_text("1,234").first).to_be_visible()
        expect(page.locator("[hx-trigger]")).to_have_count(0)
        count = len(asked)
        page.wait_for_timeout(2_500)  # longer than the interval at which it asked
        assert len(asked) == count


def test_ranking_is_reached_by_keyboard_with_a_visible_focus(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/offers/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_label("Metric")).to_be_focused()
        page.get_by_role("link", name="Score").focus()
        page.keyboard.press("Enter")
        expect(page.locator("th[aria-sort]")).to_contain_text("Score")


def test_theme_button_changes_and_remembers_the_theme(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/metrics/cmips_score/")
        page.get_by_role("button", name="Switch to the dark theme").click()
        page.goto("/hosts/")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        expect(page.get_by_role("button", name="Switch to the light theme")).to_be_visible()
