"""The states of a price, the list by state and day, and how fresh the lists are."""

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from backend.catalog.models import PriceFeed
from backend.catalog.selectors.price_history import freshness
from backend.catalog.selectors.price_list import PriceFilter, price_count, price_list
from backend.core import clock
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db


def day(number: int) -> dt.date:
    return dt.date(2026, 3, number)


def at(number: int) -> dt.datetime:
    """Noon of a day."""
    return dt.datetime(2026, 3, number, 12, tzinfo=dt.UTC)


def feed(**given: Any) -> PriceFeed:
    return PriceFeed.objects.create(
        **{
            "provider": factories.provider("aws"),
            "kind": "on_demand",
            "region": f"r{uuid4().hex[:8]}",
            "checked_at": clock.now(),
            **given,
        }
    )


def test_state_of_a_price_is_one_of_six(client: Client) -> None:
    """One offer each, named after the state that its price is in."""
    fresh, old = feed(), feed(checked_at=clock.now() - dt.timedelta(hours=49))
    for name, given in {
        "current": {"feed": fresh},
        "by-hand": {},
        "stale-missing": {"feed": fresh, "missing_since": at(9)},
        "stale-feed": {"feed": old},
        "stale-quote": {"valid_until": day(9)},
        "quarantined": {"is_published": False, "anomaly": "changed"},
        "refused": {"is_published": False, "reviewed_at": at(9)},
        "withdrawn": {"is_published": False, "missing_since": at(9)},
    }.items():
        factories.price(factories.offer(name), observed_at=at(1), **given)
    moved = factories.offer("moved")
    factories.price(moved, "1", observed_at=at(1))
    factories.price(moved, "2", observed_at=at(2))
    stale = {"stale-missing", "stale-feed", "stale-quote"}

    def listed(query: str) -> dict[str, str]:
        response = rows(client.get(f"{API}/prices.csv?{query}"))
        return {row["offer"]: row["state"] for row in response}

    in_force = {"current", "by-hand", "moved", *stale}
    assert set(listed("")) == in_force
    assert {name for name, state in listed("").items() if state == "stale"} == stale
    assert set(listed("state=current")) == in_force - stale
    assert set(listed("state=stale")) == stale
    assert listed("state=quarantined") == {"quarantined": "quarantined"}
    assert listed("state=refused") == {"refused": "refused"}
    assert listed("state=superseded") == {"moved": "superseded"}
    assert len(rows(client.get(f"{API}/prices.csv?state=all"))) == 10
    assert listed("state=all&offer=withdrawn") == {"withdrawn": "withdrawn"}
    assert fields(client.get(f"{API}/prices?state=odd")) == ["state"]


def test_a_quarantined_price_leaves_the_old_one_in_force(client: Client) -> None:
    offer = factories.offer("doubtful")
    kept = factories.price(offer, "1", observed_at=at(1))
    factories.price(offer, "9", observed_at=at(2), is_published=False, anomaly="changed")
    [row] = rows(client.get(f"{API}/prices.csv"))
    assert (row["price_id"], row["state"]) == (str(kept.pk), "current")


def test_as_of_shows_prices_as_they_were_known_then(client: Client) -> None:
    offer = factories.offer("moved")
    factories.price(offer, "1", observed_at=at(1), missing_since=at(3))
    factories.price(offer, "2", observed_at=at(5), feed=feed(checked_at=None))

    def then(number: int) -> list[tuple[str, str]]:
        query = f"as_of={day(number)}&state=all"
        return [(r["amount"], r["state"]) for r in rows(client.get(f"{API}/prices.csv?{query}"))]

    assert then(2) == [("1", "current")]
    assert then(3) == [("1", "stale")]
    assert then(5) == [("2", "current"), ("1", "superseded")]
    # only today is the age of the list known
    assert [row["state"] for row in rows(client.get(f"{API}/prices.csv"))] == ["stale"]


def test_accepted_price_counts_from_the_day_on_which_it_was_observed(client: Client) -> None:
    offer = factories.offer("moved")
    factories.price(offer, "1", observed_at=at(1))
    accepted = {"is_published": True, "reviewed_at": at(9), "anomaly": "changed"}
    factories.price(offer, "2", observed_at=at(3), **accepted)
    for number, amount in ((2, "1"), (3, "2")):
        [told] = rows(client.get(f"{API}/prices.csv?as_of={day(number)}"))
        assert (told["amount"], told["state"]) == (amount, "current")


def test_count_is_that_of_the_rows_whatever_is_asked_for() -> None:
    for name in ("a", "b"):
        offer = factories.offer(name, region=factories.region("us-east-1"))
        for number in (1, 2):
            factories.price(offer, observed_at=at(number))
            factories.price(offer, observed_at=at(number), purchase_model="spot", zone="z")
    factories.price(factories.offer("windows"), operating_system="windows")
    factories.price(factories.offer("waiting"), is_published=False)
    for given in (
        {},
        {"state": "current"},
        {"state": "all"},
        {"purchase_model": "spot"},
        {"provider": "aws", "region": "us-east-1"},
        {"offer": "a", "as_of": day(1)},
        {"as_of": dt.date(2020, 1, 1)},
        {"region": "nowhere"},
    ):
        wanted = PriceFilter(**given)  # type: ignore[arg-type]
        found = price_list(wanted)
        assert price_count(wanted, found) == len(found), given


def test_answer_changes_when_a_list_grows_old_without_any_change(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.catalog.services.data_version import data_version_bump

    now = dt.datetime(2026, 3, 20, 1, tzinfo=dt.UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    factories.price(factories.offer("listed"), observed_at=at(1), feed=feed(checked_at=now))
    data_version_bump()
    first = client.get(f"{API}/prices")
    assert client.get(f"{API}/prices", headers={"if-none-match": first["ETag"]}).status_code == 304
    monkeypatch.setattr(clock, "now", lambda: now + dt.timedelta(hours=47))
    day_later = client.get(f"{API}/prices")
    monkeypatch.setattr(clock, "now", lambda: now + dt.timedelta(hours=48, minutes=1))
    asked = client.get(f"{API}/prices", headers={"if-none-match": day_later["ETag"]})
    assert asked.status_code == 200
    assert asked.json()["results"][0]["state"] == "stale"


def test_freshness_flags_a_list_that_was_not_read_for_48_hours() -> None:
    now = clock.now()
    for region, age in {"a": 1, "b": 47, "c": 49}.items():
        feed(region=region, checked_at=now - dt.timedelta(hours=age))
    never = feed(region="d", checked_at=None)
    factories.price(factories.offer(), is_published=False, feed=never)
    factories.price(factories.offer(), is_published=False, feed=never, reviewed_at=now)
    found = {one.feed.region: one for one in freshness()}
    assert {region: one.is_stale for region, one in found.items()} == {
        "a": False,
        "b": False,
        "c": True,
        "d": True,
    }
    age_s = found["a"].age_s
    assert age_s is not None
    assert 3600 <= age_s < 3700
    assert (found["d"].age_s, found["d"].quarantined, found["a"].quarantined) == (None, 1, 0)
