"""Saved views on the ranking page, and the downloads of what it shows."""

import re

import pytest

from backend.accounts.models import Scope
from backend.rankings.services.views import view_create
from tests import factories
from tests.frontend.test_pages import Tags, html
from tests.frontend.test_ranking_page import few, fields, heads, link, offers

pytestmark = pytest.mark.django_db
__all__ = ["few"]


@pytest.fixture
def view(few):
    params = {"vcpu__gte": ["8"], "sort": ["price,-vcpu"], "cols": ["offer,vcpu,price"]}
    return view_create(
        workspace=factories.workspace(), name="Eight or more", params=params, actor="ada"
    )


def test_view_equals_its_long_address_and_says_when_it_was_changed(client, view):
    opened = html(client, "/?view=eight-or-more")
    long = html(client, "/?vcpu__gte=8&sort=price,-vcpu&cols=offer,vcpu,price")
    assert offers(opened) == offers(long) == ["sixteen", "eight", "unpriced"]
    assert heads(opened) == heads(long)
    assert "View: Eight or more" in opened
    assert "modified" not in opened
    assert "of the view" in html(client, "/?view=eight-or-more&open=columns")
    changed = html(client, "/?view=eight-or-more&vcpu__lte=8")
    assert offers(changed) == ["eight"]
    assert "<em>modified</em>" in changed
    assert link(changed, "Back to “Eight or more” as saved") == "?view=eight-or-more"


def test_links_of_a_view_keep_it_and_take_away_what_it_holds(client, view):
    text = html(client, "/?view=eight-or-more")
    chip = next(a["href"] for a in Tags(text).named("a") if "vcpu" in (a.get("href") or ""))
    assert chip == "/?view=eight-or-more&vcpu__gte="
    assert "four" in offers(html(client, chip))
    kept = html(client, chip)
    assert link(kept, "Offer").startswith("/?view=eight-or-more&sort=offer&vcpu__gte=")
    assert {tag["value"] for tag in fields(text, "view")} == {"eight-or-more"}
    assert "" in {tag["value"] for tag in fields(text, "provider")}  # a menu without a tick


def test_view_that_is_not_there_is_an_error_and_the_rest_holds(client, few):
    text = html(client, "/?view=none&vcpu__gte=16&sort=vcpu")
    assert "there is no view" in text
    assert offers(text) == ["sixteen", "unpriced"]


def test_private_view_opens_for_its_owner_alone(client, few):
    view_create(
        workspace=factories.workspace(),
        name="Mine",
        params={"vcpu__gte": ["16"]},
        visibility="private",
        actor="ada",
    )
    assert "there is no view" in html(client, "/?view=mine")
    client.force_login(factories.user(username="ada", role=Scope.WRITE))
    mine = html(client, "/?view=mine&sort=vcpu")
    assert offers(mine) == ["sixteen", "unpriced"]
    assert 'href="/views/new/?view=mine&amp;sort=vcpu"' in mine


def test_exports_follow_the_language_of_the_browser_and_say_so(client, few):
    def first(language):
        text = html(client, "/?vcpu__gte=8&per_page=25", **{"Accept-Language": language})
        found = re.search(r'<li><a href="([^"]*)">CSV</a> <small>([^<]*)<', text)
        assert found
        return found[1].replace("&amp;", "&"), found[2]

    plain, note = first("en-GB,en;q=0.9,de;q=0.1")
    assert plain == "/api/v1/rankings.csv?vcpu__gte=8"
    assert note == "Comma-separated, decimal points"
    local, note = first("de-DE,de;q=0.9,en;q=0.8")
    assert local == "/api/v1/rankings.csv?vcpu__gte=8&dialect=excel-eu"
    assert "die Sprache des Browsers" in note
    assert first("es-MX,es;q=0.9")[0] == plain
    assert first("*")[0] == plain


def test_every_export_link_answers_with_the_rows_of_the_page(client, few):
    text = html(client, "/?vcpu__gte=8&sort=vcpu")
    kinds = re.findall(r'href="(/api/v1/rankings\.(csv|tsv|xlsx|json)[^"]*)"', text)
    assert [kind for _, kind in kinds] == ["csv", "csv", "tsv", "xlsx", "json"]
    for address, kind in kinds:
        answer = client.get(address.replace("&amp;", "&"))
        assert answer.status_code == 200, address
        if kind == "json":
            assert [row["offer_id"] for row in answer.json()["results"]] == offers(text)
