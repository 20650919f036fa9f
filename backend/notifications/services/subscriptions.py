"""Recipients: where notices go, of which kinds, and the secrets that sign them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.core.crypto import seal, unseal
from backend.core.sealing import identity_of
from backend.foundation.errors import InvalidValue
from backend.notifications.channels import channel_of
from backend.notifications.models import Subscription
from backend.notifications.selectors.subscriptions import (
    NEEDED_LENGTH,
    SubscriptionDocument,
    SubscriptionFields,
    SubscriptionSettings,
)


@transaction.atomic
def subscription_create(
    *,
    workspace: Workspace,
    document: SubscriptionDocument,
    actor: str,
    campaign: UUID | None = None,
) -> Subscription:
    """Notify the address of the kinds from now on, of one campaign or of everything.

    Raises InvalidValue with a JSON pointer.
    """
    sender = channel_of(document.channel)
    sender.check_address(document.address)
    stated = document.model_dump(exclude={"secret", "kinds"})
    subscription = Subscription(workspace=workspace, campaign=campaign, **stated)
    subscription.kinds = list(dict.fromkeys(document.kinds))
    if Subscription.objects.filter(
        workspace=workspace,
        channel=document.channel,
        address=document.address,
        campaign=campaign,
    ).exists():
        raise InvalidValue("/address", f"{document.address} is subscribed already")
    if sender.is_signed or document.secret is not None:
        _seal(subscription, document.secret)
    subscription.save()
    _audit(subscription, "subscription_create", actor)
    return subscription


@transaction.atomic
def subscription_update(
    *, subscription: Subscription, changes: Mapping[str, Any], actor: str
) -> Subscription:
    """Change fields of SubscriptionSettings; raises InvalidDocument, or InvalidValue with a pointer.

    Another address of a channel that signs needs a secret with it: whoever may write addresses
    shall not have messages signed for a receiver whose secret they do not know.
    """
    subscription = Subscription.objects.select_for_update().get(pk=subscription.pk)
    stored = {name: getattr(subscription, name) for name in SubscriptionFields.model_fields}
    settings = SubscriptionSettings.model_construct(**stored).merge(changes)
    if settings.address != subscription.address:
        channel = channel_of(subscription.channel)
        channel.check_address(settings.address)
        subscription.address = settings.address
        if channel.is_signed and settings.secret is None:
            raise InvalidValue("/secret", "another address needs a secret of its own")
    if settings.secret is not None:
        _seal(subscription, settings.secret)
    subscription.kinds = list(dict.fromkeys(settings.kinds))
    subscription.is_enabled = settings.is_enabled
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
    if secret is None:
        raise InvalidValue("/secret", NEEDED_LENGTH)
    subscription.sealed_secret = seal(secret.encode(), identity=identity_of(subscription))


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
