"""Tables that a process holds, against those that are read whole, after every kind of change."""

import datetime as dt
import gc
import os
import random
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.db import connection, transaction

from backend.benchmarks.models import Sample
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import Offer, PriceFeed, PriceObservation, Provider, StoredChange
from backend.catalog.selectors.data_changes import OFFERS, PRICES, offers_with_changes
from backend.catalog.selectors.data_version import DataStamp, Position, data_stamp
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock, shared_files
from backend.core.shared_files import SharedFiles
from backend.rankings.selectors import ranking as rankings
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.offer_table import OfferTable
from backend.rankings.selectors.price_table import PriceTable
from backend.rankings.selectors.ranking import query_from, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.score_table import ScoreTable
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"term": "spot"},
    {"currency": "EUR", "period": "month", "sort": "price"},
    {"metric": "memory_latency_ns", "price__lte": "0.5"},
)
SLUGS = [f"{('aws', 'hetzner')[number % 2]}-{number:02}" for number in range(24)]


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
    # As in long lists, where ranks are taken over that few changes leave as they were.


def forget(patch: pytest.MonkeyPatch, directory: Path | None = None) -> None:
    """As a process that has just begun, beside others that leave their tables in a folder."""
    patch.setattr(rankings, "_cache", StampedCache(10_000_000))
    patch.setattr(rankings, "_tables", KnownTables(10_000_000, SharedFiles(directory)))


def build() -> None:
    factories.rate("USD", "1.10", clock.now().date())
    now = clock.now()
    for number, slug in enumerate(SLUGS):
        provider = slug.partition("-")[0]
        offer = factories.offer(slug, provider_slug=provider, vcpu_count=Decimal(number % 5 + 1))
        feed, _ = PriceFeed.objects.get_or_create(
            provider=offer.provider, kind="on_demand", defaults={"checked_at": now}
        )
        factories.price(offer, f"0.{number % 7 + 1}", feed=feed, observed_at=now)
        factories.price(offer, "0.1", purchase_model="spot", zone="a", feed=feed, observed_at=now)
        for metric, variant in (("cmips_score", "all"), ("memory_latency_ns", "standard")):
            factories.sample(offer, 100.0 + number % 9, metric=metric, variant=variant)


def price(offer: Offer, amount: str, **given: Any) -> None:
    """One that is newer than all before."""
    factories.price(offer, amount, observed_at=clock.now(), **given)


def refuse(*_: Any) -> None:
    raise AssertionError("a table was read whole")


def offers() -> OfferTable:
    return rankings._offers(stamped(), "default")


def stamped() -> DataStamp:
    return current_stamp()


def shown() -> list[list[RankingRow]]:
    stamp = stamped()
    queries = (query_from({name: [value] for name, value in of.items()})[0] for of in QUERIES)
    return [list(ranking(query, stamp=stamp).everyone) for query in queries]


def read_whole() -> list[list[RankingRow]]:
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        return shown()


# --- changes ------------------------------------------------------------------------------------


def some_offer(chance: random.Random) -> Offer:
    return Offer.objects.get(slug=chance.choice(SLUGS[:-1]))


def a_price(chance: random.Random) -> None:
    currency = chance.choice(("USD", "EUR", "CHF"))
    price(some_offer(chance), f"0.{chance.randint(1, 99)}", currency=currency)


def no_price(chance: random.Random) -> None:
    PriceObservation.objects.filter(offer=some_offer(chance)).delete()


def a_score(chance: random.Random) -> None:
    factories.sample(some_offer(chance), chance.uniform(50, 200), metric="cmips_score")


def no_score(chance: random.Random) -> None:
    Sample.objects.filter(offer=some_offer(chance), metric="cmips_score").delete()


def an_offer(chance: random.Random) -> None:
    factories.price(factories.offer(f"aws-new-{chance.randint(0, 10**9)}"), "0.3")


def another_size(chance: random.Random) -> None:
    Offer.objects.filter(pk=some_offer(chance).pk).update(memory_bytes=chance.randint(1, 9) << 30)


