"""Feed keys: each is a secret address under which one saved view is read, without an account.

A key `rf_<lookup><secret>` holds 192 random bits and is shown once; an HMAC of it is kept. It opens
its view and nothing else, until it expires or is revoked.
"""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from backend.accounts.models import User, Workspace
from backend.accounts.selectors.tokens import key_of_text, scope_of
from backend.accounts.services.audit import audit_record
from backend.accounts.services.tokens import key_secret
from backend.core import clock
from backend.core.logs import FEED_PREFIX
from backend.foundation.errors import InvalidValue
from backend.rankings.models import FeedKey, SavedView

DEFAULT_DAYS, MAX_DAYS = 365, 3_650
# Keys in force of one view.
MOST_KEYS = 50


# --- reads ------------------------------------------------------------------------------------


def feed_key_match(plaintext: str) -> FeedKey | None:
    """The key in force that this text is, with its view and workspace; None for every other text."""
    keys = FeedKey.objects.select_related("view__workspace", "owner")
    key = key_of_text(keys, FEED_PREFIX, plaintext)
    return key if key is not None and is_in_force(key) else None


def is_in_force(key: FeedKey) -> bool:
    """False once it is revoked or expired, or its owner is disabled or no member any more."""
    is_owned = key.owner is None or scope_of(key.owner, key.view.workspace) is not None
    return key.is_current and is_owned


def feed_keys_of(user: User, workspace: Workspace) -> list[FeedKey]:
    """Keys in force that end with the person's membership."""
    keys = FeedKey.objects.filter(owner=user, view__workspace=workspace)
    return [key for key in keys.select_related("view__workspace", "owner") if is_in_force(key)]


def feed_keys_visible(workspace_slug: str, reader: str, *, is_admin: bool) -> QuerySet[FeedKey]:
    """The keys that the reader made or that open the reader's views; for an admin all."""
    rows = FeedKey.objects.select_related("view__workspace", "owner").filter(
        view__workspace__slug=workspace_slug
    )
    if is_admin:
        return rows
    return rows.filter(Q(created_by=reader) | Q(view__owner=reader)) if reader else rows.none()


# --- writes -----------------------------------------------------------------------------------


@transaction.atomic
def feed_key_create(
    *, view: SavedView, name: str, expires_days: int = DEFAULT_DAYS, actor: str
) -> tuple[FeedKey, str]:
    """A new key of the view and its text, which is shown once and never stored.

    Raises InvalidValue for a blank or used name, no days or too many, or a view with too many keys.
    """
    if not settings.FEEDS:
        raise InvalidValue("/view", "feeds are switched off here; use an API token")
    now = clock.now()
    name = " ".join(name.split())
    if not name or len(name) > 100 or not name.isprintable():
        raise InvalidValue("/name", "1 to 100 characters are needed")
    if not 1 <= expires_days <= MAX_DAYS:
        raise InvalidValue("/expires_days", f"1 to {MAX_DAYS} days are allowed")
    # Two requests at once could otherwise both count one key less than the limit.
    view = SavedView.objects.select_for_update().get(pk=view.pk)
    in_force = view.feed_keys.filter(revoked_at=None, expires_at__gt=now)
    if in_force.filter(name=name, created_by=actor).exists():
        raise InvalidValue("/name", f"a key named {name!r} is active; revoke it first")
    if in_force.count() >= MOST_KEYS:
        raise InvalidValue("/view", f"{MOST_KEYS} of its keys are active; revoke one first")
    plaintext, kept = key_secret(FEED_PREFIX)
    key = FeedKey.objects.create(
        view=view,
        name=name,
        **kept,
        expires_at=now + dt.timedelta(days=expires_days),
        created_by=actor,
        owner=User.objects.filter(username=actor).first(),
    )
    _record(key, actor, "feed_key_create")
    return key, plaintext


@transaction.atomic
def feed_key_revoke(*, key: FeedKey, actor: str) -> FeedKey:
    """End a key at once; revoking twice changes nothing."""
    if key.revoked_at is None:
        key.revoked_at = clock.now()
        key.save(update_fields=["revoked_at"])
        _record(key, actor, "feed_key_revoke")
    return key


def _record(key: FeedKey, actor: str, action: str) -> None:
    """Into the audit trail, which others read: nothing of a private view."""
    view = key.view
    detail = {} if view.is_private else {"name": key.name, "view": view.slug}
    audit_record(workspace=view.workspace, actor=actor, action=action, target=key, detail=detail)
