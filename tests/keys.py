"""The keys of the settings, as a deployment would state them, and what earlier versions sealed."""

import os
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.common.crypto import key_id
from backend.config import keys

OLD, NEW, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))


def set_keys(settings: Any, credential_key: bytes, *previous: bytes, web_key: bytes = b"") -> None:
    """What the settings make of CREDENTIAL_KEY, CREDENTIAL_KEYS_PREVIOUS and WEB_KEY."""
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = credential_key, list(previous)
    settings.CREDENTIAL_PUBLIC_KEY = keys.public_key(credential_key, stated=b"")
    settings.WEB_KEYS = keys.web_keys(
        web_key, [], credential_key=credential_key, credential_keys_previous=previous
    )


def set_keys_of_web(settings: Any, credential_key: bytes, web_key: bytes) -> None:
    """What the web process has: the public half, and a key of its own."""
    set_keys(settings, b"")
    settings.CREDENTIAL_PUBLIC_KEY = keys.public_key(credential_key, stated=b"")
    settings.WEB_KEYS = [web_key]


def in_first_form(secret: bytes, identity: str, key: bytes = OLD) -> bytes:
    """What the first version of the program stored: it did not name its key."""
    data_key, key_nonce, nonce = os.urandom(32), os.urandom(12), os.urandom(12)
    bound = identity.encode()
    wrapped = AESGCM(key).encrypt(key_nonce, data_key, bound)
    return b"\x01" + key_nonce + wrapped + nonce + AESGCM(data_key).encrypt(nonce, secret, bound)


def in_second_form(secret: bytes, identity: str, key: bytes = OLD) -> bytes:
    """What was stored before there was a key pair: the key that sealed also opened."""
    header = b"\x02" + key_id(key)
    data_key, key_nonce, nonce = os.urandom(32), os.urandom(12), os.urandom(12)
    wrapped = AESGCM(key).encrypt(key_nonce, data_key, header + identity.encode())
    content = AESGCM(data_key).encrypt(nonce, secret, identity.encode())
    return header + key_nonce + wrapped + nonce + content
