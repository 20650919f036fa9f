"""Prices over time: one offer's history, and what changed between two days."""

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from hypothesis import given as whatever
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from backend.accounts.models import Workspace
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.price_history import (
    change_counts,
    change_ratio,
    difference,
    history,
    terms_before,
)
from backend.catalog.selectors.price_list import PriceFilter
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.examples import FEW

pytestmark = pytest.mark.django_db
D = Decimal


def day(number: int) -> dt.date:
    return dt.date(2026, 3, number)


def at(number: int) -> dt.datetime:
    """Noon of a day."""
    return dt.datetime(2026, 3, number, 12, tzinfo=dt.UTC)


# --- one offer ------------------------------------------------------------------------------------


def test_history_is_a_series_for_each_kind_of_price() -> None:
    offer = factories.offer("moved")
    for number, amount in ((1, "1"), (5, "2"), (9, "3")):
        factories.price(offer, amount, observed_at=at(number))
    factories.price(offer, "0.5", observed_at=at(2), purchase_model="spot", zone="b")
    factories.price(offer, "7", observed_at=at(3), is_published=False)
    factories.price(factories.offer("other"), "8", observed_at=at(3))
    plain, spot = history(offer)
    assert (plain.kind.label, spot.kind.label) == ("on_demand USD", "spot b USD")
    assert [(p.amount, p.since, p.until) for p in plain.points] == [
        (D(1), at(1), at(5)),
        (D(2), at(5), at(9)),
        (D(3), at(9), None),
    ]
    assert [p.amount for p in history(offer, purchase_model="spot")[0].points] == [D("0.5")]
    # what held at the begin is part of it, what ended before is not
    [since] = history(offer, since=day(6), purchase_model="on_demand")
    assert [p.amount for p in since.points] == [D(2), D(3)]
    [then] = history(offer, as_of=day(5), purchase_model="on_demand")
    assert [(p.amount, p.until) for p in then.points] == [(D(1), at(5)), (D(2), None)]
    assert history(factories.offer("unpriced")) == ()
    ended = factories.offer("ended")
    factories.price(ended, observed_at=at(1), missing_since=at(3))
    assert history(ended, since=day(4)) == ()


def test_history_has_a_gap_where_a_list_dropped_a_price() -> None:
    offer = factories.offer("gone")
    factories.price(offer, "1", observed_at=at(1), missing_since=at(3))
    factories.price(offer, "2", observed_at=at(7), missing_since=at(9))
    [series] = history(offer)
    assert [(p.since, p.until) for p in series.points] == [(at(1), at(3)), (at(7), at(9))]
    [then] = history(offer, as_of=day(2))
    assert then.points[0].until is None


def test_label_names_what_differs_from_the_plain_price() -> None:
    offer = factories.offer("odd")
    factories.price(
        offer, purchase_model="reserved", term="1y", upfront="all", plan="standard", unit="once",
        operating_system="windows", tenancy="dedicated", basis="+ip", amount="876",
    )  # fmt: skip
    [series] = history(offer)
    assert series.kind.label == "reserved 1y all standard windows dedicated +ip USD"
    [point] = series.points
    assert point.per_hour() == D("0.1")  # 876 over 8,760 hours


def test_history_is_listed_for_one_offer(client: Client) -> None:
    offer = factories.offer("moved")
    factories.price(offer, "1", observed_at=at(1))
    factories.price(offer, "2", observed_at=at(5), setup_amount=D(9))
    old, new = rows(client.get(f"{API}/prices/history.csv?offer=moved"))
    assert (old["series"], old["amount"], old["until"]) == ("on_demand USD", "1", new["since"])
    assert (new["amount"], new["until"], new["setup"]) == ("2", "", "9")
    page = client.get(f"{API}/prices/history?offer=moved&per_page=1&since=2026-03-06").json()
    assert (page["count"], page["results"][0]["price_id"]) == (1, new["price_id"])
    assert fields(client.get(f"{API}/prices/history")) == ["offer"]
    assert client.get(f"{API}/prices/history?offer=none").status_code == 404
    assert fields(client.get(f"{API}/prices/history?offer=moved&as_of=soon")) == ["as_of"]


