"""Takes secrets out of texts before they are stored, logged or shown."""

import json
from collections.abc import Mapping

# Shorter values are words that occur by chance.
MIN_REDACTED_CHARACTERS = 8
# What is secret in a key file.
SECRET_KEYS = ("private_key", "private_key_id")


def redact(text: str, secret: Mapping[str, str]) -> str:
    """The text without the values of a secret, those inside of a JSON document included."""
    for value in sorted(_values(secret), key=len, reverse=True):
        text = text.replace(value, "(secret)")
    return text


def _values(secret: Mapping[str, str]) -> set[str]:
    values = set(secret.values())
    for value in secret.values():
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            values |= {str(document[name]) for name in SECRET_KEYS if name in document}
    return {value for value in values if len(value) >= MIN_REDACTED_CHARACTERS}
