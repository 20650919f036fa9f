"""Price changes of two days as a report: lines, medians, and the best answers before and after."""

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client

from backend.catalog.models import Offer
from backend.catalog.selectors import price_movements as module
from backend.catalog.selectors.price_list import PriceFilter
from backend.catalog.selectors.price_movements import price_movements
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from backend.foundation.errors import InvalidValue
from backend.rankings.models import Report
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db
JUNE = (dt.date(2026, 5, 31), dt.date(2026, 6, 30))
PAGE = "/reports/new/prices/?since=2026-05-31&until=2026-06-30"
GIB = 2**30


def at(month: int, day: int) -> dt.datetime:
    return dt.datetime(2026, month, day, 12, tzinfo=dt.UTC)


def moved(slug: str, before: str, after: str, name: str, **given: object) -> Offer:
    """An hourly price of May and another one of June."""
    offer = factories.offer(slug, provider_slug="hetzner", name=name)
    factories.price(offer, before, observed_at=at(5, 1))
    factories.price(offer, after, observed_at=at(6, 15), **given)
    return offer


@pytest.fixture
def june(settings: object) -> None:
    """Two lines of Hetzner: three prices that rose, of which two for new orders, and one that fell."""
    moved("cx23-a", "1", "1.5", "cx23", applies_to="new")
    moved("cx23-b", "1", "1.5", "cx23", applies_to="new")
    moved("cx53", "2", "2.2", "cx53")
    moved("ccx13", "4", "3", "ccx13")
    moved("late", "1", "1", "cx33")
    spot = factories.offer("spot", provider_slug="hetzner", name="cx43")
    for month, amount in ((5, "1"), (6, "9")):
        factories.price(spot, amount, purchase_model="spot", observed_at=at(month, 2))


def test_movements_are_grouped_by_line_and_exclude_spot(june: None) -> None:
    first, second = price_movements(*JUNE, PriceFilter(provider="hetzner"))
    assert (first.line, second.line) == ("cloud, shared vCPUs", "cloud, dedicated vCPUs")
    assert [(each.name, len(each.regions)) for each in first.movements] == [
        ("cx23", 2),
        ("cx53", 1),
    ]
    # Of 1.5, 1.5 and 1.1.
    assert first.median_ratio == Decimal("1.5")
    assert second.median_ratio == Decimal("0.75")
    (spot,) = price_movements(*JUNE, PriceFilter(purchase_model="spot"))
    assert spot.median_ratio == 9
    assert not price_movements(dt.date(2026, 6, 20), JUNE[1], PriceFilter())


def test_more_changes_than_a_summary_reads_are_refused(
    june: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CHANGES", 3)
    with pytest.raises(InvalidValue, match="choose a provider or a shorter period"):
        price_movements(*JUNE, PriceFilter())


def test_report_of_price_changes_agrees_with_its_rows(client: Client, june: None) -> None:
    for slug, score, amounts in (("leads", 100.0, ("1", "4")), ("follows", 100.0, ("2", "2"))):
        offer = published(slug, score, None, vcpu_count=8, memory_bytes=32 * GIB)
        offer.samples.update(measured_at=at(1, 1))
        for month, amount in zip((5, 6), amounts, strict=True):
            factories.price(offer, amount, observed_at=at(month, 3))
    new = published("new", 900.0, None, vcpu_count=8, memory_bytes=32 * GIB)
    new.samples.update(measured_at=at(1, 1))
    factories.price(new, "1", observed_at=at(6, 3))
    data_version_bump()
    prices_refresh()
    client.force_login(factories.user(username="ada", role="write"))
    page = client.get("/prices/changes/?since=2026-05-31&until=2026-06-30").content.decode()
    assert PAGE.replace("&", "&amp;") in page
    assert "difference.csv?from=2026-05-31&amp;to=2026-06-30" in page
    answer = client.post(PAGE, {"title": "June 2026"})
    assert answer.headers["Location"] == "/reports/june-2026/"
    document = Report.objects.get().document
    # Rises of 10, 50, 50 and 300 percent, one fall of 25; a server that appeared is no change.
    assert document["conclusion"]["sentence"] == (
        "From 2026-05-31 to 2026-06-30, 4 prices rose (median +50%) and 1 price fell (median −25%)."
        " 2 of the rises apply to new orders only: servers that you have keep their price."
    )
    assert ["cx23", "On demand", "$1.00/h", "$1.50/h", "+50%"] in document["rows"]
    facts = dict(document["facts"])
    # Before the one of 1 USD, after the one of 2: 730 hours of each.
    assert document["conclusion"]["detail"].endswith(
        "Best value of 8 vCPU and 32 GiB: AWS leads at 730 USD/month before, AWS follows at 1,460"
        " USD/month after (+100%)."
    )
    assert "leads: $1.00/h → $4.00/h (+300%)" in facts["Largest change"]
    text = client.get("/reports/june-2026/").content.decode()
    assert "/prices/changes/?since=2026-05-31&amp;until=2026-06-30" in text
    assert client.get("/reports/june-2026.pdf").status_code == 200


def test_report_of_days_in_the_wrong_order_leads_to_the_error(client: Client) -> None:
    client.force_login(factories.user(username="ada", role="write"))
    answer = client.get("/reports/new/prices/?since=2026-07-01&until=2026-06-01", follow=True)
    assert "2026-07-01 is not before 2026-06-01" in answer.content.decode()
    assert not Report.objects.exists()
