"""A file sealed in pieces, so that neither its writer nor its reader holds all of it.

First a line with the format's name, then a random prefix (7 bytes), then pieces: length (4 bytes,
big-endian), AES-256-GCM of up to 1 MiB under the nonce prefix · number of the piece (4) · 1 for the
last piece, else 0 (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015): a piece
that is missing, doubled or in another place does not open, nor does a file that was cut off.
"""

import os
from collections.abc import Iterator
from typing import IO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.core.crypto import SealBroken

MAGIC = b"rackrate sealed file 1\n"
PREFIX_BYTES = 7
PIECE_BYTES = 1 << 20
TAG_BYTES = 16


class Writable(Protocol):
    """A target for bytes, such as a file."""

    def write(self, data: bytes, /) -> object: ...


class Sealer:
    """Seals what is written and passes it on; `close` writes the last piece."""

    def __init__(self, target: Writable, key: bytes) -> None:
        self._target, self._cipher = target, AESGCM(key)
        self._prefix = os.urandom(PREFIX_BYTES)
        self._waiting = bytearray()
        self._number = 0
        target.write(MAGIC + self._prefix)

    def write(self, data: bytes) -> int:
        self._waiting += data
        # More than one piece: the last one is only known at the end.
        while len(self._waiting) > PIECE_BYTES:
            self._seal(bytes(self._waiting[:PIECE_BYTES]), is_last=False)
            del self._waiting[:PIECE_BYTES]
        return len(data)

    def close(self) -> None:
        self._seal(bytes(self._waiting), is_last=True)

    def _seal(self, piece: bytes, *, is_last: bool) -> None:
        content = self._cipher.encrypt(_nonce(self._prefix, self._number, is_last), piece, MAGIC)
        self._target.write(len(content).to_bytes(4, "big") + content)
        self._number += 1


def unseal(file: IO[bytes], key: bytes) -> Iterator[bytes]:
    """The pieces in their order; raises SealBroken at the first that is not as it was sealed.

    Only after the last piece the reader knows that the file is whole.
    """
    if file.read(len(MAGIC)) != MAGIC:
        raise SealBroken("this is no sealed file")
    prefix, cipher, number = file.read(PREFIX_BYTES), AESGCM(key), 0
    length = file.read(4)
    while length:
        size = int.from_bytes(length, "big")
        content = file.read(size) if TAG_BYTES <= size <= PIECE_BYTES + TAG_BYTES else b""
        length = file.read(4)
        try:
            yield cipher.decrypt(_nonce(prefix, number, not length), content, MAGIC)
        except (InvalidTag, ValueError):
            raise SealBroken("the sealed file is damaged, cut off, or of another key") from None
        number += 1
    if not number:
        raise SealBroken("the sealed file is cut off")


def _nonce(prefix: bytes, number: int, is_last: bool) -> bytes:
    return prefix + number.to_bytes(4, "big") + bytes([is_last])
