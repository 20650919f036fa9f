"""Envelope encryption of stored secrets: AES-256-GCM, one random data key per secret.

A sealed value: version (1 byte) · key id (4, from version 2 on) · wrapped data key · nonce (12) ·
ciphertext. The row's identity is bound in as associated data, so a value copied to another row does
not open. How the data key is wrapped is the version:

1, 2  nonce (12) · AES-256-GCM (48) under a key that also opens
3     HPKE (RFC 9180, base mode: X25519, HKDF-SHA256, AES-256-GCM) for a public key: the ephemeral key
      (32) · AES-256-GCM (48). Whoever only has the public key seals and does not open.

A ring has the keys of one purpose. CREDENTIALS (CREDENTIAL_KEY, CREDENTIAL_PUBLIC_KEY) is for what
workers open, WEB (WEB_KEY) for what the web process opens itself.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from django.conf import settings

from backend.common.logs import scrub
from backend.config import keys

VERSION_1, VERSION_2, VERSION_3 = b"\x01", b"\x02", b"\x03"
# Enough to tell the few keys of one server apart; a clash only costs a second attempt.
KEY_ID_BYTES = 4
NONCE_BYTES = 12
# A data key of 32 bytes and the 16 of GCM's tag.
WRAPPED_KEY_BYTES = 48
_HEADER_BYTES = {VERSION_1: 1, VERSION_2: 1 + KEY_ID_BYTES, VERSION_3: 1 + KEY_ID_BYTES}
_FOR_PUBLIC_KEY = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_BEFORE_WRAPPED_KEY_BYTES = {VERSION_1: NONCE_BYTES, VERSION_2: NONCE_BYTES, VERSION_3: 32}


class SealBroken(Exception):
    """The value was altered, belongs to another row, or was sealed under a key that is not here."""


class KeyMissing(SealBroken):
    """This process was not given the key that sealing or opening needs."""


# --- keys -----------------------------------------------------------------------------------------


def key_id(key: bytes) -> bytes:
    """Four bytes that name a key and reveal nothing of it."""
    # With a prefix of its own, so that the id is not the start of a hash that stands elsewhere.
    return hashlib.sha256(b"rackrate credential key\0" + key).digest()[:KEY_ID_BYTES]


class _SecretKey:
    """Wraps and unwraps; knows the first version, too, in which values did not name their key."""

    def __init__(self, key: bytes) -> None:
        self.header = VERSION_2 + key_id(key)
        self.headers = (VERSION_1, self.header)
        self._cipher = AESGCM(key)

    def wrapped(self, data_key: bytes, bound: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data_key, bound)

    def unwrapped(self, wrapped: bytes, bound: bytes) -> bytes:
        return self._cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], bound)


class _PublicKey:
    """Wraps only."""

    def __init__(self, key: bytes) -> None:
        self.header = VERSION_3 + key_id(key)
        self._key = X25519PublicKey.from_public_bytes(key)

    def wrapped(self, data_key: bytes, bound: bytes) -> bytes:
        return _FOR_PUBLIC_KEY.encrypt(data_key, self._key, info=bound)


class _PrivateKey:
    """Unwraps what was wrapped for its public key."""

    def __init__(self, key: X25519PrivateKey) -> None:
        self.headers = (VERSION_3 + key_id(key.public_key().public_bytes_raw()),)
        self._key = key

    def unwrapped(self, wrapped: bytes, bound: bytes) -> bytes:
        return _FOR_PUBLIC_KEY.decrypt(wrapped, self._key, info=bound)


# --- rings ----------------------------------------------------------------------------------------


class Ring(ABC):
    """The keys of one purpose in this process; raises KeyMissing where it was given none."""

    @abstractmethod
    def sealing(self) -> _SecretKey | _PublicKey:
        """The key under which values are sealed now."""

    @abstractmethod
    def opening(self) -> Sequence[_SecretKey | _PrivateKey]:
        """All keys that open, the present one first."""

    def id(self) -> str:
        """Names the key that seals."""
        return self.sealing().header[1:].hex()

    def ids(self) -> set[str]:
        """Names all keys that open; none where the process was given none."""
        try:
            opening = self.opening()
        except KeyMissing:
            return set()
        return {header[1:].hex() for key in opening for header in key.headers}


class _CredentialRing(Ring):
    def sealing(self) -> _PublicKey:
        if not settings.CREDENTIAL_PUBLIC_KEY:
            raise KeyMissing(
                "this process seals no credentials: it has no CREDENTIAL_PUBLIC_KEY and no CREDENTIAL_KEY"
            )
        return _PublicKey(settings.CREDENTIAL_PUBLIC_KEY)

    def opening(self) -> Sequence[_SecretKey | _PrivateKey]:
        own = _credential_keys()
        if not own:
            raise KeyMissing("this process opens no credentials: it has no CREDENTIAL_KEY")
        # Until there was a key pair the key itself sealed.
        return [*(_PrivateKey(keys.private_key(key)) for key in own), *map(_SecretKey, own)]


class _WebRing(Ring):
    def sealing(self) -> _SecretKey:
        return self.opening()[0]

    def opening(self) -> Sequence[_SecretKey]:
        if not settings.WEB_KEYS:
            raise KeyMissing("this process has no WEB_KEY and no CREDENTIAL_KEY to derive it from")
        # Until there was a key of the web's own, that of the credentials sealed this, too.
        return [_SecretKey(key) for key in (*settings.WEB_KEYS, *_credential_keys())]


def _credential_keys() -> list[bytes]:
    return [key for key in (settings.CREDENTIAL_KEY, *settings.CREDENTIAL_KEYS_PREVIOUS) if key]


CREDENTIALS, WEB = _CredentialRing(), _WebRing()


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


def sealed(secret: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """Encrypt the secret for the row named by identity, under the ring's present key."""
    # A key for each secret: to change the key of the server only these are wrapped anew, and no
    # secret has to be opened.
    data_key = AESGCM.generate_key(bit_length=256)
    nonce = os.urandom(NONCE_BYTES)
    content = nonce + AESGCM(data_key).encrypt(nonce, secret, identity.encode())
    return _wrapped(data_key, identity, ring) + content


