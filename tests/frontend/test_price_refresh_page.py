"""The button that refreshes prices, its progress, and the one banner about the age of prices."""

import datetime as dt

import pytest

from backend.catalog.models import PriceFeed
from backend.core import clock
from backend.site.price_age import PriceAge
from tests import factories

pytestmark = pytest.mark.django_db
BUTTON = 'action="/prices/refresh/"'
TODAY = dt.date(2026, 11, 28)


def signed_in(client, role):
    client.force_login(factories.user(role=role))
    return client


def text_of(answer):
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(("role", "status"), [("read", 403), ("write", 302), ("admin", 302)])
def test_refresh_is_begun_by_analysts_and_above(client, role, status):
    assert signed_in(client, role).post("/prices/refresh/").status_code == status
    assert PriceFeed.objects.exclude(requested_at=None).exists() == (status == 302)


def test_button_is_shown_to_analysts_and_not_to_viewers(client):
    assert "<button>Refresh prices" in text_of(signed_in(client, "write").get("/prices/"))
    assert "<button>Refresh prices" not in text_of(signed_in(client, "read").get("/prices/"))


def test_page_follows_the_refresh_until_every_list_was_tried(client):
    page = signed_in(client, "write").post("/prices/refresh/", follow=True)
    assert 'hx-get="/prices/refresh/state/"' in text_of(page)
    PriceFeed.objects.update(
        tried_at=clock.now(), failures=1, trouble="unreachable", last_error="no route"
    )
    part = text_of(client.get("/prices/refresh/state/"))
    assert "hx-get" not in part
    assert "No provider could be read. All prices stay as they were." in part
    assert "OVH could not be reached." in part
    assert "no route" in part
    assert "not refreshed automatically any more" in part


def test_second_press_is_refused_while_a_refresh_runs(client):
    signed_in(client, "write").post("/prices/refresh/")
    page = text_of(client.post("/prices/refresh/", follow=True))
    assert "prices are being refreshed already" in page


@pytest.mark.parametrize("address", ["/", "/offers/"])
def test_banner_names_the_months_and_the_providers_that_failed(client, settings, address):
    settings.PUBLIC_READ = True
    offer = factories.offer("aws-old", region=factories.region())
    factories.price(offer, "0.1", observed_at=clock.now() - dt.timedelta(days=90))
    factories.sample(offer, 100)
    for slug in ("aws", "azure"):
        PriceFeed.objects.create(
            provider=factories.provider(slug), kind="on_demand", failures=2, last_error="no"
        )
    page = text_of(client.get(f"{address}?metric=cmips_score&currency=USD"))
    month = (clock.now() - dt.timedelta(days=90)).strftime("%B %Y")
    assert f"Prices are of {month}." in page
    assert "2 providers could not be read." in page
    assert page.count('href="/prices/#refresh"') == 1


@pytest.mark.parametrize(
    ("first", "last", "older_count", "words"),
    [
        ("2026-08-02", "2026-08-30", 0, "Prices are of August 2026."),
        ("2026-07-20", "2026-08-22", 0, "Prices are of July to August 2026."),
        ("2025-12-30", "2026-01-02", 0, "Prices are of December 2025 to January 2026."),
        ("2026-08-02", "2026-08-30", 1, "Prices are of August 2026; 1 older one is marked."),
        ("2026-11-01", "2026-11-28", 0, ""),
    ],
)
def test_age_is_said_in_months_where_prices_are_old(first, last, older_count, words):
    first, last = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    age = PriceAge(first, last, last, TODAY, older_count)
    assert age.banner(0) == words
    assert age.banner(3) == f"{words} 3 providers could not be read.".strip()
