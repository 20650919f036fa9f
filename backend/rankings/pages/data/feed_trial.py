"""Tries an address of this server as a spreadsheet would: without cookies, from the outside in."""

import io
import time
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import unquote_to_bytes, urlsplit

from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.urls import resolve

from backend.core.rest.views import ListView
from backend.rankings.api.rankings import ValueView
from backend.site.language import _

# Links in the answer and the limit of requests depend on these; cookies and tokens stay behind.
PASSED_ON = ("SERVER_NAME", "SERVER_PORT", "HTTP_HOST", "REMOTE_ADDR", "HTTP_X_FORWARDED_FOR")
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Trial:
    """Outcome of a trial; `rows` is None where the answer does not count them."""

    status: int
    phrase: str
    content_type: str
    rows: int | None
    size_bytes: int
    duration_ms: float
    message: str
    """First line of a refusal."""

    @property
    def is_good(self) -> bool:
        """True if a spreadsheet would have got its rows."""
        return self.status == HTTPStatus.OK


def trial(address: str, asked_from: HttpRequest) -> Trial:
    """The answer to a GET of the address; raises ValueError for one that is not of this server.

    Nothing goes over the network, and nothing of the person's session goes with it.
    """
    parts = urlsplit(address.strip())
    is_here = not parts.netloc or parts.netloc == asked_from.get_host()
    if not is_here or parts.scheme not in {"", "http", "https"}:
        raise ValueError(_("it is not an address of this server"))
    started = time.perf_counter()
    answer = _answer(parts.path, parts.query, asked_from)
    duration_ms = (time.perf_counter() - started) * 1_000
    counted = answer.headers.get("X-Total-Count", "")
    is_good = answer.status_code == HTTPStatus.OK
    message = "" if is_good else answer.content[:SHOWN_CHARACTERS].decode(errors="replace")
    return Trial(
        status=answer.status_code,
        phrase=answer.reason_phrase,
        content_type=answer.headers.get("Content-Type", ""),
        rows=int(counted) if is_good and counted else None,
        size_bytes=len(answer.content),
        duration_ms=duration_ms,
        message=message,
    )


def _answer(path: str, query: str, asked_from: HttpRequest) -> HttpResponse:
    try:
        match = resolve(unquote_to_bytes(path).decode(errors="replace"))
    except Http404:
        raise ValueError(_("there is no such address")) from None
    # Pages answer a person with a session, and a trial has none.
    if not issubclass(getattr(match.func, "cls", object), (ListView, ValueView)):
        raise ValueError(_("it is no list, feed or value"))
    environ = {name: asked_from.META[name] for name in PASSED_ON if name in asked_from.META}
    environ |= {
        "REQUEST_METHOD": "GET",
        # WSGI hands a path on as its bytes, written in Latin-1 (PEP 3333).
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "wsgi.url_scheme": asked_from.scheme,
        "wsgi.input": io.BytesIO(),
    }
    # Called as a function: a request over the network to ourselves would need a free thread of the
    # server, and with all of them trying there would be none.
    answer: HttpResponse = match.func(WSGIRequest(environ), *match.args, **match.kwargs)
    return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer
