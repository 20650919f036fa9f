"""Pictures for the README, taken from a running stack: `python -m tests.e2e.screenshots`."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from launcher.paths import MANAGE
from tests.e2e.browser import chromium_path, launched

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1440
# Name, path, height in pixels, element that shows that the page is complete.
PICTURES = (("answer", "/", 1000, "#chart-legend button"),)


def run_path(page: Page) -> str | None:
    """Address of the newest run on the page of hosts; None when there is none yet."""
    link = page.locator('main th a[href^="/runs/"]').first
    return link.get_attribute("href") if link.count() else None


def taken(page: Page, name: str, path: str, height: int, sign: str) -> Path:
    """One picture of the top of a page, cropped to the page when that is shorter."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.goto(path)
    page.locator(sign).first.wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    picture = IMAGES / f"{name}.png"
    page.screenshot(path=picture)
    return picture


def signed_in(page: Page) -> None:
    """As an operator of the stack's database, which the environment names."""
    create = [sys.executable, str(MANAGE), "user", "create", "olga", "--role", "operator", "--json"]
    made = subprocess.run(create, capture_output=True, text=True, check=True)
    page.goto(json.loads(made.stdout)["login_url"])
    page.locator("main form button").click()
    page.wait_for_url(lambda url: "/link/" not in url)


def main() -> int:
    """Writes docs/images/*.png and prints each name with its size."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("PUBLIC_URL", "http://127.0.0.1:8000")
    parser.add_argument("--url", default=default, help=f"address of the stack ({default})")
    url = parser.parse_args().url
    browser_path = chromium_path()
    if browser_path is None:
        print("no Chromium: set CHROMIUM_PATH or install one", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright, browser_path)
        context = browser.new_context(base_url=url, color_scheme="light")
        page = context.new_page()
        pictures = [taken(page, *wanted) for wanted in PICTURES]
        page.goto("/hosts/")
        if path := run_path(page):
            pictures.append(taken(page, "run", path, 900, "#evidence, #progress"))
        signed_in(page)
        pictures.append(taken(page, "operations", "/operations/", 900, "main table"))
        browser.close()
    for picture in pictures:
        print(f"{picture.relative_to(IMAGES.parents[1])} {picture.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
