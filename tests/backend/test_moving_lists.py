"""A list that moves as a whole is one message and one decision; what waits is marked everywhere."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import CurrentPrice, PriceFeed, PriceObservation
from backend.catalog.selectors.current_prices import best_prices, current_prices_of
from backend.catalog.selectors.price_choice import PriceBasis
from backend.catalog.selectors.waiting_prices import waiting_lists
from backend.catalog.services.price_list_review import price_list_review
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.money.pricing.purchase import PurchaseModel
from tests import factories
from tests.backend.price_lists import DAY, price, record
from tests.backend.test_prices_api import sent

pytestmark = pytest.mark.django_db

BEFORE = {"a": "0.010", "b": "0.020", "c": "0.030", "d": "0.040", "e": "0.050"}
# Up by 40, 100, 150, 35 and 20 %.
AFTER = {"a": "0.014", "b": "0.040", "c": "0.075", "d": "0.054", "e": "0.060"}


def listed(amounts: dict[str, str], **fields: Any) -> list[Any]:
    return [price(amount, name, **fields) for name, amount in amounts.items()]


def moved() -> PriceFeed:
    record(listed(BEFORE))
    record(listed(AFTER), day=1)
    return PriceFeed.objects.get()


def decide(feed: PriceFeed, *, is_accepted: bool = True, **more: Any) -> int:
    return price_list_review(
        workspace=factories.workspace(), feed=feed, is_accepted=is_accepted, actor="ann",
        reason="announced by the provider", **more,
    )  # fmt: skip


def amounts_in_force() -> dict[str, Decimal]:
    current_stamp()
    rows = CurrentPrice.objects.select_related("offer")
    return {row.offer.name: row.amount for row in rows}


def test_list_that_moves_as_a_whole_is_one_sentence() -> None:
    feed = moved()
    (waiting,) = waiting_lists()
    assert (waiting.feed, waiting.count) == (feed, 5)
    sentence = "The whole list moved: 5 of 5 prices rose, by 20 to 150%."
    assert waiting.movement.sentence == sentence
    assert amounts_in_force() == {name: Decimal(amount) for name, amount in BEFORE.items()}


def test_one_decision_takes_over_a_list_that_moved() -> None:
    assert decide(moved(), count=5) == 5
    assert amounts_in_force() == {name: Decimal(amount) for name, amount in AFTER.items()}
    then = best_prices(PriceBasis(as_of=factories.AT.date()))
    assert {choice.charge.amount for choice in then.values()} == set(map(Decimal, BEFORE.values()))
    entry = AuditEntry.objects.get(action="price_list_accept")
    assert entry.detail["prices"] == 5
    assert "by 20 to 150%" in entry.detail["change"]
    assert waiting_lists() == []


def test_refused_list_is_not_asked_about_again() -> None:
    decide(moved(), is_accepted=False)
    report = record(listed(AFTER), day=2)
    assert (report.refused, report.quarantined) == (5, 0)
    assert amounts_in_force()["c"] == Decimal("0.03")


@pytest.mark.parametrize(
    ("more", "field"), [({"count": 4}, "/count"), ({"reason": " "}, "/reason")]
)
def test_decision_is_refused_where_something_is_amiss(more: dict[str, Any], field: str) -> None:
    feed = moved()
    with pytest.raises(InvalidValue) as refused:
        price_list_review(
            **{"workspace": factories.workspace(), "feed": feed, "is_accepted": True,
               "actor": "ann", "reason": "why", **more}
        )  # fmt: skip
    assert refused.value.field == field
    assert len(waiting_lists()) == 1


def test_slip_in_a_list_that_stays_is_no_movement_of_it() -> None:
    record(listed(BEFORE))
    report = record(listed(BEFORE | {"c": "0.3", "e": "0.055"}), day=1)
    assert (report.quarantined, report.published) == (1, 1)
    assert report.movements == ["1 of 5 prices rose, by 900%."]


def test_list_that_falls_as_a_whole_waits_as_a_whole() -> None:
    record(listed({"a": "0.02", "b": "0.04", "c": "0.075", "d": "0.08", "e": "0.05"}))
    report = record(listed(BEFORE), day=1)
    assert (report.quarantined, report.unchanged) == (4, 1)
    # 0.02 to 0.01 is -50 %, 0.075 to 0.03 is -60%.
    assert report.movements == ["The whole list moved: 4 of 5 prices fell, by 50 to 60%."]


DOUBTS = {
    "spot above on demand": (
        [price("0.05", "a", purchase_model=PurchaseModel.SPOT)],
        [price("0.5", "a", purchase_model=PurchaseModel.SPOT)],
        "spot",
    ),
    "another currency": ([price("0.05", "a")], [price("0.05", "a", currency="EUR")], "on_demand"),
    "a list that lacks much": (
        [price("0.05", "a"), *(price("0.05", f"x{n}") for n in range(9))],
        [price("0.051", "a")],
        "on_demand",
    ),
    "a jump": ([price("0.05", "a")], [price("0.09", "a")], "on_demand"),
    "a set-up fee that triples the year": (
        [price("0.05", "a", monthly_cap=Decimal(20))],
        [price("0.05", "a", monthly_cap=Decimal(40))],
        "on_demand",
    ),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_price_with_a_newer_one_that_waits_is_marked(client: Client, doubt: str) -> None:
    first, second, term = DOUBTS[doubt]
    if term == "spot":
        record([price("0.1", "a")], feed_kind="other")
    record(first)
    record(second, day=1)
    current_stamp()
    basis = PriceBasis(term=term)
    (offer,) = {row.offer_id for row in PriceObservation.objects.filter(offer__name="a")}
    stored = {
        choice.offer_id: choice for choice in current_prices_of(basis) if choice.offer_id == offer
    }
    assert stored[offer].is_questioned
    assert best_prices(basis)[offer] == stored[offer]
    (slug,) = set(
        PriceObservation.objects.filter(offer=offer).values_list("offer__slug", flat=True)
    )
    answer = client.get(f"/api/v1/offers/{slug}?term={term}").json()
    assert "price_waiting" in answer["flags"]
    assert len(answer["waiting_prices"]) == 1
    assert "waits for a review" in client.get(f"/offers/{slug}/").content.decode()
    assert "newer price waits" in client.get(f"/prices/?purchase_model={term}").content.decode()


# --- announced prices -------------------------------------------------------------------------------


def test_announced_price_counts_from_its_day(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = factories.AT + DAY
    monkeypatch.setattr(clock, "now", lambda: today)
    coming = dt.date(2026, 12, 24)
    report = record([price("0.1"), price("0.11", valid_from=coming)])
    assert (report.priced, report.announced, report.published) == (1, 1, 2)
    assert amounts_in_force() == {"m5.large": Decimal("0.1")}
    slug = PriceObservation.objects.first().offer.slug  # type: ignore[union-attr]
    (row,) = client.get("/api/v1/prices?state=announced").json()["results"]
    assert (row["amount"], row["valid_from"], row["state"]) == ("0.11", "2026-12-24", "announced")
    assert "From 2026-12-24" in client.get(f"/offers/{slug}/").content.decode()
    version = current_stamp()

    for day in (coming, coming - dt.timedelta(days=1)):
        choices = best_prices(PriceBasis(as_of=day)).values()
        expected = "0.11" if day == coming else "0.1"
        assert [choice.charge.amount for choice in choices] == [Decimal(expected)]

    later = dt.datetime.combine(coming, dt.time(0, 1), dt.UTC)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert amounts_in_force() == {"m5.large": Decimal("0.11")}
    assert current_stamp() != version
    (row,) = client.get("/api/v1/prices").json()["results"]
    assert row["amount"] == "0.11"
    again = record([price("0.11", valid_from=coming)], day=54)
    assert (again.unchanged, again.published, again.missing) == (1, 0, 0)


def test_announced_price_that_is_taken_back_never_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = dt.date(2026, 12, 24)
    monkeypatch.setattr(clock, "now", lambda: factories.AT)
    record([price("0.1"), price("0.11", valid_from=coming)])
    record([price("0.1"), price("0.12", valid_from=coming)], day=1)
    later = dt.datetime.combine(coming, dt.time(1), dt.UTC)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert amounts_in_force() == {"m5.large": Decimal("0.12")}
    assert {row.amount for row in PriceObservation.objects.filter(missing_since=None)} == {
        Decimal("0.1"), Decimal("0.12"),
    }  # fmt: skip


def test_price_entered_for_a_later_day_is_announced(caller: Any) -> None:
    offer = factories.offer("rack", workspace=factories.workspace())
    factories.price(offer, "0.1")
    day = str(clock.now().date() + dt.timedelta(days=30))
    entry = {"offer": "rack", "amount": "0.12", "currency": "USD", "unit": "hour",
             "valid_from": day, "applies_to": "new", "reason": "their letter"}  # fmt: skip
    answer = sent(caller("admin"), "prices", entry)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["valid_from"], answer.json()["applies_to"]) == (day, "new")
    assert amounts_in_force() == {"rack": Decimal("0.1")}
    assert AuditEntry.objects.get(action="price_enter").detail["old_price"] == "0.1 USD/hour"
