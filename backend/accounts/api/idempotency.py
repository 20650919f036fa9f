"""Idempotency-Key: a POST of the API that is sent again is done once."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from backend.accounts.api.authentication import TokenAuthentication
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.idempotency import (
    KeyReused,
    StoredAnswer,
    answer_claim,
    answer_keep,
    request_digest,
)
from backend.core.rest.problem import problem
from backend.core.rest.views import View

HEADER = "Idempotency-Key"
LONGEST_KEY = 255
# Longer bodies are files, which are read in pieces and never as a whole.
MOST_BYTES = 8_000_000
REPLAYED = {"Idempotency-Replayed": "true"}
KEPT_HEADERS = ("Content-Type", "Location", "Cache-Control", "X-Schema-Version")


class IdempotentRequests:
    """Middleware that does a request and keeps its answer in one transaction, so that no crash lies
    between them, and two that come together are one after the other."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = request.headers.get(HEADER, "")
        if not key or request.method != "POST" or not _keeps_answers(request):
            return self.get_response(request)
        if len(key) > LONGEST_KEY or not key.isprintable():
            detail = f"{HEADER} has 1 to {LONGEST_KEY} printable characters"
            return problem(HTTPStatus.BAD_REQUEST, detail)
        caller = _caller(request)
        # Who may not write is refused by the view.
        return self._once(request, caller, key) if caller else self.get_response(request)

    def _once(self, request: HttpRequest, caller: str, key: str) -> HttpResponse:
        digest = request_digest("POST", request.get_full_path(), request.body)
        with transaction.atomic():
            try:
                row, answer = answer_claim(caller=caller, key=key, digest=digest)
            except KeyReused:
                detail = f"this {HEADER} came with another address or body; use a new one"
                return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
            if answer:
                headers = {**answer.headers, **REPLAYED}
                return HttpResponse(answer.body, status=answer.status, headers=headers)
            response = self.get_response(request)
            if not 200 <= response.status_code < 300:
                # Nothing was done: the caller may correct the request and send it under this key.
                transaction.set_rollback(True)
                return response
            headers = {name: response[name] for name in KEPT_HEADERS if name in response}
            answer_keep(
                row=row, answer=StoredAnswer(response.status_code, headers, response.content)
            )
            return response


def _keeps_answers(request: HttpRequest) -> bool:
    """True if the address is one whose requests are done within a transaction and fit in memory."""
    try:
        view: Any = getattr(resolve(request.path_info).func, "cls", None)
    except Resolver404:
        return False
    if view is None or not issubclass(view, View) or not view.keeps_answers:
        return False
    length = request.META.get("CONTENT_LENGTH") or "0"
    return length.isdecimal() and int(length) <= min(MOST_BYTES, view.most_bytes)


def _caller(request: HttpRequest) -> str:
    try:
        known = TokenAuthentication().authenticate(Request(request))
    except APIException:
        # A wrong token, one that tried too often, a page of another site: the view says so.
        return ""
    if known:
        return f"token {known[1].pk}"
    if not request.user.is_authenticated:
        return ""
    # A person acts in one workspace after the other; a token is of one. Eight digits, as no person
    # is a member of so many that two of them agree.
    return f"user {request.user.pk}@{workspace_of(request).pk.hex[:8]}"
