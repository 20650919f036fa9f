"""A refresh of all price lists: what is asked, what goes wrong at one provider, and who begins it."""

import datetime as dt
import json
import socket
from itertools import cycle

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.models import AuditEntry, Workspace
from backend.accounts.services.workspaces import NotOwned, default_workspace
from backend.catalog.models import PriceFeed, PriceObservation
from backend.catalog.selectors.feeds import is_stale
from backend.catalog.selectors.price_refresh import (
    failed_provider_count,
    is_refreshing,
    is_resting,
    refresh_progress,
)
from backend.catalog.services.feeds import feed_claim
from backend.catalog.services.price_refresh import (
    RefreshBusy,
    price_refresh,
    price_refresh_due,
)
from backend.core import clock
from backend.core.queue import Task
from backend.providers import http
from backend.providers.price_refresh import ListState, Trouble
from backend.providers.registry import PROVIDERS
from tests import factories
from tests.fakes.price_faults import (
    answered,
    broken,
    cut_short,
    redirected,
    refused,
    too_many,
    truncated,
    web_page,
)
from tests.fakes.price_servers import DAYS_90
from tests.workers.feeds import KEY, RATES, TOKEN, account, enable
from workers import tasks
from workers.pricelists import fetching

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

# What needs no account, in the order of reading: rates, lists of all regions, lists of one.
PUBLIC = [
    ("ecb", "fx", ""),
    ("hetzner", "auction", ""),
    ("linode", "on_demand", ""),
    ("ovh", "dedicated", ""),
    ("ovh", "on_demand", ""),
    ("vultr", "on_demand", ""),
    ("aws", "on_demand", "eu-west-1"),
    ("azure", "on_demand", "francecentral"),
    ("scaleway", "on_demand", "fr-par-1"),
    ("aws", "savings", "eu-west-1"),
]
ADDRESSES = {
    "ecb": DAYS_90,
    "hetzner": "/_resources/",
    "linode": "/v4/",
    "vultr": "/v2/plans",
    "aws": "/offers/",
    "azure": "/api/retail/prices",
    "scaleway": "/instance/v1/",
}


@pytest.fixture(autouse=True)
def _catalogue(price_server):
    """One offer in one region of each provider with lists by region, and rates to be read."""
    price_server.files[DAYS_90] = RATES.encode()
    for slug, region in (
        ("aws", "eu-west-1"),
        ("azure", "francecentral"),
        ("scaleway", "fr-par-1"),
    ):
        factories.offer(f"{slug}-old", provider_slug=slug, region=region_of(slug, region))


def region_of(slug, code):
    return factories.region(code, provider_slug=slug)


def begin():
    return price_refresh(workspace=default_workspace(), actor="tester")


def read_all():
    """Every list that was asked for; returns the progress after it."""
    while is_refreshing():
        assert fetching.fetch_due() > 0
    return refresh_progress()


def by_provider():
    return {provider.slug: provider for provider in refresh_progress().providers}


def keys(feeds):
    return [(feed.provider.slug, feed.kind, feed.region) for feed in feeds]


def test_refresh_reads_all_that_needs_no_account_and_nothing_else(price_server):
    assert begin() == len(PUBLIC)
    in_order = PriceFeed.objects.select_related("provider").order_by("next_due_at")
    assert sorted(keys(in_order)) == sorted(PUBLIC)
    regional = [bool(region) for _, _, region in keys(in_order)]
    assert keys(in_order)[0] == PUBLIC[0]
    assert regional == sorted(regional)
    assert keys(in_order)[-1] == PUBLIC[-1]
    progress = read_all()
    assert (progress.read, progress.total) == (len(PUBLIC), len(PUBLIC))
    assert progress.sentence == "All 10 price lists were read."
    assert {asked.headers.get("authorization") for asked in price_server.asked} == {None}
    assert set(PriceFeed.objects.values_list("next_due_at", flat=True)) == {None}
    lacking = {slug for slug, provider in by_provider().items() if provider.lacks_account}
    assert lacking == {"aws", "gcp", "digitalocean", "hetzner", "upcloud"}
    assert not any(is_stale(feed) for feed in PriceFeed.objects.all())


def test_refresh_reads_more_where_a_key_is_stored(price_server):
    account("digitalocean")
    account("hetzner")
    assert begin() == len(PUBLIC) + 2
    read_all()
    assert {"/v2/sizes", "/v1/server_types"} <= set(price_server.paths())
    assert not by_provider()["digitalocean"].lacks_account


def test_list_that_another_one_replaces_is_left_out(price_server):
    account("hetzner", secret={"token": TOKEN, "robot_user": "#ws+rates", "robot_password": KEY})
    enable("hetzner", "robot_market")
    begin()
    asked = keys(PriceFeed.objects.select_related("provider").exclude(requested_at=None))
    assert ("hetzner", "robot_market", "") in asked
    assert ("hetzner", "auction", "") not in asked


