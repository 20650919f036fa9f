"""API tokens by what callers present."""

import hashlib
import hmac

from django.conf import settings
from django.db.models import QuerySet

from backend.accounts.models import ApiToken, Scope, User, Workspace
from backend.common import clock

TOKEN_PREFIX = "rr_"  # noqa: S105  (a prefix, no secret)
LOOKUP_LENGTH = 8
NO_DIGEST = bytes(32)


def token_digest(plaintext: str) -> bytes:
    """HMAC-SHA256 of the whole token under TOKEN_PEPPER (32 bytes)."""
    return _digest(settings.TOKEN_PEPPER, plaintext)


def _digest(pepper: str, plaintext: str) -> bytes:
    # A slow hash is for passwords: a token is random, so nobody guesses it from a digest.
    return hmac.digest(pepper.encode(), plaintext.encode(), hashlib.sha256)


def token_digests(plaintext: str) -> list[bytes]:
    """The same under each pepper that counts, the present one first."""
    peppers = [settings.TOKEN_PEPPER, *settings.TOKEN_PEPPERS_PREVIOUS]
    return [_digest(pepper, plaintext) for pepper in peppers]


def is_digest_of(stored: bytes, plaintext: str) -> bool:
    """Compared in constant time, whichever it is."""
    return any(hmac.compare_digest(stored, digest) for digest in token_digests(plaintext))


def tokens_of(workspace: Workspace) -> QuerySet[ApiToken]:
    """Every token that was ever made there, the newest first."""
    return ApiToken.objects.filter(workspace=workspace).order_by("-created_at")


def token_in_force(plaintext: str) -> ApiToken | None:
    """The token in force that this text is, with its workspace; None for every other text.

    The digests are compared in constant time, also when the lookup part is unknown.
    """
    token = None
    # PostgreSQL refuses NUL in text: a header that anybody can send would be a fault of the server.
    if plaintext.startswith(TOKEN_PREFIX) and "\0" not in plaintext:
        lookup = plaintext[len(TOKEN_PREFIX) :][:LOOKUP_LENGTH]
        rows = ApiToken.objects.select_related("workspace", "owner").filter(lookup=lookup)
        # One at most: `first` would have it sorted, which takes a fifth of all this.
        token = next(iter(rows), None)
    is_right = is_digest_of(bytes(token.digest) if token else NO_DIGEST, plaintext)
    if token is None or not is_right:
        return None
    if token.revoked_at is not None or token.expires_at <= clock.now():
        return None
    # It ends with its owner: disabled, or no longer a member of the workspace.
    most = scope_of(token.owner, token.workspace)
    if most is None:
        return None
    scope = Scope(token.scope)
    token.granted = scope if most.includes(scope) else most
    return token


def scope_of(owner: User | None, workspace: Workspace) -> Scope | None:
    """Scope of an active person in a workspace; None for one who is no member."""
    if owner is None or not owner.is_active:
        return None
    if owner.is_superuser:
        return Scope.ADMIN
    membership = owner.memberships.filter(workspace=workspace).first()
    return Scope(membership.role) if membership else None
