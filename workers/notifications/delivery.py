"""Delivers notices: e-mail through the mail server of the settings, webhooks signed over https.

A webhook's name is looked up once and only a public address of it is connected to, so that neither
its owner nor their name server can point us into our own network. Redirects are not followed, and
of the answer only the status is read.
"""

import asyncio
import hashlib
import json
import logging
import smtplib
import socket
import ssl
import time
from collections.abc import Callable

import httpx
from django.conf import settings
from django.core.mail import EmailMessage

from backend.common import clock
from backend.domain.addresses import is_public
from backend.domain.errors import InvalidValue
from backend.domain.webhooks import (
    DELIVERY_HEADER,
    SIGNATURE_HEADER,
    Endpoint,
    endpoint,
    signature,
)
from backend.notifications.models import Channel, Notice
from backend.notifications.services.notices import notice_claim, notice_failed, notice_sent
from backend.notifications.services.subscriptions import subscription_secret

log = logging.getLogger(__name__)

BUDGET_S = 45.0
"""After this no further notice is begun, well within a task's time limit."""
POST_S = 15.0
TRIED_ADDRESSES = 3
USER_AGENT = "Rackrate"


class NotDelivered(Exception):
    """Why a notice is not out; fit to be shown to an administrator."""


def deliver_due(*, is_wanted: Callable[[], bool] = lambda: True) -> int:
    """Send what is due, one after the other; returns how many went out."""
    sent = 0
    end = time.monotonic() + BUDGET_S
    while is_wanted() and time.monotonic() < end and (notice := notice_claim()) is not None:
        receiver = f"{notice.subscription.channel} subscription {notice.subscription_id}"
        try:
            _send(notice)
        except NotDelivered as error:
            log.warning("notice %s to %s, attempt %s: %s", *_told(notice, receiver), error)
            notice_failed(notice=notice, error=str(error))
        else:
            log.info("notice %s to %s, attempt %s: sent", *_told(notice, receiver))
            notice_sent(notice=notice)
            sent += 1
    return sent


def _told(notice: Notice, receiver: str) -> tuple[str, str, int]:
    return notice.key, receiver, notice.attempt


def _send(notice: Notice) -> None:
    if not notice.subscription.is_enabled:
        raise NotDelivered("the subscription is disabled")
    if notice.subscription.channel == Channel.EMAIL:
        _send_email(notice)
    else:
        _send_webhook(notice)


# --- e-mail -----------------------------------------------------------------------------------------


def _send_email(notice: Notice) -> None:
    if not settings.EMAIL_HOST:
        raise NotDelivered("e-mail is not set up on this server (EMAIL_URL)")
    told = notice.document
    sender_host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    unique = hashlib.sha256(f"{notice.pk}:{notice.key}".encode()).hexdigest()[:32]
    message = EmailMessage(
        subject=" ".join(f"[Rackrate] {told['title']}".split())[:200],
        body=f"{told['detail']}\n\n{told['url']}\n",
        to=[notice.subscription.address],
        headers={
            # The same at every attempt: a message that comes twice can be seen to be one.
            "Message-ID": f"<{unique}@{sender_host}>",
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        message.send()
    except (smtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}") from error


# --- webhooks ---------------------------------------------------------------------------------------


def _send_webhook(notice: Notice) -> None:
    subscription = notice.subscription
    body = json.dumps({"id": notice.key, **notice.document}, sort_keys=True).encode()
    at = int(clock.now().timestamp())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        DELIVERY_HEADER: notice.key,
        SIGNATURE_HEADER: signature(subscription_secret(subscription=subscription), body, at),
    }
    try:
        place = endpoint(subscription.address, is_private_allowed=settings.WEBHOOK_ALLOW_PRIVATE)
    except InvalidValue as error:
        raise NotDelivered(error.detail) from error
    status = _posted(place, body, headers)
    if not 200 <= status < 300:
        hint = ": redirects are not followed" if 300 <= status < 400 else ""
        raise NotDelivered(f"answered {status}{hint}")


def addresses_of(place: Endpoint) -> list[str]:
    """The IP addresses of the endpoint, all of them public unless private ones are allowed."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotDelivered(f"{place.host} cannot be looked up: {error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        if not settings.WEBHOOK_ALLOW_PRIVATE and not is_public(address.partition("%")[0]):
            raise NotDelivered(f"{place.host} leads to {address}, which is not a public address")
    return addresses


def _posted(place: Endpoint, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer; NotDelivered when there is none."""
    last = "no address"
    for address in addresses_of(place)[:TRIED_ADDRESSES]:
        try:
            return asyncio.run(_post(place, address, body, headers))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            last = f"{address}: {error}"
        except TimeoutError:
            raise NotDelivered(f"no answer within {POST_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from error
    raise NotDelivered(f"cannot connect to {last}")


async def _post(place: Endpoint, address: str, body: bytes, headers: dict[str, str]) -> int:
    """Connect to the address that was checked; certificate and Host are those of the name."""
    bracketed = f"[{address}]" if ":" in address else address
    named = f"[{place.host}]" if ":" in place.host else place.host
    # No proxy, no credentials from the environment; the system's certificate store.
    client = httpx.AsyncClient(
        trust_env=False,
        verify=ssl.create_default_context(),
        follow_redirects=False,
        timeout=httpx.Timeout(POST_S, connect=POST_S / TRIED_ADDRESSES),
    )
    async with (
        asyncio.timeout(POST_S),
        client,
        client.stream(
            "POST",
            f"{place.scheme}://{bracketed}:{place.port}{place.target}",
            content=body,
            headers={**headers, "Host": f"{named}:{place.port}"},
            extensions={"sni_hostname": place.host},
        ) as response,
    ):
        return response.status_code
