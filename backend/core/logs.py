"""Log lines without secrets: an address may hold the key of a feed, or sign somebody in.

Each line of the JSON form names the request or the run that it is about.
"""

import base64
import datetime as dt
import json
import logging
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

# Keys stand in the path since a spreadsheet cannot send a header, and every log prints paths.
FEED_PREFIX = "rf_"
FEED_PATH = "/feeds/"
SIGN_IN_PATH, JOIN_PATH = "/accounts/link/", "/accounts/invitation/"
REQUEST_ID = "X-Request-ID"
# A proxy's own id is kept; anything else that a caller writes there would end up in the log.
_REQUEST_ID = re.compile(r"[0-9A-Za-z._-]{8,64}")
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=MappingProxyType({}))
_IN_PATH = re.compile(rf"({FEED_PATH}|{SIGN_IN_PATH}|{JOIN_PATH})[^/\s?'\"]+")
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# The eight characters that look a key up stay: they say in a log which key it was.
_KEY = re.compile(r"\b(r[rf]_[0-9a-f]{8})[0-9a-f]{8,}")


# Of what is opened in this process (SSH keys, access to clouds): the newest ones.
_opened: deque[str] = deque(maxlen=512)
# Shorter values are words that occur by chance.
_LEAST_CHARACTERS = 8


def mask_secrets(text: str) -> str:
    """The text with the keys of feeds and API tokens cut to the part that names them, no secret of a
    link, and no value that is a secret of this process."""
    for value in (*_own_secrets(), *_opened):
        if value in text:
            text = text.replace(value, "***")
    return _IN_PATH.sub(r"\1***", _KEY.sub(r"\1***", text))


def scrub(secret: str) -> None:
    """From now on the secret, and each of its lines, is masked in whatever is logged."""
    for line in (secret, *secret.splitlines()):
        # Of a private key in PEM the first and the last line are the same in all.
        if len(line) >= _LEAST_CHARACTERS and not line.startswith("-----") and line not in _opened:
            _opened.append(line)


@cache
def _own_secrets() -> tuple[str, ...]:
    """Secrets of the settings, also as they stand in addresses; the longest first."""
    keys = [
        settings.CREDENTIAL_KEY,
        *settings.CREDENTIAL_KEYS_PREVIOUS,
        *settings.WEB_KEYS,
        settings.BACKUP_KEY,
    ]
    values = {
        settings.SECRET_KEY,
        settings.TOKEN_PEPPER,
        *settings.TOKEN_PEPPERS_PREVIOUS,
        settings.EMAIL_HOST_PASSWORD,
        settings.OIDC_CLIENT_SECRET,
        urlsplit(settings.REDIS_URL).password or "",
        str(settings.DATABASES["default"].get("PASSWORD", "")),
        *(base64.b64encode(key).decode() for key in keys),
    }
    values |= {quote(value, safe="") for value in values}
    return tuple(
        sorted(
            (value for value in values if len(value) >= _LEAST_CHARACTERS), key=len, reverse=True
        )
    )


class ScrubbingReporter(ExceptionReporter):
    """Filter of Django's error reports (DEBUG, mail to admins), which hide by name and say nothing
    of the text of an exception."""

    def get_traceback_html(self) -> SafeString:
        # Django's own page, from which pieces are only taken out.
        return SafeString(mask_secrets(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        return SafeString(mask_secrets(super().get_traceback_text()))


def _escape(text: str) -> str:
    """The text in one line, control characters as escapes such as \\n and \\x1b."""
    return _UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


class MaskingFormatter(logging.Formatter):
    """A formatter whose whole output, traceback included, is masked.

    A message is one line and a traceback is indented, so no text of a host forges a line.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - Python's name
        record.message = _escape(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - Python's name
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {_escape(line)}" for line in lines)

    def format(self, record: logging.LogRecord) -> str:
        # After formatting: an address may stand in the arguments, in an exception or in a traceback.
        return mask_secrets(super().format(record))


class JsonFormatter(MaskingFormatter):
    """A JSON object a line: time, level, logger, message, and the ids of what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_about.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return mask_secrets(json.dumps(line, ensure_ascii=False))


@contextmanager
def log_context(**ids: str) -> Iterator[None]:
    """The ids stand in every line that is written meanwhile."""
    before = _about.set({**_about.get(), **ids})
    try:
        yield
    finally:
        _about.reset(before)


class RequestIds:
    """Gives every request an id, which its log lines and its answer carry."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get(REQUEST_ID, "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        # Until the answer is sent: Django logs refusals behind all middleware.
        _about.set({"request_id": request_id})
        response = self._get_response(request)
        response.headers[REQUEST_ID] = request_id
        return response


def request_id() -> str:
    """Id of the request which is being answered; empty outside of one."""
    return _about.get().get("request_id", "")


@receiver(request_finished)
def _forget(**_: Any) -> None:
    _about.set({})
