"""The search by page and API: what it names, and for whom."""

import pytest

from backend.rankings.services.views import view_create
from tests import factories
from tests.frontend.rows import measured_offer
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


def results(client, q):
    return client.get("/api/v1/search", {"q": q}).json()["results"]


def test_search_names_an_offer_without_figure_exact_name_first(client):
    for name in ("m6i.large", "m6i.large-old", "c6i.large"):
        slug = f"aws-{name.replace('.', '-')}-us-east-1"
        factories.offer(slug, name=name, region=factories.region())
    rows = results(client, "M6i.LARGE")
    assert rows[0] == {
        "kind": "offer",
        "title": "m6i.large · aws · us-east-1",
        "url": "/offers/aws-m6i-large-us-east-1/",
    }
    assert [row["title"].split()[0] for row in rows] == ["m6i.large", "m6i.large-old"]
    page = shown(client.get("/search", {"q": "us-east-1 m6i"}))
    assert "2 results" in page
    assert 'href="/offers/aws-m6i-large-us-east-1/"' in page


def test_search_finds_each_kind_and_no_address_of_a_host(client):
    run = measured_offer().run
    address = run.host.address
    kinds = {
        row["kind"] for word in (run.host.name, "CMIPS", "rack") for row in results(client, word)
    }
    assert kinds == {"offer", "host", "run", "metric"}
    assert results(client, str(run.pk)[:13]) == [
        row for row in results(client, run.offer.name) if row["kind"] == "run"
    ]
    client.force_login(factories.user())
    assert not [row for row in results(client, address) if row["kind"] == "host"]


def test_search_shows_a_private_view_to_its_owner_only(client):
    owner = factories.user(role="write", username="ada")
    view_create(
        workspace=factories.workspace(),
        name="Ada's favourites",
        params={"provider": ["aws"]},
        visibility="private",
        actor="ada",
    )
    assert results(client, "favourites") == []
    client.force_login(owner)
    assert [row["kind"] for row in results(client, "favourites")] == ["view"]


def test_search_refuses_no_words_and_survives_odd_ones(client):
    assert client.get("/api/v1/search").status_code == 400
    assert results(client, "\0 %_' \\ " + "x" * 300) == []
    assert "No results" in shown(client.get("/search", {"q": "\0nothing"}))
