"""What does not go well: nothing is published by halves, nothing is told, and it is done again."""

import datetime as dt
import logging
import threading
from decimal import Decimal

import pytest
from django.db import connection

from backend.accounts.models import AuditEntry
from backend.catalog.models import PriceFeed, PriceObservation, PricePayload
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services import feeds
from backend.catalog.services.feeds import (
    ClaimLost,
    FeedBusy,
    feed_claim,
    feed_claim_now,
    feed_failed,
)
from backend.core import clock
from backend.notifications.models import Notice, Subscription
from backend.providers import http
from backend.providers.http import FetchError
from tests import factories
from tests.fakes.price_faults import (
    answered,
    bomb,
    broken,
    cut_short,
    denied,
    redirected,
    refused,
    slow,
    too_many,
    truncated,
    web_page,
)
from tests.workers.feeds import (
    KEY,
    TOKEN,
    account,
    aws_account,
    due_again,
    enable,
    fetched,
    gcp_account,
)
from workers import tasks
from workers.pricelists import fetching

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
AZURE = "/api/retail/prices"


def azure():
    return enable("azure", region="francecentral")


def rows():
    """Every stored observation, with what may change on it."""
    return set(
        PriceObservation.objects.values_list("pk", "amount", "is_published", "missing_since")
    )


def double(server):
    """New prices at the provider."""
    for item in server.documents["azure-retail"]["Items"]:
        item["retailPrice"] = item["retailPrice"] * 1.1


# --- an answer that is none -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (truncated, "RemoteProtocolError"),
        (cut_short, "not JSON"),
        (web_page(), "answered with a web page"),
        (web_page(503), "answered 503"),
        (broken(), "answered 500"),
        (answered(b""), "not JSON"),
        (answered(b'{"Items": {}}'), "no list"),
        (answered(b'{"Items": [], "NextPageLink": "http://evil.example/"}'), "points to"),
        (answered(b"\xff\xfe"), "not UTF-8"),
        (redirected("http://evil.example/"), "redirects to http://evil.example"),
        (refused("who are you?", 401), "answered 401"),
    ],
)
def test_bad_answer_publishes_nothing_and_keeps_the_old_prices(price_server, fault, words):
    feed = fetched(azure())
    before, version = rows(), data_version()
    summary, checked_at = feed.summary, feed.checked_at
    double(price_server)
    # The first page is new and good; the second one is not.
    price_server.faults_in_turn = [None, *[fault] * http.ATTEMPTS]
    feed = fetched(due_again(feed))
    assert words in feed.last_error
    assert (feed.failures, feed.summary, feed.checked_at) == (1, summary, checked_at)
    assert (rows(), data_version()) == (before, version)
    assert PricePayload.objects.count() == 1
    assert feed.lease_until is None


def test_good_answer_after_trouble_is_recorded_and_the_trouble_forgotten(price_server):
    feed = azure()
    price_server.fault(AZURE, broken(), times=http.ATTEMPTS)
    assert fetched(feed).failures == 1
    feed = fetched(due_again(feed))
    assert (feed.failures, feed.last_error, feed.summary["priced"]) == (0, "", 9)


def test_recipients_are_notified_once_when_prices_are_quarantined(price_server):
    Subscription.objects.create(
        workspace=factories.workspace(), channel="email", address="a@b.example", kinds=["prices"]
    )
    feed = fetched(azure())
    assert not Notice.objects.exists()
    for item in price_server.documents["azure-retail"]["Items"]:
        item["retailPrice"] = item["retailPrice"] * 3
    feed = fetched(due_again(feed))
    assert feed.summary["quarantined"] > 0
    told = Notice.objects.get().document
    assert told["title"].endswith("azure on_demand francecentral wait in quarantine")
    # The page on which one decision takes or refuses the list.
    assert told["url"].endswith("/prices/")
    fetched(due_again(feed))
    assert Notice.objects.count() == 1


def test_rule_28_not_modified_changes_nothing_but_the_time_it_was_asked(price_server):
    feed = fetched(enable("aws", region="eu-west-1"))
    before, version, changed_at = rows(), data_version(), feed.changed_at
    PriceFeed.objects.filter(pk=feed.pk).update(checked_at=clock.now() - dt.timedelta(days=1))
    price_server.asked.clear()
    feed = fetched(due_again(feed))
    assert len(price_server.asked) == 1
    assert (rows(), data_version(), feed.changed_at) == (before, version, changed_at)
    assert clock.now() - feed.checked_at < dt.timedelta(minutes=1)
    assert feed.next_due_at > clock.now() + dt.timedelta(hours=23)