# --- two days -------------------------------------------------------------------------------------


def changed(a: int, b: int, **given: Any) -> dict[str, str]:
    change = given.pop("change", None)
    found = difference(day(a), day(b), PriceFilter(**given), change=change)
    return {row.offer.slug: row.change for row in found}  # type: ignore[attr-defined]


def test_difference_lists_new_missing_and_changed_offers() -> None:
    for slug, prices in {
        "same": [("1", 1, None)],
        "told-again": [("1", 1, None), ("1", 5, None)],
        "new": [("1", 5, None)],
        "gone": [("1", 1, 5)],
        "moved": [("1", 1, None), ("2", 4, None), ("3", 5, None)],
        "moved-and-gone": [("1", 1, None), ("2", 4, 5)],
        "came-and-went": [("1", 4, 5)],
        "back": [("1", 1, 2), ("1", 5, None)],
        "gone-before": [("1", 1, 2)],
        "gone-again": [("1", 1, 2), ("2", 4, 5)],
        "later": [("1", 9, None)],
        "gone-later": [("1", 1, 9)],
    }.items():
        offer = factories.offer(slug)
        for amount, seen, missing in prices:
            since = at(missing) if missing else None
            factories.price(offer, amount, observed_at=at(seen), missing_since=since)
    waiting = factories.offer("waiting")
    factories.price(waiting, observed_at=at(1))
    factories.price(waiting, "9", observed_at=at(5), is_published=False)
    expected = {
        "new": "appeared",
        "back": "appeared",
        "gone": "vanished",
        "moved-and-gone": "vanished",
        "moved": "changed",
    }
    assert changed(3, 6) == expected
    assert changed(3, 6, change="vanished") == {"gone": "vanished", "moved-and-gone": "vanished"}
    assert changed(6, 7) == {}
    rows_ = difference(day(3), day(6))
    assert change_counts(rows_) == {"appeared": 2, "vanished": 2, "changed": 1}
    [row] = difference(day(3), day(6), PriceFilter(offer="moved"))
    before = terms_before(row)
    # the first and the last of the span, not what was between
    assert before is not None
    assert (before.amount, row.amount, change_ratio(row)) == (D(1), D(3), D(3))
    [row] = difference(day(3), day(6), PriceFilter(offer="back"))
    assert (terms_before(row), change_ratio(row)) == (None, None)
    with pytest.raises(InvalidValue):
        difference(day(6), day(6))


def test_difference_is_by_kind_of_price() -> None:
    offer = factories.offer("both", region=factories.region("us-east-1"))
    other = factories.offer("else", provider_slug="gcp")
    for of in (offer, other):
        for model in ("on_demand", "spot"):
            factories.price(of, "1", observed_at=at(1), purchase_model=model)
            factories.price(of, "2", observed_at=at(5), purchase_model=model)
    assert difference(day(3), day(6)).count() == 4
    assert difference(day(3), day(6), PriceFilter(purchase_model="spot")).count() == 2
    assert changed(3, 6, provider="gcp") == {"else": "changed"}
    assert changed(3, 6, region="us-east-1") == {"both": "changed"}


@pytest.mark.parametrize(
    ("old", "new", "ratio"),
    [
        ({"amount": "1"}, {"amount": "1", "setup_amount": D(5)}, "1"),
        ({"amount": "73", "unit": "month"}, {"amount": "0.2", "unit": "hour"}, "2"),
        ({"amount": "10", "unit": "once"}, {"amount": "20", "unit": "once"}, "2"),
        ({"amount": "10", "unit": "once"}, {"amount": "1", "unit": "hour"}, None),
        (
            {"amount": "876", "unit": "once", "term": "1y"},
            {"amount": "0.05", "setup_amount": D(438), "term": "1y"},
            "1",  # 876 / 8,760 = .05 + 438 / 8,760
        ),
    ],
)
def test_ratio_compares_what_an_hour_costs(
    old: dict[str, Any], new: dict[str, Any], ratio: str | None
) -> None:
    offer = factories.offer("moved")
    factories.price(offer, observed_at=at(1), **old)
    factories.price(offer, observed_at=at(5), **new)
    [row] = difference(day(3), day(6))
    assert change_ratio(row) == (ratio and D(ratio))


