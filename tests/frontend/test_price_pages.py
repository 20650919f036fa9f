"""Prices: the list with its states, what changed, one price with its source, quarantine, tables."""

import datetime as dt
import gzip
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from backend.catalog.models import PriceFeed, PriceObservation, PricePayload, UnpricedType
from backend.core import clock
from tests import factories

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def signed_in(client, role: str):
    client.force_login(factories.user(role=role))
    return client


def text_of(answer, status=200) -> str:
    assert answer.status_code == status
    return answer.content.decode()


@pytest.fixture
def feed(db):
    return PriceFeed.objects.create(
        provider=factories.provider("aws"),
        kind="on_demand",
        region="us-east-1",
        checked_at=clock.now(),
        changed_at=clock.now(),
    )


@pytest.fixture
def offer(db):
    return factories.offer("aws-m5-large", name="m5.large", region=factories.region())


def observed(offer, amount, days_ago=0, **given):
    return factories.price(
        offer, amount, observed_at=clock.now() - days_ago * DAY, currency="USD", **given
    )


def test_prices_of_one_unit_have_one_number_of_digits(client, offer):
    """A cost model of one's own has more digits than anybody reads; its title has them all."""
    observed(offer, "86.123456789012", unit="month", purchase_model="monthly")
    text = text_of(client.get("/prices/"))
    assert 'title="86.123456789012">86.12 USD' in text


@pytest.mark.parametrize("path", ["/prices/?state=all", "/offers/aws-m5-large/"])
def test_prices_of_two_units_share_the_digits_of_a_column(client, offer, path):
    """Points align only where an hour and a month have the same decimals."""
    observed(offer, "0.107")
    observed(offer, "86.1", unit="month", purchase_model="monthly")
    shown = re.findall(r'title="[0-9.]+">([0-9.]+) USD</a>', text_of(client.get(path)))
    assert sorted(shown) == ["0.1070", "86.10"]


def test_prices_page_shows_the_price_in_force_and_how_fresh_its_list_is(client, offer, feed):
    observed(offer, "0.10", days_ago=9, feed=feed)
    newest = observed(offer, "0.107", days_ago=1, feed=feed)
    text = text_of(client.get("/prices/"))
    assert f'/prices/{newest.pk}/" title="0.107">0.1070 USD' in text
    assert "0.1000 USD" not in text
    assert "1 price<" in text
    assert ">fresh<" in text
    assert "superseded" in text_of(client.get("/prices/?state=superseded"))


def test_prices_page_marks_what_its_list_dropped_as_stale(client, offer, feed):
    observed(offer, "0.107", days_ago=3, feed=feed, missing_since=clock.now())
    assert 'mark warn">stale' in text_of(client.get("/prices/"))


def test_prices_page_ignores_and_names_a_value_that_is_no_choice(client, offer):
    observed(offer, "0.107")
    text = text_of(client.get("/prices/?state=odd&provider=nobody&as_of=yesterday"))
    assert text.count("Ignored:") == 3
    assert "1 price<" in text


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("/prices/?as_of=9999-12-31", "as_of"),
        ("/prices/changes/?since=9999-12-31", "since"),
        ("/prices/changes/?until=9999-12-31", "until"),
    ],
)
def test_last_day_of_the_calendar_is_refused_beside_its_field(client, offer, address, field):
    text = text_of(client.get(address))
    assert re.search(rf'id="{field}_error">[^<]*This day is too far ahead', text)


def test_price_leads_to_the_answer_it_was_read_from(client, offer, feed):
    payload = PricePayload.objects.create(
        feed=feed,
        sha256="ab" * 32,
        size_bytes=7,
        raw_gzip=gzip.compress(b"answer!"),
        fetched_at=clock.now(),
    )
    row = observed(offer, "0.107", feed=feed, payload_sha256=payload.sha256, raw_id="SKU.1")
    text = text_of(client.get(f"/prices/{row.pk}/"))
    assert "SKU.1" in text
    answer = client.get(f"/prices/payloads/{payload.pk}/")
    assert f'href="/prices/payloads/{payload.pk}/"' in text
    assert gzip.decompress(answer.content) == b"answer!"


def test_changes_page_sets_two_days_side_by_side(client, offer):
    observed(offer, "2", days_ago=20)
    observed(offer, "1.5", days_ago=2)
    appeared = factories.offer("aws-m6-large", name="m6.large", region=factories.region())
    observed(appeared, "3", days_ago=2)
    today = clock.now().date()
    days = f"since={today - 10 * DAY}&until={today}"
    text = text_of(client.get(f"/prices/changes/?{days}"))
    assert "Appeared: 1 · no longer listed: 0 · changed: 1" in text
    assert "−25%" in text
    only = text_of(client.get(f"/prices/changes/?{days}&change=appeared"))
    assert "m6.large" in only
    assert "/offers/aws-m5-large/" not in only


