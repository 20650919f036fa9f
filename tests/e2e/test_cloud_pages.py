"""The pages of clouds and rented machines in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Run
from backend.rentals.services.account_access import account_mark_checked, account_mark_looked_over
from tests import factories
from tests.e2e.browser import opened, sign_in
from tests.frontend import cloud_rows
from tests.frontend.cloud_rows import Clouds

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def rows(site, queued) -> Clouds:
    return cloud_rows.clouds()


def signed_in(page: Page, site: str) -> None:
    """Makes the page that of an admin."""
    sign_in(page, site, factories.user(role="admin"))


def test_account_is_made_followed_and_given_up_without_a_reload_of_ours(browser, site, rows):
    with opened(browser, site) as page:
        signed_in(page, site)
        page.goto("/accounts/clouds/")
        page.get_by_role("link", name="Hetzner", exact=True).click()
        page.get_by_label("Name").fill("New one")
        page.get_by_label("API token").fill("hcloud-token-0123456789")
        page.get_by_label("Regions").fill("hel1")
        page.get_by_role("button", name="Add the account").click()
        expect(page.locator("#cloud-state")).to_contain_text("asking the provider…")
        made = CloudAccount.objects.get(name="New one")
        account_mark_checked(account_id=made.pk, identity="project 815", error="")
        expect(page.locator("#cloud-state")).to_contain_text("project 815", timeout=5_000)
        account_mark_looked_over(account_id=made.pk, lines=cloud_rows.LINES)
        expect(page.locator("#cloud-state")).to_contain_text("not ready")
        expect(page.locator("[hx-trigger]")).to_have_count(0)
        page.get_by_role("link", name="Remove account").click()
        page.get_by_role("button", name="Remove account").click()
        expect(page.locator(".notice").first).to_contain_text("removed")


def test_account_and_rental_work_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        signed_in(page, site)
        page.goto(f"/accounts/clouds/{rows.hetzner.pk}/")
        page.get_by_label("Machines at once").fill("3")
        page.get_by_role("button", name="Save limits").click()
        expect(page.locator("#cloud-state")).to_contain_text("at most 3")
        page.goto(f"/offers/{rows.offer.slug}/")
        page.get_by_label("Budget").fill("0")
        page.get_by_label("Profile").select_option("full")
        page.get_by_role("button", name="Rent and measure").click()
        run = Run.objects.order_by("-created_at")[0]
        assert page.url.partition("#")[0] == f"{site}/runs/{run.pk}/"
        assert run.profile == "full"
        expect(page.locator("#machine")).to_contain_text("nothing asked for yet")
