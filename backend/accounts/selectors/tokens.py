"""API tokens and other keys by what callers present."""

import hashlib
import hmac
from typing import TypeVar

from django.conf import settings
from django.db.models import QuerySet

from backend.accounts.models import AccessKey, ApiToken, Scope, User, Workspace

TOKEN_PREFIX = "rr_"  # noqa: S105  (a prefix, no secret)
LOOKUP_LENGTH = 8
NO_DIGEST = bytes(32)
Key = TypeVar("Key", bound=AccessKey)


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
    tokens = ApiToken.objects.filter(workspace=workspace)
    return tokens.select_related("owner").order_by("-created_at")


def key_of_text(keys: QuerySet[Key], prefix: str, plaintext: str) -> Key | None:
    """The key that this text is, neither revoked nor expired; None for every other text.

    The digests are compared in constant time, also when the lookup part is unknown.
    """
    key = None
    # PostgreSQL refuses NUL in text: a header that anybody can send would be a fault of the server.
    if plaintext.startswith(prefix) and "\0" not in plaintext:
        lookup = plaintext[len(prefix) :][:LOOKUP_LENGTH]
        # One at most: `first` would have it sorted, which takes a fifth of all this.
        key = next(iter(keys.filter(lookup=lookup)), None)
    is_right = is_digest_of(bytes(key.digest) if key else NO_DIGEST, plaintext)
    return key if key is not None and is_right and key.is_current else None


def token_in_force(plaintext: str) -> ApiToken | None:
    """The token in force that this text is, with its workspace; None for every other text."""
    tokens = ApiToken.objects.select_related("workspace", "owner")
    token = key_of_text(tokens, TOKEN_PREFIX, plaintext)
    # It ends with its owner: disabled, or no longer a member of the workspace.
    most = scope_of(token.owner, token.workspace) if token else None
    if token is None or most is None:
        return None
    scope = Scope(token.scope)
    token.granted = scope if most.includes(scope) else most
    return token


def scope_of(owner: User, workspace: Workspace) -> Scope | None:
    """Scope of an active person in a workspace; None for one who is no member."""
    if not owner.is_active:
        return None
    if owner.is_superuser:
        return Scope.ADMIN
    membership = owner.memberships.filter(workspace=workspace).first()
    return Scope(membership.role) if membership else None