def test_second_refresh_is_refused_while_the_first_one_runs(queued):
    begin()
    with pytest.raises(RefreshBusy):
        begin()
    read_all()
    assert begin() == len(PUBLIC)
    assert AuditEntry.objects.filter(action="price_refresh", actor="tester").count() == 2
    assert queued.count((Task.FETCH_PRICES, {})) == 0  # sent on commit, which a test never reaches


def test_other_workspace_only_sees_the_refresh():
    other = Workspace.objects.create(slug="other", name="Other")
    with pytest.raises(NotOwned):
        price_refresh(workspace=other, actor="tester")
    assert not is_refreshing()


def test_refresh_goes_on_where_it_was_when_the_worker_is_restarted(price_server):
    begin()
    ends = iter([True] * 12)
    fetching.fetch_due(is_needed=lambda: next(ends, False))
    done = refresh_progress().done
    assert 0 < done < len(PUBLIC)
    before = price_server.paths()
    progress = read_all()
    assert progress.read == len(PUBLIC)
    # The list that was broken off is read again, those that were done are not.
    assert before.count(DAYS_90) == price_server.paths().count(DAYS_90) == 1


def test_list_that_is_being_read_is_shown_as_such():
    begin()
    claim = feed_claim()
    states = {
        (provider.slug, entry.region): entry.state
        for provider in refresh_progress().providers
        for entry in provider.lists
    }
    assert states.pop((claim.feed.provider.slug, claim.feed.region)) is ListState.READING
    assert set(states.values()) == {ListState.WAITING}


# --- what goes wrong at one provider -------------------------------------------------------------------

FAULTS = [
    # RFC 9110, 10.2.3: Retry-After is a number of seconds or a date. Azure, Linode and Vultr limit by it
    # (https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices,
    # https://techdocs.akamai.com/linode-api/reference/rate-limits).
    (too_many("7200"), Trouble.THROTTLED),
    (too_many(""), Trouble.THROTTLED),
    (broken(503), Trouble.BROKEN),
    (broken(502), Trouble.BROKEN),
    (truncated, Trouble.BROKEN),
    (cut_short, Trouble.UNREADABLE),
    (web_page(), Trouble.UNREADABLE),
    (web_page(503), Trouble.BROKEN),
    (redirected("https://elsewhere.example/"), Trouble.UNREADABLE),
    (answered(b"\x1f\x8b\x08 no gzip at all"), Trouble.UNREADABLE),
    (refused("not for you"), Trouble.REFUSED),
    (refused("unknown", 404), Trouble.UNREADABLE),
]


def begin_with(*slugs):
    """A refresh of these providers alone."""
    begin()
    PriceFeed.objects.exclude(provider__slug__in=slugs).update(requested_at=None)


@pytest.mark.parametrize(
    ("slug", "fault", "trouble"),
    [(slug, *fault) for slug, fault in zip(cycle(ADDRESSES), FAULTS, strict=False)],
)
def test_fault_at_one_provider_costs_its_lists_alone(price_server, slug, fault, trouble):
    begin_with(slug, "ovh")
    assert read_all().unread == []
    before = set(PriceObservation.objects.values_list("pk", "amount", "missing_since"))
    # More often than it is asked: the fault lasts.
    price_server.fault(ADDRESSES[slug], fault, times=50)
    begin_with(slug, "ovh")
    progress = read_all()
    failed = by_provider()[slug]
    assert [provider.slug for provider in progress.unread] == [slug]
    assert {entry.trouble for entry in failed.failures} == {trouble}
    assert failed.cause
    assert failed.remedy
    assert progress.read == progress.total - len(failed.failures) >= 2
    assert set(PriceObservation.objects.values_list("pk", "amount", "missing_since")) == before
    assert failed_provider_count() == 1


@pytest.mark.parametrize("slug", ["vultr", "azure", "scaleway", "linode"])
def test_fault_on_a_later_page_publishes_no_half_of_a_list(price_server, slug):
    # Only the first page is good: the fault waits behind one right answer.
    begin_with(slug)
    price_server.faults_in_turn = [None, *[broken(500)] * http.ATTEMPTS]
    read_all()
    assert [entry.trouble for entry in by_provider()[slug].failures] == [Trouble.BROKEN]
    assert not PriceObservation.objects.exists()


def test_prices_that_move_much_wait_for_a_review_after_a_refresh(price_server):
    begin_with("azure")
    read_all()
    for item in price_server.documents["azure-retail"]["Items"]:
        item["retailPrice"] *= 3
    begin_with("azure")
    read_all()
    feed = PriceFeed.objects.get(provider__slug="azure")
    assert feed.summary["quarantined"] > 0
    assert feed.failures == 0


# --- no network ------------------------------------------------------------------------------------------


