"""Pages that go on with a state of the data while the next one is made."""

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event

import pytest
from django.conf import LazySettings
from django.db import connections
from django.test import Client

from backend.benchmarks.services import current_data as stored
from backend.catalog.models import Offer
from backend.catalog.selectors.data_version import data_stamp
from backend.catalog.services.data_version import data_version_bump
from backend.core.shared_files import SharedFiles
from backend.rankings.selectors import ranking as rankings
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.ranking import Ranking
from backend.rankings.services import current_data
from backend.rankings.services.current_data import ShownStamp
from backend.site import shown_state
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db(transaction=True)
LONG_S = 600


@pytest.fixture(autouse=True)
def keeper(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> ShownStamp:
    """As in a process that has just begun, which holds on to what it shows for long."""
    settings.PAGES_BEHIND_S = LONG_S
    monkeypatch.setattr(current_data, "BUSY_RATIO", 0)  # every change is one too many
    monkeypatch.setattr(rankings, "_cache", StampedCache(10_000_000))
    monkeypatch.setattr(rankings, "_asked", deque())
    monkeypatch.setattr(rankings, "_tables", KnownTables(10_000_000, SharedFiles(None)))
    keeper = ShownStamp()
    monkeypatch.setattr(shown_state, "shown", keeper)
    return keeper


@pytest.fixture
def offers() -> list[Offer]:
    made = [published(name, 100.0, "0.1") for name in ("calm", "quick")]
    data_version_bump()
    return made


def measured(offer: Offer, score: float, **given: str) -> None:
    factories.sample(offer, score, **given)


def grow_old(keeper: ShownStamp, ratio: float = 1) -> None:
    """As if the state had been over for so much of its time."""
    stamp, _ = keeper._shown or pytest.fail("nothing is shown")
    keeper._shown = (stamp, time.monotonic() - ratio * LONG_S)


def listed(client: Client) -> Ranking:
    """The very list that a page shows, which is made once of a state."""
    shown: Ranking = client.get("/offers/", {"remember": []}).context["ranking"]
    return shown


def scores(client: Client, **asked: str) -> dict[str, float | None]:
    ranked = client.get("/offers/", {"remember": [], **asked}).context["ranking"]
    return {row.offer_id: row.score for row in ranked.rows}


def api_scores(client: Client) -> dict[str, float | None]:
    rows = client.get("/api/v1/rankings").json()["results"]
    return {row["offer_id"]: row["score"] for row in rows}


def test_page_goes_on_with_its_state_and_the_api_does_not(
    client: Client, offers: list[Offer]
) -> None:
    before = client.get("/offers/").context["ranking"]
    first = client.get("/api/v1/rankings")
    measured(offers[0], 250.0)
    page = client.get("/offers/").context["ranking"]
    assert page is before
    second = client.get("/api/v1/rankings")
    assert first["ETag"] != second["ETag"]
    assert api_scores(client)["calm"] == 250.0
    # What the API has read is the newer state, and pages still show their own whole.
    assert scores(client) == {"calm": 100.0, "quick": 100.0}
    assert client.get("/offers/").context["ranking"].data_version == before.data_version


def test_transactions_elsewhere_leave_etags_as_they_are(
    client: Client, offers: list[Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = client.get("/api/v1/rankings")
    # Numbers of transactions are the whole server's, whatever database they changed.
    stamp = data_stamp()
    later = replace(stamp.position, open_since=stamp.position.open_since + 1000)
    monkeypatch.setattr(stored, "data_stamp", lambda: replace(stamp, position=later))
    again = client.get("/api/v1/rankings", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again["ETag"]) == (304, first["ETag"])


def test_data_that_change_now_and_then_are_shown_as_they_are(
    client: Client, offers: list[Offer], keeper: ShownStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_data, "BUSY_RATIO", 0.2)
    assert scores(client)["calm"] == 100.0
    measured(offers[0], 250.0)
    assert scores(client)["calm"] == 250.0
    # Then they change so often that states were made for more than a fifth of the time.
    keeper._made = [(time.monotonic(), LONG_S / 10)] * 2
    measured(offers[0], 250.0)
    shown = listed(client)
    measured(offers[0], 250.0)
    assert listed(client) is shown


def test_state_is_kept_no_longer_once_one_stays_the_present_one(
    client: Client, offers: list[Offer], keeper: ShownStamp
) -> None:
    shown = listed(client)
    ended, took_s = keeper._made[-1]
    keeper._made[-1] = (ended - LONG_S, took_s)
    assert listed(client) is shown
    measured(offers[0], 250.0)
    assert listed(client) is not shown


@pytest.mark.parametrize("ago", [1.2, 2.2])
def test_state_is_kept_while_each_is_followed_by_the_next(
    client: Client,
    offers: list[Offer],
    keeper: ShownStamp,
    monkeypatch: pytest.MonkeyPatch,
    ago: float,
) -> None:
    listed(client)
    monkeypatch.setattr(current_data, "BUSY_RATIO", 0.2)
    # Nobody looked in the moment in which it was over.
    keeper._made[-1] = (time.monotonic() - ago * LONG_S, 0.1)
    grow_old(keeper, ago)
    measured(offers[0], 250.0)
    shown = listed(client)
    measured(offers[0], 250.0)
    assert (listed(client) is shown) == (ago < 2)


def test_who_sends_a_form_sees_the_present_state(client: Client, offers: list[Offer]) -> None:
    reader = Client()
    assert scores(client) == scores(reader)
    measured(offers[0], 250.0)
    client.post("/language/", {"language": "en"})
    assert scores(client)["calm"] == 250.0
    assert scores(reader)["calm"] == 100.0


def test_state_is_replaced_once_its_time_is_over(
    client: Client, keeper: ShownStamp, offers: list[Offer]
) -> None:
    assert scores(client)["calm"] == 100.0
    measured(offers[0], 250.0)
    grow_old(keeper)
    assert scores(client)["calm"] == 250.0


def test_state_with_changes_to_work_off_is_over_in_time(
    client: Client, keeper: ShownStamp, offers: list[Offer]
) -> None:
    assert scores(client)["calm"] == 100.0
    measured(offers[0], 250.0)
    # As if the result had come right after a refresh, and none after it.
    keeper._shown = (data_stamp(), time.monotonic())
    # What a page would read of it may count as changed since, where other tests hold transactions open.
    assert keeper.get(is_fresh=False).is_kept
    grow_old(keeper)
    assert scores(client)["calm"] == 250.0


def test_page_of_what_has_changed_is_made_of_the_present_state(
    client: Client, offers: list[Offer]
) -> None:
    assert scores(client)["calm"] == 100.0
    measured(offers[0], 250.0)
    changed, other = (client.get(f"/offers/{one.slug}/").context for one in offers)
    assert changed["row"].score == 250.0
    # Of an offer that is as it was the earlier state is the present one.
    assert other["row"].data_version == changed["row"].data_version
    assert scores(client)["calm"] == 100.0
    compared = client.get("/compare/?o=calm,quick").context["comparison"]
    assert compared.rows[0].score == 250.0


def test_table_that_a_state_lacks_is_read_only_while_it_is_as_it_was(
    client: Client, offers: list[Offer]
) -> None:
    latency = {"metric": "memory_latency_ns", "variant": "single"}
    for one in offers:
        measured(one, 90.0, **latency)
    assert scores(client)["calm"] == 100.0
    measured(offers[0], 250.0)
    # Nothing of this metric has changed since.
    assert scores(client, metric="memory_latency_ns") == {"calm": 90.0, "quick": 90.0}
    measured(offers[0], 70.0, metric="memory_bandwidth_bytes_per_s", variant="all")
    # Whoever asks for the present state makes what is stored anew.
    api_scores(client)
    assert scores(client, metric="memory_bandwidth_bytes_per_s") == {"calm": 70.0}
    assert scores(client)["calm"] == 100.0


def test_one_reader_makes_the_next_state_and_the_others_go_on(
    keeper: ShownStamp,
    monkeypatch: pytest.MonkeyPatch,
    offers: list[Offer],
) -> None:
    begun, may_end, made = Event(), Event(), []

    def slow(*stamps: object) -> None:
        begun.set()
        assert may_end.wait(30)
        made.append(stamps)
        rankings.rank_anew(*stamps)  # type: ignore[arg-type]

    def asked() -> int:
        try:
            return keeper.get(is_fresh=False).refreshes
        finally:
            connections.close_all()

    first = keeper.get(is_fresh=False)
    monkeypatch.setattr(current_data, "rank_anew", slow)
    measured(offers[0], 250.0)
    with ThreadPoolExecutor(3) as threads:
        # The next one is begun in time for one that takes as long as the last, and not earlier.
        keeper._made[-1] = (keeper._made[-1][0], LONG_S / 20)
        grow_old(keeper, 0.7)
        assert keeper.get(is_fresh=False).refreshes == first.refreshes
        grow_old(keeper, 0.8)
        maker = threads.submit(asked)
        assert begun.wait(30)
        assert [threads.submit(asked).result(30) for _ in range(2)] == [first.refreshes] * 2
        # Far too old: now they wait for it.
        grow_old(keeper)
        late = [threads.submit(asked) for _ in range(2)]
        assert not wait(late, timeout=0.3).done
        may_end.set()
        assert {one.result(30) for one in (maker, *late)} == {maker.result()}
    assert maker.result() > first.refreshes
    assert len(made) == 1


def test_lists_that_were_asked_for_are_made_of_the_next_state(
    client: Client, keeper: ShownStamp, offers: list[Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores(client, sort="price")
    measured(offers[0], 250.0)
    grow_old(keeper)
    assert scores(client)["calm"] == 250.0

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a list was made for whoever asked")

    monkeypatch.setattr(rankings, "_ranking", refuse)
    assert scores(client, sort="price")["calm"] == 250.0


def test_longest_lists_are_made_of_the_next_state(
    client: Client, keeper: ShownStamp, offers: list[Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankings, "MOST_ANEW", 1)
    shown = listed(client)
    assert list(scores(client, q="calm")) == ["calm"]
    measured(offers[0], 250.0)
    grow_old(keeper)
    assert scores(client, q="calm") == {"calm": 250.0}
    made: list[tuple[str, ...]] = []
    monkeypatch.setattr(rankings, "_ranking", lambda key, *_: made.append(key) or shown)
    listed(client)
    # The shorter one was made for who asked for it, the longer one before.
    assert made == []
