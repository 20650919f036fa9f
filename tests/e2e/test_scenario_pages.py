"""Scenarios in a real browser: figures follow what is typed, charts are drawn, access."""

from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from backend.accounts.services.workspaces import default_workspace
from backend.core import work
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services import job_requests
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.e2e.browser import opened, sign_in
from workers import scenario_jobs

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
NEW = "/scenarios/new/?template=startup"
STARTUP = "/scenarios/startup-with-five-busy-hours/"
PRICE = "options.0.parts.0.price.amount"


@pytest.fixture
def startup(site: str) -> None:
    document = TEMPLATES["startup"].document
    scenario_create(
        workspace=default_workspace(), document=document, actor="ada", template="startup"
    )


def field(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.locator(f'[id="{name}"]')


def test_figures_follow_what_is_typed(browser, site, db):
    with opened(browser, site) as page:
        page.goto(NEW, wait_until="networkidle")
        preview = page.locator("#preview")
        expect(preview).to_contain_text("1,884")
        field(page, PRICE).fill("0.1")
        expect(preview).to_contain_text("471")
        field(page, PRICE).fill("a lot")
        expect(preview).to_contain_text("option 1, part 1, Price: 'a lot' is not a decimal number")
        expect(field(page, PRICE)).to_have_value("a lot")


def test_replaced_preview_is_no_console_error(browser, site, db):
    with opened(browser, site) as page:
        page.goto(NEW, wait_until="networkidle")
        unanswered = []

        def answer_from_the_second_on(route):  # type: ignore[no-untyped-def]
            route.continue_() if unanswered else unanswered.append(route)

        page.route("**/scenarios/preview/", answer_from_the_second_on)
        with page.expect_request("**/scenarios/preview/"):
            field(page, PRICE).fill("0.2")
        field(page, PRICE).fill("0.1")
        expect(page.locator("#preview")).to_contain_text("471")
        assert len(unanswered) == 1


def test_form_is_sent_whole_before_its_scripts_are_there(browser, site, db):
    with opened(browser, site) as page:
        page.route("**/js/pages/*", lambda route: None)
        page.goto(NEW, wait_until="commit")
        with page.expect_request(lambda asked: asked.method == "POST") as sent:
            page.locator("#result").get_by_role("button", name="Calculate").click(
                no_wait_after=True
            )
    names = {name for name, _ in parse_qsl(sent.value.post_data, keep_blank_values=True)}
    # Closed options and the experts' fields are drawn later.
    assert {"options.2.parts.1.price.amount", "horizon.step_s", "policy.kind"} <= names


def test_only_the_fields_of_what_is_chosen_show(browser, site, db):
    with opened(browser, site) as page:
        page.goto(NEW, wait_until="networkidle")
        expect(field(page, "demand.base")).to_be_visible()
        expect(field(page, "demand.level")).to_be_hidden()
        expect(field(page, "options.0.parts.1.price.amount")).to_be_hidden()
        expect(field(page, "options.2.parts.1.price.amount")).to_be_visible()
        page.locator("#expert > summary").click()
        field(page, "demand.kind").select_option("composed")
        expect(field(page, "demand.level")).to_be_visible()
        expect(field(page, "demand.windows.0.from")).to_be_hidden()
        field(page, "demand.level").fill("7")
        expect(page.locator("#preview")).to_contain_text("2,016")  # 7 × 720 h × .4


def test_charts_are_drawn_and_the_map_opens(browser, site, startup):
    with opened(browser, site) as page:
        page.goto(STARTUP, wait_until="networkidle")
        drawn = "[...document.querySelectorAll('figure[data-plot]')].map(f => f.dataset.isDrawn)"
        expect(page.locator("#curves-body")).to_contain_text("“all cloud” is never the cheapest")
        assert page.evaluate(drawn) == [""] * 8
        page.locator("summary", has_text="Break-even map").click()
        expect(page.locator("#map-body")).to_contain_text("1,320 USD")
        assert page.locator("h1").count() == 1
        # Not that of a page of which a part was fetched.
        assert page.title() == "Startup with five busy hours · Rackrate"


def test_map_that_others_delay_comes_by_itself(browser, site, startup, monkeypatch):
    monkeypatch.setattr(work, "WAIT_S", 0)
    monkeypatch.setattr(work, "RETRY_S", 1)
    with opened(browser, site, expected_status=503) as page:
        page.goto(STARTUP, wait_until="networkidle")
        with work._capacities[False].seat():
            with page.expect_response("**/map/") as refused:
                page.locator("summary", has_text="Break-even map").click()
            assert refused.value.status == 503
        expect(page.locator("#map-body")).to_contain_text("1,320 USD")


def test_page_that_others_delay_comes_by_itself(browser, site, startup, monkeypatch):
    monkeypatch.setattr(work, "WAIT_S", 0)
    monkeypatch.setattr(work, "RETRY_S", 1)
    with opened(browser, site, expected_status=503) as page:
        with work._capacities[False].seat():
            page.goto(f"{STARTUP}map/")
            expect(page.locator("#main")).to_contain_text("tries again automatically")
        expect(page.locator("#main")).to_contain_text("1,320 USD")


def test_page_of_a_job_follows_it_to_its_result(browser, site, db, queued, monkeypatch):
    monkeypatch.setattr(job_requests, "PIECE_WORK", 1)  # a piece for each option
    document = TEMPLATES["startup"].document
    options = [{**document["options"][0], "name": name} for name in "ab"]
    document = {**document, "options": options}
    job = job_requests.job_create(workspace=default_workspace(), document=document, actor="ada")
    with opened(browser, site) as page:
        sign_in(page, site, factories.user(role="write"))
        page.goto(f"/scenarios/jobs/{job.pk}/")
        page.evaluate("window.isSamePage = true")
        expect(page.get_by_role("status")).to_contain_text("It waits for a worker.")
        assert scenario_jobs.work(job.pk)
        expect(page.get_by_role("status")).to_contain_text("Workers calculate it.")
        expect(page.locator("progress")).not_to_have_attribute("value", "0.00")
        while scenario_jobs.work(job.pk):
            pass
        expect(page.locator("#job")).to_contain_text("1,884")
        # The chart came with the part that was fetched.
        expect(page.locator("#job figure[data-plot]")).to_have_attribute("data-is-drawn", "")
        assert page.evaluate("isSamePage")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(2_500)  # longer than it waits between two questions
        assert asked == []


def test_editor_and_result_work_without_scripts(browser, site, startup):
    with opened(browser, site, is_scripted=False) as page:
        page.goto(NEW)
        field(page, PRICE).fill("0.1")
        page.get_by_role("button", name="Calculate").click()
        expect(page.locator("#preview")).to_contain_text("471")
        page.goto(STARTUP)
        page.get_by_role("link", name="all cloud").first.click()
        expect(page.locator("#over-time h2")).to_have_text("Over time: all cloud")
        page.locator("summary", has_text="Break-even map").click()
        page.get_by_role("link", name="Show the map").click()
        expect(page.locator("h1")).to_have_text("Break-even map")
