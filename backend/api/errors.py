"""Answers for addresses and errors that no endpoint has handled."""

import sys
from http import HTTPStatus

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import get_template
from django.urls import reverse
from django.views import defaults
from drf_spectacular.utils import extend_schema
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from rest_framework.request import Request

from backend.core.object_store import StoreAway
from backend.core.rest.parameters import printable
from backend.core.rest.problem import problem
from backend.core.rest.views import View

API_PREFIX = "/api/"
# What connections raise that are cut, refused or not answered in time.
AWAY = (OperationalError, InterfaceError, RedisConnectionError, RedisTimeoutError, StoreAway)
LATER = {"Retry-After": "5"}


# Django's own 404 is HTML, which a script that mistyped an address cannot read.
class NotFoundView(View):
    """Every address under the API that is none: 404 as a problem document, for all methods."""

    @extend_schema(exclude=True)
    def get(self, request: Request, **_: str) -> HttpResponseBase:
        index = reverse("api:index")
        raise Http404(f"there is no address {printable(request.path)}; {index} lists them")

    post = put = patch = delete = get
    scopes = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), "read")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """400 of what never came to an endpoint: a wrong Host, or more parameters than anybody means."""
    if request.path.startswith(API_PREFIX):
        return problem(
            400, "the request is none that this server answers: its Host or size is wrong"
        )
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """500, or 503 while what it needs is away: a problem document under the API, the
    site's page elsewhere; details are in the log."""
    error = sys.exc_info()[1]
    is_away = isinstance(error, AWAY)
    # Without details, which may quote a query or an address to a stranger.
    if request.path.startswith(API_PREFIX):
        if is_away:
            is_store = isinstance(error, StoreAway)
            away = "the object store" if is_store else "the database or the broker"
            return problem(503, f"{away} is away", headers=LATER)
        return problem(500, "an error that nobody foresaw; it is in the server's log")
    if is_away:
        page = get_template("503.html").render()
        return HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE, headers=LATER)
    return defaults.server_error(request)
