"""Sessions of browsers: what is known of each, how long they last, and their end."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest

from backend.accounts.models import User
from backend.accounts.selectors.people import sessions_of
from backend.accounts.selectors.tokens import token_digest
from backend.core import clock
from backend.core.rest.throttles import client_address, client_network

SIGNED_IN, SEEN, ADDRESS, AGENT = "signed_in_at", "seen_at", "address", "agent"
SEEN_NOTED_EVERY_S = 300
MOST_AGENT = 150


@dataclass(frozen=True)
class BrowserSession:
    """A session of a person; `name` addresses it without being its key."""

    name: str
    agent: str
    address: str
    signed_in_at: dt.datetime
    seen_at: dt.datetime
    is_this: bool


def address_of(request: HttpRequest) -> str | None:
    """Address that failures are counted by; None where it is not known, as in commands."""
    return client_network(request) or None


@receiver(user_logged_in)
def _note(sender: object, request: HttpRequest, user: User, **_: Any) -> None:
    """Description of the session that begins, for its person."""
    now = clock.now().timestamp()
    request.session[SIGNED_IN] = request.session[SEEN] = now
    request.session[ADDRESS] = client_address(request)
    request.session[AGENT] = request.headers.get("User-Agent", "")[:MOST_AGENT]


def session_is_over(request: HttpRequest) -> bool:
    """True if nobody used it for SESSION_IDLE_S, or it is older than SESSION_LIFE_S; notes that
    it was used, every few minutes."""
    now = clock.now().timestamp()
    since, seen = request.session[SIGNED_IN], request.session[SEEN]
    if now - since > settings.SESSION_LIFE_S or now - seen > settings.SESSION_IDLE_S:
        return True
    if now - seen > SEEN_NOTED_EVERY_S:
        request.session[SEEN] = now
    return False


def browser_sessions(user: User, this: str | None) -> Iterator[BrowserSession]:
    """Sessions of the person in force; `this` is the key of the one that asks."""
    for row in sessions_of(user):
        kept = row.get_decoded()
        yield BrowserSession(
            name=_name(row),
            agent=kept[AGENT],
            address=kept[ADDRESS],
            signed_in_at=_moment(kept[SIGNED_IN]),
            seen_at=_moment(kept[SEEN]),
            is_this=row.session_key == this,
        )


def session_end(*, user: User, name: str) -> bool:
    """End the person's session of this name; False where there is none."""
    for row in sessions_of(user):
        if _name(row) == name:
            row.delete()
            return True
    return False


def _name(row: Session) -> str:
    # The key stands for the person, and would come into logs with the address of a page.
    return token_digest(row.session_key).hex()[:32]


def _moment(unix_s: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(unix_s, dt.UTC)
