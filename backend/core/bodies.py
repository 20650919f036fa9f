"""How large the body of a request may be: each view says it, and it is checked before any is read."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from backend.core.rest.problem import problem

# Of what is sent to a page. Without a limit 300 MB of a stranger to the sign-in form became
# a temporary file of that size, and in containers /tmp is memory.
FORM_BYTES = 3_000_000
# Of what is sent to a page that takes files of people who have signed in.
UPLOAD_BYTES = 64 * 2**20
Page = TypeVar("Page", bound=Callable[..., Any])


def takes_files(page: Page) -> Page:
    """Let people who have signed in send as much as UPLOAD_BYTES to a page."""
    vars(page)["most_bytes"] = UPLOAD_BYTES
    return page


class BodyLimit:
    """Middleware that refuses by Content-Length: the server reads no more than that states.

    It must come before every middleware that reads the body, as the one of the CSRF token does.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    # Here and not in __call__: only once the address is resolved it is known which view answers and
    # how much that one takes.
    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _args: object, _kwargs: object
    ) -> HttpResponseBase | None:
        stated = str(request.META.get("CONTENT_LENGTH") or "0")
        endpoint = getattr(view, "cls", None)
        # A chunked body states no length, and would be read as empty instead of being refused.
        if "Transfer-Encoding" in request.headers and not request.META.get("CONTENT_LENGTH"):
            detail = "a body is only read up to its Content-Length, which is missing"
            return _refusal(
                request, HTTPStatus.LENGTH_REQUIRED, detail, is_api=endpoint is not None
            )
        most = getattr(endpoint or view, "most_bytes", FORM_BYTES)
        # What is no number cannot be trusted to be small.
        length = int(stated) if stated.isdecimal() else most + 1
        # Strangers can do nothing with the files that they would fill the disk with.
        if endpoint is None and length > FORM_BYTES and not request.user.is_authenticated:
            most = FORM_BYTES
        if length <= most:
            return None
        detail = f"the body has {stated} bytes; {most} are the most"
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return _refusal(request, status, detail, is_api=endpoint is not None)


def _refusal(
    request: HttpRequest, status: HTTPStatus, detail: str, *, is_api: bool
) -> HttpResponseBase:
    # A caller of the API parses what it is told; HTML would be one more error.
    if is_api:
        return problem(status, detail)
    return render(request, "413.html", {"detail": detail}, status=status)
