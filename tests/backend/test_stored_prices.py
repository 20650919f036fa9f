"""The stored current prices are those that all observations say, whoever writes them."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from hypothesis import given as whatever
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from backend.catalog.models import CurrentPrice, Offer, PriceFeed, PriceObservation, StoredMark
from backend.catalog.selectors.current_prices import (
    IDENTITY,
    best_prices,
    current_prices_of,
    newest_prices,
)
from backend.catalog.selectors.data_version import data_stamp
from backend.catalog.selectors.price_choice import TERMS, PriceBasis, PriceChoice, choose_prices
from backend.catalog.services import current_prices
from backend.catalog.services.current_prices import (
    FORMULAS,
    PRICES,
    marks_taken,
    prices_refresh,
)
from tests import factories
from tests.examples import FEW

COPIED = (
    "id", "created_at", "offer_id", "zone", "operating_system", "tenancy", "purchase_model",
    "term", "upfront", "plan", "amount", "currency", "unit", "sustained_use", "tax_basis",
    "included", "basis", "observed_at", "source", "raw_id", "payload_sha256", "is_published",
    "doubt", "reviewed_by", "note",
)  # fmt: skip
# Of a row, where a column has another name.
ATTRIBUTES = {"doubt": "anomaly"}
KINDS = (
    {"purchase_model": "on_demand"},
    {"purchase_model": "on_demand", "currency": "EUR"},
    {"purchase_model": "on_demand", "basis": "sustained_use"},
    {"purchase_model": "on_demand", "operating_system": "windows"},
    {"purchase_model": "monthly", "unit": "month", "tax_basis": "gross", "tax_rate": "0.19"},
    {"purchase_model": "spot", "zone": "a"},
    {"purchase_model": "spot", "zone": "b"},
    {"purchase_model": "reserved", "term": "1y", "upfront": "all", "unit": "once"},
    {"purchase_model": "savings", "term": "3y", "plan": "compute"},
)


def by_id(choices: list[PriceChoice]) -> list[PriceChoice]:
    return sorted(choices, key=lambda choice: str(choice.observation_id))


def in_step() -> bool:
    """Whether what is stored is what the observations say, under every term and kind."""
    prices_refresh()
    published = PriceObservation.objects.filter(is_published=True)
    newest = published.order_by(*IDENTITY, "-observed_at").distinct(*IDENTITY)
    keys = set(newest.values_list("pk", flat=True))
    assert set(CurrentPrice.objects.values_list("pk", flat=True)) == keys
    for term in TERMS:
        basis = PriceBasis(term=term, basis="sustained_use", period="month")
        assert by_id(current_prices_of(basis)) == by_id(newest_prices(basis))
        assert choose_prices(current_prices_of(basis), basis) == best_prices(basis)
    return True


class World:
    """Three offers whose prices are observed again and again."""

    def __init__(self) -> None:
        self.number = 0
        self.offers = [factories.offer(f"priced-{n}") for n in range(3)]
        provider = self.offers[0].provider
        self.feed = PriceFeed.objects.create(provider=provider, kind="on_demand")

    def price(self, pick: int) -> PriceObservation:
        self.number += 1
        kind: dict[str, Any] = dict(KINDS[pick % len(KINDS)])
        is_doubted = pick // 9 % 4 == 3
        return PriceObservation(
            **{
                "offer": self.offers[pick % 3],
                "amount": Decimal(1 + pick % 50) / 100,
                "currency": "USD",
                "unit": "hour",
                "observed_at": factories.AT
                - dt.timedelta(
                    minutes=pick % 97,
                    milliseconds=self.number,  # no two at the same time
                ),
                "source": "test",
                "feed": self.feed if pick % 2 else None,
                "is_published": not is_doubted,
                "included": {"traffic_bytes": pick} if pick % 5 == 0 else {},
                "valid_until": dt.date(2026, 1, 1) if pick % 11 == 0 else None,
                "minimum_months": pick % 3 or None,
                **kind,
            }
        )

    def some(self, pick: int) -> list[Any]:
        keys = list(PriceObservation.objects.order_by("observed_at").values_list("pk", flat=True))
        return keys[pick % 3 :: 1 + pick % 4]

    def bulk(self, pick: int) -> None:
        PriceObservation.objects.bulk_create([self.price(pick * n) for n in range(1, 9)])

    def one(self, pick: int) -> None:
        self.price(pick).save()

    def copy(self, pick: int) -> None:
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY catalog_priceobservation ({', '.join(COPIED)}) FROM STDIN") as out,
        ):
            for row in (self.price(pick + 7 * n) for n in range(5)):
                row.created_at = factories.AT
                cells = [getattr(row, ATTRIBUTES.get(name, name)) for name in COPIED]
                out.write_row([json.dumps(c) if isinstance(c, dict) else c for c in cells])

    def review(self, pick: int) -> None:
        waiting = PriceObservation.objects.filter(is_published=False, reviewed_at=None)
        for row in waiting[: 1 + pick % 2]:
            row.is_published, row.reviewed_at = pick % 3 > 0, factories.AT
            row.save()

    def vanish(self, pick: int) -> None:
        PriceObservation.objects.filter(pk__in=self.some(pick)).update(
            missing_since=factories.AT if pick % 2 else None
        )

    def hide(self, pick: int) -> None:
        PriceObservation.objects.filter(pk__in=self.some(pick)).update(is_published=pick % 2)

    def move(self, pick: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE catalog_priceobservation SET offer_id = %s, amount = amount + 1"
                " WHERE id = ANY(%s)",
                [self.offers[pick % 3].pk, self.some(pick)[:3]],
            )

    def delete(self, pick: int) -> None:
        PriceObservation.objects.filter(pk__in=self.some(pick)).delete()

    def cascade(self, pick: int) -> None:
        Offer.objects.filter(pk=self.offers[0].pk).delete()
        self.offers[0] = factories.offer()

    def truncate(self, pick: int) -> None:
        if pick % 4 == 0:
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("TRUNCATE catalog_priceobservation CASCADE")

    def checked(self, pick: int) -> None:
        """A list that was read and told nothing new."""
        self.feed.checked_at = factories.AT + dt.timedelta(days=pick)
        self.feed.save()


WRITES = (
    World.bulk, World.bulk, World.one, World.copy, World.review, World.vanish, World.hide,
    World.move, World.delete, World.cascade, World.truncate, World.checked,
)  # fmt: skip
writes = st.lists(st.tuples(st.sampled_from(WRITES), st.integers(0, 999)), min_size=1, max_size=8)


class StoredPrices(TestCase):
    """Random writes, refreshed after some of them."""

    @whatever(st.lists(writes, min_size=1, max_size=3))
    @settings(max_examples=FEW)
    def test_stored_prices_are_those_of_all_observations_after_any_writes(
        self, rounds: list[list[tuple[Callable[[World, int], None], int]]]
    ) -> None:
        world = World()
        for changes in rounds:
            for change, pick in changes:
                change(world, pick)
            assert in_step()
        assert not StoredMark.objects.filter(kind="prices").exists()


@pytest.mark.django_db
def test_refresh_makes_only_the_marked_offers_anew() -> None:
    one, other = factories.offer("one"), factories.offer("other")
    for offer in (one, other):
        factories.price(offer, "0.1")
    prices_refresh()
    CurrentPrice.objects.update(amount=9)
    factories.price(one, "0.2", observed_at=factories.AT + dt.timedelta(days=1))
    prices_refresh()
    amounts = dict(CurrentPrice.objects.values_list("offer__slug", "amount"))
    assert amounts == {"one": Decimal("0.2"), "other": 9}


@pytest.mark.django_db
def test_plan_made_for_few_marks_takes_many() -> None:
    """A connection keeps its plans: that of a quiet hour serves the import that follows."""
    prices_refresh()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE catalog_storedmark")
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        marks_taken(PRICES, FORMULAS)
        cursor.execute(
            "INSERT INTO catalog_storedmark (kind, offer_id, metric)"
            " SELECT %s, gen_random_uuid(), '' FROM generate_series(1, 60000)",
            [PRICES],
        )
        # Minutes where a step for each mark goes through all of them; else half a second.
        cursor.execute("SET LOCAL statement_timeout = '30s'")
    assert len(marks_taken(PRICES, FORMULAS)) == 60_000


@pytest.mark.django_db
def test_prices_of_older_formulas_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    factories.price(factories.offer(), "0.1")
    prices_refresh()
    CurrentPrice.objects.update(amount=9)
    assert not current_prices.is_pending(data_stamp())
    monkeypatch.setattr(current_prices, "FORMULAS", current_prices.FORMULAS + 1)
    assert current_prices.is_pending(data_stamp())
    assert in_step()
    assert CurrentPrice.objects.get().amount == Decimal("0.1")
    assert not current_prices.is_pending(data_stamp())


@pytest.mark.django_db
def test_quarantined_price_does_not_count_as_read(
    django_assert_max_num_queries: Any,
) -> None:
    offer = factories.offer()
    factories.price(offer, "0.1")
    prices_refresh()
    assert not CurrentPrice.objects.get().is_questioned
    factories.price(offer, "9", is_published=False, observed_at=factories.AT + dt.timedelta(days=1))
    with django_assert_max_num_queries(2):
        prices_refresh()
    kept = CurrentPrice.objects.get()
    assert (kept.is_questioned, kept.amount) == (True, Decimal("0.1"))
