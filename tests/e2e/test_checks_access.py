"""Ways in and out, against the acceptance list: the keyboard, calm, who may do what, the start.

Held elsewhere, check → test:

   35  test_order_of_two_keys_is_in_words_and_in_one_aria_sort
   39  test_only_operators_act_on_campaigns_and_schedules
   39  test_campaign_is_not_touched_by_who_may_only_write
   41  test_page_is_sound_and_strict
"""

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from backend.accounts.models import AuditEntry
from tests import factories
from tests.e2e.browser import opened
from tests.e2e.every_page import HARDWARE
from tests.frontend.rows import measured_offer, published
from tests.frontend.test_host_forms import host_fields
from tests.market import FEW_OFFERS

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
FOCUS = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const isShown = style.outlineStyle !== "none" || style.boxShadow !== "none";
  return [isShown && box.width > 0 && box.height > 0, one.outerHTML.slice(0, 120)];
}"""


@pytest.fixture
def rows(site):
    for n in range(6):
        published(f"aws-{n}", 400.0 + 100 * n, f"0.{n + 1}", vcpu_count=2 + n)
    return measured_offer()


def reached(page: Page, selector: str, most: int = 150) -> None:
    """Presses Tab until the element has the focus, which has to be seen at every stop."""
    matches = f"document.activeElement.matches({selector!r})"
    for _ in range(most):
        page.keyboard.press("Tab")
        is_seen, html = page.evaluate(FOCUS)
        assert is_seen, f"no visible focus on {html}"
        if page.evaluate(matches):
            return
    raise AssertionError(f"{selector} is not reached")


def test_check_34_everything_of_the_ranking_is_done_by_keyboard_alone(browser, site, rows):
    with opened(browser, site) as page:
        page.goto("/offers/")
        page.locator("#chart-data table").wait_for(state="attached")
        reached(page, ".skip", most=1)
        page.keyboard.press("Enter")
        reached(page, "#q")
        page.keyboard.type("aws")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("q=aws"))
        expect(page.get_by_role("status").first).to_contain_text("6 offers")
        reached(page, "thead a[href*='sort=-score']")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("sort=-score"))
        expect(page.locator("th[aria-sort]")).to_contain_text("Score")
        page.goto(page.url)
        for _ in range(2):
            reached(page, "td input[type=checkbox]:not(:checked)")
            page.keyboard.press("Space")
        expect(page.locator("#picked")).to_contain_text("aws-5, aws-4")
        reached(page, "#compare button:not(.no-script)")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Side by side")
        page.go_back()
        page.goto(page.url)
        reached(page, "#menu-share summary")
        page.keyboard.press("Enter")
        reached(page, "#menu-share a[href*='.csv']", most=3)
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename.endswith(".csv")


@pytest.mark.parametrize("path", ["/", "/frontier/", "/offers/own-rack/", "/hosts/"])
def test_check_37_nothing_moves_for_who_asked_for_calm(browser, site, rows, path):
    moving = """() => [...document.querySelectorAll("*")].filter((one) =>
      ["", "::before", "::after"].some((part) => {
        const style = getComputedStyle(one, part || null);
        const times = (style.transitionDuration + "," + style.animationDuration).split(",");
        return times.some((time) => parseFloat(time) > 0.01);
      })).length"""
    smooth = "() => getComputedStyle(document.documentElement).scrollBehavior"
    with opened(browser, site) as page:
        page.goto(path, wait_until="networkidle")
        assert page.evaluate(moving) > 0
        page.emulate_media(reduced_motion="reduce")
        assert page.evaluate(moving) == 0
        assert page.evaluate(smooth) == "auto"


def test_check_40_every_write_of_a_page_is_in_activity_with_its_author(site, queued):
    client = Client()
    client.force_login(factories.user(role="admin", username="ada"))
    offer = measured_offer().offer
    sample = offer.samples.order_by("repeat")[0]
    host = host_fields(name="box", address="127.0.0.1")
    writes = [
        ("/views/new/?provider=aws", {"name": "Ours", "visibility": "shared"}, "view create"),
        ("/views/ours/", {"name": "Theirs", "visibility": "shared"}, "view update"),
        ("/views/ours/keys/", {"name": "sheet", "expires_days": "9"}, "feed key create"),
        ("/views/ours/delete/", {}, "view delete"),
        ("/reports/new/", {"title": "Web", "note": ""}, "report create"),
        ("/reports/web/delete/", {}, "report delete"),
        ("/hardware/new/", HARDWARE, "hardware create"),
        ("/accounts/tokens/", {"name": "t", "scope": "read", "expires_days": "7"}, "token create"),
        (
            f"/offers/{offer.slug}/price/",
            {"amount": "9", "currency": "EUR", "unit": "month", "reason": "an offer by mail"},
            "price enter",
        ),
        (f"/samples/{sample.pk}/exclude/", {"reason": "the door was open"}, "sample exclude"),
        ("/hosts/new/", host, "host create"),
    ]
    for path, fields, action in writes:
        before = set(AuditEntry.objects.values_list("pk", flat=True))
        answer = client.post(path, fields)
        assert answer.status_code in {200, 302}, path
        made = AuditEntry.objects.exclude(pk__in=before)
        assert made.exists(), (path, re.findall(r"field-error[^>]*>([^<]*)", str(answer.content)))
        assert {entry.actor for entry in made} == {"ada"}, path
        shown = client.get("/activity/").content.decode()
        assert f"<td>{action}</td>" in shown, (path, [entry.action for entry in made])
        assert all(str(entry.object_id) in shown for entry in made)
    changed = AuditEntry.objects.get(action="view_update").detail
    assert "Ours" in str(changed)
    assert "Theirs" in str(changed)


def test_check_43_fresh_site_leads_to_a_comparison_in_three_clicks(browser, site):
    FEW_OFFERS.load()
    with opened(browser, site) as page:
        page.goto("/offers/")
        boxes = page.locator(".paged tbody td.pick input[type=checkbox]")
        wanted = [boxes.nth(n).get_attribute("value") for n in (0, 1)]
        boxes.nth(0).click()
        boxes.nth(1).click()
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator("h1")).to_have_text("Side by side")
        heads = page.locator("#comparison thead a[href^='/offers/']")
        shown = heads.evaluate_all("all => all.map((one) => one.getAttribute('href'))")
        assert shown == [f"/offers/{slug}/" for slug in wanted]
