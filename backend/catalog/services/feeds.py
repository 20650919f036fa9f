"""Lists of prices that are read again and again: which, when, by whom, and what came of it.

A worker claims a feed for a while; what it writes counts only while the claim holds, so a worker
that died or was late never publishes over another one's work.
"""

import datetime as dt
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Now

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import PriceFeed, PricePayload, Provider
from backend.catalog.selectors.feeds import REQUESTED
from backend.catalog.services.offers import provider_get
from backend.core import clock
from backend.foundation.errors import DomainError, InvalidValue
from backend.providers.price_feeds import FeedKind, backoff_s, next_due
from backend.providers.price_refresh import Trouble
from backend.providers.registry import feed_kind
from backend.providers.spool import Payload

# Longer than a fetch may take (workers.pricelists.fetching).
LEASE = dt.timedelta(minutes=30)
PAYLOADS_KEPT = dt.timedelta(days=90)
MIN_EVERY_S, MAX_EVERY_S = 600, 30 * 86_400
MAX_ERROR_CHARACTERS = 500
REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,49}", re.ASCII)


class ClaimLost(DomainError):
    """Somebody else has the feed, or it is gone; what was fetched since does not count."""


class FeedBusy(DomainError):
    """The feed is being fetched at this moment."""


@dataclass(frozen=True)
class FeedClaim:
    """The right to write about a feed until the lease ends."""

    feed: PriceFeed
    until: dt.datetime


@transaction.atomic
def feed_enable(
    *,
    workspace: Workspace,
    provider: str,
    kind: str,
    region: str = "",
    every_s: int | None = None,
    actor: str,
) -> PriceFeed:
    """Read a list from now on, at once for the first time; raises InvalidValue with a pointer."""
    source = feed_kind(provider, kind)
    feed = feed_of(provider, source, region)
    return feed_update(
        feed=feed,
        workspace=workspace,
        is_enabled=True,
        every_s=source.every_s if every_s is None else every_s,
        actor=actor,
    )


@transaction.atomic
def feed_update(
    *,
    feed: PriceFeed,
    workspace: Workspace,
    is_enabled: bool | None = None,
    every_s: int | None = None,
    actor: str,
) -> PriceFeed:
    """Enable or disable a feed, or read it more or less often; what is None stays.

    An enabled one is due at once. The prices of one that is read no more stay; in time they are
    shown as stale. Raises InvalidValue with a pointer, NotOwned for a workspace that only sees it.
    """
    demand_owner(workspace, feed)
    feed = PriceFeed.objects.select_related("provider").get(pk=feed.pk)
    kind = feed_kind(feed.provider.slug, feed.kind)
    if every_s is not None:
        if not MIN_EVERY_S <= every_s <= MAX_EVERY_S:
            raise InvalidValue("/every_s", f"{MIN_EVERY_S} to {MAX_EVERY_S} seconds are possible")
        feed.every_s = every_s
    if is_enabled is not None:
        feed.is_enabled = is_enabled
    if feed.is_enabled:
        _check_region(feed.provider.slug, kind, feed.region)
    feed.next_due_at = clock.now() if feed.is_enabled else None
    feed.save(update_fields=("is_enabled", "every_s", "next_due_at"))
    action = "price_feed_enable" if feed.is_enabled else "price_feed_disable"
    _audit(feed, action, workspace, actor)
    return feed


def feed_of(provider: str, kind: FeedKind, region: str) -> PriceFeed:
    """The row of a list, made on first use and not read by itself; raises InvalidValue."""
    _check_region(provider, kind, region)
    return PriceFeed.objects.get_or_create(
        provider=provider_get(slug=provider),
        kind=kind.kind,
        region=region,
        defaults={"is_enabled": False, "every_s": kind.every_s},
    )[0]


def _check_region(provider: str, kind: FeedKind, region: str) -> None:
    if kind.is_regional and not REGION.fullmatch(region):
        raise InvalidValue("/region", f"{provider} {kind.kind} needs the code of a region")
    if region and not kind.is_regional:
        raise InvalidValue("/region", f"{provider} {kind.kind} is one list of all regions")


def _audit(feed: PriceFeed, action: str, workspace: Workspace, actor: str) -> None:
    detail: dict[str, object] = {
        "provider": feed.provider.slug,
        "kind": feed.kind,
        "region": feed.region,
        "every_s": feed.every_s,
    }
    audit_record(workspace=workspace, actor=actor, action=action, target=feed, detail=detail)


# --- what a worker does with it -------------------------------------------------------------------


def feeds_due() -> QuerySet[PriceFeed]:
    """Feeds that should be read now and that nobody reads, the longest due first."""
    # By the clock of the database: those of several workers may differ.
    due = PriceFeed.objects.filter(_is_free(), next_due_at__lte=Now())
    return due.filter(Q(is_enabled=True) | REQUESTED).order_by("next_due_at", "pk")


def _is_free() -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=Now())


@transaction.atomic
def feed_claim() -> FeedClaim | None:
    """The right to read a feed that is due; None where there is none. Never waits for others."""
    feed = feeds_due().select_for_update(skip_locked=True, of=("self",)).first()
    return None if feed is None else _claim(feed.pk)


