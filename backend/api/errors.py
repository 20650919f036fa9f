"""Answers for addresses and errors that no endpoint has handled."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views import defaults
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from backend.common.rest.problem import problem
from backend.common.rest.views import View

API_PREFIX = "/api/"


# Django's own 404 is HTML, which a script that mistyped an address cannot read.
class NotFoundView(View):
    """Every address under the API that is none: 404 as a problem document, for all methods."""

    @extend_schema(exclude=True)
    def get(self, request: Request, **_: str) -> HttpResponseBase:
        raise Http404

    post = put = patch = delete = get
    scopes = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), "read")


def server_error(request: HttpRequest) -> HttpResponseBase:
    """500: a problem document under the API, the site's page elsewhere; details are in the log."""
    # Without details, which may quote a query or an address to a stranger.
    if request.path.startswith(API_PREFIX):
        return problem(500, "an error that nobody foresaw; it is in the server's log")
    return defaults.server_error(request)