def test_changes_page_refuses_days_in_the_wrong_order(client):
    text = text_of(client.get("/prices/changes/?since=2026-02-01&until=2026-01-01"))
    assert 'id="since_error"' in text


def test_quarantined_price_is_published_by_an_admin_with_a_reason(client, offer, feed):
    observed(offer, "0.107", days_ago=3, feed=feed)
    row = observed(offer, "0.5", feed=feed, is_published=False, anomaly="0.107 before, 0.5 now")
    assert "0.107 before, 0.5 now" in text_of(client.get("/prices/?state=quarantined"))
    url = f"/prices/{row.pk}/review/"
    assert signed_in(client, "run").post(url, {"accept": "1", "reason": "x"}).status_code == 403
    admin = signed_in(client, "admin")
    text = text_of(admin.post(url, {"accept": "1", "reason": ""}, follow=True))
    assert "Not done: a reason is needed" in text
    admin.post(url, {"accept": "1", "reason": "announced by the provider"})
    row.refresh_from_db()
    assert row.is_published
    assert "0.5000 USD" in text_of(client.get("/prices/"))


def test_unpriced_types_are_listed_with_their_reason(client, feed):
    UnpricedType.objects.create(
        feed=feed, region="us-east-1", name="u-6tb1.metal", reason="not_offered", detail="no term"
    )
    text = text_of(client.get("/prices/unpriced/"))
    assert "u-6tb1.metal" in text
    assert "not offered" in text
    assert "1 type without a price" in text_of(client.get("/prices/"))


def test_price_by_hand_needs_a_reason_and_is_published(client, offer):
    writer = signed_in(client, "write")
    url = f"/offers/{offer.slug}/price/"
    fields = {"amount": "49.90", "currency": "eur", "unit": "month", "setup": "", "reason": ""}
    refused = text_of(writer.post(url, fields))
    assert 'id="reason_error"' in refused
    writer.post(url, {**fields, "reason": "offer of 3 November"})
    row = PriceObservation.objects.get()
    assert (str(row.amount.normalize()), row.currency, row.note) == (
        "49.9",
        "EUR",
        "offer of 3 November",
    )


def test_quotes_are_looked_at_before_they_are_stored(client, tmp_path):
    writer = signed_in(client, "write")
    today = clock.now().date()
    table = (
        "provider,location,model,currency,monthly_net,quoted_on\n"
        f"hosty,Dublin,EX44,EUR,49.00,{today}\n"
        f"hosty,Dublin,EX55,EUR,-1,{today}\n"
    )
    path = tmp_path / "quotes.csv"
    path.write_text(table)

    def sent(**given):
        with path.open("rb") as file:
            answer = writer.post("/prices/tables/", {"kind": "quotes", "file": file, **given})
        return text_of(answer)

    text = sent()
    assert "Would be imported: 1 price" in text
    assert re.search(r"<li>line 3, monthly_net:", text)
    assert not PriceObservation.objects.exists()
    assert "Stored: 1 price" in sent(store="1")
    assert PriceObservation.objects.count() == 1


def test_example_of_quotes_is_one_that_can_be_imported(client):
    writer = signed_in(client, "write")
    example = text_of(writer.get("/prices/tables/")).split('Example">')[1].split("</pre>")[0]
    file = SimpleUploadedFile("quotes.csv", example.encode())
    text = text_of(writer.post("/prices/tables/", {"kind": "quotes", "file": file}))
    assert "Would be imported: 1 price, 1 new offer" in text


def test_list_is_read_by_itself_once_an_admin_says_so(client, feed):
    assert "Refresh this list automatically" not in text_of(client.get("/prices/"))
    admin = signed_in(client, "admin")
    refused = admin.post("/prices/lists/", {"list": "azure/on_demand", "region": ""})
    assert 'id="region_error"' in text_of(refused)
    admin.post("/prices/lists/", {"list": "azure/on_demand", "region": "westeurope"})
    made = PriceFeed.objects.get(provider__slug="azure")
    assert made.is_enabled
    admin.post(f"/prices/lists/{made.pk}/", {"enable": "0"})
    made.refresh_from_db()
    assert not made.is_enabled
    assert signed_in(client, "run").post("/prices/lists/", {}).status_code == 403


def test_offer_page_draws_how_its_price_went_and_leaves_quarantine_out(client, offer):
    observed(offer, "2", days_ago=20)
    newest = observed(offer, "1.5", days_ago=2)
    observed(offer, "9.75", is_published=False, anomaly="1.5 before")
    text = text_of(client.get(f"/offers/{offer.slug}/"))
    assert "plot-prices-json" in text
    assert f'href="/prices/{newest.pk}/"' in text
    assert "9.75" not in text
