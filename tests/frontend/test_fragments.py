"""Parts of pages that are made once for all who read the same, and again once anything differs."""

import datetime as dt
from collections.abc import Iterator

import pytest
from django.test import Client
from django.test.signals import template_rendered

from backend.accounts.services.workspaces import default_workspace
from backend.catalog.services.data_version import data_version_bump
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from backend.scenarios.services.scenarios import scenario_create
from backend.site import fragments
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db(transaction=True)
FRONTIER, ANSWER = "/frontier/", "/"


@pytest.fixture(autouse=True)
def made() -> Iterator[list[str]]:
    """The parts that were made, by template."""
    names: list[str] = []

    def note(template: object, **_: object) -> None:
        if (name := str(getattr(template, "name", ""))).endswith("_content.html"):
            names.append(name)

    fragments.kept.clear()
    template_rendered.connect(note)
    yield names
    template_rendered.disconnect(note)
    fragments.kept.clear()


@pytest.fixture(autouse=True)
def _reader() -> None:
    """The defaults of pages as they are: in the reader's currency."""


@pytest.fixture(autouse=True)
def _offers() -> None:
    for name, price in (("calm", "0.1"), ("quick", "0.2")):
        published(name, 100.0, price)
    data_version_bump()


@pytest.fixture
def scenario() -> Scenario:
    document = TEMPLATES["startup"].document
    return scenario_create(workspace=default_workspace(), document=document, actor="ada")


def html(client: Client, url: str, **headers: str) -> str:
    return client.get(url, headers=headers).content.decode()


def drawn(page: str) -> str:
    """What the page's script draws."""
    return page.partition('type="application/json">')[2].partition("</script>")[0]


@pytest.mark.parametrize("url", [FRONTIER, ANSWER])
def test_two_readers_of_one_page_have_it_made_once(
    client: Client, made: list[str], url: str
) -> None:
    assert html(client, url) == html(Client(), url)
    assert len(made) == 1
    # Also for whoever asks for another one meanwhile.
    html(client, f"{url}?currency=EUR" if url == FRONTIER else f"{url}?vcpu=2")
    assert len(made) == 2
    html(client, url)
    assert len(made) == 2


@pytest.mark.parametrize("url", [FRONTIER, ANSWER])
def test_page_shows_a_change_at_once(client: Client, url: str) -> None:
    assert "third" not in html(client, url)
    published("third", 900.0, "0.1")
    data_version_bump()
    assert "third" in html(client, url)


def test_parts_are_of_the_readers_language_and_currency(client: Client) -> None:
    factories.rate("USD", "2")
    data_version_bump()
    assert "Price against performance" in html(client, FRONTIER)
    assert "Preis gegen Leistung" in html(client, FRONTIER, **{"accept-language": "de"})
    assert "EUR" not in drawn(html(client, FRONTIER, **{"accept-language": "en-US"}))
    assert "EUR" in drawn(html(client, FRONTIER, **{"accept-language": "en-IE"}))


def test_what_members_may_do_is_shown_to_them_alone(client: Client) -> None:
    member = Client()
    member.force_login(factories.user(role="write"))
    assert "/reports/new/" not in html(client, ANSWER)
    assert "/reports/new/" in html(member, ANSWER)
    assert "/reports/new/" not in html(client, ANSWER)


def test_scenario_is_made_once_until_its_document_changes(
    client: Client, made: list[str], scenario: Scenario
) -> None:
    url = f"/scenarios/{scenario.slug}/"
    first = html(client, url)
    # What its figures do not follow from changes nothing.
    published("third", 900.0, "0.1")
    data_version_bump()
    assert html(client, url) == first
    assert len(made) == 1
    scenario.document["options"][0]["name"] = "Another name"
    scenario.save()
    assert "Another name" in html(client, url)


def test_scenario_follows_the_price_of_its_offer(client: Client, scenario: Scenario) -> None:
    offer = published("priced", 100.0, "0.1")
    data_version_bump()
    option = scenario.document["options"][0]
    part = next(one for one in option["parts"] if "price" in one)
    part["price"] = {"offer": offer.slug}
    scenario.save()
    url = f"/scenarios/{scenario.slug}/"
    first = html(client, url)
    factories.price(offer, "0.7", observed_at=factories.AT + dt.timedelta(hours=1))
    data_version_bump()
    assert html(client, url) != first
