"""The keys of the settings, as a deployment would state them."""

from typing import Any

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
