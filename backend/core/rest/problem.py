"""Errors as RFC 9457 problem documents; for CSV and TSV as one line of text."""

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS

from backend.core.rest.parameters import printable
from backend.foundation.errors import DomainError, InvalidValue

logger = logging.getLogger(__name__)
CONTENT_TYPE = "application/problem+json"
# What asks for these is a spreadsheet, which would spread a JSON document over cells.
TEXT_FORMATS = ("csv", "tsv")

# The word before each parameter of a route: `offers/<slug:slug>`.
NAMED_IN_ROUTE = re.compile(r"([a-z-]+)/(?:<\w+:|\(\?P<)(\w+)>")
DJANGO_WORDS = re.compile(r"matches the given query|^\{")

FieldError = tuple[str, str]
# Member `code` of every problem: its status, and what it says. Codes stay; new ones may be added.
PROBLEM_CODES: Mapping[str, tuple[int, str]] = {
    "invalid": (400, "A parameter, field or line is wrong; `errors` names each one"),
    "parse_error": (400, "The body is no JSON, or is nested too deeply"),
    "not_authenticated": (401, "Neither a token nor a session was sent"),
    "authentication_failed": (401, "The token is unknown, revoked or expired"),
    "permission_denied": (403, "The scope of the token or person does not allow it"),
    "not_found": (404, "There is nothing under this address; the detail says what is missing"),
    "method_not_allowed": (405, "The address knows the methods in Allow alone"),
    "conflict": (409, "The state of the object forbids it; the detail says which"),
    "gone": (410, "It was there, and is kept no longer"),
    "length_required": (411, "The body states no Content-Length"),
    "precondition_failed": (412, "If-Match names another version"),
    "too_large": (413, "The body is longer than the address takes"),
    "unsupported_media_type": (415, "The body has a media type that the address does not take"),
    "idempotency_key_reused": (422, "The Idempotency-Key came with another body before"),
    "unprocessable": (422, "The object does not do for what is asked of it; `errors` says why"),
    "throttled": (429, "More requests than are allowed; Retry-After says when to go on"),
    "error": (500, "A fault of the server; it is in its log"),
    "bad_gateway": (502, "A provider or host that was asked did not answer properly"),
    "unavailable": (
        503,
        "The database, the broker or the object store is away; try again after Retry-After",
    ),
    "work_refused": (503, "Others are calculating; try again after Retry-After"),
    "gateway_timeout": (504, "A provider or host that was asked did not answer in time"),
}
# The first code of each status, for answers that name none.
CODE_OF_STATUS: Mapping[int, str] = {
    status: code for code, (status, _) in reversed(list(PROBLEM_CODES.items()))
}


class Conflict(exceptions.APIException):
    """409: the request is sound and the state of the object forbids it; `members` are added."""

    status_code = HTTPStatus.CONFLICT
    default_code = "conflict"

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.members = members


class Unprocessable(exceptions.APIException):
    """422: what the object states does not do for what is asked of it; `errors` names the fields."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY
    default_code = "unprocessable"

    def __init__(self, detail: str, errors: list[FieldError]) -> None:
        super().__init__(detail)
        self.members = {"errors": errors}


class Gone(exceptions.APIException):
    """410: what was there is kept no longer."""

    status_code = HTTPStatus.GONE
    default_code = "gone"


class BadGateway(exceptions.APIException):
    """502: the machine asked on the caller's behalf did not answer properly."""

    status_code = HTTPStatus.BAD_GATEWAY
    default_code = "bad_gateway"


class GatewayTimeout(exceptions.APIException):
    """504: nobody answered in time."""

    status_code = HTTPStatus.GATEWAY_TIMEOUT
    default_code = "gateway_timeout"


