"""Algorithms that an SSH server offers before anything is encrypted (RFC 4253, sections 4.2, 6 and
7.1)."""

from collections.abc import Collection, Mapping

_KEXINIT = 20
_COOKIE_BYTES = 16
# The first name-lists of the packet; those after them follow the same scheme and are not needed.
KINDS = ("key exchanges", "host key signatures", "ciphers")
_NEWER = {
    "key exchanges": "OpenSSH 5.7 of 2011 or newer is needed",
    "host key signatures": "OpenSSH 7.2 of 2016 or newer, or an ECDSA or Ed25519 host key (HostKey), is needed",
    "ciphers": "OpenSSH 3.7 of 2003 or newer with AES in counter mode (Ciphers) is needed",
}


def read_offer(content: bytes) -> Mapping[str, tuple[str, ...]]:
    """By kind what a server offers, of the bytes that it sends first; empty where they are no whole offer."""
    # Lines may come before that of the version, which alone begins so.
    start = content.find(b"\n", content.find(b"SSH-")) + 1
    length = int.from_bytes(content[start : start + 4])
    packet = content[start + 4 : start + 4 + length]
    # After the byte for the padding's length; a packet that was cut has no whole lists.
    if not start or len(packet) < length or packet[1:2] != bytes([_KEXINIT]):
        return {}
    rest = packet[2 + _COOKIE_BYTES :]
    offer = {}
    for kind in KINDS:
        end = 4 + int.from_bytes(rest[:4])
        offer[kind] = tuple(rest[4:end].decode("ascii", errors="replace").split(","))
        rest = rest[end:]
    return offer


def outdated_algorithms(
    offer: Mapping[str, tuple[str, ...]], accepted: Mapping[str, Collection[str]]
) -> str:
    """Offers of a server of which nothing is accepted, and the remedy; "" where there is something
    of each kind."""
    for kind, names in offer.items():
        if not set(names) & set(accepted[kind]):
            shown = ", ".join(names)[:200]
            return (
                f"its SSH server offers only {kind} that are no longer safe, such as by SHA-1 ({shown}): "
                f"{_NEWER[kind]}, or a worker on the machine itself"
            )
    return ""
