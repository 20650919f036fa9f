"""The ranking in a real browser: one address for one state, order, picks, columns, provenance."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import factories
from tests.e2e.browser import opened, overflow_px, violations
from tests.frontend.rows import Measured, measured_offer, published
from tests.frontend.spacing import brief

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]

# The default that is no filter: what can no longer be bought is listed too.
CHIPS = ".chip:not(.all, [aria-label*='No longer sold'])"


@pytest.fixture
def rows(site) -> Measured:
    """One measured offer and thirty published ones of three providers."""
    factories.rate("USD", "1.25")
    for n in range(30):
        provider = ("aws", "gcp", "linode")[n % 3]
        given = {"vcpu_count": 2 + n % 4, "vcpu_kind": "shared" if n % 5 == 0 else "dedicated"}
        price = f"0.{10 + n % 7}"
        published(f"{provider}-{n:02}", 400.0 + n, price, provider_slug=provider, **given)
    return measured_offer()


def ready(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("#chart-data table").wait_for(state="attached")


def offers(page: Page) -> list[str]:
    return page.locator(".paged tbody th").all_text_contents()


def click_words(page: Page, option: Locator) -> None:
    """A click on the text of a label, beside its box."""
    box = option.locator("input").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] + 12, box["y"] + box["height"] / 2)


def heads(page: Page) -> list[str]:
    return page.locator(".paged thead th").all_inner_texts()


def test_address_alone_restores_rows_order_and_columns(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/")
        page.locator("#panel-more > summary").click()
        page.get_by_label("Conditions").fill("vcpu>=3 price<0.16")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("vcpu__gte=3&price__lt=0.16"))
        page.locator("#provider-menu").click()
        page.locator("input[name=provider][value=linode]").check()
        page.locator("details.menu[open] input[name=not]").check()
        page.wait_for_url(re.compile("provider!=linode"))
        page.keyboard.press("Escape")
        page.locator("thead").get_by_role("link", name="Price").click()
        page.wait_for_url(re.compile("sort=price"))
        page.locator("thead").get_by_role("link", name="Score").click(modifiers=["Shift"])
        page.wait_for_url(re.compile("sort=price,-score"))
        expect(page.get_by_role("status")).to_contain_text(
            "by Price, lowest first then Score, highest first"
        )
        page.locator("#menu-columns summary").click()
        page.locator("#menu-columns input[value=kind]").uncheck()
        page.get_by_role("button", name="Show these").click()
        page.wait_for_url(re.compile("cols="))
        address, shown, columns = page.url, offers(page), heads(page)
        assert len(shown) > 3
        assert "Kind" not in "".join(columns)
    with opened(browser, site) as page:
        ready(page, address)
        assert (offers(page), heads(page)) == (shown, columns)
        chips = page.locator(CHIPS)
        expect(chips).to_have_count(3)
        chips.first.click()
        expect(page.locator(CHIPS)).to_have_count(2)
        assert len(offers(page)) > len(shown)
        page.go_back()
        expect(page.locator(CHIPS)).to_have_count(3)
        assert offers(page) == shown
        page.go_forward()
        expect(page.locator(CHIPS)).to_have_count(2)


def test_conditions_in_error_are_explained_beside_their_box(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/")
        page.locator("#panel-more > summary").click()
        page.get_by_label("Conditions").fill("ram>=8")
        page.keyboard.press("Enter")
        expect(page.locator("#where_error")).to_contain_text("did you mean ram_gib?")
        expect(page.get_by_label("Conditions")).to_have_value("ram>=8")
        expect(page.get_by_role("status")).to_contain_text("31 offers")


def test_words_of_an_option_are_clicked_like_its_box(browser, site, rows):
    published("aws-here", 500.0, "0.1", region=factories.region())
    with opened(browser, site) as page:
        ready(page, "/offers/")
        page.locator("#panel-more > summary").click()
        for name, code in (("provider", "aws"), ("kind", "cloud"), ("region", "us-east-1")):
            page.locator(f"#{name}-menu").click()
            option = page.locator(f"#{name}-options label").filter(
                has=page.locator(f"[value={code}]")
            )
            click_words(page, option)
            page.wait_for_url(re.compile(f"{name}={code}"))
            expect(option.locator("input")).to_be_checked()
            expect(option).to_be_visible()
        expect(page.locator(".paged tbody tr")).to_have_count(1)
        page.locator("#menu-columns summary").click()
        option = page.locator("#menu-columns label").filter(has=page.locator("[value=kind]"))
        click_words(page, option)
        expect(option.locator("input")).not_to_be_checked()
        page.get_by_role("button", name="Show these").click()
        page.wait_for_url(re.compile("cols="))
        assert "Kind" not in "".join(heads(page))


def test_menus_follow_the_metric_and_stay_as_they_are_used(browser, site, rows):
    region = factories.region("europe-west1", provider_slug="gcp")
    for n in range(3):
        offer = published(f"t2d-{n}", 500.0, "0.1", provider_slug="gcp", region=region)
        factories.sample(
            offer, 1e5, metric="coremark_score", variant="standard", source="published"
        )
    with opened(browser, site) as page:
        ready(page, "/offers/?provider=aws")
        page.locator("#panel-more > summary").click()
        expect(page.locator("#more-count")).to_be_hidden()
        page.get_by_label("Metric").select_option("coremark_score")
        page.wait_for_url(re.compile("metric=coremark_score"))
        page.locator("#provider-menu").click()
        options = page.locator("#provider-options label")
        # What is chosen stays in its menu, also where no offer has it.
        expect(options).to_have_text(
            [re.compile(r"AWS\s+0"), re.compile(r"Google Cloud\s+3"), re.compile("all but")]
        )
        page.locator("#provider-options [value=aws]").uncheck()
        page.locator("#region-menu").click()
        expect(page.locator("#region-options label").first).to_have_text(
            re.compile(r"europe-west1\s+3")
        )
        box = page.locator("#region-options [value=europe-west1]")
        box.focus()
        page.keyboard.press("Space")
        expect(page.locator("#more-count")).to_have_text("1")
        expect(box).to_be_checked()
        expect(box).to_be_focused()
        expect(box).to_be_visible()
        page.wait_for_url(re.compile("region=europe-west1"))
        menus = page.locator("#ranking-form details.menu ul")
        followed = [text.split() for text in menus.all_text_contents()]
        ready(page, page.url)
        expect(menus).to_have_count(len(followed))  # they are drawn after the first paint
        assert [text.split() for text in menus.all_text_contents()] == followed


def test_tick_made_before_an_answer_comes_is_kept(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/")
        page.locator("#provider-menu").click()
        box = page.locator("#provider-options [value=gcp]")
        page.evaluate(
            """() => document.body.addEventListener("htmx:oobBeforeSwap", () => {
              document.querySelector("#provider-options [value=gcp]").checked = true;
            }, { once: true, capture: true })"""
        )
        page.locator("#provider-options [value=aws]").check()
        page.wait_for_url(re.compile("provider=aws"))
        expect(page.locator(CHIPS)).to_have_count(1)
        expect(box).to_be_checked()


def test_picks_survive_paging_and_open_the_comparison(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?per_page=25&sort=offer")
        first = offers(page)[0]
        page.get_by_role("checkbox", name=f"Compare {first}").check()
        expect(page.locator("#picked")).to_have_text(f"Picked: {first}")
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="2").click()
        expect(page.locator(".paged tbody tr")).to_have_count(6)
        expect(page.locator("#picked")).to_have_text(f"Picked: {first}")
        second = offers(page)[0]
        page.get_by_role("checkbox", name=f"Compare {second}").check()
        page.get_by_label("Currency").select_option("EUR")
        expect(page.locator("th", has_text="Price")).to_contain_text("EUR/hour")
        expect(page.locator("#picked")).to_have_text(f"Picked: {first}, {second}")
        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_url(re.compile("/compare/.*currency=EUR"))
        expect(page.get_by_role("link", name=first).first).to_be_visible()
        expect(page.get_by_role("link", name=second).first).to_be_visible()


def test_keyboard_opens_what_a_figure_rests_on_and_leaves_it(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?provider=own")
        page.locator(".paged tbody th a").focus()
        page.keyboard.press("Tab")
        told = page.locator("[popover]:popover-open")
        expect(told).to_contain_text("Score 1,000 CMIPS")
        expect(told).to_contain_text("Observed 2026-11-01")
        page.keyboard.press("Escape")
        expect(told).to_have_count(0)
        page.locator("td [popovertarget]").last.click()
        expect(told).to_have_count(1)


def test_columns_chosen_last_stand_in_the_address_of_the_next_visit(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?cols=offer,price,score&remember=1")
        ready(page, "/offers/")
        assert brief(page.url) == f"{site}/offers/?cols=offer,price,score"


def test_everything_but_the_chart_works_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        page.goto("/offers/")
        page.locator("#panel-more > summary").click()
        page.get_by_label("Conditions").fill("vcpu>=5")
        page.get_by_role("button", name="Apply").click()
        assert brief(page.url) == f"{site}/offers/?vcpu__gte=5"
        page.get_by_role("button", name="Add vCPU to the order").click()
        assert brief(page.url) == f"{site}/offers/?vcpu__gte=5&sort=-value_per_cost,-vcpu"
        picked = offers(page)[0]
        page.get_by_role("checkbox", name=f"Compare {picked}").check()
        page.get_by_role("button", name="Keep my selection").click()
        expect(page.locator("#picked")).to_have_text(f"Picked: {picked}")
        page.locator("#menu-columns summary").click()
        page.get_by_role("link", name="Choose columns").click()
        page.locator("#menu-columns input[value=kind]").uncheck()
        page.get_by_role("button", name="Show these").click()
        assert "Kind" not in "".join(heads(page))
        page.locator("td [popovertarget]").first.click()
        expect(page.locator("[popover]:popover-open")).to_contain_text("Score")
        page.locator("#menu-share summary").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="TSV").click()
        assert download.value.suggested_filename.endswith(".tsv")


OPENED = "/offers/?vcpu__gte=3&basis=disk&weights=cmips_score:1&open=figures&open=columns&o=aws-00"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 1440])
def test_opened_controls_are_sound_at_every_width(browser, site, rows, width, theme):
    with opened(browser, site, width=width, theme=theme) as page:
        ready(page, OPENED)
        page.locator("#panel-price > summary").click()
        page.locator("#menu-sort summary").click()
        page.wait_for_load_state("networkidle")
        assert overflow_px(page) <= 0
        assert not violations(page)