def another_name(chance: random.Random) -> None:
    Provider.objects.filter(slug="hetzner").update(name=f"Hetzner {chance.random()}")


def a_list_read(chance: random.Random) -> None:
    PriceFeed.objects.update(checked_at=clock.now() - dt.timedelta(days=chance.randint(0, 60)))


CHANGES = (
    *(a_price, no_price, a_score, no_score),
    *(an_offer, another_size, another_name, a_list_read),
)


def alone() -> Position:
    """The present moment where nobody has a transaction open: other tests may, on this server."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        return replace(data_stamp().position, open_since=cursor.fetchone()[0] + 1)


def stamped_alone() -> DataStamp:
    return replace(current_stamp(), position=alone())


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """The types of the tables that were patched, in order."""
    found: list[type] = []
    monkeypatch.setitem(globals(), "stamped", stamped_alone)
    for table in (PriceTable, ScoreTable):

        def counted(old: Any, *given: Any, make: Callable[..., Any] = table.patched) -> Any:
            found.append(type(old))
            return make(old, *given)

        monkeypatch.setattr(table, "patched", counted)
    return found


# --- tests --------------------------------------------------------------------------------------


def test_tables_are_those_read_whole_after_any_change(patched: list[type]) -> None:
    build()
    shown()
    chance = random.Random(7)
    for number in range(40):
        for change in chance.sample(CHANGES, chance.choice((1, 1, 2))):
            change(chance)
        data_version_bump()
        assert shown() == read_whole(), number
    assert {PriceTable, ScoreTable} <= set(patched)


def test_one_price_reads_no_table_whole(
    patched: list[type], monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    shown()
    price(Offer.objects.get(slug=SLUGS[3]), "0.05")

    monkeypatch.setattr(rankings.OfferTable, "read", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(rankings.ScoreTable, "read", refuse)
        rows = shown()[0]
    assert patched == [PriceTable, PriceTable]
    assert next(row for row in rows if row.offer_id == SLUGS[3]).price == Decimal("0.05")


def test_change_that_was_open_while_others_read_is_seen_later() -> None:
    build()
    is_written, may_end = Event(), Event()

    def write() -> None:
        try:
            with transaction.atomic():
                Offer.objects.filter(slug=SLUGS[0]).update(memory_bytes=7 << 30)
                is_written.set()
                assert may_end.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        assert is_written.wait(30)
        # Later transactions end first, and the tables are read beside the open one.
        Provider.objects.filter(slug="aws").update(name="Amazon")
        before = shown()
        may_end.set()
        writing.result(30)
    data_version_bump()
    assert shown() == read_whole() != before


def test_what_is_taken_back_is_not_kept() -> None:
    build()
    before = shown()
    with transaction.atomic():
        price(Offer.objects.get(slug=SLUGS[1]), "0.01")
        assert shown() != before
        transaction.set_rollback(True)
    data_version_bump()
    assert shown() == read_whole()


def test_changes_are_known_of_one_database_and_since_they_are_kept() -> None:
    build()
    current_stamp()
    then = alone()
    assert offers_with_changes(PRICES, then, alone()) == set()
    offer = Offer.objects.get(slug=SLUGS[2])
    price(offer, "0.02")
    current_stamp()
    assert offers_with_changes(PRICES, then, alone()) == {offer.pk}
    assert offers_with_changes(OFFERS, then, alone()) == set()
    # What is a day old goes at the next change, and whoever would need it reads all.
    StoredChange.objects.update(changed_at=clock.now() - dt.timedelta(days=2))
    price(offer, "0.03")
    current_stamp()
    assert offers_with_changes(PRICES, then, alone()) is None
    now = alone()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE catalog_storedchange")
    assert offers_with_changes(PRICES, now, alone()) is None


def test_table_stays_as_long_as_those_that_refer_to_it() -> None:
    build()
    current_stamp()
    tables, now = KnownTables(25, SharedFiles(None)), alone()
    offers, others, prices = (SimpleNamespace(nbytes=10) for _ in range(3))

    def get(key: str, read: Callable[[], Any], **known: Any) -> Any:
        return tables.get(key, (PRICES, ""), now, read, lambda old, _: old, known=known)

    get("offers", lambda: offers)
    get("others", lambda: others)
    # One of the two has to go: not that of which the third one is made.
    get("prices", lambda: prices, offers=offers)
    assert get("offers", refuse) is offers
    with pytest.raises(AssertionError, match="read whole"):
        get("others", refuse)


def test_table_of_offers_goes_without_the_collector() -> None:
    build()
    table = OfferTable.read("default")
    names, known = list(table.as_known), weakref.ref(table)
    gc.disable()
    try:
        del table
        assert known() is None
    finally:
        gc.enable()
    assert list(OfferTable.read("default").as_known) == names


# --- tables of other processes ------------------------------------------------------------------


def test_tables_of_others_are_those_read_whole_after_any_change(
    patched: list[type], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build()
    chance = random.Random(8)
    for number in range(20):
        # A new process that finds what others have left before the change and after it.
        forget(monkeypatch, tmp_path)
        for change in chance.sample(CHANGES, chance.choice((0, 1, 2))):
            change(chance)
        data_version_bump()
        assert shown() == read_whole(), number
    assert {PriceTable, ScoreTable} <= set(patched)


@pytest.mark.usefixtures("patched")
def test_process_reads_no_table_that_another_one_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build()
    forget(monkeypatch, tmp_path)
    before = shown()
    # What it made itself it holds as the others do.
    assert not offers().keys.flags.owndata
    forget(monkeypatch, tmp_path)
    with monkeypatch.context() as patch:
        for table, name in ((OfferTable, "read"), (PriceTable, "of"), (ScoreTable, "read")):
            patch.setattr(table, name, refuse)
        assert shown() == before
    prices = rankings._prices(query_from({})[0], stamped(), clock.now().date(), "default", offers())
    assert not prices.seen_us.flags.owndata
    assert not prices.seen_us.flags.writeable


@pytest.mark.parametrize("spoil", [lambda old: old[:-1], lambda _: b"", lambda old: old + b"."])
def test_file_that_is_not_whole_is_made_anew(
    spoil: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build()
    forget(monkeypatch, tmp_path)
    before = shown()
    for file in tmp_path.glob("*.table"):
        whole = file.read_bytes()
        file.unlink()
        file.write_bytes(spoil(whole))
    forget(monkeypatch, tmp_path)
    assert shown() == before
    files = SharedFiles(tmp_path)
    files.save("one", [1], {})
    assert files.load("one", {}) == [1]
    # A file under the name of another one is as foreign as that of another installation.
    (tmp_path / files._path("one").name).replace(files._path("two"))
    assert files.load("two", {}) is None
    files.save("one", [1], {})
    monkeypatch.setattr(settings, "SECRET_KEY", "another")
    assert files.load("one", {}) is None


def test_what_is_not_committed_is_left_to_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build()
    current_stamp()
    forget(monkeypatch, tmp_path)
    with transaction.atomic():
        price(Offer.objects.get(slug=SLUGS[1]), "0.01")
        shown()
        transaction.set_rollback(True)
    assert not list(tmp_path.glob("*.table"))


def test_files_are_removed_beyond_what_may_be_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shared_files, "MOST_FILES", 3)
    files = SharedFiles(tmp_path)
    for number in range(6):
        files.save(str(number), np.arange(100), {})
        os.utime(files._path(str(number)), (number, number))
    assert [files.load(str(number), {}) is not None for number in range(6)] == [False] * 3 + [
        True
    ] * 3
    monkeypatch.setattr(shared_files, "MOST_BYTES", 1)
    files.save("last", np.arange(100), {})
    assert [file.name for file in tmp_path.iterdir()] == [files._path("last").name]


def test_folder_that_cannot_be_written_stops_no_ranking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build()
    (tmp_path / "file").touch()
    forget(monkeypatch, tmp_path / "file" / "tables")
    assert shown() == read_whole()
