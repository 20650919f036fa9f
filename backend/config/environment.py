"""Typed readers of environment variables; every error names the variable, none shows a secret.

Each variable NAME may be given as a file instead, by NAME_FILE: that is how containers get secrets.
"""

import base64
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from django.core.exceptions import ImproperlyConfigured

# libpq waits without end by default, and a page would wait with it.
_CONNECT_TIMEOUT_S = 5
# PostgreSQL compiles what it takes for a long query, and does so by its guess alone: of the joins of
# one step on tables that were never analyzed. It took 250 ms to compile what runs in one.
_NO_COMPILING = "-c jit=off"
# Who loses power says nothing, and by Linux's own times its connections stay for two hours: those of a
# worker with the rows that it has locked, and those to a server with whoever waits for its answer. So
# either end looks after half a minute of silence, and takes the other one for gone after a minute.
_SILENCE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_GONE_MS = 60_000
_SERVER_OPTIONS = " ".join(
    (
        _NO_COMPILING,
        *(f"-c tcp_{name}={value}" for name, value in _SILENCE.items()),
        f"-c tcp_user_timeout={_GONE_MS}",
    )
)
# A list of what may be given: an option that is silently dropped, as sslmode once was, leaves a
# connection in the clear that its owner takes for encrypted.
_DATABASE_OPTIONS = (
    "application_name",
    "connect_timeout",
    "options",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
)
_MAIL_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


def _value(name: str) -> str | None:
    """The variable, or the content of the file that NAME_FILE names without its last line feed."""
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return os.environ.get(name)
    # Which of the two counts could only be guessed, and after a rotation one of them is old.
    if os.environ.get(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them")
    try:
        # Editors and `openssl rand` end a file with a line feed that is no part of the secret.
        return Path(path).read_text().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read: {why}") from None


def text(name: str, default: str | None = None) -> str:
    """Value of the variable; without a default one that is unset or empty is an error."""
    value = _value(name)
    if value or default is None:
        return _require(name, value)
    return default if value is None else value


def _require(name: str, value: str | None) -> str:
    if not value:
        raise ImproperlyConfigured(f"{name} is not set (see .env.example)")
    return value


def identifier(name: str, default: str) -> str:
    """1 to 64 letters, digits, dots, hyphens and underscores."""
    value = _value(name) or default
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", value):
        raise ImproperlyConfigured(
            f"{name} must be 1 to 64 letters, digits, dots, hyphens or underscores, not {value!r}"
        )
    return value


def flag(name: str, default: bool) -> bool:
    """1/true/yes/on or 0/false/no/off."""
    value = text(name, "1" if default else "0").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def whole(name: str, default: int, *, at_least: int = 0) -> int:
    """An integer of at least the given bound."""
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}") from None
    if number < at_least:
        raise ImproperlyConfigured(f"{name} must be at least {at_least}, not {number}")
    return number


def words(name: str, default: str) -> list[str]:
    """Comma-separated words, blanks left out."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def pairs(name: str) -> dict[str, str]:
    """Comma-separated words of the form key=value; none by default."""
    values = {}
    for word in words(name, ""):
        key, sign, value = word.partition("=")
        if not (key and sign and value):
            raise ImproperlyConfigured(f"{name} must be key=value,…, not {word!r}")
        values[key] = value
    return values


@dataclass(frozen=True)
class Admission:
    """Whoever has this value of this claim comes into the workspace with the role."""

    claim: str
    value: str
    role: str
    workspace: str


def address(name: str) -> str:
    """An https:// address, on loopback also http://; empty without it."""
    value = text(name, "").strip()
    url = urlsplit(value)
    is_loopback = url.scheme == "http" and url.hostname in {"127.0.0.1", "localhost", "::1"}
    if value and not (url.hostname and (url.scheme == "https" or is_loopback)):
        raise ImproperlyConfigured(f"{name} must be an https:// address")
    return value


def bucket(name: str) -> str:
    """s3://bucket or s3://bucket/prefix; empty without it."""
    value = text(name, "").strip()
    url = urlsplit(value)
    if value and not (url.scheme == "s3" and url.netloc and not url.query):
        raise ImproperlyConfigured(f"{name} must be s3://bucket or s3://bucket/prefix")
    return value


def admissions(name: str, roles: Collection[str]) -> list[Admission]:
    """Comma-separated rules of the form claim=value:role or claim=value:role@workspace."""
    rules = []
    for word in words(name, ""):
        claim, _, rest = word.partition("=")
        # A value may have colons of its own, as those of a URN.
        value, _, target = rest.rpartition(":")
        role, _, workspace = target.partition("@")
        if not (claim and value) or role not in roles:
            raise ImproperlyConfigured(
                f"{name} must be claim=value:role@workspace,… with a role of {', '.join(roles)}, "
                f"not {word!r}"
            )
        if claim == "email_domain":
            value = value.lower()
        rules.append(Admission(claim, value, role, workspace or "default"))
    return rules


def key_bytes(name: str) -> bytes:
    """32 bytes given as base64."""
    return _key(name, text(name))


def optional_key(name: str) -> bytes:
    """32 bytes given as base64; empty without it."""
    encoded = text(name, "")
    return _key(name, encoded) if encoded else b""


def keys_bytes(name: str) -> list[bytes]:
    """Comma-separated keys of 32 bytes given as base64; none by default."""
    return [_key(name, word) for word in words(name, "")]


def _key(name: str, encoded: str) -> bytes:
    try:
        # Without validate, characters of another alphabet are skipped and a different key comes out.
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be base64") from None
    if len(key) != 32:
        raise ImproperlyConfigured(f"{name} must be 32 bytes, not {len(key)}")
    return key


def database(name: str, *, password: str = "") -> dict[str, object]:
    """Django's database entry from a postgresql:// URL; the password is for one without its own."""
    try:
        url = urlsplit(text(name))
        port, query = url.port, parse_qsl(url.query, keep_blank_values=True, strict_parsing=True)
        is_postgresql = url.scheme in {"postgresql", "postgres"}
        if not is_postgresql or url.fragment or url.path.count("/") != 1 or url.path == "/":
            raise ValueError
    except ValueError:  # its text may quote a piece of the password
        raise ImproperlyConfigured(
            f"{name} must look like postgresql://user@host:5432/name?sslmode=verify-full; a password "
            "in it is percent-encoded, DATABASE_PASSWORD takes any as it is"
        ) from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or "") or password,
        "HOST": unquote(url.hostname or ""),
        "PORT": str(port or ""),
        "OPTIONS": _database_options(name, query),
        "CONN_MAX_AGE": 60,
        # A connection that outlived a restart of PostgreSQL is replaced instead of failing a request.
        "CONN_HEALTH_CHECKS": True,
    }


def bound_waits(database: dict[str, Any], *, statement_s: int, lock_s: int) -> None:
    """Give the connections an end to each statement and each wait for a lock; 0 is none.

    What DATABASE_URL says in its own options comes after and wins.
    """
    own = database["OPTIONS"].get("options", "")
    limits = f"-c statement_timeout={statement_s}s -c lock_timeout={lock_s}s"
    database["OPTIONS"]["options"] = f"{limits} {own}".rstrip()


def _database_options(name: str, query: list[tuple[str, str]]) -> dict[str, object]:
    """libpq's parameters; an unknown one is not named, as it may be a piece of the password.

    What DATABASE_URL says in its own options comes last and wins.
    """
    given = dict(query)
    if not set(given) <= set(_DATABASE_OPTIONS) or len(given) < len(query):
        known = ", ".join(_DATABASE_OPTIONS)
        raise ImproperlyConfigured(
            f"{name} has a parameter after ? that is given twice or is none of {known}"
        )
    timeout_s = given.pop("connect_timeout", str(_CONNECT_TIMEOUT_S))
    if not timeout_s.isdecimal():
        raise ImproperlyConfigured(f"{name}: connect_timeout must be a whole number of seconds")
    options = f"{_SERVER_OPTIONS} {given.pop('options', '')}".rstrip()
    patience = {"connect_timeout": int(timeout_s), "tcp_user_timeout": _GONE_MS, **_SILENCE}
    return {**given, "options": options, **patience}


def broker(name: str, *, password: str = "") -> str:
    """A redis:// or rediss:// address; the password is for one without its own."""
    value = text(name)
    try:
        url = urlsplit(value)
        if url.scheme not in {"redis", "rediss", "unix"} or url.port == 0:
            raise ValueError
    except ValueError:  # its text may quote a piece of the password
        raise ImproperlyConfigured(
            f"{name} must look like redis://broker.example:6379/0; a password in it is percent-encoded, "
            "REDIS_PASSWORD takes any as it is"
        ) from None
    if not password or url.password:
        return value
    login = f"{url.username or ''}:{quote(password, safe='')}"
    return urlunsplit(url._replace(netloc=f"{login}@{url.netloc.rpartition('@')[2]}"))


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
    value = text(name, "").strip()
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
