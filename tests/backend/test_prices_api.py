"""Prices entered by hand, shown one by one, and reviewed."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.models import PriceObservation
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.services.prices import PriceInput, price_enter
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db
ENTRY = {
    "offer": "priced",
    "amount": "0.123456789012345678",
    "currency": "EUR",
    "unit": "hour",
    "reason": "the contract of 2026",
}


def sent(client: Client, path: str, document: object) -> Any:
    return client.post(f"{API}/{path}", json.dumps(document), content_type="application/json")


def test_price_is_entered_with_its_reason_and_audited(caller: Callable[..., Client]) -> None:
    offer = factories.offer("priced")
    made = sent(caller("write"), "prices", ENTRY | {"setup": "5"})
    assert made.status_code == 201
    price = PriceObservation.objects.get()
    assert current_price(offer) == price
    assert (price.amount, price.setup_amount) == (Decimal(ENTRY["amount"]), 5)
    assert (price.purchase_model, price.note, price.is_published) == (
        "on_demand",
        ENTRY["reason"],
        True,
    )
    assert price.source == "entered by token write token"
    answer = made.json()
    assert (answer["price_id"], answer["amount"]) == (str(price.pk), ENTRY["amount"])
    assert (answer["state"], answer["offer_id"], answer["note"]) == (
        "current",
        "priced",
        ENTRY["reason"],
    )
    entry = AuditEntry.objects.get(action="price_enter")
    assert (entry.object_id, entry.detail["reason"]) == (str(price.pk), ENTRY["reason"])
    assert entry.detail["amount"] == ENTRY["amount"]


def test_newer_entry_supersedes_the_older_one(caller: Callable[..., Client]) -> None:
    factories.offer("priced")
    client = caller("write")
    for amount in ("1", "2"):
        assert sent(client, "prices", ENTRY | {"amount": amount}).status_code == 201
    assert [row["amount"] for row in client.get(f"{API}/prices").json()["results"]] == ["2"]
    assert PriceObservation.objects.count() == 2


def test_amount_is_read_from_any_form_of_number(caller: Callable[..., Client]) -> None:
    factories.offer("priced")
    client = caller("write")
    for written, amount in ((1, "1"), (0.5, "0.5"), (".5", "0.5"), ("5.0", "5")):
        entered = sent(client, "prices", ENTRY | {"amount": written}).json()
        assert Decimal(entered["amount"]) == Decimal(amount)


def test_commitment_and_purchase_are_entered_with_their_terms(
    caller: Callable[..., Client],
) -> None:
    factories.offer("priced")
    client = caller("write")
    reserved = {"purchase_model": "reserved", "term": "3y"}
    assert sent(client, "prices", ENTRY | reserved).json()["term"] == "3y"
    bought = sent(client, "prices", ENTRY | {"unit": "once", "purchase_model": None})
    assert bought.json()["purchase_model"] == "purchase"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"offer": "none"}, "/offer"),
        ({"amount": "0"}, "/amount"),
        ({"amount": True}, "/amount"),
        ({"amount": "-1"}, "/amount"),
        ({"amount": "1.1234567890123456789"}, "/amount"),
        ({"currency": "euro"}, "/currency"),
        ({"currency": "XXX"}, "/currency"),
        ({"unit": "week"}, "/unit"),
        ({"unit": "once", "purchase_model": "spot"}, "/unit"),
        ({"purchase_model": "reserved"}, "/term"),
        ({"term": "1y"}, "/term"),
        ({"purchase_model": "gift"}, "/purchase_model"),
        ({"reason": "  "}, "/reason"),
        ({"setup": "-1"}, "/setup"),
        ({"colour": "red"}, "/colour"),
    ],
)
def test_entry_is_refused_by_pointer(
    caller: Callable[..., Client], changes: dict[str, Any], pointer: str
) -> None:
    factories.offer("priced")
    refused = sent(caller("write"), "prices", ENTRY | changes)
    assert refused.status_code == 400
    assert fields(refused) == [pointer]
    assert not PriceObservation.objects.exists()


@pytest.mark.parametrize(
    ("price", "reason", "field"),
    [
        (PriceInput(Decimal("NaN"), "EUR", "hour"), "why", "/amount"),
        (PriceInput(Decimal(1), "euro", "hour"), "why", "/currency"),
        (PriceInput(Decimal(1), "EUR", "hour", purchase_model="gift"), "why", "/purchase_model"),
        (PriceInput(Decimal(1), "EUR", "hour"), "", "/reason"),
    ],
)
def test_service_checks_what_no_document_did(price: PriceInput, reason: str, field: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        price_enter(
            workspace=factories.workspace(),
            offer=factories.offer(),
            price=price,
            reason=reason,
            actor="x",
        )
    assert caught.value.field == field


def test_scopes_of_entering_and_reviewing(caller: Callable[..., Client], client: Client) -> None:
    price = factories.price(factories.offer("priced"), is_published=False)
    review = {"accept": True, "reason": "checked"}
    for scope, entering, reviewing in (
        ("read", 403, 403),
        ("write", 201, 403),
        ("run", 201, 403),
        ("admin", 201, 200),
    ):
        known = caller(scope)
        assert sent(known, "prices", ENTRY).status_code == entering
        assert sent(known, f"prices/{price.pk}/review", review).status_code == reviewing
    assert sent(client, "prices", ENTRY).status_code == 401
    assert sent(client, f"prices/{price.pk}/review", review).status_code == 401


@pytest.mark.parametrize(("accept", "state"), [(True, "current"), (False, "refused")])
def test_rule_27_a_person_publishes_or_refuses_what_waits(
    caller: Callable[..., Client], accept: bool, state: str
) -> None:
    offer = factories.offer("priced")
    held = factories.price(offer, "1")
    waiting = factories.price(
        offer, "9", observed_at=factories.AT.replace(hour=13), is_published=False, anomaly="9 times"
    )
    admin = caller("admin")
    [row] = admin.get(f"{API}/prices?state=quarantined").json()["results"]
    assert row["price_id"] == str(waiting.pk)
    address = f"prices/{waiting.pk}/review"
    assert fields(sent(admin, address, {"accept": accept, "reason": " "})) == ["/reason"]
    assert fields(sent(admin, address, {"accept": "yes", "reason": "x"})) == ["/accept"]
    answer = sent(admin, address, {"accept": accept, "reason": "asked them"})
    assert (answer.status_code, answer.json()["state"]) == (200, state)
    assert (answer.json()["doubt"], answer.json()["reviewed_by"]) == (
        "9 times",
        "token admin token",
    )
    [row] = admin.get(f"{API}/prices").json()["results"]
    assert row["price_id"] == str(waiting.pk if accept else held.pk)
    again = sent(admin, address, {"accept": accept, "reason": "again"})
    assert again.status_code == 409
    assert state in again.json()["detail"]
    assert (
        sent(admin, f"prices/{uuid4()}/review", {"accept": True, "reason": "x"}).status_code == 404
    )
    assert AuditEntry.objects.filter(detail__reason="asked them").count() == 1


def test_one_price_is_shown_with_everything_beside_it(client: Client) -> None:
    price = factories.price(
        factories.offer("priced", region=factories.region("us-east-1")),
        "1.50",
        monthly_cap=Decimal("900.5"),
        plan="standard",
        included={"traffic_bytes": 5},
        tax_rate=Decimal("0.19"),
    )
    shown = client.get(f"{API}/prices/{price.pk}").json()
    assert (shown["amount"], shown["amount_net"], shown["amount_gross"]) == ("1.5", "1.5", "1.785")
    assert (shown["tax_basis"], shown["tax_rate"], shown["monthly_cap"]) == ("net", "0.19", "900.5")
    assert (shown["plan"], shown["included"]) == ("standard", {"traffic_bytes": 5})
    assert (shown["setup"], shown["setup_per_month"], shown["region"]) == (None, None, "us-east-1")
    assert fields(client.get(f"{API}/prices/{price.pk}?setup_months=0")) == ["setup_months"]
    assert client.get(f"{API}/prices/{uuid4()}").status_code == 404


def test_an_implausible_entry_waits_for_a_review(caller: Callable[..., Client]) -> None:
    offer = factories.offer("priced")
    client = caller("write")
    made = sent(client, "prices", ENTRY | {"currency": "USD", "amount": "9000000000"})
    assert (made.status_code, made.json()["state"]) == (201, "quarantined")
    assert "more than any machine costs" in made.json()["doubt"]
    assert current_price(offer) is None
    sent(client, "prices", ENTRY | {"amount": "0.1"})
    tenfold = sent(client, "prices", ENTRY | {"amount": "1.0"}).json()
    assert (tenfold["state"], "of its other prices" in tenfold["doubt"]) == ("quarantined", True)


def test_a_price_by_hand_is_taken_back_and_one_of_a_list_is_not(
    caller: Callable[..., Client],
) -> None:
    factories.offer("priced")
    client = caller("write")
    price = sent(client, "prices", ENTRY).json()["price_id"]
    assert caller("read").delete(f"{API}/prices/{price}").status_code == 403
    assert client.delete(f"{API}/prices/{price}").status_code == 204
    assert AuditEntry.objects.filter(action="price_remove").exists()
    listed = factories.price(factories.offer("listed"), "0.5")
    refused = client.delete(f"{API}/prices/{listed.pk}")
    assert (refused.status_code, "of a list" in refused.json()["detail"]) == (409, True)


def test_a_table_is_looked_at_and_stored_over_the_api(caller: Callable[..., Client]) -> None:
    client = caller("write")
    text = "Hoster;Modell;Monatspreis netto;Datum\nHosty;EX44;1.249 €;10.11.2025\n"
    document = {"kind": "quotes", "text": text, "dry_run": True}
    unclear = sent(client, "tables/import", document).json()
    assert unclear["refused"][0]["column"] == "monthly_net"
    looked = sent(client, "tables/import", document | {"locale": "de"}).json()
    assert looked["lines"] == [
        {"line": 2, "offer": "hosty-ex44", "price": "1249 EUR/month", "day": "2025-11-10",
         "state": "new", "why": ""}
    ]  # fmt: skip
    assert not PriceObservation.objects.exists()
    form = {"kind": "quotes", "locale": "de", "file": SimpleUploadedFile("q.csv", text.encode())}
    stored = client.post(f"{API}/tables/import", form)
    assert (stored.status_code, stored.json()["prices_new"]) == (200, 1)
    assert fields(sent(client, "tables/import", {"kind": "quotes"})) == ["/text"]
