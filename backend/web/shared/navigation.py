"""The menus at the head of every page."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from backend.accounts.models import Scope
from backend.web.shared.access import may

# Menu → (page, words, further pages that belong to it).
MENUS: tuple[tuple[str, tuple[tuple[str, str, tuple[str, ...]], ...]], ...] = (
    (
        "Decide",
        (
            ("frontier", "Frontier", ()),
            ("compare", "Compare", ()),
            ("requirements", "Requirements", ()),
            (
                "scenarios",
                "Scenarios",
                ("scenario", "scenario-new", "scenario-edit", "scenarios-compare"),
            ),
            ("storage", "Storage and links", ()),
            ("views", "Saved views", ("view", "view-new")),
            ("reports", "Reports", ("report", "report-new")),
        ),
    ),
    (
        "Measure",
        (
            ("hosts", "Hosts", ("host", "host-new", "host-key")),
            ("campaigns", "Campaigns", ("campaign", "campaign-new")),
            ("schedules", "Schedules", ()),
            ("runs", "Runs", ("run", "evidence")),
            ("import", "Import", ("import-run", "imported-evidence")),
            ("clouds", "Clouds", ("cloud", "cloud-new")),
        ),
    ),
    (
        "Costs",
        (
            (
                "prices",
                "Prices",
                ("price", "price-new", "price-changes", "price-unpriced", "price-tables"),
            ),
            ("hardware", "Own hardware", ("hardware-new", "hardware-model")),
        ),
    ),
    (
        "Data",
        (
            ("data", "Feeds and formulas", ()),
            ("metrics", "Metrics", ("metric",)),
            ("api:docs", "API", ()),
            ("tokens", "Tokens", ()),
            ("activity", "Activity", ()),
        ),
    ),
)
NEEDED = {"clouds": Scope.ADMIN, "tokens": Scope.ADMIN, "activity": Scope.WRITE}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: menus as (label, links of (url, words, names, first name))."""
    return {
        "navigation": [
            (
                label,
                [
                    (reverse(page), words, further, page)
                    for page, words, further in links
                    if page not in NEEDED or may(request, NEEDED[page])
                ],
            )
            for label, links in MENUS
        ]
    }
