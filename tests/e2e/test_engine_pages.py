"""The pages of the engine in a real browser: a run that ends, a campaign, forms, charts."""

import json
import re

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from backend.benchmarks.models import Campaign, CampaignState, Host, HostState, Run, RunState
from backend.site.figures import figure
from tests import factories
from tests.e2e.browser import opened, sign_in
from tests.frontend import engine_rows
from tests.frontend.engine_rows import Engine

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0oIyv5WqIVmhSJvqSMKvTGvIkWvZHmVzyS7nKlnJ0L"


@pytest.fixture
def rows(site, queued) -> Engine:
    return engine_rows.engine()


def signed_in(page: Page, site: str) -> None:
    """Makes the page that of an admin."""
    sign_in(page, site, factories.user(role="admin"))


def settled(page: Page) -> None:
    """Waits until every chart of the page is drawn."""
    page.wait_for_load_state("load")
    expect(page.locator("figure[data-plot]:not([data-is-drawn])")).to_have_count(0)


def test_run_page_follows_a_run_to_its_charts_without_a_reload(browser, site, rows):
    run = rows.going
    with opened(browser, site) as page:
        page.goto(f"/runs/{run.pk}/")
        page.evaluate("window.isSamePage = true")
        expect(page.locator(".live svg")).to_have_count(2)
        page.locator("#live-data summary").click()
        expect(page.locator("#live-data tbody tr")).to_have_count(60)
        changed = {**run.live, "series": engine_rows.series(7)}
        Run.objects.filter(pk=run.pk).update(progress_ratio=0.6, live=changed)
        expect(page.locator("progress")).to_have_attribute("value", "0.6000", timeout=3_000)
        expect(page.locator("#live-data tbody tr")).to_have_count(7)
        assert page.locator("#live-data").get_attribute("open") is not None
        engine_rows.network(run)
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, progress_ratio=1)
        expect(page.locator("#plot-network")).to_be_visible(timeout=5_000)
        settled(page)
        expect(page.locator("[hx-trigger]")).to_have_count(0)
        assert page.evaluate("window.isSamePage")


def test_every_chart_is_drawn_and_its_table_says_the_same(browser, site, rows):
    with opened(browser, site) as page:
        page.goto(f"/runs/{rows.full.pk}/")
        settled(page)
        for box in page.locator("figure[data-plot]").all():
            plot_id = box.locator("canvas").get_attribute("id")
            document = json.loads(page.locator(f"#{plot_id}-json").text_content() or "")
            box.get_by_text("Show data").click()
            texts = box.locator("tbody td:nth-child(2)").all_text_contents()
            drawn = [figure(value) for value in document["marks"][0]["values"]]
            assert texts[: len(drawn)] == drawn
            colours = (
                "c => new Set(new Uint32Array(c.getContext('2d')"
                ".getImageData(0, 0, c.width, c.height).data.buffer)).size"
            )
            assert box.locator("canvas").evaluate(colours) > 5, plot_id


def test_legend_of_a_chart_hides_a_line(browser, site, rows):
    with opened(browser, site) as page:
        page.goto(f"/runs/{rows.full.pk}/")
        settled(page)
        box = page.locator('figure[data-plot="plot-depth-read-json"]')
        before = box.locator("canvas").evaluate("c => c.toDataURL()")
        box.get_by_role("button", name="4 jobs", exact=True).click()
        expect(box.get_by_role("button", name="4 jobs", exact=True)).to_have_attribute(
            "aria-pressed", "false"
        )
        assert box.locator("canvas").evaluate("c => c.toDataURL()") != before


def test_figure_leads_to_its_raw_output_in_two_clicks(browser, site, rows):
    with opened(browser, site) as page:
        page.goto(f"/offers/{rows.full.offer.slug}/")
        page.locator(f'a[href="/runs/{rows.full.pk}/"] >> visible=true').first.click()
        page.get_by_role("link", name="raw output 4", exact=True).click()
        expect(page.locator("#L2")).to_contain_text("repeat 4")


def test_campaign_matrix_moves_without_a_reload_and_then_stops(browser, site, rows):
    with opened(browser, site) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"/campaigns/{rows.campaign.pk}/")
        page.evaluate("window.isSamePage = true")
        line = page.locator("table.matrix tr", has_text="xeon-lab")
        expect(line.locator(".cell").first).to_have_text("waiting")
        Run.objects.filter(campaign=rows.campaign).update(state=RunState.FAILED)
        Campaign.objects.filter(pk=rows.campaign.pk).update(state=CampaignState.DONE)
        expect(line.locator(".cell").first).to_have_text("failed", timeout=4_000)
        expect(page.locator("#campaign-status")).to_have_text("done")
        expect(page.locator("[hx-trigger]")).to_have_count(0)
        count = len(asked)
        page.wait_for_timeout(2_500)  # longer than the interval at which it asked
        assert len(asked) == count
        assert page.evaluate("window.isSamePage")


