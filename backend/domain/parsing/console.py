"""A machine's console: the SSH host keys that cloud-init writes there on the first boot."""

import re
from collections.abc import Iterator

from backend.domain.addresses import key_fingerprint

MARK = re.compile(r"-----(BEGIN|END) SSH HOST KEY (?:KEYS|FINGERPRINTS)-----")
KEY = re.compile(r"\b(ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43})(?![A-Za-z0-9+/=])")
FINGERPRINT = re.compile(r"\b(SHA256:[A-Za-z0-9+/]{43}) .*\(ED25519\)")


def host_key_fingerprint(console: str) -> str | None:
    """`SHA256:…` of the ed25519 host key; None until a whole block of keys with one is there.

    The last block counts. A line that the kernel wrote into is no key.
    """
    found = None
    for block in _blocks(console):
        for line in block:
            if key := KEY.search(line):
                found = key_fingerprint(key[1])
            elif shown := FINGERPRINT.search(line):
                found = shown[1]
    return found


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
