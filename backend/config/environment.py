"""Typed readers of environment variables; every error names the variable."""

import base64
import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_MAIL_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


def text(name: str, default: str | None = None) -> str:
    """Value of the variable; without a default an unset variable is an error."""
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"{name} is not set (see .env.example)")
    return value


def identifier(name: str, default: str) -> str:
    """1 to 64 letters, digits, dots, hyphens and underscores."""
    value = os.environ.get(name) or default
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", value):
        raise ImproperlyConfigured(
            f"{name} must be 1 to 64 letters, digits, dots, hyphens or underscores, not {value!r}"
        )
    return value


def flag(name: str, default: bool) -> bool:
    """1/true/yes/on or 0/false/no/off."""
    value = os.environ.get(name, "1" if default else "0").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def whole(name: str, default: int, *, at_least: int = 0) -> int:
    """An integer of at least the given bound."""
    value = os.environ.get(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}") from None
    if number < at_least:
        raise ImproperlyConfigured(f"{name} must be at least {at_least}, not {number}")
    return number


def words(name: str, default: str) -> list[str]:
    """Comma-separated words, blanks left out."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def pairs(name: str) -> dict[str, str]:
    """Comma-separated words of the form key=value; none by default."""
    found = {}
    for word in words(name, ""):
        key, sign, value = word.partition("=")
        if not (key and sign and value):
            raise ImproperlyConfigured(f"{name} must be key=value,…, not {word!r}")
        found[key] = value
    return found


def key_bytes(name: str) -> bytes:
    """32 bytes given as base64."""
    return _key(name, text(name))


def keys_bytes(name: str) -> list[bytes]:
    """Comma-separated keys of 32 bytes given as base64; none by default."""
    return [_key(name, word) for word in words(name, "")]


def _key(name: str, encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be base64") from None
    if len(key) != 32:
        raise ImproperlyConfigured(f"{name} must be 32 bytes, not {len(key)}")
    return key


def database(name: str) -> dict[str, object]:
    """Django's database entry from a postgresql:// URL."""
    url = urlsplit(text(name))
    if url.scheme not in {"postgresql", "postgres"} or not url.path.strip("/"):
        raise ImproperlyConfigured(f"{name} must look like postgresql://user:password@host/name")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


@dataclass(frozen=True)
class Mail:
    """How e-mail leaves: an empty host means not at all."""

    host: str = ""
    port: int = 25
    username: str = ""
    password: str = ""
    is_starttls: bool = False
    is_tls: bool = False


def mail(name: str) -> Mail:
    """A mail server from smtp://, smtp+starttls:// or smtps://[user:password@]host[:port]."""
    value = os.environ.get(name, "").strip()
    if not value:
        return Mail()
    try:
        url = urlsplit(value)
        port = url.port or _MAIL_PORTS[url.scheme]
    except (KeyError, ValueError):
        port = 0
        url = urlsplit("")
    if not url.hostname:
        raise ImproperlyConfigured(
            f"{name} must look like smtp+starttls://user:password@host:587 (or smtp://, smtps://)"
        )
    return Mail(
        host=url.hostname,
        port=port,
        username=unquote(url.username or ""),
        password=unquote(url.password or ""),
        is_starttls=url.scheme == "smtp+starttls",
        is_tls=url.scheme == "smtps",
    )
