"""Request limits per token (or person) and per address, counted in fixed windows in Redis."""

import ipaddress
import logging
import math
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as NoAnswer
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from backend.core import clock

logger = logging.getLogger(__name__)
# After a counter that did not answer nothing is counted for so long: each request would wait for
# it.
SILENT_S = 10
WINDOW_S = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}


def parse_rate(rate: str) -> tuple[int, int]:
    """`600/min` as (requests, seconds)."""
    count, _, unit = rate.partition("/")
    if not count.isdigit() or unit not in WINDOW_S:
        raise ImproperlyConfigured(f"a rate looks like 600/min, not {rate!r}")
    return int(count), WINDOW_S[unit]


@dataclass(frozen=True)
class Allowance:
    """Requests that a caller may make in a window of time, and the rest of them."""

    name: str
    allowed: int
    window_s: int
    used: int
    wait_s: int

    @property
    def left(self) -> int:
        return max(0, self.allowed - self.used)

    @property
    def is_exceeded(self) -> bool:
        return self.used > self.allowed

    def headers(self) -> dict[str, str]:
        """As the header fields RateLimit-Policy and RateLimit."""
        return {
            # The structured fields of the IETF draft on RateLimit headers, not the older X-RateLimit-*.
            "RateLimit-Policy": f'"{self.name}";q={self.allowed};w={self.window_s}',
            "RateLimit": f'"{self.name}";r={self.left};t={self.wait_s}',
        }


class WindowThrottle(BaseThrottle):
    """A counter per caller and window. Broken counting never stops an answer."""

    name = ""

    def rate(self) -> str:
        """The rate in force, read at every request."""
        raise AssertionError("a throttle names its rate")

    def caller(self, request: Request) -> str | None:
        """Who is counted; None where this throttle does not apply."""
        raise AssertionError("a throttle names its caller")

    def allow_request(self, request: Request, view: object) -> bool:
        caller = self.caller(request)
        if caller is None:
            return True
        allowance = spend(self.name, self.rate(), caller)
        if allowance is None:
            return True
        self._wait_s = allowance.wait_s
        # The view states it in its answer, where it has a field for it.
        # vars, since DRF types the view as an object that has no such attribute.
        vars(view)["allowance"] = allowance
        return not allowance.is_exceeded

    def wait(self) -> float:
        """Whole seconds until the next window."""
        return self._wait_s


def spend(name: str, rate: str, caller: str, count: int = 1) -> Allowance | None:
    """Use of a rate after `count` more requests; None where it cannot be counted."""
    if _silence.lasts:
        return None
    allowed, window_s = parse_rate(rate)
    now = clock.now().timestamp()
    # Retry-After is in whole seconds, and 0 would invite the next refusal.
    wait_s = max(1, math.ceil(window_s - now % window_s))
    try:
        used = _count(f"throttle:{name}:{caller}:{int(now // window_s)}", count)
    except RedisError as error:
        if isinstance(error, NoAnswer):
            _silence.begin()
        # A broken counter must not stop the site: the limits are for its protection, not for its
        # users.
        logger.warning("%s is not counted: %s", name, error)
        return None
    return Allowance(name, allowed, window_s, used, wait_s)


class _Silence:
    """Silence of the counters, as this process has last met it."""

    def __init__(self) -> None:
        self._until_s = 0.0

    @property
    def lasts(self) -> bool:
        return time.monotonic() < self._until_s

    def begin(self) -> None:
        self._until_s = time.monotonic() + SILENT_S


_silence = _Silence()


def _count(key: str, count: int) -> int:
    try:
        return cache.incr(key, count)
    except ValueError:
        # Kept past its window: a late request must not start the count again.
        # add and not set: of two first requests at once the second must not erase the count of the first.
        cache.add(key, 0, timeout=2 * max(WINDOW_S.values()))
        return cache.incr(key, count)


class TokenThrottle(WindowThrottle):
    """THROTTLE_TOKEN for each token or person."""

    name = "token"

    def rate(self) -> str:
        return str(settings.THROTTLE_TOKEN)

    def caller(self, request: Request) -> str | None:
        return str(request.user.pk) if request.user.is_authenticated else None


class AddressThrottle(WindowThrottle):
    """THROTTLE_ANONYMOUS for each address without a token."""

    name = "address"

    def rate(self) -> str:
        return str(settings.THROTTLE_ANONYMOUS)

    def caller(self, request: Request) -> str | None:
        if request.user.is_authenticated:
            return None
        return client_network(request)


def client_network(request: Request | HttpRequest) -> str:
    """Key that limits count by: an IPv4 address, or the /64 of an IPv6 one, which is one
    subscriber's."""
    text = client_address(request)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False).network_address)


def client_address(request: Request | HttpRequest) -> str:
    """The peer's address; behind our own proxy (HTTPS_ONLY) the last hop that it reports."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if settings.HTTPS_ONLY and forwarded:
        # Only the last entry is of our own proxy; all before it are what the caller wrote.
        return str(forwarded.rsplit(",", 1)[-1].strip())
    return str(request.META.get("REMOTE_ADDR", ""))
