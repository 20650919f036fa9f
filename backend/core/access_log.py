"""The access log: a line for each request, with its path and no secret (ACCESS_LOG)."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponseBase

from backend.core.rest.throttles import client_address
from backend.core.work import UNCOUNTED

logger = logging.getLogger("rackrate.access")


class AccessLog:
    """Middleware; no query is written, which may hold the code of a sign-in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.ACCESS_LOG:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self._get_response(request)
        if request.path not in UNCOUNTED:
            # The formatter masks keys and links (backend.core.logs).
            logger.info(
                "%s %s %d in %.0f ms for %s from %s",
                request.method,
                request.path,
                response.status_code,
                1000 * (time.perf_counter() - started),
                _caller(request),
                client_address(request),
            )
        return response


def _caller(request: HttpRequest) -> str:
    """The person, by session or token; a static file asks for nobody."""
    user = getattr(request, "user", None)
    return user.get_username() if user is not None and user.is_authenticated else "a stranger"
