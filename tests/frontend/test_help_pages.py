"""The help page, the glossary and the menus at the head of every page."""

import pytest

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
