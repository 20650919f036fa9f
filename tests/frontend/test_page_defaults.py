"""What a page shows to somebody who asks for nothing, and that its addresses say so."""

import re

import pytest
from django.test import RequestFactory

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import Offer
from backend.catalog.selectors import data_version
from backend.catalog.services.data_version import data_version_bump
from backend.core.shared_files import SharedFiles
from backend.rankings.selectors import default_metric as module
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.services.views import view_create
from backend.site.page_defaults import language_currency
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db
STATED = "metric=general_performance&period=month&currency=EUR&available=TRUE"


@pytest.fixture(autouse=True)
def _reader() -> None:
    """The defaults of pages as they are."""


@pytest.fixture
def market():
    """Two offers of today with CoreMark; three with CMIPS, two of them no longer sold."""
    factories.rate("USD", "1.25")
    for slug in ("old-a", "old-b", "new-c"):
        published(slug, 100.0, "1", provider_slug="linode")
    for slug in ("new-a", "new-b"):
        offer = factories.offer(slug)
        factories.sample(
            offer, 5000.0, metric="general_performance", variant="standard", source="published"
        )
        factories.price(offer, "2")
    Offer.objects.filter(slug__startswith="old").update(discontinued_on="2020-01-01")


def test_default_metric_is_cpu_speed_where_an_offer_on_sale_has_it(market):
    assert default_metric(current_stamp()) == "general_performance"
    # Three with CMIPS against two: real work counts before the number of offers.
    Offer.objects.update(discontinued_on=None)
    published("new-d", 100.0, "1", provider_slug="linode")  # a change of the data
    assert default_metric(current_stamp()) == "general_performance"
    Offer.objects.filter(slug__startswith="new-").update(discontinued_on="2020-01-01")
    published("new-e", 100.0, "1", provider_slug="linode")
    assert default_metric(current_stamp()) == "cmips_score"


@pytest.mark.django_db(transaction=True)
def test_default_metric_is_counted_anew_only_where_another_may_lead(monkeypatch):
    counts = []

    def noted(workspace_slug):
        counts.append(workspace_slug)
        return read(workspace_slug)

    read = module._read
    monkeypatch.setattr(module, "_read", noted)
    monkeypatch.setattr(module, "_tables", KnownTables(80_000, SharedFiles(None)))
    alone = data_version.STAMP.replace("pg_snapshot_xmin", "pg_snapshot_xmax")
    monkeypatch.setattr(data_version, "STAMP", alone)
    for number in range(6):
        offer = factories.offer(f"offer-{number}")
        factories.sample(offer, 5000.0, metric="general_performance", variant="standard")
        factories.price(offer, "2")
    others = [published(f"other-{number}", 100.0, None) for number in range(8)]
    for other in others:
        assert default_metric(current_stamp()) == "general_performance"
        factories.price(other, "1")
        data_version_bump()
    assert default_metric(current_stamp()) == "general_performance"
    # Six offers may lose it before another metric leads.
    assert 1 <= len(counts) < 9


def test_default_metric_is_that_of_the_api_where_nothing_is_priced(db):
    assert default_metric(current_stamp()) == "cmips_score"


def test_page_and_its_exports_state_what_it_took_by_itself(client, market):
    answer = client.get("/offers/", headers={"Accept-Language": "de-DE,en;q=0.5"})
    text = answer.content.decode().replace("&amp;", "&")
    assert re.findall(r'<th scope="row"><a href="/offers/([\w-]+)/', text) == ["new-a", "new-b"]
    assert "EUR/month" in text
    assert "Filter Erhältlich" in text or "Remove filter" in text
    links = re.findall(
        r'href="(/(?:offers/|frontier/|api/v1/rankings|views/new/|data/)[^"]*\?[^"]*)"', text
    )
    assert len(links) > 20
    changed = ("available=any", "period=", "currency=")
    assert not [one for one in links if STATED not in one and not any(c in one for c in changed)]
    csv = next(one for one in links if one.startswith("/api/v1/rankings.csv"))
    assert b";EUR;month;" in client.get(csv).content


def test_currency_of_the_last_address_is_remembered(client, market):
    client.get("/offers/?currency=USD", headers={"Accept-Language": "de"})
    assert "USD/month" in client.get("/offers/", headers={"Accept-Language": "de"}).content.decode()


def test_view_that_states_nothing_means_the_defaults_of_the_api(client, market):
    params = {"q": ["old"]}
    view_create(workspace=factories.workspace(), name="Old", params=params, actor="ada")
    text = client.get("/offers/?view=old").content.decode()
    assert re.findall(r'<th scope="row"><a href="/offers/([\w-]+)/', text) == ["old-a", "old-b"]
    assert "USD/hour" in text


@pytest.mark.parametrize(
    ("languages", "currency"),
    [
        ("de-DE,de;q=0.9", "EUR"),
        ("de-CH", "CHF"),
        ("en-GB", "GBP"),
        ("en", "USD"),
        ("fr", "EUR"),
        ("ja,en;q=0.8", "JPY"),
        ("zh-hant-hk", "HKD"),
        ("es-AR", "USD"),
        ("*", "USD"),
        ("", "USD"),
    ],
)
def test_currency_is_that_of_the_first_language(languages, currency):
    request = RequestFactory().get("/", headers={"Accept-Language": languages})
    assert language_currency(request) == currency
