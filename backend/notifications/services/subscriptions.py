"""Recipients: where notices go, of which kinds, and the secrets that sign them."""

from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.common.crypto import opened, sealed
from backend.domain.errors import InvalidValue
from backend.domain.webhooks import endpoint
from backend.notifications.models import Channel, NoticeKind, Subscription

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
) -> Subscription:
    """Tell somebody of the kinds from now on; raises InvalidValue with a JSON pointer."""
    subscription = Subscription(
        workspace=workspace,
        channel=channel,
        address=_checked_address(channel, address),
        kinds=_checked_kinds(kinds),
        is_enabled=is_enabled,
    )
    if Subscription.objects.filter(
        workspace=workspace, channel=channel, address=subscription.address
    ).exists():
        raise InvalidValue("/address", f"{address} is subscribed already")
    if channel == Channel.WEBHOOK:
        _seal(subscription, secret)
    elif secret is not None:
        raise InvalidValue("/secret", "only webhooks are signed")
    subscription.save()
    _audit(subscription, "subscription_create", actor)
    return subscription


@transaction.atomic
def subscription_update(
    *, subscription: Subscription, actor: str, **wanted: object
) -> Subscription:
    """Change address, secret, kinds or is_enabled; raises InvalidValue with a JSON pointer.

    Another address of a webhook needs its secret anew: whoever may write addresses shall not
    have messages signed for a receiver whose secret they do not know.
    """
    subscription = Subscription.objects.select_for_update().get(pk=subscription.pk)
    address, secret = wanted.get("address"), wanted.get("secret")
    if isinstance(address, str) and address != subscription.address:
        subscription.address = _checked_address(subscription.channel, address)
        if subscription.channel == Channel.WEBHOOK and secret is None:
            raise InvalidValue("/secret", "another address needs a secret of its own")
    if secret is not None:
        if subscription.channel != Channel.WEBHOOK:
            raise InvalidValue("/secret", "only webhooks are signed")
        _seal(subscription, str(secret))
    kinds = wanted.get("kinds")
    if isinstance(kinds, list):
        subscription.kinds = _checked_kinds(kinds)
    if "is_enabled" in wanted:
        subscription.is_enabled = bool(wanted["is_enabled"])
    subscription.save()
    _audit(subscription, "subscription_update", actor)
    return subscription


@transaction.atomic
def subscription_delete(*, subscription: Subscription, actor: str) -> None:
    """Forget who was told, and what was still to be told to them."""
    _audit(subscription, "subscription_delete", actor)
    subscription.delete()


def subscription_secret(*, subscription: Subscription) -> bytes:
    """The key of a webhook's signature in the clear, for the worker that signs."""
    if subscription.sealed_secret is None:
        return b""
    return opened(bytes(subscription.sealed_secret), identity=_identity(subscription))


def _identity(subscription: Subscription) -> str:
    return f"subscription:{subscription.pk}"


def _seal(subscription: Subscription, secret: str | None) -> None:
    if secret is None or not MIN_SECRET_CHARACTERS <= len(secret) <= MAX_SECRET_CHARACTERS:
        raise InvalidValue(
            "/secret", f"{MIN_SECRET_CHARACTERS} to {MAX_SECRET_CHARACTERS} characters are needed"
        )
    subscription.sealed_secret = sealed(secret.encode(), identity=_identity(subscription))


def _checked_address(channel: str, address: str) -> str:
    if channel == Channel.WEBHOOK:
        endpoint(address, is_private_allowed=settings.WEBHOOK_ALLOW_PRIVATE)
        return address
    if channel != Channel.EMAIL:
        raise InvalidValue("/channel", f"{channel!r} is not one of {', '.join(Channel.values)}")
    if not settings.EMAIL_HOST:
        raise InvalidValue("/channel", "e-mail is not set up on this server (EMAIL_URL)")
    try:
        validate_email(address)
    except ValidationError:
        raise InvalidValue("/address", f"{address[:80]!r} is not an e-mail address") from None
    return address


def _checked_kinds(kinds: Sequence[str]) -> list[str]:
    for index, kind in enumerate(kinds):
        if kind not in NoticeKind.values:
            known = ", ".join(NoticeKind.values)
            raise InvalidValue(f"/kinds/{index}", f"{kind!r} is not one of {known}")
    if not kinds:
        raise InvalidValue("/kinds", "at least one kind is needed")
    return list(dict.fromkeys(kinds))


def _audit(subscription: Subscription, action: str, actor: str) -> None:
    audit_record(
        workspace=subscription.workspace,
        actor=actor,
        action=action,
        target=subscription,
        detail={
            "channel": subscription.channel,
            "address": subscription.address,
            "kinds": subscription.kinds,
            "is_enabled": subscription.is_enabled,
        },
    )