def test_operator_makes_a_campaign_and_starts_it(browser, site, rows):
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto("/campaigns/")
        page.get_by_role("link", name="New campaign").click()
        page.get_by_label("Name").fill("night runs")
        page.get_by_role("checkbox", name="nas-cork").check()
        page.get_by_label("Profile").select_option("quick")
        page.get_by_text("Advanced: places").click()
        seconds = page.get_by_label("One CPU repeat, s")
        expect(seconds).to_have_attribute("placeholder", "1.5")
        page.get_by_label("Profile").select_option("full")
        expect(seconds).to_have_attribute("placeholder", "15")
        seconds.fill("1.5")
        page.get_by_role("button", name="Create the campaign").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("night runs")
        expect(page.get_by_text("Not started yet")).to_be_visible()
        page.get_by_role("button", name="Start the campaign").click()
        expect(page.get_by_text("Round 1")).to_be_visible()
        page.get_by_role("button", name="Cancel the round").click()
        expect(page.get_by_role("button", name="Repeat failed runs (1)")).to_be_visible()
    assert Campaign.objects.get(name="night runs").parameters == {"seconds": 1.5}


def test_schedule_form_shows_the_next_dates_as_one_types(browser, site, rows):
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto("/schedules/")
        page.get_by_label("Campaign", exact=True).select_option(index=1)
        page.get_by_label("Time zone").fill("Europe/Madrid")
        page.get_by_text("by a cron line").click()
        page.get_by_label("Cron line", exact=True).fill("15 2 * * 0")
        expect(page.locator("#preview li")).to_have_count(5)
        expect(page.locator("#preview li").first).to_contain_text(re.compile("^Sun .* 02:15"))
        page.get_by_label("Cron line", exact=True).fill("15 2 * *")
        expect(page.locator("#preview")).to_contain_text("Cron line:")
        page.get_by_label("Cron line", exact=True).fill("15 2 * * 0")
        page.get_by_role("button", name="Save schedule").click()
        expect(page.get_by_text("The schedule is saved.")).to_be_visible()
        expect(page.get_by_text("15 2 * * 0").first).to_be_visible()


def test_schedule_preview_works_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        signed_in(page, site)
        page.goto("/schedules/")
        page.get_by_text("by a cron line").click()
        page.get_by_label("Cron line", exact=True).fill("15 2 * * 0")
        page.get_by_role("button", name="Show the next starts").click()
        expect(page.locator("#preview li")).to_have_count(5)
        expect(page.get_by_label("Cron line", exact=True)).to_have_value("15 2 * * 0")


def test_key_appears_after_a_scan_and_is_approved(browser, site, rows):
    host = rows.untrusted
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto(f"/hosts/{host.pk}/")
        page.get_by_role("button", name="Ask for the key").click()
        expect(page.get_by_text("asking the host…")).to_be_visible()
        Host.objects.filter(pk=host.pk).update(
            scan_requested_at=None, scanned_key=KEY, scanned_at=factories.AT
        )
        page.get_by_role("button", name="The fingerprint matches: approve").click(timeout=6_000)
        expect(page.get_by_role("button", name="Start the run")).to_be_visible()
    host.refresh_from_db()
    assert host.state == HostState.TRUSTED


def test_operator_starts_a_run_from_the_page_of_a_host(browser, site, rows):
    host = factories.host(name="idle box")
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto(f"/hosts/{host.pk}/")
        page.get_by_role("checkbox", name="cmips").check()
        page.get_by_role("button", name="Start the run").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run on idle box")
        page.get_by_role("button", name="Cancel run").click()
        expect(page.get_by_text("Nothing had been measured yet.")).to_be_visible()


def test_result_is_pasted_looked_at_and_stored(browser, site, rows):
    text = (settings.FIXTURE_DIR / "probes" / "sysbench-1.0.20-cpu.txt").read_text()
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto("/import/")
        page.get_by_label("Tool", exact=True).select_option("sysbench")
        page.locator("#offer").press_sequentially("nas")
        expect(page.locator("#offer-names option")).to_have_count(1)
        page.locator("#offer").fill("own-nas-cork")
        page.get_by_label("Output of the tool").fill(text)
        page.get_by_role("button", name="Preview").click()
        expect(page.locator("#read tbody tr")).to_have_count(1)
        page.get_by_role("button", name="Store for nas-cork").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("sysbench result for nas-cork")
        expect(page.get_by_text("Prime numbers limit")).to_be_visible()
        page.get_by_text("Exclude a result").click()
        page.get_by_label("Reason to exclude").fill("the wrong machine")
        page.get_by_role("button", name="Exclude").click()
        expect(page.get_by_text("excluded", exact=True)).to_be_visible()


def test_tables_of_charts_are_there_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        page.goto(f"/runs/{rows.full.pk}/")
        box = page.locator('figure[data-plot="plot-depth-read-json"]')
        expect(box.locator("canvas")).to_be_hidden()
        box.get_by_text("Show data").click()
        expect(box.locator("tbody tr")).to_have_count(3)


def test_offers_to_rent_are_searched_and_listed(browser, site, db):
    for size in ("large", "xlarge"):
        factories.offer(f"aws-m5-{size}", name=f"m5.{size}")
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto("/campaigns/new/", wait_until="networkidle")
        search = page.locator("#offer")
        for size in ("large", "xlarge"):
            search.press_sequentially("m5")
            expect(page.locator("#offer-names option")).to_have_count(2)
            search.fill(f"aws-m5-{size}")
            search.blur()  # as choosing a suggestion does, it tells that the field has changed
        expect(page.locator("#offers")).to_have_value("aws-m5-large\naws-m5-xlarge")
        expect(search).to_have_value("")
