"""Price feeds over the API: for admins, refused by name, listed with how fresh they are."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.models import PriceFeed
from backend.catalog.services.feeds import feed_enable, feed_update
from backend.core import clock
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
FEEDS = f"{API}/price-feeds"
Caller = Callable[..., Client]


def enabled(provider: str = "linode", kind: str = "on_demand", region: str = "") -> PriceFeed:
    return feed_enable(
        workspace=factories.workspace(),
        provider=provider,
        kind=kind,
        region=region,
        actor="tester",
    )


def sent(client: Client, method: str, path: str, document: Any) -> Any:
    return getattr(client, method)(path, document, content_type="application/json")


def test_feed_is_enabled_due_at_once_and_audited_when_posted(caller: Caller) -> None:
    made = sent(
        caller("admin"), "post", FEEDS, {"provider": "aws", "kind": "spot", "region": "eu-west-1"}
    )
    assert made.status_code == 201
    document = made.json()
    assert (document["provider"], document["kind"], document["region"]) == (
        "aws",
        "spot",
        "eu-west-1",
    )
    assert (document["enabled"], document["every_s"], document["stale"]) == (True, 3600, True)
    feed = PriceFeed.objects.get(pk=document["id"])
    assert feed.next_due_at is not None
    assert feed.next_due_at <= clock.now()
    entry = AuditEntry.objects.get(action="price_feed_enable")
    assert entry.object_id == str(feed.pk)
    assert entry.detail["region"] == "eu-west-1"


def test_feed_is_the_same_when_posted_twice(caller: Caller) -> None:
    document = {"provider": "hetzner", "kind": "on_demand", "every_s": 7200}
    client = caller("admin")
    first, second = (sent(client, "post", FEEDS, document).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert second["every_s"] == 7200


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"provider": "rackspace", "kind": "on_demand"}, "/provider"),
        ({"provider": "aws", "kind": "futures", "region": "eu-west-1"}, "/kind"),
        ({"provider": "aws", "kind": "spot"}, "/region"),
        ({"provider": "aws", "kind": "spot", "region": "eu' or 1 eq 1"}, "/region"),
        ({"provider": "azure", "kind": "on_demand", "region": "West Europe"}, "/region"),
        ({"provider": "linode", "kind": "on_demand", "region": "eu-central"}, "/region"),
        ({"provider": "linode", "kind": "on_demand", "every_s": 1}, "/every_s"),
        ({"provider": "linode"}, "/kind"),
        ({"provider": "linode", "kind": "on_demand", "url": "http://x/"}, "/url"),
    ],
)
def test_feed_is_refused_by_the_name_of_the_field(
    caller: Caller, document: dict[str, Any], field: str
) -> None:
    refused = sent(caller("admin"), "post", FEEDS, document)
    assert refused.status_code == 400
    assert fields(refused) == [field]
    assert not PriceFeed.objects.exists()


@pytest.mark.parametrize("scope", ["read", "write", "run"])
def test_feeds_are_for_admins_only(caller: Caller, scope: str) -> None:
    feed = enabled()
    client = caller(scope)
    assert client.get(FEEDS).status_code == 403
    assert client.get(f"{FEEDS}/{feed.pk}").status_code == 403
    assert sent(client, "post", FEEDS, {}).status_code == 403
    assert sent(client, "patch", f"{FEEDS}/{feed.pk}", {"enabled": False}).status_code == 403


def test_feeds_are_listed_with_freshness_and_counts_in_every_format(caller: Caller) -> None:
    fresh, old = enabled(), enabled("azure", region="westeurope")
    now = clock.now()
    PriceFeed.objects.filter(pk=fresh.pk).update(
        checked_at=now, summary={"priced": 3, "skipped": {"zero": 1}, "quarantined": 1}
    )
    PriceFeed.objects.filter(pk=old.pk).update(
        checked_at=now - dt.timedelta(hours=49), failures=2, last_error="answered 500"
    )
    client = caller("admin")
    listed = {row["provider"]: row for row in client.get(FEEDS).json()["results"]}
    assert (listed["linode"]["stale"], listed["azure"]["stale"]) == (False, True)
    assert (listed["linode"]["priced"], listed["linode"]["quarantined"]) == (3, 1)
    assert (listed["azure"]["failures"], listed["azure"]["last_error"]) == (2, "answered 500")
    assert listed["azure"]["priced"] is None
    assert [row["provider"] for row in rows(client.get(f"{FEEDS}.csv"))] == ["azure", "linode"]
    detail = client.get(f"{FEEDS}/{fresh.pk}").json()
    assert detail["summary"]["skipped"] == {"zero": 1}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("provider=aws", 1),
        ("enabled=0", 1),
        ("region=eu-west-1", 1),
        ("kind=on_demand", 1),
        ("", 2),
    ],
)
def test_feeds_are_filtered_by_what_they_are_of(caller: Caller, query: str, found: int) -> None:
    enabled("aws", "spot", "eu-west-1")
    workspace = factories.workspace()
    feed_update(feed=enabled(), workspace=workspace, is_enabled=False, actor="tester")
    assert caller("admin").get(f"{FEEDS}?{query}").json()["count"] == found


def test_feed_is_disabled_changed_and_enabled_again_when_patched(caller: Caller) -> None:
    feed, client = enabled(), caller("admin")
    address = f"{FEEDS}/{feed.pk}"
    off = sent(client, "patch", address, {"enabled": False}).json()
    assert (off["enabled"], off["next_due_at"]) == (False, None)
    rarely = sent(client, "patch", address, {"every_s": 172_800}).json()
    assert (rarely["enabled"], rarely["every_s"], rarely["next_due_at"]) == (False, 172_800, None)
    on = sent(client, "patch", address, {"enabled": True}).json()
    assert (on["enabled"], on["every_s"]) == (True, 172_800)
    assert on["next_due_at"] is not None
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-1] == "price_feed_enable"
    assert "price_feed_disable" in actions


def test_feed_that_does_not_exist_is_not_found(caller: Caller) -> None:
    client, address = caller("admin"), f"{FEEDS}/00000000-0000-4000-8000-000000000000"
    assert client.get(address).status_code == 404
    assert sent(client, "patch", address, {"enabled": True}).status_code == 404


def test_list_of_a_file_is_not_read_by_itself_before_somebody_asks(caller: Caller) -> None:
    feed = PriceFeed.objects.create(
        provider=factories.provider("azure"), kind="on_demand", is_enabled=False
    )
    refused = sent(caller("admin"), "patch", f"{FEEDS}/{feed.pk}", {"enabled": True})
    # Its file held all regions; what is fetched is a list of one.
    assert fields(refused) == ["/region"]
    feed.refresh_from_db()
    assert not feed.is_enabled
