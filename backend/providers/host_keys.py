"""SSH host keys: which types we use, in the order in which we prefer them, and how one is named."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from backend.foundation.addresses import key_fingerprint

ECDSA_BITS = ("256", "384", "521")
# The type that is preferred first, as ssh and ssh-keyscan show them.
TYPES = ("ssh-ed25519", *(f"ecdsa-sha2-nistp{bits}" for bits in ECDSA_BITS), "ssh-rsa")


@dataclass(frozen=True)
class HostKey:
    """A host key as a person or a console names it."""

    type: str
    """Type, from TYPES."""
    fingerprint: str
    """SHA256:…"""

    def __str__(self) -> str:
        return f"{self.type} {self.fingerprint}"


def host_key(key_line: str) -> HostKey | None:
    """The key of a public key in OpenSSH form (`type base64 [comment]`).

    None when it is cut or otherwise not whole, or of a type that we do not use.
    """
    key_type, _, rest = key_line.partition(" ")
    if key_type not in TYPES:
        return None
    try:
        blob = base64.b64decode(rest.partition(" ")[0], validate=True)
    except ValueError:  # also for characters that are not ASCII
        return None
    fields = _fields(blob)
    # Beside its type an Ed25519 key has one part, one of RSA or ECDSA has two.
    count = 2 if key_type == "ssh-ed25519" else 3
    if len(fields) != count or fields[0] != key_type.encode():
        return None
    return HostKey(key_type, key_fingerprint(key_line))


def _fields(blob: bytes) -> list[bytes]:
    """The parts of a public key (RFC 4253 section 6.6), each with its length before it; none of
    them when the last one is cut."""
    fields = []
    while blob:
        end = 4 + int.from_bytes(blob[:4])
        if len(blob) < end:
            return []
        fields.append(blob[4:end])
        blob = blob[end:]
    return fields


def best_key(keys: Iterable[HostKey]) -> HostKey | None:
    """The key whose type comes first in TYPES; the last one of several of that type."""
    by_type = {key.type: key for key in keys}
    return next((by_type[key_type] for key_type in TYPES if key_type in by_type), None)
