"""How soon pages are there on a slow machine: `./rackrate bench pages`. Prints one JSON document.

A real browser on a processor that is slowed down four times, nothing cached in it, against the real
web server with 6,000 offers and 300,000 prices (_ranking_data.py). Of each page, of several loads:

- `lcp_ms`: when its largest content was painted;
- `tbt_ms`: how long tasks blocked it, each beyond 50 ms, from the first paint until it was quiet;
- `main_ms`: processor time of its main thread, which other load of this machine changes little;
- `ttfb_ms`: when the first byte of the answer was there; `html_kb`: its size as sent and as read.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import statistics
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from playwright.sync_api import Browser, sync_playwright

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.services.demo import demo_remove
from backend.catalog.models import Offer
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.scenarios import scenario_create
from tests.bench import _ranking_data
from tests.e2e.browser import chromium_path, launched

SLOWER = 4
LOADS = 7
QUIET_MS = 1_500
WINDOW = {"width": 1350, "height": 940}
COMPARED = 4
TEMPLATE = "startup"
NOTE = """
window.seen = {lcp: 0, fcp: 0, tasks: []};
const note = (type, add) => new PerformanceObserver((list) => list.getEntries().forEach(add))
  .observe({type, buffered: true});
note("largest-contentful-paint", (one) => { seen.lcp = one.startTime; });
note("paint", (one) => { if (one.name === "first-contentful-paint") seen.fcp = one.startTime; });
note("longtask", (one) => seen.tasks.push([one.startTime, one.duration]));
"""
READ = """() => {
  const page = performance.getEntriesByType("navigation")[0];
  const late = seen.tasks.filter(([begin, time]) => begin + time > seen.fcp);
  return {
    lcp_ms: seen.lcp,
    tbt_ms: late.reduce((sum, [, time]) => sum + Math.max(0, time - 50), 0),
    ttfb_ms: page.responseStart,
    sent_kb: page.encodedBodySize / 1000,
    read_kb: page.decodedBodySize / 1000,
  };
}"""


def loaded(browser: Browser, url: str) -> dict[str, float]:
    """Figures of one load in a browser context of its own."""
    context = browser.new_context(viewport=WINDOW)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.add_init_script(NOTE)
    answer = page.goto(url, wait_until="networkidle")
    if answer is None or answer.status != 200:
        raise SystemExit(f"{url} answers {answer and answer.status}")
    page.wait_for_timeout(QUIET_MS)
    found: dict[str, float] = page.evaluate(READ)
    metrics = session.send("Performance.getMetrics")["metrics"]
    found["main_ms"] = 1e3 * sum(m["value"] for m in metrics if m["name"] == "TaskDuration")
    context.close()
    if not found["lcp_ms"]:
        raise SystemExit(f"{url}: the browser tells no largest paint")
    return found


def figures(browser: Browser, url: str) -> dict[str, Any]:
    """Middle and worst of several loads; one before them makes the server ready."""
    loaded(browser, url)
    seen = [loaded(browser, url) for _ in range(LOADS)]
    timed = {
        name: {
            "p50": round(statistics.median(one[name] for one in seen)),
            "max": round(max(one[name] for one in seen)),
        }
        for name in ("lcp_ms", "tbt_ms", "main_ms", "ttfb_ms")
    }
    last = seen[-1]
    return {**timed, "html_kb": {name: round(last[f"{name}_kb"]) for name in ("sent", "read")}}


def scenario() -> str:
    """Address of a result with every chart."""
    template = TEMPLATES[TEMPLATE]
    made = scenario_create(
        workspace=default_workspace(),
        document=template.document,
        actor="bench",
        template=template.key,
    )
    return f"/scenarios/{made.slug}/"


def main() -> int:
    url = os.environ.get("RACKRATE_URL")
    path = chromium_path()
    if not url or path is None:
        raise SystemExit("RACKRATE_URL or a browser is missing; ./rackrate bench pages has both")
    demo_remove()
    rows = _ranking_data.load()
    slugs = Offer.objects.order_by("pk").values_list("slug", flat=True)[:COMPARED]
    pages = {
        "answer": "/",
        "ranking": "/offers/",
        "ranking_250_rows": "/offers/?per_page=250",
        "frontier": "/frontier/",
        "compare": f"/compare/?o={','.join(slugs)}",
        "scenario": scenario(),
    }
    with sync_playwright() as playwright:
        browser = launched(playwright, path)
        found = {name: figures(browser, url + address) for name, address in pages.items()}
        browser.close()
    print(json.dumps({**rows, "cpu_slower": SLOWER, "loads": LOADS, "pages": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
