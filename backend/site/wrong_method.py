"""Addresses that only take what a form sends: opened by hand, they lead to the form."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse

# Pages with the forms of addresses whose parent is no page, by their first part.
FORMS = {"subscriptions": "schedules", "samples": "runs"}


class LeadOn:
    """Fills the empty answer 405 with a page that links to the nearest one above the address."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        answer = self.get_response(request)
        # Only for what a person opens; a program that sends the wrong method reads the status.
        if isinstance(answer, HttpResponseNotAllowed) and request.method in {"GET", "HEAD"}:
            return _leading(request, answer)
        return answer


def _leading(request: HttpRequest, answer: HttpResponseNotAllowed) -> HttpResponse:
    # The status and the header Allow stay as they are.
    answer.content = render_to_string("405.html", {"leads_to": _above(request.path)}, request)
    return answer


def _above(path: str) -> str:
    first, *_ = path.strip("/").split("/")
    if first in FORMS:
        return reverse(FORMS[first])
    parts = path.strip("/").split("/")
    for length in range(len(parts) - 1, 0, -1):
        # Upwards until an address answers: part of a path need not be a page.
        above = "/" + "/".join(parts[:length]) + "/"
        try:
            resolve(above)
        except Resolver404:
            continue
        return above
    return "/"
