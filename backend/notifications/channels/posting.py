"""POST to an address that a person gave.

Its name is looked up once and only a public address of it is connected to, so that neither its
owner nor their name server can point us into our own network. Redirects are not followed, and of
the answer only the status is read.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping

import httpx
from django.conf import settings

from backend.foundation.addresses import is_public
from backend.foundation.webhooks import Endpoint, endpoint
from backend.notifications.channels.channel import NotDelivered

POST_S = 15.0
# Of one name, to try one after the other.
MAX_ADDRESSES = 3


def post_json(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Raises NotDelivered unless the answer is one of success, InvalidValue for a forbidden URL."""
    target = endpoint(url, is_private_allowed=settings.WEBHOOK_ALLOW_PRIVATE)
    common = {"Content-Type": "application/json", "User-Agent": "Rackrate"}
    status = _status(target, body, {**common, **headers})
    # A redirect would lead to an address that nobody has checked.
    if not 200 <= status < 300:
        hint = ": redirects are not followed" if 300 <= status < 400 else ""
        raise NotDelivered(f"answered {status}{hint}")


def _addresses(target: Endpoint) -> list[str]:
    """The IP addresses of the endpoint, all of them public unless private ones are allowed."""
    try:
        entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotDelivered(f"{target.host} cannot be looked up: {error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for address in addresses:
        # Part of an IPv6 address after % names an interface, which is none of the address.
        if not settings.WEBHOOK_ALLOW_PRIVATE and not is_public(address.partition("%")[0]):
            raise NotDelivered(f"{target.host} leads to {address}, which is not a public address")
    return addresses


def _status(target: Endpoint, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer; NotDelivered when there is none."""
    last = "no address"
    for address in _addresses(target)[:MAX_ADDRESSES]:
        try:
            return asyncio.run(_post(target, address, body, headers))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            last = f"{address}: {error}"
        # A connection stood, so the message may have arrived: another address could get it twice.
        except TimeoutError:
            raise NotDelivered(f"no answer within {POST_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from error
    raise NotDelivered(f"cannot connect to {last}")


async def _post(target: Endpoint, address: str, body: bytes, headers: dict[str, str]) -> int:
    """Connect to the address that was checked; certificate and Host are those of the name."""
    bracketed = f"[{address}]" if ":" in address else address
    # The checked address is connected to, not the name: a second lookup might answer with another
    # one.
    named = f"[{target.host}]" if ":" in target.host else target.host
    # No proxy, no credentials from the environment; the system's certificate store.
    client = httpx.AsyncClient(
        trust_env=False,
        verify=ssl.create_default_context(),
        follow_redirects=False,
        # Connecting gets a share only, so that a dead address leaves time for the next one.
        timeout=httpx.Timeout(POST_S, connect=POST_S / MAX_ADDRESSES),
    )
    async with (
        asyncio.timeout(POST_S),
        client,
        client.stream(
            "POST",
            f"{target.scheme}://{bracketed}:{target.port}{target.target}",
            content=body,
            headers={**headers, "Host": f"{named}:{target.port}"},
            extensions={"sni_hostname": target.host},
        ) as response,
    ):
        return response.status_code
