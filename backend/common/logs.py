"""Log lines without secrets: an address may hold the key of a feed, or sign somebody in.

Each line of the JSON form names the request or the run that it is about.
"""

import datetime as dt
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase

# Keys stand in the path since a spreadsheet cannot send a header, and every log prints paths.
FEED_PREFIX = "rf_"
FEED_PATH = "/feeds/"
SIGN_IN_PATH, JOIN_PATH = "/accounts/link/", "/accounts/invitation/"
REQUEST_ID = "X-Request-ID"
# A proxy's own id is kept; anything else that a caller writes there would end up in the log.
_REQUEST_ID = re.compile(r"[0-9A-Za-z._-]{8,64}")
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=MappingProxyType({}))
_IN_PATH = re.compile(rf"({FEED_PATH}|{SIGN_IN_PATH}|{JOIN_PATH})[^/\s?'\"]+")
# The eight characters that look a key up stay: they say in a log which key it was.
_KEY = re.compile(r"\b(r[rf]_[0-9a-f]{8})[0-9a-f]{8,}")


def masked(text: str) -> str:
    """The text with the keys of feeds and API tokens cut to the part that names them, and no secret of a link."""
    return _IN_PATH.sub(r"\1***", _KEY.sub(r"\1***", text))


class MaskingFormatter(logging.Formatter):
    """A formatter whose whole output, traceback included, is masked."""

    def format(self, record: logging.LogRecord) -> str:
        # After formatting: an address may stand in the arguments, in an exception or in a traceback.
        return masked(super().format(record))


class JsonFormatter(MaskingFormatter):
    """One JSON object a line: time, level, logger, message, and the ids of what it is about."""

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
        return masked(json.dumps(line, ensure_ascii=False))


@contextmanager
def logged_with(**ids: str) -> Iterator[None]:
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


@receiver(request_finished)
def _forget(**_: Any) -> None:
    _about.set({})
