"""What to buy for a need, over the API."""

from decimal import Decimal

import pytest

from backend.catalog.models import Offer, Region
from backend.rankings.selectors import ranking
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db
GIB = 2**30


@pytest.fixture(autouse=True)
def market(settings):
    """Two offers alike and one small in Europe, a good one in Asia, one that is history, and one's own."""
    settings.PUBLIC_READ = True
    settings.SECURE_SSL_REDIRECT = False
    size = {"vcpu_count": 8, "memory_bytes": 32 * GIB}
    published("best", 1000.0, "0.1", **size)
    published("near", 1000.0, "0.101", **size)
    published("far", 1000.0, "0.05", **size)
    published("old", 1000.0, "0.01", **size)
    published("small", 1000.0, "0.02", vcpu_count=2, memory_bytes=GIB)
    mine = factories.offer("mine", provider_slug="own", kind="onprem", vcpu_count=4)
    factories.sample(mine, 500.0)
    Region.objects.bulk_create(
        Region(provider=mine.provider, code=code, country=country)
        for code, country in (("here", "DE"), ("there", "JP"))
    )
    Offer.objects.filter(slug="far").update(region=Region.objects.get(code="there"))
    here = Offer.objects.exclude(slug__in=("far", "mine"))
    here.update(region=Region.objects.get(code="here"))
    Offer.objects.filter(slug="old").update(discontinued_on="2020-01-01")


def answer(client, query):
    found = client.get(f"/api/v1/answer?{query}")
    assert found.status_code == 200, found.content
    return found.json()


def test_answer_names_the_best_what_ties_and_the_own_break_even(client):
    found = answer(client, "vcpu=8&ram=32&region_group=europe")
    assert found["best"]["offer_id"] == "best"
    assert [row["offer_id"] for row in found["ties"]] == ["near"]
    (own,) = found["own"]
    # 1000 CMIPS at 0.1 USD/h x 730 h = 73 USD a month; 500 CMIPS are worth half of that.
    assert Decimal(own.pop("break_even_price")) == pytest.approx(
        Decimal("36.5"), rel=Decimal("1e-11")
    )
    assert own == {"offer": "mine", "rank": None, "period": "month", "currency": "USD"}
    assert found["sentence"] == (
        "Best value today: best (here) at 73.00 USD/month (95 % interval of its value: from 42 % less "
        "to 71 % more). Too close to call: near (here). "
        "Of your own machines, mine is the best value below 36.50 USD/month."
    )
    assert found["warnings"] == []


def test_own_machine_with_a_price_takes_a_rank_among_the_offers(client):
    factories.price(Offer.objects.get(slug="mine"), "30", unit="month", purchase_model="monthly")
    found = answer(client, "vcpu=8&region_group=europe&period=hour")
    assert found["own"][0]["rank"] == 1
    assert Decimal(found["own"][0]["break_even_price"]) == Decimal("0.05")
    assert "at 0.0411 USD/hour it takes rank 1." in found["sentence"]


def test_answer_without_an_offer_says_so_and_names_no_break_even(client):
    found = answer(client, "vcpu=800")
    assert (found["best"], found["ties"], found["own"]) == (None, [], [])
    assert found["sentence"] == "No offer with a price and a figure meets this."


def test_answer_refuses_a_bad_need_by_the_name_it_was_asked_by(client):
    found = client.get("/api/v1/answer?vcpu=many&ram=1")
    assert found.status_code == 400
    assert b"'many' is not a number" in found.content
    assert b"vcpu__gte" not in found.content


def test_own_machine_that_was_disturbed_is_said_to_be_so(client):
    mine = Offer.objects.get(slug="mine")
    mine.samples.all().delete()
    factories.sample(mine, 400.0, flags=["disturbed"])
    assert (
        "mine is the best value below 29.20 USD/month, by repeats that other work disturbed."
        in answer(client, "vcpu=8&region_group=europe")["sentence"]
    )


def test_nothing_but_own_machines_is_ranked_beside_the_answer(client, monkeypatch):
    compared = []
    rank = ranking.ranked_lists

    def noted(basis, numbers, *given):
        compared.append({basis.offers.slugs[number] for number in numbers})
        return rank(basis, numbers, *given)

    monkeypatch.setattr(ranking, "ranked_lists", noted)
    answer(client, "vcpu=8&ram=32")
    assert compared == [{"best", "near", "far"}, {"mine"}]
