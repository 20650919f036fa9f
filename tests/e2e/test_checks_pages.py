"""What holds on every page of the site, in both themes, on a phone and on a desk.

A page answers 200 under a strict policy with nothing foreign and a silent console, has one `h1` and
a skip link, one aria-sort at most, no serious finding of axe, and does not scroll sideways, at 320
px and at 200 % neither; a canvas has a role, a label and a table. Nothing jumps while it loads,
whoever clicks the words of a label means its field, and buttons that scripts show are shown. No
page can be forgotten: each URL name is walked or stands in a list with the reason why it is none.

Checks of the acceptance list → test, for all pages at once:

   28  test_all_that_every_page_must_keep_holds_on_every_page
   33  test_all_that_every_page_must_keep_holds_on_every_page
   34  test_all_that_every_page_must_keep_holds_on_every_page
   35  test_all_that_every_page_must_keep_holds_on_every_page
   36  test_all_that_every_page_must_keep_holds_on_every_page
   41  test_all_that_every_page_must_keep_holds_on_every_page
"""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from django.test import Client
from playwright.sync_api import Page, Response, expect

from backend.accounts.models import User
from tests import factories
from tests.database import Loaded
from tests.e2e.browser import AXE, opened, overflow_px, sign_in, violations
from tests.e2e.every_page import (
    NO_PAGES,
    OTHERS_PAGES,
    everything,
    is_form_only,
    names,
)
from tests.frontend.nodes import MOST, elements

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
PAGES = Loaded(lambda: everything(factories.user(role="admin", username="ada")))
# Tests that share the walk, so that no process ends long after the others.
PARTS = 3
QUIET = """() => {
  const asking = [...document.querySelectorAll("[hx-trigger*=every]")];
  asking.filter((one) => !one.matches(".htmx-request")).forEach((one) => one.remove());
  return !asking.some((one) => one.isConnected) && !document.querySelector(".htmx-request");
}"""
# Of the window in pixels, in this order; 640 is 1280 at 200 %.
WIDTHS = (1440, 640, 360, 320)
THEMES: dict[int, Literal["light", "dark"]] = {1440: "light", 360: "dark"}
NO_WIDER = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
CHARTS = """() => [...document.querySelectorAll("canvas")].filter((one) => {
  const told = document.getElementById(one.getAttribute("aria-describedby"));
  const places = [one.closest("figure"), told, told?.closest("section")];
  const hasTable = told && places.some((place) => place?.querySelector("table tbody tr"));
  return one.role !== "img" || (one.ariaLabel ?? "").length < 20 || !hasTable;
}).map((one) => one.id)"""

# Colours change step by step, for which the page is drawn anew sixty times a second; what a change
# of colours ends with may begin another one.
FINISHED = """() => {
  for (let round = 0; round < 9 && document.getAnimations().length; round++)
    document.getAnimations().forEach((one) => one.finish());
  return !document.getAnimations().length;
}"""
# Widths at which pages are loaded in turn.
LOADED_AT = (1440, 360)
COMPLETE = """() => document.readyState === "complete"
  && !document.querySelector(".later, .htmx-request")
  && [...document.querySelectorAll("figure[data-plot]:not([data-is-drawn])")]
    .every((one) => !one.checkVisibility())"""