def problem(
    status: int,
    detail: str,
    *,
    errors: list[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
    is_text: bool = False,
    code: str = "",
    **members: Any,
) -> HttpResponse:
    """A problem document, or its one line of text; `code` is one of PROBLEM_CODES."""
    if is_text:
        # A spreadsheet shows the answer in one cell, where a line break would make rows of it.
        line = " ".join("; ".join([detail, *(f"{f}: {d}" for f, d in errors or [])]).split())
        return HttpResponse(
            f"{line}\r\n", status=status, content_type="text/plain; charset=utf-8", headers=headers
        )
    document = problem_document(status, detail, code=code)
    if errors is not None:
        document["errors"] = [{"field": field, "detail": text} for field, text in errors]
    document |= members
    return HttpResponse(
        json.dumps(document), status=status, content_type=CONTENT_TYPE, headers=headers
    )


def problem_document(status: int, detail: str, *, code: str = "") -> dict[str, Any]:
    """The members that every problem has."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
        "code": code or CODE_OF_STATUS.get(int(status), "error"),
    }


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """DRF's exception handler; None lets an unforeseen error become a 500."""
    # Without a renderer the suffix, if there is one, has not been looked at yet.
    renderer = getattr(context.get("request"), "accepted_renderer", None)
    suffix = renderer.format if renderer else context.get("kwargs", {}).get("format")
    if isinstance(error, RecursionError) and context["request"].method not in SAFE_METHODS:
        # Whatever walked the body, its depth did it; the log says where if it was our own fault.
        logger.warning("a body was too deep", exc_info=error)
        error = exceptions.ParseError("the body is nested too deeply")
    return _answer(error, context, is_text=suffix in TEXT_FORMATS)


def _answer(error: Exception, context: Mapping[str, Any], *, is_text: bool) -> HttpResponse | None:
    if isinstance(error, InvalidValue):
        return problem(
            400, "the request is not valid", errors=[(error.field, error.detail)], is_text=is_text
        )
    if isinstance(error, DomainError):
        errors: list[FieldError] = getattr(error, "errors", [])
        detail = "the request is not valid" if errors else str(error)
        return problem(400, detail, errors=errors, is_text=is_text)
    if isinstance(error, exceptions.ValidationError):
        errors = list(_flatten(error.detail))
        return problem(400, "the request is not valid", errors=errors, is_text=is_text)
    if isinstance(error, Http404):
        error = exceptions.NotFound(_missing(error, context))
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, exceptions.APIException):
        members = getattr(error, "members", {})
        return problem(
            error.status_code,
            str(error.detail),
            headers=_headers(error),
            is_text=is_text,
            code=_code(error),
            **members,
        )
    return None


def _missing(error: Http404, context: Mapping[str, Any]) -> str:
    """Message for a missing object of an address: our own words, or those of the address."""
    words = str(error)
    # Django's own sentence names a class of ours and not what was asked for.
    if words and not DJANGO_WORDS.search(words):
        return words
    match = getattr(context["request"], "resolver_match", None)
    if match is None:
        return "there is nothing here"
    named = [
        f"{word} {printable(str(match.kwargs[name]))!r}"
        for word, name in NAMED_IN_ROUTE.findall(match.route)
        if name in match.kwargs
    ]
    return f"there is nothing at {', '.join(named)}" if named else "there is nothing here"


def _code(error: exceptions.APIException) -> str:
    code = error.get_codes()
    return code if isinstance(code, str) and code in PROBLEM_CODES else ""


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    # DRF sets it on 401 only where a scheme has a challenge; without it a client never sends its token.
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    wait_s = getattr(error, "wait", None)
    if wait_s is not None:
        headers["Retry-After"] = str(math.ceil(wait_s))
    return headers


def _flatten(detail: Any, pointer: str = "") -> Iterator[FieldError]:
    """DRF's nested messages as pairs of JSON pointer and text."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            # DRF names so what is wrong with the object itself, and that has the pointer of the
            # object.
            step = "" if name == "non_field_errors" else f"/{_escape(str(name))}"
            yield from _flatten(inner, pointer + step)
    elif isinstance(detail, (list, tuple)):
        for index, inner in enumerate(detail):
            is_nested = isinstance(inner, (Mapping, list))
            yield from _flatten(inner, f"{pointer}/{index}" if is_nested else pointer)
    else:
        yield pointer, str(detail)


def _escape(name: str) -> str:
    # The order matters: the escape sign itself comes first (RFC 6901, 3).
    return name.replace("~", "~0").replace("/", "~1")
