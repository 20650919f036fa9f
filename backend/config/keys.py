"""Keys that follow from CREDENTIAL_KEY: the key pair that seals and opens, and the web's key where
none is set."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.core.exceptions import ImproperlyConfigured


def private_key(credential_key: bytes) -> X25519PrivateKey:
    """The key that opens what was sealed under its public half."""
    return X25519PrivateKey.from_private_bytes(
        _derive(credential_key, b"rackrate credential key pair")
    )


def public_key(credential_key: bytes, *, stated: bytes) -> bytes:
    """The public half, or the stated one where there is no key; empty without either.

    Raises ImproperlyConfigured for a stated one that does not belong to the key.
    """
    if not credential_key:
        return stated
    own = private_key(credential_key).public_key().public_bytes_raw()
    if stated and stated != own:
        raise ImproperlyConfigured(
            "CREDENTIAL_PUBLIC_KEY does not belong to CREDENTIAL_KEY; leave it out where that is set"
        )
    return own


def web_keys(
    stated: bytes,
    previous: Sequence[bytes],
    *,
    credential_key: bytes,
    credential_keys_previous: Sequence[bytes],
) -> list[bytes]:
    """The web's own keys, of which the first one seals; without a stated one it is derived.

    Keys derived from the credential keys are always among them: what was sealed before WEB_KEY was
    set, or CREDENTIAL_KEY changed, still opens.
    """
    credential_keys = [key for key in (credential_key, *credential_keys_previous) if key]
    derived = [_derive(key, b"rackrate web key") for key in credential_keys]
    first = [stated] if stated else derived[:1]
    return list(dict.fromkeys((*first, *previous, *derived)))


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key)