# Of the layout while a page loads (web.dev/articles/cls: above it is no longer good).
SHIFT_MOST = 0.1
SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  const add = (entries) => entries.forEach((one) => { sum += one.hadRecentInput ? 0 : one.value; });
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({type: "layout-shift", buffered: true});
  setTimeout(() => { add(observer.takeRecords()); observer.disconnect(); resolve(sum); }, 0);
})"""
# What lies over the words in another folded part, open at the same time only here, is no fault.
DEAF_WORDS = """() => [...document.querySelectorAll("label")].filter((label) => {
  const words = document.createRange();
  const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.textContent.trim()) continue;
    words.selectNodeContents(texts.currentNode);
    if (!(words.getBoundingClientRect().width > 1)) continue;
    if (!label.control) return true;
    label.scrollIntoView({block: "center", behavior: "instant"});
    const {x, y, width, height} = words.getClientRects()[0];
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    const isOwn = !hit || label.contains(hit) || label.control.contains(hit);
    if (!isOwn && hit.closest("details") === label.closest("details")) return true;
  }
  return false;
}).map((label) => label.textContent.trim().slice(0, 60))"""


@pytest.fixture
def pages(site, queued) -> dict[str, list[str]]:
    return PAGES.load()


def signed_in(page: Page, site: str) -> None:
    sign_in(page, site, User.objects.get(username="ada"))


def test_every_address_is_walked_or_is_no_page(pages):
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    left = set(names()) - set(pages) - set(NO_PAGES) - set(OTHERS_PAGES)
    assert {name for name in left if not is_form_only(client, name)} == set()
    assert set(NO_PAGES) <= set(names())


def walked(page: Page, paths: list[str]) -> Iterator[tuple[str, Response, float]]:
    """Each page in turn and how far its layout shifted, its charts drawn and its folded parts open.

    What asks for its successor is taken out first: a request that is cut off by leaving is an
    error on the console.
    """
    for number, path in enumerate(paths):
        page.set_viewport_size({"width": LOADED_AT[number % len(LOADED_AT)], "height": 900})
        answer = page.goto(path)
        assert answer is not None
        assert becomes(page, COMPLETE), path
        shift = page.evaluate(SHIFT)
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.evaluate(
            "for (const one of document.querySelectorAll('main details')) one.open = true"
        )
        expect(page.locator(".htmx-request, figure[data-plot]:not([data-is-drawn])")).to_have_count(
            0
        )
        yield path, answer, shift
        assert becomes(page, QUIET), path


def unusable(page: Page) -> Iterator[str]:
    """Buttons and labels that do nothing."""
    if lost := page.locator("[data-copy][hidden], [data-print][hidden]").count():
        yield f"{lost} buttons that no script shows"
    if deaf := page.evaluate(DEAF_WORDS):
        yield f"labels whose words are no part of their field: {deaf}"


def faults(page: Page, answer: Response) -> Iterator[str]:
    """What is wrong with the page, at each width; axe looks at either theme in one of them."""
    if answer.status != 200:
        yield f"answers {answer.status}"
    policy = answer.headers.get("content-security-policy", "")
    if "default-src 'none'" not in policy or re.search("unsafe|https?:|[*]", policy):
        yield f"policy {policy!r}"
    if (count := elements(answer.text()).total()) > MOST:
        yield f"{count} elements at first"
    if (heads := page.locator("h1").count()) != 1:
        yield f"{heads} h1"
    if (sorts := page.locator("[aria-sort]").count()) > 1:
        yield f"{sorts} aria-sort"
    if page.locator("a.skip[href='#main']").count() != 1 or page.locator("#main").count() != 1:
        yield "no skip link"
    if not becomes(page, f"() => !({CHARTS})().length"):  # its script fills the table
        yield f"without a role, label or table: canvas {page.evaluate(CHARTS)}"
    yield from unusable(page)
    for px in WIDTHS:
        page.set_viewport_size({"width": px, "height": 900})
        if not becomes(page, NO_WIDER):  # charts take up their new width a few frames later
            yield f"{overflow_px(page)} px too wide at {px} px"
        if theme := THEMES.get(px):
            page.emulate_media(color_scheme=theme)
            becomes(page, FINISHED)
            yield from (f"{theme} at {px} px: {violation}" for violation in violations(page))


@pytest.mark.parametrize("part", range(PARTS))
def test_all_that_every_page_must_keep_holds_on_every_page(browser, site, pages, part):
    paths = [path for paths in pages.values() for path in paths][part::PARTS]
    errors: list[str] = []
    with opened(browser, site) as page:
        page.add_init_script(path=AXE)
        signed_in(page, site)
        for path, answer, shift in walked(page, paths):
            errors += [f"{path}: {fault}" for fault in faults(page, answer)]
            if shift > SHIFT_MOST:
                errors.append(f"{path}: shifts by {shift:.2f}")
        assert not errors, "\n".join(errors)


def becomes(page: Page, condition: str) -> bool:
    """Whether the condition is met within seconds; the policy of the pages forbids the driver's
    own way to wait for it."""
    for _ in range(60):
        if page.evaluate(condition):
            return True
        page.wait_for_timeout(50)
    return False


def test_page_of_the_api_is_drawn_under_the_strict_policy(browser, site):
    with opened(browser, site) as page:
        answer = page.goto("/api/v1/docs/")
        assert answer is not None
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        expect(page.locator(".opblock").first).to_be_visible(timeout=20_000)
        expect(page.locator("h1")).to_have_count(1)
        expect(page.locator("html")).not_to_have_class(re.compile("dark-mode"))
        page.emulate_media(color_scheme="dark")
        page.reload()
        expect(page.locator("html")).to_have_class(re.compile("dark-mode"))