@transaction.atomic
def feed_claim_now(*, feed: PriceFeed) -> FeedClaim:
    """The right to read this feed, due or not. Raises FeedBusy."""
    free = PriceFeed.objects.select_for_update(skip_locked=True, of=("self",)).filter(_is_free())
    if not free.filter(pk=feed.pk).exists():
        raise FeedBusy(f"{feed.provider.slug} {feed.kind} {feed.region} is being fetched".strip())
    return _claim(feed.pk)


def _claim(feed_id: UUID) -> FeedClaim:
    PriceFeed.objects.filter(pk=feed_id).update(lease_until=Now() + LEASE)
    feed = PriceFeed.objects.select_related("provider").get(pk=feed_id)
    assert feed.lease_until is not None  # noqa: S101  (just written)
    return FeedClaim(feed, feed.lease_until)


@contextmanager
def feed_fenced(claim: FeedClaim) -> Iterator[PriceFeed]:
    """A transaction in which the feed is ours; its row stays locked to the end. Raises ClaimLost."""
    with transaction.atomic():
        # In the order in which lists are recorded: the provider, then its feeds.
        Provider.objects.select_for_update(no_key=True).get(pk=claim.feed.provider_id)
        feed = (
            PriceFeed.objects.select_for_update(of=("self",))
            .select_related("provider")
            .filter(pk=claim.feed.pk, lease_until=claim.until, lease_until__gt=Now())
            .first()
        )
        if feed is None:
            raise ClaimLost(f"feed {claim.feed.pk} is no longer ours")
        yield feed


def feed_read(*, feed: PriceFeed, etag: str, last_modified: str) -> None:
    """An answer was recorded: the next reading asks whether it still holds. Within feed_fenced."""
    # What does not fit is not sent back: a shortened one would never match.
    feed.etag = etag if len(etag) <= 300 else ""
    feed.last_modified = last_modified if len(last_modified) <= 100 else ""
    feed.save(update_fields=("etag", "last_modified"))
    feed_unchanged(feed=feed)


def feed_unchanged(*, feed: PriceFeed) -> None:
    """The provider said now that its last answer holds. Within feed_fenced."""
    now = clock.now()
    feed.checked_at = feed.tried_at = now
    feed.last_error = feed.trouble = ""
    feed.failures = 0
    feed.lease_until = feed.next_due_at = None
    if feed.is_enabled:
        kind = feed_kind(feed.provider.slug, feed.kind)
        feed.next_due_at = next_due(kind, now, share=_share(), every_s=feed.every_s)
    feed.save(
        update_fields=(
            "checked_at",
            "tried_at",
            "last_error",
            "trouble",
            "failures",
            "lease_until",
            "next_due_at",
        )
    )


@transaction.atomic
def feed_failed(
    *, claim: FeedClaim, error: str, trouble: Trouble = Trouble.UNREADABLE, after_s: float = 0
) -> None:
    """No prices: the last good ones stay in force. Tried again after a while; `error` holds no
    secret. Says nothing where the claim is lost."""
    # The end of the lease is the fence: whoever claimed it since wrote another one.
    mine = PriceFeed.objects.filter(pk=claim.feed.pk, lease_until=claim.until)
    feed = mine.select_for_update().first()
    if feed is None:
        return
    now = clock.now()
    wait_s = backoff_s(feed.failures + 1, share=_share(), at_least_s=after_s)
    said: dict[str, Any] = {
        "tried_at": now,
        "failures": F("failures") + 1,
        # PostgreSQL stores no NUL, and an answer that is quoted may hold one.
        "last_error": error.replace("\0", "")[:MAX_ERROR_CHARACTERS],
        "trouble": trouble,
        "next_due_at": Case(
            When(is_enabled=True, then=now + dt.timedelta(seconds=wait_s)), default=None
        ),
    }
    mine.update(lease_until=None, **said)
    if trouble in {Trouble.UNREACHABLE, Trouble.THROTTLED} and feed.region:
        # The provider's other regions are at the same address: each would take as long to say the same.
        alike = PriceFeed.objects.filter(_is_free(), REQUESTED, provider=feed.provider_id)
        alike.exclude(region="").update(**said)


def feed_given_back(*, claim: FeedClaim) -> None:
    """Not read after all, and due as before."""
    PriceFeed.objects.filter(pk=claim.feed.pk, lease_until=claim.until).update(lease_until=None)


def _share() -> float:
    # Not for secrets: so that feeds do not all come at once.
    return random.random()  # noqa: S311


# --- answers as they came --------------------------------------------------------------------------


def payload_keep(*, feed: PriceFeed, payload: Payload, fetched_at: dt.datetime) -> None:
    """Keep an answer, once however often it comes; one that is too large is not kept."""
    if payload.raw_gzip is None:
        return
    PricePayload.objects.get_or_create(
        feed=feed,
        sha256=payload.sha256,
        defaults={
            "size_bytes": payload.size_bytes,
            "raw_gzip": payload.raw_gzip,
            "fetched_at": fetched_at,
        },
    )


def payloads_tidy(*, feed: PriceFeed, sha256: str) -> None:
    """The answer of this hash came again now; forget those that last came over 90 days ago."""
    now = clock.now()
    payloads = PricePayload.objects.filter(feed=feed)
    payloads.filter(sha256=sha256).update(fetched_at=now)
    payloads.filter(fetched_at__lt=now - PAYLOADS_KEPT).delete()