def test_passing_trouble_is_waited_out_when_the_provider_says_how_long(price_server, slept):
    price_server.fault("/v4/linode/types", too_many("7"))
    price_server.fault("/v4/regions", broken(503), times=2)
    feed = fetched(enable("linode"))
    assert feed.last_error == ""
    # 7 s as asked; then 4 and 8 s of our own; each up to a quarter more, in slices of half a second.
    assert 19 <= sum(slept) <= 19 * 1.25 + 1.5
    assert max(slept) <= http.SLICE_S


def test_aws_is_asked_again_when_it_throttles(price_server, slept):
    aws_account()
    price_server.fault("/", denied("slow down", "ThrottlingException"), times=2)
    feed = fetched(enable("aws", "products", "eu-west-1"))
    assert (feed.last_error, feed.summary["priced"]) == ("", 7)
    assert 12 <= sum(slept) <= 12 * 1.25 + 1


def test_wait_that_takes_too_long_is_not_waited_for_but_respected(price_server, slept):
    price_server.fault("/v4/", too_many("7200"))
    feed = fetched(enable("linode"))
    assert sum(slept) == 0
    assert "answered 429, no time to wait" in feed.last_error
    assert feed.next_due_at - clock.now() > dt.timedelta(seconds=7100)


def test_back_off_doubles_up_to_six_hours_when_it_fails_again_and_again(price_server):
    feed, waits = enable("linode"), []
    for _ in range(9):
        price_server.fault("/v4/", refused("no"))
        fetched(due_again(feed))
        feed.refresh_from_db()
        waits.append((feed.next_due_at - clock.now()).total_seconds())
    for number, wait in enumerate(waits):
        least = min(300 * 2**number, 6 * 3600)
        assert least - 5 <= wait <= least * 1.25
    assert feed.failures == 9


def test_answer_without_end_is_cut_at_the_limit(price_server):
    price_server.fault("/v4/", bomb(http.PAGE_BYTES + 1))
    feed = fetched(enable("linode"))
    assert "longer than" in feed.last_error


def test_defect_of_ours_is_logged_and_does_not_keep_the_next_feed_waiting(
    price_server, monkeypatch, caplog
):
    account("digitalocean")
    broken_feed, good = enable("digitalocean"), enable("linode")
    monkeypatch.setattr(
        "backend.providers.digitalocean.fetch.Sizes.read",
        lambda *_: (_ for _ in ()).throw(RuntimeError(f"oops {TOKEN}")),
    )
    assert fetching.fetch_due() == 2
    broken_feed.refresh_from_db()
    good.refresh_from_db()
    assert broken_feed.last_error == "a defect of ours: RuntimeError"
    assert good.summary["priced"] == 4
    assert "oops (secret)" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    "page", ["/", "/offers/", "/api/v1/prices", "/api/v1/rankings", "/api/v1/fx-rates"]
)
def test_rule_28_page_view_never_fetches_what_is_due(price_server, client, settings, queued, page):
    settings.PUBLIC_READ = True
    feed = enable("linode")
    assert client.get(page).status_code == 200
    feed.refresh_from_db()
    assert (price_server.asked, feed.lease_until, feed.checked_at) == ([], None, None)
    assert queued == []


# --- secrets ------------------------------------------------------------------------------------------


MADE = {
    "hetzner": lambda: account("hetzner"),
    "digitalocean": lambda: account("digitalocean"),
    "gcp": lambda: gcp_account(api_key=KEY),
    "aws": aws_account,
}


@pytest.mark.parametrize(
    ("asked", "canary", "fault"),
    [
        (("hetzner", "on_demand", ""), TOKEN, refused),
        (("digitalocean", "on_demand", ""), TOKEN, refused),
        (("gcp", "on_demand", ""), KEY, refused),
        (("aws", "spot", "eu-west-1"), TOKEN, denied),
        (("aws", "products", "eu-west-1"), TOKEN, denied),
    ],
)
def test_secret_is_nowhere_when_a_provider_quotes_it_in_a_refusal(
    price_server, caplog, asked, canary, fault
):
    caplog.set_level(logging.DEBUG)
    held = MADE[asked[0]]()
    feed = enable(*asked)
    price_server.fault("/", fault(f"{canary} may not read this"))
    feed = fetched(feed)
    assert "(secret) may not read this" in feed.last_error
    refusal = feed.last_error
    price_server.fault("/", broken(), times=http.ATTEMPTS)
    assert fetched(due_again(feed)).failures == 2
    assert fetched(due_again(feed)).summary["priced"] > 0
    told = [
        caplog.text,
        refusal,
        str(list(PriceFeed.objects.values())),
        str(list(AuditEntry.objects.values())),
        repr(fetching.access_of(held)),
        *[f"{request.path} {request.query}" for request in price_server.asked],
    ]
    for text in told:
        assert TOKEN not in text
        assert KEY not in text
        assert "PRIVATE KEY" not in text