def test_difference_is_listed_with_both_prices(client: Client) -> None:
    offer = factories.offer("moved")
    first = factories.price(offer, "1", observed_at=at(1))
    second = factories.price(offer, "1.5", observed_at=at(5))
    factories.price(factories.offer("gone"), "3", observed_at=at(1), missing_since=at(5))
    query = "from=2026-03-03&to=2026-03-06"
    gone, moved = rows(client.get(f"{API}/prices/difference.csv?{query}"))
    assert (moved["change"], moved["ratio"]) == ("changed", "1.5")
    assert (moved["price_id_before"], moved["price_id"]) == (str(first.pk), str(second.pk))
    assert (moved["amount_before"], moved["unit_before"], moved["amount"]) == ("1", "hour", "1.5")
    assert (gone["change"], gone["amount_before"], gone["amount"]) == ("vanished", "3", "")
    assert gone["at"] == "2026-03-05T12:00:00Z"
    page = client.get(f"{API}/prices/difference?{query}&change=changed&per_page=1").json()
    assert (page["count"], page["results"][0]["offer_id"]) == (1, "moved")
    for bad, named in (
        ("", ["from", "to"]),
        ("from=2026-03-03", ["to"]),
        ("from=2026-03-06&to=2026-03-06", ["from"]),
        ("from=2026-03-03&to=soon", ["to"]),
        (f"{query}&change=odd", ["change"]),
    ):
        assert fields(client.get(f"{API}/prices/difference?{bad}")) == named


def test_prices_of_another_workspace_are_in_no_answer(client: Client) -> None:
    other = Workspace.objects.create(slug="other", name="Other")
    offer = factories.offer("secret", workspace=other)
    price = factories.price(offer, observed_at=at(1))
    factories.price(offer, "2", observed_at=at(5))
    query = "from=2026-03-03&to=2026-03-06"
    assert client.get(f"{API}/prices/difference?{query}").json()["count"] == 0
    assert client.get(f"{API}/prices?state=all").json()["count"] == 0
    assert client.get(f"{API}/prices/history?offer=secret").status_code == 404
    assert client.get(f"{API}/prices/{price.pk}").status_code == 404


class DifferenceTest(TestCase):
    """Against a plain calculating of what held at the end of each day."""

    @whatever(
        st.lists(
            st.tuples(
                st.integers(0, 1),
                st.integers(1, 9),
                st.sampled_from("12"),
                st.none() | st.integers(1, 9),
            ),
            max_size=6,
            unique_by=lambda one: one[:2],
        ),
        st.integers(1, 4),
        st.integers(5, 9),
    )
    @settings(max_examples=FEW)
    def test_difference_is_that_of_the_two_lists(
        self, prices: list[tuple[int, int, str, int | None]], a: int, b: int
    ) -> None:
        offers = [factories.offer(f"{uuid4()}") for _ in range(2)]
        for which, seen, amount, missing in prices:
            since = at(missing) if missing is not None and missing >= seen else None
            factories.price(offers[which], amount, observed_at=at(seen), missing_since=since)

        def price_on(offer: Offer, number: int) -> Decimal | None:
            known = PriceObservation.objects.filter(offer=offer, observed_at__lte=at(number))
            newest = known.order_by("-observed_at").first()
            if newest is None or (newest.missing_since and newest.missing_since <= at(number)):
                return None
            return newest.amount

        expected = {}
        for offer in offers:
            then, now = price_on(offer, a), price_on(offer, b)
            if then != now:
                expected[offer.slug] = (
                    "appeared" if then is None else "vanished" if now is None else "changed"
                )
        found = difference(day(a), day(b))
        assert {row.offer.slug: row.change for row in found} == expected  # type: ignore[attr-defined]
