"""Reads of workspaces, API tokens and accounts at clouds."""

import datetime as dt
import hashlib
import hmac

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from backend.accounts.models import ApiToken, CloudAccount, SignInLink, Workspace
from backend.common import clock

TOKEN_PREFIX = "rr_"  # noqa: S105  (a prefix, no secret)
LOOKUP_LENGTH = 8
DEFAULT_WORKSPACE = "default"


def default_workspace() -> Workspace:
    """The one workspace there is until there are more; made on first use."""
    return Workspace.objects.get_or_create(slug=DEFAULT_WORKSPACE, defaults={"name": "Default"})[0]


def token_digest(plaintext: str) -> bytes:
    """HMAC-SHA256 of the whole token under TOKEN_PEPPER (32 bytes)."""
    return hmac.digest(settings.TOKEN_PEPPER.encode(), plaintext.encode(), hashlib.sha256)


def token_found(plaintext: str) -> ApiToken | None:
    """The token in force that this text is, with its workspace; None for every other text.

    The digests are compared in constant time, also when the lookup part is unknown.
    """
    digest = token_digest(plaintext)
    token = None
    if plaintext.startswith(TOKEN_PREFIX) and "\0" not in plaintext:
        lookup = plaintext[len(TOKEN_PREFIX) :][:LOOKUP_LENGTH]
        token = ApiToken.objects.select_related("workspace").filter(lookup=lookup).first()
    is_right = hmac.compare_digest(bytes(token.digest) if token else bytes(len(digest)), digest)
    if token is None or not is_right:
        return None
    if token.revoked_at is not None or token.expires_at <= clock.now():
        return None
    return token


def sign_in_links(secret: str) -> QuerySet[SignInLink]:
    """The link in force that this secret opens, or none; the person must be active.

    The digest is under a key, so what the time of the lookup may tell of it is of no use.
    """
    return SignInLink.objects.filter(
        digest=token_digest(secret), expires_at__gt=clock.now(), user__is_active=True
    )


def checks_due(*, since_s: float) -> list[str]:
    """Ids of accounts whose check was asked for at least so many seconds ago, the first ones first."""
    due = CloudAccount.objects.filter(check_requested_at__lte=Now() - dt.timedelta(seconds=since_s))
    return [str(pk) for pk in due.order_by("check_requested_at").values_list("pk", flat=True)]
