"""Envelope encryption of stored secrets: AES-256-GCM, one random data key per secret.

Layout of a sealed value: version (1 byte) · nonce (12) · wrapped data key (48) · nonce (12) · ciphertext.
The row's identity is bound in as associated data, so a value copied to another row does not open.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

VERSION = b"\x01"
NONCE_BYTES = 12
WRAPPED_KEY_BYTES = 48


class SealBroken(Exception):
    """The value was altered, belongs to another row, or was sealed under another key."""


def sealed(secret: bytes, *, identity: str) -> bytes:
    """Encrypt the secret for the row named by identity."""
    data_key = AESGCM.generate_key(bit_length=256)
    key_nonce, nonce = os.urandom(NONCE_BYTES), os.urandom(NONCE_BYTES)
    bound = identity.encode()
    wrapped = AESGCM(settings.CREDENTIAL_KEY).encrypt(key_nonce, data_key, bound)
    return VERSION + key_nonce + wrapped + nonce + AESGCM(data_key).encrypt(nonce, secret, bound)


def opened(value: bytes, *, identity: str) -> bytes:
    """Decrypt what `sealed` made for the same identity; raises SealBroken."""
    if value[:1] != VERSION:
        raise SealBroken("unknown version of a sealed value")
    key_nonce, rest = value[1 : 1 + NONCE_BYTES], value[1 + NONCE_BYTES :]
    wrapped, rest = rest[:WRAPPED_KEY_BYTES], rest[WRAPPED_KEY_BYTES:]
    nonce, ciphertext = rest[:NONCE_BYTES], rest[NONCE_BYTES:]
    bound = identity.encode()
    try:
        data_key = AESGCM(settings.CREDENTIAL_KEY).decrypt(key_nonce, wrapped, bound)
        return AESGCM(data_key).decrypt(nonce, ciphertext, bound)
    except InvalidTag as error:
        raise SealBroken("a sealed value does not open with this key") from error
