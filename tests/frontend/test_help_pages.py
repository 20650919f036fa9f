"""The help page, the glossary and the menus at the head of every page."""

import re

import pytest
from django.conf import settings

from tests import factories
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


def test_glossary_page_has_the_documents_terms_and_not_the_words_unused(client):
    page = shown(client.get("/glossary/"))
    assert (
        '<dt id="tie-group">tie group</dt><dd>offers that the data cannot tell apart</dd>' in page
    )
    assert "<code>own</code> for machines of yours" in page
    assert "Words not used" not in page


@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES if code != "en"])
def test_glossary_has_the_same_terms_in_each_language(client, language):
    english = shown(client.get("/glossary/"))
    page = shown(client.get("/glossary/", headers={"Accept-Language": language}))
    anchor, meaning = re.compile(r'<dt id="([^"]+)"'), re.compile(r"<dd>(.*?)</dd>")
    assert anchor.findall(page) == anchor.findall(english)
    assert len(anchor.findall(page)) > 80
    assert not set(meaning.findall(page)) & set(meaning.findall(english))
    # What stands in code is typed as it is in every language.
    code = re.compile(r"<code>(.*?)</code>")
    assert set(code.findall(english)) <= set(code.findall(page))


def test_help_page_links_to_terms_that_the_glossary_has(client):
    page, terms = shown(client.get("/help/")), shown(client.get("/glossary/"))
    anchors = {part.split('"')[0] for part in page.split("/glossary/#")[1:]}
    assert len(anchors) > 5
    assert not [anchor for anchor in anchors if f'id="{anchor}"' not in terms]


def test_menu_offers_what_the_persons_role_may_open(client):
    assert "/accounts/tokens/" not in shown(client.get("/help/"))
    client.force_login(factories.user(role="admin"))
    page = shown(client.get("/help/"))
    assert "API tokens" in page
    assert page.index(">Offers<") < page.index(">Plan<") < page.index(">Measure<")
