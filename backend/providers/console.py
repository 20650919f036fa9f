"""A machine's console: the SSH host keys that cloud-init writes there on the first boot."""

import re
from collections.abc import Iterator

from backend.providers.host_keys import ECDSA_BITS, TYPES, HostKey, best_key, host_key

MARK = re.compile(r"-----(BEGIN|END) SSH HOST KEY (?:KEYS|FINGERPRINTS)-----")
KEY = re.compile(rf"\b((?:{'|'.join(TYPES)}) [A-Za-z0-9+/]+={{0,2}})(?![A-Za-z0-9+/=])")
FINGERPRINT = re.compile(
    r"\b(?P<bits>\d+) (?P<sha256>SHA256:[A-Za-z0-9+/]{43}) .*\((?P<name>ED25519|ECDSA|RSA)\)"
)


def console_host_key(console: str) -> HostKey | None:
    """The host key that we prefer of those shown; None until a whole block with one is there.

    Of several of a type the last one counts. A line that the kernel wrote into is no key.
    """
    lines = (line for block in _blocks(console) for line in block)
    return best_key(key for line in lines if (key := _key_in_line(line)) is not None)


def _key_in_line(line: str) -> HostKey | None:
    if match := KEY.search(line):
        return host_key(match[1])
    if match := FINGERPRINT.search(line):
        key_type = _type(match["name"], match["bits"])
        return HostKey(key_type, match["sha256"]) if key_type else None
    return None


def _type(name: str, bits: str) -> str | None:
    """The type of a key that ssh-keygen names by its algorithm and length."""
    if name == "ECDSA":
        return f"ecdsa-sha2-nistp{bits}" if bits in ECDSA_BITS else None
    return {"ED25519": "ssh-ed25519", "RSA": "ssh-rsa"}[name]


def _blocks(console: str) -> Iterator[list[str]]:
    """The lines between each pair of marks."""
    block: list[str] | None = None
    for line in console.splitlines():
        mark = MARK.search(line)
        if mark is None:
            if block is not None:
                block.append(line)
        elif mark[1] == "BEGIN":
            block = []
        else:
            yield block or []
            block = None
