"""Who asks: tokens as Bearer or as the password of Basic, and browser sessions.

The API framework imports this module while it loads, so nothing here may import its views.
"""

import base64
import binascii
from typing import NoReturn

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.authentication import SessionAuthentication as DjangoSession
from rest_framework.exceptions import (
    AuthenticationFailed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from backend.accounts.models import AccessKey, ApiToken, Scope, User
from backend.accounts.selectors.tokens import token_in_force
from backend.accounts.services.sign_ins import refusal_record
from backend.accounts.services.tokens import key_mark_used

REALM = "rackrate"
# Characters of a token or key that lead to its row: prefix and lookup.
NO_SECRET = 11
CHALLENGE = f'Bearer realm="{REALM}", Basic realm="{REALM}", charset="UTF-8"'


class KeyHolder:
    """The caller behind a key, where Django expects a user."""

    # Permissions ask these three of whoever calls.
    is_authenticated = True
    is_anonymous = False
    is_active = True

    def __init__(self, kind: str, key: AccessKey, scope: Scope) -> None:
        self.pk = key.pk
        self.scope = scope
        self.username = f"{kind} {key.name}"

    def __str__(self) -> str:
        return self.username


class TokenHolder(KeyHolder):
    """The caller behind a token of the API, who acts for its owner."""

    def __init__(self, token: ApiToken) -> None:
        super().__init__("token", token, token.granted)
        self.owner = token.owner


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer rr_…`, or Basic with the token as password and any user name."""

    def authenticate(self, request: Request) -> tuple[TokenHolder, ApiToken] | None:
        header = get_authorization_header(request)
        # None lets the session be tried. A token that is wrong is 401 even where strangers may
        # read: its owner would else take public answers for their own.
        if not header:
            return None
        presented = _token_of(header)
        token = token_in_force(presented)
        if token is None:
            refuse(request, "token_refused", presented, "the token is unknown, expired or revoked")
        _check_origin(request, header)
        # After the check, so that a refused token leaves no trace of a use.
        key_mark_used(key=token, plaintext=presented)
        return TokenHolder(token), token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


def refuse(request: Request, action: str, presented: str, detail: str) -> NoReturn:
    """401, or 429 for an address that has tried too many tokens or keys in vain.

    A right one is never refused for the wrong ones of its neighbours, so it is looked at first.
    """
    begins = "".join(c if c.isascii() and c.isprintable() else "?" for c in presented[:NO_SECRET])
    allowance = refusal_record(request=request._request, action=action, begins=begins)
    if allowance is not None and allowance.is_exceeded:
        raise Throttled(allowance.wait_s, detail)
    raise AuthenticationFailed(detail)


def _check_origin(request: Request, header: bytes) -> None:
    """Raises PermissionDenied for a write that a page of another site may have made a browser send.

    A browser keeps the password of Basic and sends it by itself, so Basic only reads. A token in
    JavaScript of another site is refused as well: it belongs on a server.
    """
    if request.method in SAFE_METHODS:
        return
    if header.lower().startswith(b"basic"):
        raise PermissionDenied("a token as the password of Basic only reads; send it as Bearer")
    origin = request.headers.get("Origin")
    if origin is not None and origin not in {*settings.CSRF_TRUSTED_ORIGINS, _own_origin(request)}:
        raise PermissionDenied(f"requests of pages of {origin[:200]} are refused")


def _own_origin(request: Request) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _token_of(header: bytes) -> str:
    scheme, _, value = header.partition(b" ")
    try:
        if scheme.lower() == b"bearer":
            return value.strip().decode("ascii")
        if scheme.lower() == b"basic":
            # Excel and Power Query can send a password and no header of their own; the user name is
            # of no use.
            _, _, password = base64.b64decode(value.strip(), validate=True).partition(b":")
            return password.decode("ascii")
    except (UnicodeDecodeError, binascii.Error):
        pass
    raise AuthenticationFailed("the Authorization header is not Bearer or Basic with a token")


class SessionAuthentication(DjangoSession):
    """A browser's session; without one the answer is 401, never a redirect."""

    # Without a challenge the framework answers 403, which reads as if signing in could not help.
    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


def person_of(request: Request) -> User:
    """The person behind a request that is known: who signed in, or the owner of the token."""
    user: object = request.user
    if isinstance(user, TokenHolder):
        return user.owner
    if isinstance(user, User):
        return user
    raise NotAuthenticated


def actor(request: Request) -> str:
    """Who is written into the audit trail."""
    return str(request.user)


def reader(request: Request) -> str:
    """Who reads, as the owner of something is kept: the person, also behind a token; empty for a
    stranger."""
    user: object = request.user
    if isinstance(user, TokenHolder):
        # Not the name of the token: another one of that name would inherit what this one made.
        return user.owner.get_username()
    return str(user) if request.user.is_authenticated else ""
