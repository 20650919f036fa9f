"""Values that no form sends, in every parameter of every list: a message, never an error of ours."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from backend.accounts.services.workspaces import default_workspace
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.frontend.rows import measured_offer, published

# Every list, and the parameters that it reads beside those of its form.
READ: dict[str, tuple[str, ...]] = {
    "/": ("also", "at", "cols", "format", "o", "open", "page", "per_page", "sort", "view"),
    "/accounts/clouds/": (),
    "/accounts/tokens/": (),
    "/activity/": ("page",),
    "/campaigns/": ("page",),
    "/campaigns/new/": ("host", "offer"),
    "/compare/": ("add", "base", "differences", "o", "view"),
    "/data/": ("cols", "o", "view"),
    "/frontier/": ("o", "view"),
    "/hardware/": ("page",),
    "/hardware/new/": ("from",),
    "/hosts/": ("page",),
    "/import/": ("offer",),
    "/import/offers/": ("offer",),
    "/metrics/": (),
    "/offers/own-rack/": ("history", "view"),
    "/prices/": ("page",),
    "/prices/changes/": ("page",),
    "/prices/unpriced/": ("page",),
    "/reports/": ("page",),
    "/reports/new/": ("q", "sort", "view"),
    "/requirements/": ("target",),
    "/runs/": ("page",),
    "/scenarios/": ("page",),
    "/scenarios/compare/": ("s",),
    "/scenarios/new/": ("template",),
    "/scenarios/new/offers/": ("offer",),
    "/scenarios/startup-with-five-busy-hours/": ("option", "span"),
    "/schedules/": ("campaign",),
    "/schedules/preview/": ("campaign", "cron", "time_zone", "window_from"),
    "/storage/": (),
    "/views/": ("page",),
    "/views/new/": ("q", "sort", "view"),
}
SINGLY = ("\0", "9999-12-31")
TOGETHER = ("a\0b", "0001-01-01", "9" * 400, "-1", "1e999999")


class Fields(HTMLParser):
    """The fields of the forms that an address answers. Bounds and weights have one reader each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.is_asking = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "form":
            self.is_asking = given.get("method") != "post"
        is_alike = name.startswith("w.") or ("__" in name and not name.startswith("price__"))
        if tag in {"input", "select", "textarea"} and self.is_asking and name and not is_alike:
            self.names.add(name)


@pytest.fixture
def admin(db: None) -> Client:
    measured_offer()
    published("aws-0", 400.0, "0.1")
    scenario_create(
        workspace=default_workspace(),
        document=TEMPLATES["startup"].document,
        actor="ada",
        template="startup",
    )
    client = Client(raise_request_exception=False)
    client.force_login(factories.user(role="admin"))
    return client


@pytest.mark.parametrize("path", READ)
def test_list_answers_whatever_its_parameters_hold(admin: Client, path: str) -> None:
    names = {*Fields(admin.get(path).content.decode()).names, *READ[path]}
    asked = [{name: value} for name in sorted(names) for value in SINGLY]
    asked += [dict.fromkeys(names, value) for value in TOGETHER]
    failed = [params for params in asked if admin.get(path, params).status_code >= 500]
    assert not failed
