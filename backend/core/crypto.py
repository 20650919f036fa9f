"""Envelope encryption of stored secrets: AES-256-GCM, one random data key per secret.

A sealed value: version (1 byte) · key id (4) · wrapped data key (80) · nonce (12) · ciphertext. The
row's identity is bound in as associated data, so a value copied to another row does not open. The data
key is wrapped by HPKE (RFC 9180, base mode: X25519, HKDF-SHA256, AES-256-GCM) for a public key: the
ephemeral key (32) · AES-256-GCM (48). Whoever only has the public key seals and does not open.

A ring has the keys of one purpose. CREDENTIALS (CREDENTIAL_KEY, CREDENTIAL_PUBLIC_KEY) is for what
workers open, WEB (WEB_KEY) for what the web process opens itself.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from django.conf import settings

from backend.config import keys
from backend.core.logs import scrub

VERSION = b"\x01"
# Enough to tell the few keys of one server apart; a clash only costs a second attempt.
KEY_ID_BYTES = 4
NONCE_BYTES = 12
_HEADER_BYTES = len(VERSION) + KEY_ID_BYTES
# An ephemeral key, a data key of 32 bytes and the 16 of GCM's tag.
_WRAPPED_KEY_BYTES = 32 + 32 + 16
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


class SealBroken(Exception):
    """The value was altered, belongs to another row, or was sealed under a key that is not here."""


class KeyMissing(SealBroken):
    """This process was not given the key that sealing or opening needs."""


# --- keys -----------------------------------------------------------------------------------------


def key_id(public_key: bytes) -> bytes:
    """Four bytes that name a key pair."""
    # With a prefix of its own, so that the id is not the start of a hash that stands elsewhere.
    return hashlib.sha256(b"rackrate credential key\0" + public_key).digest()[:KEY_ID_BYTES]


@dataclass(frozen=True)
class Ring:
    """The keys of one purpose in this process; raises KeyMissing where it was given none."""

    public_key: Callable[[], bytes]
    private_keys: Callable[[], Sequence[X25519PrivateKey]]
    cannot_seal: str
    cannot_open: str

    def sealing(self) -> bytes:
        """The public key under which values are sealed now."""
        key = self.public_key()
        if not key:
            raise KeyMissing(self.cannot_seal)
        return key

    def opening(self) -> list[tuple[bytes, X25519PrivateKey]]:
        """Ids and keys that open, the present one first."""
        own = self.private_keys()
        if not own:
            raise KeyMissing(self.cannot_open)
        return [(key_id(_public_half(key)), key) for key in own]

    def id(self) -> str:
        """Names the key that seals."""
        return key_id(self.sealing()).hex()

    def ids(self) -> set[str]:
        """Names all keys that open; none where the process was given none."""
        return {key_id(_public_half(key)).hex() for key in self.private_keys()}


def _public_half(key: X25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def _credential_keys() -> list[X25519PrivateKey]:
    own = (settings.CREDENTIAL_KEY, *settings.CREDENTIAL_KEYS_PREVIOUS)
    return [keys.private_key(key) for key in own if key]


def _web_keys() -> list[X25519PrivateKey]:
    return [X25519PrivateKey.from_private_bytes(key) for key in settings.WEB_KEYS]


CREDENTIALS = Ring(
    lambda: settings.CREDENTIAL_PUBLIC_KEY,
    _credential_keys,
    "this process seals no credentials: it has no CREDENTIAL_PUBLIC_KEY and no CREDENTIAL_KEY",
    "this process opens no credentials: it has no CREDENTIAL_KEY",
)
_NO_WEB_KEY = "this process has no WEB_KEY and no CREDENTIAL_KEY to derive it from"
WEB = Ring(lambda: next(map(_public_half, _web_keys()), b""), _web_keys, _NO_WEB_KEY, _NO_WEB_KEY)


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Envelope:
    """The parts of a sealed value."""

    header: bytes
    """Version and key id."""
    wrapped: bytes
    """The data key, wrapped."""
    content: bytes
    """Nonce and ciphertext of the secret."""


def seal(secret: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """Encrypt the secret for the row named by identity, under the ring's present key."""
    # A key for each secret: to change the key of the server only these are wrapped anew, and no
    # secret has to be opened.
    data_key = AESGCM.generate_key(bit_length=256)
    nonce = os.urandom(NONCE_BYTES)
    content = nonce + AESGCM(data_key).encrypt(nonce, secret, identity.encode())
    return _wrap_key(data_key, identity, ring) + content


def unseal(value: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """Decrypt what `seal` made for the same identity; raises SealBroken."""
    envelope = _parse_envelope(value)
    nonce, ciphertext = envelope.content[:NONCE_BYTES], envelope.content[NONCE_BYTES:]
    try:
        key = AESGCM(_data_key(envelope, identity, ring))
        secret = key.decrypt(nonce, ciphertext, identity.encode())
    except InvalidTag:
        raise SealBroken("a sealed value was altered") from None
    scrub(secret.decode(errors="ignore"))
    return secret


def is_current(value: bytes, *, ring: Ring = CREDENTIALS) -> bool:
    """True if the value is wrapped under the ring's present key."""
    return _parse_envelope(value).header == _header(ring.sealing())


def rewrap(value: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """The value with its data key wrapped under the present key; the secret itself stays sealed.

    Raises SealBroken when none of the ring's keys wrapped it for this identity.
    """
    envelope = _parse_envelope(value)
    # Only the data key changes its wrapping, so no secret is in memory while keys are rotated.
    return _wrap_key(_data_key(envelope, identity, ring), identity, ring) + envelope.content


def _header(public_key: bytes) -> bytes:
    return VERSION + key_id(public_key)


def _wrap_key(data_key: bytes, identity: str, ring: Ring) -> bytes:
    """Everything of a sealed value but its content."""
    key = ring.sealing()
    header = _header(key)
    # The header is bound in as well, so nobody can name another key in it.
    recipient = X25519PublicKey.from_public_bytes(key)
    return header + _SUITE.encrypt(data_key, recipient, info=header + identity.encode())


def _parse_envelope(value: bytes) -> _Envelope:
    if value[:1] != VERSION:
        raise SealBroken("unknown version of a sealed value")
    content_at = _HEADER_BYTES + _WRAPPED_KEY_BYTES
    content = value[content_at:]
    # Below that there is not even a nonce, and the library would raise something else than
    # InvalidTag.
    if len(content) < NONCE_BYTES:
        raise SealBroken("a sealed value is cut off")
    return _Envelope(value[:_HEADER_BYTES], value[_HEADER_BYTES:content_at], content)


def _data_key(envelope: _Envelope, identity: str, ring: Ring) -> bytes:
    bound = envelope.header + identity.encode()
    for name, key in ring.opening():
        if envelope.header == VERSION + name:
            try:
                return _SUITE.decrypt(envelope.wrapped, key, info=bound)
            except InvalidTag:
                continue
    raise SealBroken("a sealed value does not open with the keys of this server")
