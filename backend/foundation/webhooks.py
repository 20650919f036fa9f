"""Where a webhook may go, and the signature by which its receiver knows us."""

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from backend.foundation.addresses import check_address, is_loopback, is_public
from backend.foundation.errors import InvalidValue

MAX_URL_LENGTH = 500
SIGNATURE_HEADER = "X-Rackrate-Signature"
DELIVERY_HEADER = "X-Rackrate-Delivery"
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Endpoint:
    """A checked address: what to connect to, and what to ask for there."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""


def endpoint(url: str, *, is_private_allowed: bool, field: str = "/address") -> Endpoint:
    """The parts of a URL that a webhook may be sent to; raises InvalidValue(field).

    Only https, without user name or fragment, to a name or a public IP literal. Where private
    addresses are allowed, http and every literal are too. What a name resolves to is for the
    sender to check, at the moment of sending.
    """
    if len(url) > MAX_URL_LENGTH or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidValue(field, f"up to {MAX_URL_LENGTH} printable ASCII characters are needed")
    try:
        parts = urlsplit(url)
        # Here, as `urlsplit` looks only now whether it is a number within range.
        port = parts.port
    except ValueError:
        raise InvalidValue(field, "not a URL") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and is_private_allowed):
        raise InvalidValue(field, "an https address is needed")
    if "@" in parts.netloc or parts.fragment or port == 0:
        raise InvalidValue(field, "user name, fragment and port 0 have no meaning here")
    host = check_address(parts.hostname or "", field=field)
    is_ours = is_loopback(host) or (_is_literal(host) and not is_public(host))
    if is_ours and not is_private_allowed:
        raise InvalidValue(field, f"{host} is not a public address")
    target = parts.path or "/"
    if parts.query:
        target = f"{target}?{parts.query}"
    return Endpoint(parts.scheme, host, port or _PORTS[parts.scheme], target)


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def signature(secret: bytes, body: bytes, at_unix_s: int) -> str:
    """`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 under the secret of `<t>.<body>`.

    The time is signed with the body, so that a receiver can refuse an old message sent again.
    """
    digest = hmac.digest(secret, f"{at_unix_s}.".encode() + body, hashlib.sha256)
    return f"t={at_unix_s},v1={digest.hex()}"
