"""Envelope encryption of stored secrets: AES-256-GCM, one random data key per secret.

A sealed value: version (1 byte) · key id (4, from version 2 on) · nonce (12) · wrapped data key (48) ·
nonce (12) · ciphertext. The row's identity is bound in as associated data, so a value copied to
another row does not open. The key id says which key wrapped the data key: the current one
(CREDENTIAL_KEY) seals, it and the previous ones (CREDENTIAL_KEYS_PREVIOUS) open.
"""

import hashlib
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from backend.common.logs import scrub

VERSION_1 = b"\x01"
VERSION = b"\x02"
# Enough to tell the few keys of one server apart; a clash only costs a second attempt.
KEY_ID_BYTES = 4
NONCE_BYTES = 12
# A data key of 32 bytes and the 16 of GCM's tag.
WRAPPED_KEY_BYTES = 48


class SealBroken(Exception):
    """The value was altered, belongs to another row, or was sealed under a key that is not here."""


@dataclass(frozen=True)
class _Envelope:
    """The parts of a sealed value; `header` is what stands before the first nonce."""

    header: bytes
    key_nonce: bytes
    wrapped: bytes
    content: bytes
    """Nonce and ciphertext of the secret."""


def key_id(key: bytes) -> bytes:
    """Four bytes that name a key and reveal nothing of it."""
    # With a prefix of its own, so that the id is not the start of a hash that stands elsewhere.
    return hashlib.sha256(b"rackrate credential key\0" + key).digest()[:KEY_ID_BYTES]


def sealed(secret: bytes, *, identity: str) -> bytes:
    """Encrypt the secret for the row named by identity, under the current key."""
    # A key for each secret: to change the key of the server only these are wrapped anew, and no
    # secret has to be opened.
    data_key = AESGCM.generate_key(bit_length=256)
    nonce = os.urandom(NONCE_BYTES)
    content = nonce + AESGCM(data_key).encrypt(nonce, secret, identity.encode())
    return _wrapped(data_key, identity) + content


def opened(value: bytes, *, identity: str) -> bytes:
    """Decrypt what `sealed` made for the same identity; raises SealBroken."""
    envelope = _parsed(value)
    nonce, ciphertext = envelope.content[:NONCE_BYTES], envelope.content[NONCE_BYTES:]
    try:
        key = AESGCM(_data_key(envelope, identity))
        secret = key.decrypt(nonce, ciphertext, identity.encode())
    except InvalidTag:
        raise SealBroken("a sealed value was altered") from None
    scrub(secret.decode(errors="ignore"))
    return secret


def is_current(value: bytes) -> bool:
    """Whether the value is wrapped under the current key, in the current form."""
    return _parsed(value).header == _header()


def rewrapped(value: bytes, *, identity: str) -> bytes:
    """The value with its data key wrapped under the current key; the secret itself stays sealed.

    Raises SealBroken when none of our keys wrapped it for this identity.
    """
    envelope = _parsed(value)
    # Only the data key changes its wrapping, so no secret is in memory while keys are rotated.
    return _wrapped(_data_key(envelope, identity), identity) + envelope.content


def _header() -> bytes:
    return VERSION + key_id(settings.CREDENTIAL_KEY)


def _wrapped(data_key: bytes, identity: str) -> bytes:
    """Everything of a sealed value but its content."""
    header, nonce = _header(), os.urandom(NONCE_BYTES)
    # The header is bound in as well, so nobody can name another key in it.
    bound = header + identity.encode()
    return header + nonce + AESGCM(settings.CREDENTIAL_KEY).encrypt(nonce, data_key, bound)


def _parsed(value: bytes) -> _Envelope:
    header_bytes = {VERSION_1: 1, VERSION: 1 + KEY_ID_BYTES}.get(value[:1])
    if header_bytes is None:
        raise SealBroken("unknown version of a sealed value")
    header, rest = value[:header_bytes], value[header_bytes:]
    key_nonce, rest = rest[:NONCE_BYTES], rest[NONCE_BYTES:]
    wrapped, content = rest[:WRAPPED_KEY_BYTES], rest[WRAPPED_KEY_BYTES:]
    # Below that there is not even a nonce, and the library would raise something else than
    # InvalidTag.
    if len(content) < NONCE_BYTES:
        raise SealBroken("a sealed value is cut off")
    return _Envelope(header, key_nonce, wrapped, content)


def _data_key(envelope: _Envelope, identity: str) -> bytes:
    keys = [settings.CREDENTIAL_KEY, *settings.CREDENTIAL_KEYS_PREVIOUS]
    bound = identity.encode()
    if envelope.header != VERSION_1:  # the first version did not name its key
        keys = [key for key in keys if key_id(key) == envelope.header[1:]]
        bound = envelope.header + bound
    # GCM tells a wrong key from a right one, so values of the first version are simply tried.
    for key in keys:
        try:
            return AESGCM(key).decrypt(envelope.key_nonce, envelope.wrapped, bound)
        except InvalidTag:
            continue
    raise SealBroken("a sealed value does not open with the keys of this server")
