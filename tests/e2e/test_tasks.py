"""Ten things that somebody who decides about servers comes for, each within so many actions.

Nothing but what pages show is used; every task begins on the first page.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect
from pypdf import PdfReader

from backend.benchmarks.models import Schedule
from backend.catalog.models import Region
from backend.rentals.services.account_access import account_mark_checked
from backend.scenarios.models import Scenario
from tests import factories
from tests.backend.clouds import account
from tests.database import Loaded
from tests.e2e.browser import opened
from tests.frontend.rows import TEXT, measured_offer, published
from workers import bills

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
GIB = 2**30


class Person:
    """Somebody at a page, whose presses and fields filled are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def press(self, what: Locator) -> None:
        self.actions += 1
        what.click()

    def link(self, name: str) -> None:
        self.press(self.page.get_by_role("link", name=name, exact=True).first)

    def button(self, name: str) -> None:
        self.press(self.page.get_by_role("button", name=name, exact=True))

    def fill(self, what: Locator, words: str) -> None:
        self.actions += 1
        what.fill(words)

    def choose(self, what: Locator, words: str) -> None:
        self.actions += 1
        what.select_option(words)


def _market() -> str:
    """Offers of three clouds with scores, one without, a machine of one's own without a price, two
    hosts, an account to rent with and who is signed in: the session of that person."""
    factories.rate("USD", "1.25")
    spread = {"vcpu_count": 8, "memory_bytes": 32 * GIB}
    for provider, name, code, country, score, price in (
        ("gcp", "t2d-standard-8", "europe-west1", "BE", 4000.0, "0.38"),
        ("hetzner", "ccx33", "fsn1", "DE", 3000.0, "0.10"),
        ("aws", "m7a.2xlarge", "us-east-1", "US", 5000.0, "0.04"),
    ):
        place = factories.region(code, provider_slug=provider)
        Region.objects.filter(pk=place.pk).update(country=country)
        published(
            f"{provider}-{name.replace('.', '-')}", score, price, name=name, region=place,
            provider_slug=provider, **spread,
        )  # fmt: skip
    america = factories.region()
    published(
        "aws-m5-large", 800.0, "0.096", name="m5.large", region=america, vcpu_count=2,
        memory_bytes=8 * GIB,
    )  # fmt: skip
    unmeasured = factories.offer("aws-m6i-large", name="m6i.large", region=america, arch="x86_64")
    factories.price(unmeasured, "0.096")
    cloud = account(
        name="Benchmarks", provider="aws", access="static_key", settings={"regions": ["us-east-1"]},
        secret={"access_key_id": "AKIAEXAMPLEEXAMPLE", "secret_access_key": "y" * 40},
    )  # fmt: skip
    account_mark_checked(account_id=cloud.pk, identity="123456789012", error="")
    for name in ("web-1", "web-2"):
        factories.host(name=name)
    measured_offer().offer.prices.all().delete()
    client = Client()
    client.force_login(factories.user(role="admin", username="olga"))
    return client.cookies["sessionid"].value


MARKET = Loaded(_market)


@pytest.fixture(autouse=True)
def _reader() -> None:
    """Pages begin as they do for people, in months and in the reader's currency."""


@pytest.fixture
def session(site: str, queued: object) -> str:
    return MARKET.load()


@contextmanager
def task(browser: Browser, site: str, session: str, *, at_most: int) -> Iterator[Person]:
    """Somebody signed in on the first page, who has to be done after so many actions."""
    with opened(browser, site) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": site}])
        page.set_extra_http_headers({"Accept-Language": "en-IE"})
        page.goto("/")
        person = Person(page)
        yield person
        assert person.actions <= at_most


def test_a_best_value_of_eight_cpus_in_europe(browser, site, session):
    with task(browser, site, session, at_most=4) as person:
        page = person.page
        person.fill(page.get_by_label("Min. vCPUs"), "8")
        person.choose(page.get_by_label("Region", exact=True), "Europe")
        person.button("Find the best servers")
        expect(page.locator(".conclusion")).to_contain_text("ccx33")
        expect(page.locator(".answer tbody")).not_to_contain_text("m7a.2xlarge")


def test_b_own_machine_for_49_euros_beside_m5_large(browser, site, session):
    with task(browser, site, session, at_most=5) as person:
        page = person.page
        person.link("enter a price")
        person.fill(page.get_by_label("Amount"), "49")
        person.button("Publish the price")
        person.fill(page.get_by_role("searchbox", name="Compare with"), "m5.large")
        person.button("Compare")
        expect(page.locator("h1")).to_have_text("Side by side")
        prices = page.locator("#comparison tr", has_text="Price").first
        expect(prices).to_contain_text("49.00")
        expect(prices).to_contain_text("56.06")  # 730 × .096 USD
        expect(page.locator(".conclusion")).to_contain_text("rack")