def opened(value: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """Decrypt what `sealed` made for the same identity; raises SealBroken."""
    envelope = _parsed(value)
    nonce, ciphertext = envelope.content[:NONCE_BYTES], envelope.content[NONCE_BYTES:]
    try:
        key = AESGCM(_data_key(envelope, identity, ring))
        secret = key.decrypt(nonce, ciphertext, identity.encode())
    except InvalidTag:
        raise SealBroken("a sealed value was altered") from None
    scrub(secret.decode(errors="ignore"))
    return secret


def is_current(value: bytes, *, ring: Ring = CREDENTIALS) -> bool:
    """Whether the value is wrapped under the ring's present key, in the present form."""
    return _parsed(value).header == ring.sealing().header


def rewrapped(value: bytes, *, identity: str, ring: Ring = CREDENTIALS) -> bytes:
    """The value with its data key wrapped under the present key; the secret itself stays sealed.

    Raises SealBroken when none of the ring's keys wrapped it for this identity.
    """
    envelope = _parsed(value)
    # Only the data key changes its wrapping, so no secret is in memory while keys are rotated.
    return _wrapped(_data_key(envelope, identity, ring), identity, ring) + envelope.content


def _wrapped(data_key: bytes, identity: str, ring: Ring) -> bytes:
    """Everything of a sealed value but its content."""
    key = ring.sealing()
    # The header is bound in as well, so nobody can name another key in it.
    return key.header + key.wrapped(data_key, key.header + identity.encode())


def _parsed(value: bytes) -> _Envelope:
    version = value[:1]
    if version not in _HEADER_BYTES:
        raise SealBroken("unknown version of a sealed value")
    wrapped_at = _HEADER_BYTES[version]
    content_at = wrapped_at + _BEFORE_WRAPPED_KEY_BYTES[version] + WRAPPED_KEY_BYTES
    content = value[content_at:]
    # Below that there is not even a nonce, and the library would raise something else than
    # InvalidTag.
    if len(content) < NONCE_BYTES:
        raise SealBroken("a sealed value is cut off")
    return _Envelope(value[:wrapped_at], value[wrapped_at:content_at], content)


def _data_key(envelope: _Envelope, identity: str, ring: Ring) -> bytes:
    is_first = envelope.header == VERSION_1
    bound = (b"" if is_first else envelope.header) + identity.encode()
    # GCM tells a wrong key from a right one, so values that do not name their key are simply tried.
    for key in ring.opening():
        if envelope.header in key.headers:
            try:
                return key.unwrapped(envelope.wrapped, bound)
            except InvalidTag:
                continue
    raise SealBroken("a sealed value does not open with the keys of this server")
