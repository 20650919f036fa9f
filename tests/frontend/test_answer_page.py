"""The first page: which addresses it answers, and that its figures are those of the ranking."""

import json
import re

import pytest

from backend.catalog.models import Offer, Region
from backend.catalog.services.data_version import data_version_bump
from backend.rankings.pages.ranking import views as ranking_views
from backend.rankings.selectors.listing import Listing
from backend.site.page_defaults import page_defaults
from tests import factories
from tests.frontend.rows import published
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db
GIB = 2**30
QUESTION = 'aria-label="What you need"'
RANKING = 'id="ranking-form"'


@pytest.fixture
def market():
    """Two offers alike, one small, one far from the rest, and a machine of one's own without a price."""
    size = {"vcpu_count": 8, "memory_bytes": 32 * GIB}
    published("best", 1000.0, "0.1", **size)
    published("near", 1000.0, "0.101", **size)
    published("small", 1000.0, "0.02", vcpu_count=2, memory_bytes=GIB)
    published("dear", 1000.0, "9", **size)
    for n in range(12):
        published(f"more-{n:02}", 900.0 - n, "1", **size)
    mine = factories.offer("mine", provider_slug="own", kind="onprem", vcpu_count=4)
    factories.sample(mine, 500.0)
    region = Region.objects.create(provider=mine.provider, code="here", country="DE")
    Offer.objects.exclude(slug="mine").update(region=region)
    data_version_bump()


def html(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return shown(answer)


def chart(text):
    return json.loads(
        text.partition('<script id="chart-json" type="application/json">')[2].partition("</")[0]
    )


def rows(text):
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r'<th scope="row"><a href="/offers/([^/]+)/">', body)


@pytest.mark.parametrize(
    ("query", "sign"),
    [
        ("", QUESTION),
        ("?vcpu=8&ram=32", QUESTION),
        (
            "?vcpu=&ram=&region_group=&budget=&currency=USD&period=month&metric=cmips_score",
            QUESTION,
        ),
        ("?metric=cmips_score", RANKING),
        ("?region_group=europe&period=month", RANKING),
        ("?vcpu=8&sort=price", RANKING),
        ("?nothing=1", RANKING),
    ],
)
def test_address_of_a_need_is_answered_and_any_other_is_ranked(client, market, query, sign):
    assert sign in html(client, f"/{query}")


def test_answer_states_value_interval_ties_own_machine_and_ten_rows(client, market):
    text = html(client, "/?vcpu=8&ram=32&region_group=europe&budget=1000&period=month")
    # 1000 CMIPS at 0.1 USD/h x 730 h = 73 USD a month; 500 CMIPS are worth half of that.
    assert (
        "No clear winner: AWS best (here) at 73.0 USD/month measures best for its price, with a chance of 5"
        in text
    )
    assert "AWS near (here) could also be." in text
    assert "Your server “mine” would be the best value below 36.5 USD/month" in text
    assert "today" not in text
    assert rows(text) == ["best", "near", *(f"more-{n:02}" for n in range(8)), "mine"]
    assert "best value below 36.50 USD/month" in text
    assert "14 servers from" in text  # within the budget
    assert 'href="/offers/best/scores/cmips_score/"' in text
    assert re.search(r'<a href="/prices/[0-9a-f-]{36}/">73\.00</a>', text)
    (link,) = re.findall(r'<a href="(/offers/\?[^"]+)">Full ranking', text)
    assert "14 offers" in html(client, link.replace("&amp;", "&"))


def test_answer_leads_to_measuring_where_no_own_machine_has_a_score(client, market):
    said = "You have not measured a machine of your own yet."
    assert said not in html(client, "/?vcpu=8")
    Offer.objects.get(slug="mine").samples.all().delete()
    data_version_bump()
    assert said in html(client, "/?vcpu=8")


def test_page_and_api_give_the_same_answer(client, market, monkeypatch):
    # The page's own defaults, which keep to what is sold as this address of the API does.
    monkeypatch.setattr(ranking_views, "page_defaults", page_defaults)
    query = "vcpu=8&period=month&currency=USD&metric=cmips_score"
    found = client.get(f"/api/v1/answer?{query}").json()
    text = html(client, f"/?{query}")
    assert found["sentence"].partition(". ")[0] in text
    for row in found["contenders"]:
        assert f"{row['p_best'] * 100:.0f}% chance of being the best value" in text


def test_own_machine_without_a_price_stands_at_its_break_even(client, market):
    (own,) = (one for one in chart(html(client, "/?vcpu=8&period=month"))["points"] if one["isOwn"])
    assert (own["label"], own["x"], own["y"]) == ("mine · at its break-even price", 36.5, 500.0)
    assert not own["isFrontier"]


def test_wrong_need_is_said_beside_its_field_and_filters_nothing(client, market):
    text = html(client, "/?vcpu=many&ram=32")
    assert 'id="vcpu_error">Ignored: ' in text
    assert "is not a number" in text
    assert 'value="many"' in text
    assert "vcpu__gte" not in text
    assert "15 servers from" in text  # all of 32 GiB, and not the small one


def test_need_that_nothing_meets_leads_on(client, market):
    text = html(client, "/?vcpu=800")
    assert "No server on sale meets this. Ask for less, or remove a filter." in text
    assert "<canvas" not in text
    assert 'href="/hosts/new/"' in text


def test_page_makes_the_rows_that_it_shows_and_no_others(client, market, monkeypatch):
    for n in range(60):
        published(f"many-{n:02}", 100.0 + n, "1")
    data_version_bump()
    first = html(client, "/")
    made = []
    row = Listing._row
    monkeypatch.setattr(Listing, "_row", lambda *of: made.append(of) or row(*of))
    assert rows(html(client, "/")) == rows(first)
    # Ten lines, the best with what ties and the one after, and where a machine of one's own stands.
    assert len(made) < 40
