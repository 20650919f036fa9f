"""The menus at the head of every page: one entry for each part of the site."""

from functools import cache
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.site.access import may
from backend.site.language import lazy


class MenuEntry(NamedTuple):
    """A page in a menu, what it is for, and the names of further pages that belong to it."""

    page: str
    words: str
    purpose: str
    further: tuple[str, ...] = ()
    needed: Scope | None = None


MENUS: dict[str, tuple[MenuEntry, ...]] = {
    lazy("Offers"): (
        MenuEntry(
            "offers", lazy("Ranking"), lazy("which offer gives most performance for its price"),
            ("offer", "score"),
        ),
        MenuEntry("frontier", lazy("Frontier"), lazy("price against score, with the best offers at each price")),
        MenuEntry("compare", lazy("Compare"), lazy("two to six offers side by side")),
    ),
    lazy("Plan"): (
        MenuEntry("requirements", lazy("Requirements"), lazy("the cheapest fleet that reaches a target")),
        MenuEntry(
            "scenarios", lazy("Scenarios"), lazy("what a load costs on clouds, rented servers and your own"),
            ("scenario", "scenario-new", "scenario-edit", "scenario-map", "scenario-curves",
             "scenario-offers", "scenario-trace", "scenarios-compare"),
        ),
        MenuEntry(
            "hardware", lazy("Own hardware"), lazy("monthly cost of a server in your own rack"),
            ("hardware-new", "hardware-model"),
        ),
        MenuEntry("bills", lazy("Bills"), lazy("what you pay today, by what it is for"), ("bill",), Scope.WRITE),
        MenuEntry("storage", lazy("Storage and links"), lazy("disk arrays, shared links and memory channels")),
    ),
    lazy("Measure"): (
        MenuEntry(
            "hosts", lazy("Hosts"), lazy("the machines that Rackrate logs in to and measures"),
            ("host", "host-new", "host-key"),
        ),
        MenuEntry("runs", lazy("Runs"), lazy("every measurement with its complete output"), ("run", "evidence")),
        MenuEntry(
            "campaigns", lazy("Campaigns"), lazy("several machines measured with one profile and budget"),
            ("campaign", "campaign-new"),
        ),
        MenuEntry("schedules", lazy("Schedules and alerts"), lazy("measurements that repeat, and who hears of it")),
        MenuEntry(
            "import", lazy("Import"), lazy("results of tools that you ran yourself"),
            ("import-run", "imported-evidence"),
        ),
    ),
    lazy("Share"): (
        MenuEntry("reports", lazy("Reports"), lazy("figures frozen on a date"), ("report", "report-new")),
        MenuEntry("views", lazy("Saved views"), lazy("rankings with their filters under a name"),
              ("view", "view-new")),
        MenuEntry("data", lazy("Feeds and formulas"), lazy("live figures in Excel, Google Sheets and LibreOffice")),
    ),
    lazy("Settings"): (
        MenuEntry(
            "prices", lazy("Prices"), lazy("price lists, quotes, and prices that wait for a decision"),
            ("price", "price-new", "price-changes", "price-unpriced", "price-tables"),
        ),
        MenuEntry("metrics", lazy("Metrics"), lazy("what is measured, in which unit"), ("metric",)),
        MenuEntry("clouds", lazy("Clouds"), lazy("accounts where machines are rented"), ("cloud", "cloud-new"),
              Scope.ADMIN),
        MenuEntry("tokens", lazy("API tokens"), lazy("keys of programs that call the API"), (), Scope.ADMIN),
        MenuEntry("people", lazy("People"), lazy("who is in the workspace, and what they may"), (), Scope.ADMIN),
        MenuEntry("activity", lazy("Activity"), lazy("who changed what, and when"), (), Scope.WRITE),
        MenuEntry("operations", lazy("Operations"), lazy("whether engine, machines and lists are well"), (),
                  Scope.RUN),
        MenuEntry("api:docs", "API", lazy("every address that programs can call")),
    ),
}  # fmt: skip


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: menus as (label, links of (url, entry)) that the person may open."""
    # Named where it is not the usual one, so that nobody takes one workspace for another.
    slug = workspace_slug(request)
    return {
        "workspace_name": "" if slug == DEFAULT_WORKSPACE else workspace_of(request).name,
        "navigation": [
            (
                label,
                [
                    (_address(entry.page), entry)
                    for entry in entries
                    # A link that leads to a refusal is no help.
                    if entry.needed is None or may(request, entry.needed)
                ],
            )
            for label, entries in MENUS.items()
        ],
    }


# Every page asks for two dozen of them.
@cache
def _address(page: str) -> str:
    return reverse(page)
