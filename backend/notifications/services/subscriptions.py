"""Recipients: where notices go, of which kinds, and the secrets that sign them."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.core.crypto import seal, unseal
from backend.core.sealing import identity_of
from backend.foundation.errors import InvalidValue
from backend.notifications.channels import channel_of
from backend.notifications.models import NoticeKind, Subscription

MIN_SECRET_CHARACTERS = 16
MAX_SECRET_CHARACTERS = 200


@transaction.atomic
def subscription_create(
    *,
    workspace: Workspace,
    channel: str,
    address: str,
    secret: str | None,
    kinds: Sequence[str],
    is_enabled: bool,
    actor: str,
    campaign: UUID | None = None,
) -> Subscription:
    """Notify the address of the kinds from now on, of one campaign or of everything.

    Raises InvalidValue with a JSON pointer.
    """
    sender = channel_of(channel)
    sender.check_address(address)
    subscription = Subscription(
        workspace=workspace,
        channel=channel,
        address=address,
        kinds=_check_kinds(kinds),
        is_enabled=is_enabled,
        campaign=campaign,
    )
    if Subscription.objects.filter(
        workspace=workspace, channel=channel, address=address, campaign=campaign
    ).exists():
        raise InvalidValue("/address", f"{address} is subscribed already")
    if sender.is_signed or secret is not None:
        _seal(subscription, secret)
    subscription.save()
    _audit(subscription, "subscription_create", actor)
    return subscription


@transaction.atomic
def subscription_update(
    *, subscription: Subscription, actor: str, **changes: object
) -> Subscription:
    """Change address, secret, kinds or is_enabled; raises InvalidValue with a JSON pointer.

    Another address of a channel that signs needs a secret with it: whoever may write addresses
    shall not have messages signed for a receiver whose secret they do not know.
    """
    subscription = Subscription.objects.select_for_update().get(pk=subscription.pk)
    address, secret = changes.get("address"), changes.get("secret")
    if isinstance(address, str) and address != subscription.address:
        channel = channel_of(subscription.channel)
        channel.check_address(address)
        subscription.address = address
        if channel.is_signed and secret is None:
            raise InvalidValue("/secret", "another address needs a secret of its own")
    if secret is not None:
        _seal(subscription, str(secret))
    kinds = changes.get("kinds")
    if isinstance(kinds, list):
        subscription.kinds = _check_kinds(kinds)
    if "is_enabled" in changes:
        subscription.is_enabled = bool(changes["is_enabled"])
    subscription.save()
    _audit(subscription, "subscription_update", actor)
    return subscription


@transaction.atomic
def subscription_delete(*, subscription: Subscription, actor: str) -> None:
    """Notify the address no more, not even of what waits."""
    # Before the row goes, since its key is part of the entry.
    _audit(subscription, "subscription_delete", actor)
    subscription.delete()


@transaction.atomic
def campaign_subscriptions_delete(*, campaign: UUID, actor: str) -> None:
    """End the alerts of a campaign that is deleted: they would stay silent for good."""
    # One by one, so that each has its entry in the audit trail.
    for subscription in Subscription.objects.filter(campaign=campaign):
        subscription_delete(subscription=subscription, actor=actor)


def subscription_secret(*, subscription: Subscription) -> bytes:
    """The key of the signatures in the clear, for the worker that signs; empty without one."""
    if subscription.sealed_secret is None:
        return b""
    return unseal(bytes(subscription.sealed_secret), identity=identity_of(subscription))


def _seal(subscription: Subscription, secret: str | None) -> None:
    channel = channel_of(subscription.channel)
    if not channel.is_signed:
        raise InvalidValue("/secret", f"messages by {channel.label} are not signed")
    if secret is None or not MIN_SECRET_CHARACTERS <= len(secret) <= MAX_SECRET_CHARACTERS:
        raise InvalidValue(
            "/secret", f"{MIN_SECRET_CHARACTERS} to {MAX_SECRET_CHARACTERS} characters are needed"
        )
    subscription.sealed_secret = seal(secret.encode(), identity=identity_of(subscription))


def _check_kinds(kinds: Sequence[str]) -> list[str]:
    for index, kind in enumerate(kinds):
        if kind not in NoticeKind.values:
            known = ", ".join(NoticeKind.values)
            raise InvalidValue(f"/kinds/{index}", f"{kind!r} is not one of {known}")
    if not kinds:
        raise InvalidValue("/kinds", "at least one kind is needed")
    return list(dict.fromkeys(kinds))


def _audit(subscription: Subscription, action: str, actor: str) -> None:
    audit_record(
        actor=actor,
        action=action,
        target=subscription,
        detail={
            "channel": subscription.channel,
            "address": subscription.address,
            "kinds": subscription.kinds,
            "campaign": str(subscription.campaign) if subscription.campaign else None,
            "is_enabled": subscription.is_enabled,
        },
    )
