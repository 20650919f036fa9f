"""Which texts name a machine that we may log in to, and how its public key is shown."""

import base64
import binascii
import hashlib
import ipaddress
import re

from backend.foundation.errors import InvalidValue

MAX_LENGTH = 253
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_6TO4 = ipaddress.IPv6Network("2002::/16")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Protocol assignments, some of which older Pythons take for global.
_IETF = ipaddress.IPv4Network("192.0.0.0/24")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)


def check_address(text: str, *, field: str = "/address") -> str:
    """An IP literal or a host name of plain labels (RFC 1123), as given.

    A last label of digits would be read as a short form of an IP address by some resolvers.
    Raises InvalidValue(field) for everything else, a leading hyphen and spaces included.
    """
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        labels = text.split(".")
    is_name = len(text) <= MAX_LENGTH and all(_LABEL.fullmatch(label) for label in labels)
    if not is_name or labels[-1].isdigit() or labels[-1].lower().startswith("0x"):
        raise InvalidValue(field, f"{text[:80]!r} is not a host name or an IP address")
    return text


def is_public(ip_address: str) -> bool:
    """True if the IP literal is reachable from everywhere: not private, loopback or reserved.

    An IPv6 address that carries an IPv4 one (mapped, or translated by NAT64) is judged by that;
    beside these only global unicast (2000::/3) counts, and of it not 6to4, which leads anywhere.
    """
    address = ipaddress.ip_address(ip_address)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None and address not in _NAT64:
            return address in _GLOBAL_UNICAST and address not in _6TO4 and address.is_global
        address = ipaddress.IPv4Address(address.packed[-4:])
    return address.is_global and not address.is_multicast and address not in _IETF


def is_loopback(address: str) -> bool:
    """True if an IP literal, with its zone or mapped into IPv6, or a name means this machine."""
    try:
        literal = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.lower().rstrip(".").rpartition(".")[2] == "localhost"
    if isinstance(literal, ipaddress.IPv6Address) and literal.ipv4_mapped is not None:
        literal = literal.ipv4_mapped  # older Pythons do not look through the mapping
    return literal.is_loopback


def key_fingerprint(key_line: str) -> str:
    """`SHA256:…` of a public key in OpenSSH form (`type base64 [comment]`), as ssh shows it.

    Raises InvalidValue("/host_key") for a text that is no such line.
    """
    words = key_line.split()
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (IndexError, binascii.Error):
        raise InvalidValue("/host_key", "not a public key in OpenSSH form") from None
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
