"""A real headless browser for tests and pictures: Chromium from CHROMIUM_PATH or from PATH."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from backend.accounts.models import User

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
expect.set_options(
    timeout=20_000
)  # ms; what is waited for, on a machine that does other things too
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


def chromium_path() -> str | None:
    """Where the browser is; None when this machine has none."""
    given = os.environ.get("CHROMIUM_PATH")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


def launched(playwright: Playwright, path: str) -> Browser:
    """The browser at the path, headless, offline but for what a page asks for."""
    return playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module, not for all: its driver keeps an event loop running, and tests of other
    modules in the same process start loops of their own."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium: set CHROMIUM_PATH or install one")
    with sync_playwright() as playwright:
        chromium = launched(playwright, path)
        yield chromium
        chromium.close()


# What htmx writes of a request that a newer one replaced. Of one that failed it writes the first,
# too, and then why: htmx:sendError, htmx:timeout.
REPLACED = ("htmx:afterRequest", "htmx:sendAbort")


class Visit(list[str]):
    """What went wrong while a page was open: console errors, exceptions, foreign requests."""

    def __init__(self, expected_status: int | None = None) -> None:
        super().__init__()
        # As the browser and htmx write an answer of this status.
        status = f"the server responded with a status of {expected_status}"
        self._expected = (
            *REPLACED,
            f"Response Status Error Code {expected_status}",
            f"Failed to load resource: {status}",
        )

    def watch(self, page: Page, origin: str) -> None:
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.append(f"exception: {error}"))
        page.on("request", lambda request: self._check(request.url, origin))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(self._expected):
            self.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _check(self, url: str, origin: str) -> None:
        if not url.startswith((origin, "data:", "blob:")):
            self.append(f"foreign request: {url}")


@contextmanager
def opened(
    browser: Browser,
    origin: str,
    *,
    width: int = 1440,
    theme: str = "light",
    is_scripted: bool = True,
    expected_status: int | None = None,
) -> Iterator[Page]:
    """A page in a context of its own; fails at the end when anything went wrong in it."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
        java_script_enabled=is_scripted,
        base_url=origin,
    )
    page = context.new_page()
    visit = Visit(expected_status)
    visit.watch(page, origin)
    try:
        yield page
        assert not visit, visit
    finally:
        context.close()


def sign_in(page: Page, site: str, user: User) -> None:
    """Makes the page that of somebody."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site}])


# A finding is as serious as its rule. Rules of no interest take a tenth of the time, and the whole
# answer, passed rules too, takes as long again to reach the test.
SERIOUS = """async () => {
  const isMinor = ({impact}) => ["minor", "moderate"].includes(impact);
  const minor = axe._audit.rules.filter(isMinor).map(({id}) => [id, {enabled: false}]);
  const rules = Object.fromEntries(minor);
  const {violations} = await axe.run(document, {resultTypes: ["violations"], rules});
  return violations.filter((one) => !isMinor(one)).flatMap(({id, nodes}) =>
    nodes.map(({target, failureSummary}) => `${id}: ${target} ${failureSummary}`));
}"""


def violations(page: Page) -> list[str]:
    """Serious and critical findings of axe on the page as it stands."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    return list(page.evaluate(SERIOUS))


def overflow_px(page: Page) -> int:
    """By how many pixels the page itself is wider than its window."""
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(page.evaluate(wide))