@pytest.fixture
def _offline(settings):
    """Addresses at which nobody listens."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    settings.PRICE_ENDPOINTS = dict.fromkeys(PROVIDERS, address)


@pytest.mark.usefixtures("_offline")
def test_every_provider_is_named_in_bounded_time_without_a_network(slept):
    for number in range(20):
        factories.offer(
            f"azure-{number}",
            provider_slug="azure",
            region=region_of("azure", f"far{chr(97 + number)}"),
        )
    total = begin()
    progress = read_all()
    assert progress.sentence == "No provider could be read. All prices stay as they were."
    assert (progress.done, progress.read, total) == (total, 0, len(PUBLIC) + 20)
    slugs = {slug for slug, _, _ in PUBLIC}
    assert {provider.slug for provider in progress.unread} == slugs
    for provider in progress.unread:
        assert provider.cause == f"{provider.name} could not be reached."
        assert "firewall" in provider.remedy
        assert "ConnectError" in provider.detail
    # One short wait for each list that is asked; those of other regions are not asked.
    assert sum(slept) <= len(PUBLIC) * 4 * 1.25 + 10
    assert failed_provider_count() == len(slugs)


@pytest.mark.usefixtures("_offline")
def test_schedule_rests_after_nobody_answered_and_says_so_once(caplog, price_server, settings):
    last = clock.now() - dt.timedelta(days=8)
    Workspace.objects.filter(pk=default_workspace().pk).update(created_at=last)
    price_refresh_due()
    assert is_refreshing()
    read_all()
    assert is_resting()
    PriceFeed.objects.update(requested_at=last)
    for _ in range(3):
        assert fetching.fetch_due() == 0
    assert not is_refreshing()
    assert caplog.text.count("no provider answered") == 1
    # A person's refresh that reaches somebody sets it going again.
    settings.PRICE_ENDPOINTS = dict.fromkeys(PROVIDERS, price_server.url)
    begin()
    read_all()
    assert not is_resting()


def test_schedule_begins_a_refresh_once_a_week(settings):
    week, hour = dt.timedelta(days=7), dt.timedelta(hours=1)
    own = Workspace.objects.filter(pk=default_workspace().pk)
    own.update(created_at=clock.now() - week + hour)
    price_refresh_due()
    assert not is_refreshing()
    own.update(created_at=clock.now() - week - hour)
    settings.PRICE_REFRESH_DAYS = 0
    price_refresh_due()
    assert not is_refreshing()
    settings.PRICE_REFRESH_DAYS = 7
    price_refresh_due()
    assert is_refreshing()
    assert AuditEntry.objects.get(action="price_refresh").actor == "schedule"
    read_all()
    price_refresh_due()
    assert not is_refreshing()


# --- by command and by task -----------------------------------------------------------------------------


def test_command_reads_every_list_and_names_each_provider(capsys):
    call_command("import_prices", "--live")
    out, err = capsys.readouterr()
    assert err.startswith("Reading price lists: 0 of 10 done.")
    assert err.splitlines()[-1] == "All 10 price lists were read."
    assert "Azure: 1 of 1 lists read, 1 with other prices than before." in out.splitlines()
    assert "Google Cloud shows these prices to customers only. Add an account" in out


def test_command_goes_on_with_the_rest_and_prints_causes_as_json(price_server, capsys):
    price_server.fault("/api/retail/prices", web_page(), times=50)
    call_command("import_prices", "--live", "--json")
    document = json.loads(capsys.readouterr().out)
    azure = next(entry for entry in document["providers"] if entry["slug"] == "azure")
    assert azure["lists"][0]["trouble"] == "unreadable"
    assert "web page" in azure["lists"][0]["error"]


@pytest.mark.usefixtures("_offline")
def test_command_fails_when_no_provider_answers():
    with pytest.raises(CommandError, match="No provider could be read"):
        call_command("import_prices", "--live")


def test_command_needs_a_provider_for_files(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("{}")
    with pytest.raises(CommandError):
        call_command("import_prices", str(path))


@pytest.mark.django_db(transaction=True)
def test_task_goes_on_behind_other_work_where_lists_are_left(price_server, monkeypatch, queued):
    begin()
    queued.clear()
    # No further list is begun after the first one.
    monkeypatch.setattr(fetching, "BUDGET_S", -1.0)
    tasks.fetch_prices()
    assert queued == []
    monkeypatch.setattr(fetching, "feed_claim", limited(fetching.feed_claim, 1))
    monkeypatch.setattr(fetching, "BUDGET_S", 45.0)
    tasks.fetch_prices()
    assert queued == [(Task.FETCH_PRICES, {})]


def limited(claim, times):
    """`claim` for so many calls, then None, as at the end of the time of one pass."""
    left = iter(range(times))
    return lambda: claim() if next(left, None) is not None else None