# --- whose turn it is -----------------------------------------------------------------------------------


def test_feed_that_somebody_reads_is_not_read_again(price_server):
    feed = enable("linode")
    claim = feed_claim()
    assert claim.feed == feed
    assert feed_claim() is None
    with pytest.raises(FeedBusy):
        feed_claim_now(feed=feed)
    assert fetching.fetch_due() == 0
    assert price_server.asked == []


def test_late_worker_publishes_nothing_when_its_lease_ended(price_server, monkeypatch):
    feed = enable("linode")
    reads = fetching.fetcher("linode", "on_demand").read

    def late(*given):
        PriceFeed.objects.filter(pk=feed.pk).update(
            lease_until=clock.now() - dt.timedelta(seconds=1)
        )
        assert feed_claim().feed == feed
        return reads(*given)

    monkeypatch.setattr(
        "backend.providers.linode.fetch.Types.read", lambda self, *given: late(*given)
    )
    assert fetching.fetch_due() == 1
    feed.refresh_from_db()
    assert not PriceObservation.objects.exists()
    assert (feed.checked_at, feed.failures) == (None, 0)
    assert feed.lease_until > clock.now()


def test_failure_of_a_late_worker_does_not_count_for_the_feed(price_server):
    feed = enable("linode")
    claim = feed_claim()
    PriceFeed.objects.filter(pk=feed.pk).update(lease_until=clock.now())
    feed_failed(claim=claim, error="late")
    feed.refresh_from_db()
    assert (feed.last_error, feed.failures) == ("", 0)
    with pytest.raises(ClaimLost), feeds.feed_fenced(claim):
        pass


def test_feed_is_given_back_as_it_was_when_the_process_is_to_end(price_server):
    feed = enable("linode")
    wanted = iter([True, True, True, False])
    assert fetching.fetch_due(is_needed=lambda: next(wanted, False)) == 1
    due = feed.next_due_at
    feed.refresh_from_db()
    assert (feed.lease_until, feed.failures, feed.last_error) == (None, 0, "")
    assert feed.next_due_at == due
    assert not PriceObservation.objects.exists()


def test_disabled_feed_is_not_read_and_keeps_its_prices(price_server):
    feed = fetched(enable("linode"))
    before = rows()
    due_again(feed)
    workspace = account("linode").workspace
    feeds.feed_update(feed=feed, workspace=workspace, is_enabled=False, actor="tester")
    assert fetching.fetch_due() == 0
    assert rows() == before


def test_task_reads_what_is_due_when_called(price_server):
    enable("linode")
    tasks.fetch_prices()
    assert PriceObservation.objects.filter(amount=Decimal("0.0075")).exists()


def test_rule_28_payloads_are_deleted_after_ninety_days_unless_repeated(price_server):
    feed = fetched(azure())
    kept = PricePayload.objects.get()
    long_ago = clock.now() - dt.timedelta(days=91)
    PricePayload.objects.create(
        feed=feed, sha256="0" * 64, size_bytes=1, raw_gzip=b"x", fetched_at=long_ago
    )
    PricePayload.objects.filter(pk=kept.pk).update(fetched_at=long_ago)
    fetched(due_again(feed))
    assert [row.pk for row in PricePayload.objects.all()] == [kept.pk]


@pytest.mark.django_db(transaction=True)
def test_two_fetchers_at_once_do_one_fetch(price_server):
    enable("linode")
    pause, counts = threading.Event(), []
    price_server.fault("/v4/linode/types", slow(pause))

    def fetch():
        try:
            counts.append(fetching.fetch_due())
        finally:
            connection.close()

    first = threading.Thread(target=fetch)
    first.start()
    while not price_server.asked:
        pause.wait(0.01)
    second = threading.Thread(target=fetch)
    second.start()
    second.join()
    pause.set()
    first.join()
    assert sorted(counts) == [0, 1]
    assert price_server.paths().count("/v4/linode/types") == 2  # its two pages
    assert PriceObservation.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_two_fetchers_of_two_feeds_do_not_work_side_by_side(price_server):
    """One process at a time: reading prices never takes the place of work on runs."""
    enable("linode")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [fetching.LOCK])
    counts = []
    other = threading.Thread(
        target=lambda: (counts.append(fetching.fetch_due()), connection.close())
    )
    other.start()
    other.join()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s)", [fetching.LOCK])
    assert counts == [0]
    assert fetching.fetch_due() == 1


def test_fetch_error_is_raised_to_a_person_and_noted_once(price_server):
    price_server.fault("/v4/", refused("no"))
    with pytest.raises(FetchError):
        fetching.fetch_now(provider="linode")
    assert PriceFeed.objects.get().failures == 1