def test_c_three_servers_and_seventeen_more_at_night(browser, site, session):
    with task(browser, site, session, at_most=6 + 6) as person:
        page = person.page
        person.link("Simulate a load")
        page.wait_for_load_state("networkidle")
        person.fill(page.locator('[id="demand.windows.0.from"]'), "22:00")
        person.fill(page.locator('[id="demand.windows.0.to"]'), "03:00")
        result = page.locator("#preview tbody").first
        expect(result).to_contain_text("1,884")  # 720 × 3 + 150 × 17 server-hours of .4
        assert person.actions <= 6
        person.fill(page.locator('[id="options.0.parts.0.price.amount"]'), "0.5")
        person.fill(page.locator('[id="options.2.parts.1.price.amount"]'), "0.5")
        person.button("Save")
        expect(page.locator(".conclusion").first).to_contain_text("hybrid")
        expect(page.locator("table.figures").first).to_contain_text("2,355")
    window = Scenario.objects.get().document["demand"]["windows"][0]
    assert (window["from"], window["to"], window["level"]) == ("22:00", "03:00", "20")


def test_d_own_rack_and_the_load_from_which_it_pays(browser, site, session):
    with task(browser, site, session, at_most=6) as person:
        page = person.page
        person.link("Price your own hardware")
        person.fill(page.get_by_label("Unit price, line 1"), "8000")
        person.button("Store")
        expect(page.locator(".lede")).to_contain_text("USD a month for one of 20 servers")
        expect(page.locator("main")).to_contain_text("8,000")
        person.link("Use in a scenario")
        person.button("Save")
        curves = page.locator("#curves-body .sentences")
        expect(curves.first).to_contain_text("“Dedicated” is the cheapest everywhere from 2 to 80")
        expect(curves.first).to_contain_text("“Own server” is never the cheapest")
        expect(curves.last).to_contain_text("hours a day")


def test_e_raw_output_that_a_score_comes_from(browser, site, session):
    with task(browser, site, session, at_most=2) as person:
        page = person.page
        own = page.locator("tr.own", has=page.get_by_role("link", name="rack"))
        person.press(own.get_by_role("link", name="1,000"))
        person.link("raw output 0")
        expect(page.locator("#L1")).to_contain_text(TEXT.splitlines()[0])


def test_f_list_that_a_colleague_reads_in_a_spreadsheet(browser, site, session):
    with task(browser, site, session, at_most=4) as person:
        page = person.page
        person.link("Rank all servers")
        person.press(page.locator("#menu-share > summary"))
        person.link("Formulas and feeds")
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
        person.button("Copy for Google Sheets")
        formula = page.evaluate("window.copied")
    address = next(part for part in formula.split('"') if part.startswith(site))
    table = Client().get(address.removeprefix(site))
    assert table.status_code == 200, address
    assert b"t2d-standard-8" in table.content


def test_g_page_on_paper_for_the_board(browser, site, session):
    with task(browser, site, session, at_most=3) as person:
        page = person.page
        person.link("Save as report")
        person.button("Save report")
        with page.expect_download() as download:
            person.link("PDF, A4")
        document = PdfReader(download.value.path())
    assert len(document.pages) == 1
    assert "m7a.2xlarge" in document.pages[0].extract_text()


def test_h_two_servers_every_night_and_who_hears_of_it(browser, site, session, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    with task(browser, site, session, at_most=6) as person:
        page = person.page
        person.press(page.get_by_label("Main").get_by_text("Measure", exact=True))
        person.link("Schedules and alerts")
        person.press(page.get_by_label("web-1"))
        person.press(page.get_by_label("web-2"))
        person.fill(page.get_by_label("E-mail of who is notified of it"), "olga@example.com")
        person.button("Save schedule")
        schedules = page.get_by_role("region", name="Schedules")
        expect(schedules).to_contain_text("web-1, web-2")
        expect(schedules).to_contain_text("0 2 * * *")
        expect(page.get_by_role("region", name="Alerts")).to_contain_text("olga@example.com")
    assert set(Schedule.objects.get().campaign.hosts.values_list("name", flat=True)) == {
        "web-1",
        "web-2",
    }


def test_i_measuring_an_offer_for_five_dollars_at_most(browser, site, session):
    with task(browser, site, session, at_most=4) as person:
        page = person.page
        person.fill(page.locator("#site-search"), "m6i.large")
        person.actions += 1
        page.keyboard.press("Enter")
        person.press(page.locator(".results-list a", has_text="m6i.large").first)
        person.fill(page.get_by_label("Budget", exact=True), "5")
        launch = page.get_by_role("button", name="Rent and measure")
        expect(launch).to_be_enabled()
        expect(page.get_by_label("Currency", exact=True)).to_have_value("USD")


def test_j_bill_and_what_it_would_cost_elsewhere(browser, site, session, tmp_path):
    """Two machines of a month: the page goes to the answer by itself."""
    bill = tmp_path / "october.csv"
    bill.write_text(
        "type,hours,cost,month,currency,provider,region\n"
        "m5.large,1460,420,2026-10,USD,AWS,us-east-1\n"
    )
    with task(browser, site, session, at_most=4) as person:
        page = person.page
        person.press(page.locator("details.menu > summary", has_text="Plan"))
        person.press(page.locator('a[href="/bills/"]').first)
        person.actions += 1
        page.get_by_label("File").set_input_files(bill)
        person.button("Import")
        expect(page.get_by_text("october.csv is being read").first).to_be_visible()
        bills.read_waiting()
        expect(page.get_by_role("heading", name="october", exact=True)).to_be_visible()
        expect(page.get_by_text("The same machines elsewhere").first).to_be_visible()
        expect(page.get_by_text("instead of 420 USD").first).to_be_visible()
        page.set_viewport_size({"width": 360, "height": 800})
        # Charts are drawn again for the new width.
        page.wait_for_function("document.documentElement.scrollWidth == 360")
