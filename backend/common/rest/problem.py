"""Errors as RFC 9457 problem documents; for CSV and TSV as one line of text."""

import json
import logging
import math
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS

from backend.domain.errors import DomainError, InvalidValue

logger = logging.getLogger(__name__)
CONTENT_TYPE = "application/problem+json"
# What asks for these is a spreadsheet, which would spread a JSON document over cells.
TEXT_FORMATS = ("csv", "tsv")

FieldError = tuple[str, str]


class Conflict(exceptions.APIException):
    """409: the request is sound and the state of the object forbids it; `members` are added."""

    status_code = HTTPStatus.CONFLICT
    default_code = "conflict"

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.members = members


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
    **members: Any,
) -> HttpResponse:
    """A problem document, or its one line of text."""
    if is_text:
        # A spreadsheet shows the answer in one cell, where a line break would make rows of it.
        line = " ".join("; ".join([detail, *(f"{f}: {d}" for f, d in errors or [])]).split())
        return HttpResponse(
            f"{line}\r\n", status=status, content_type="text/plain; charset=utf-8", headers=headers
        )
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
    }
    if errors is not None:
        document["errors"] = [{"field": field, "detail": text} for field, text in errors]
    document |= members
    return HttpResponse(
        json.dumps(document), status=status, content_type=CONTENT_TYPE, headers=headers
    )


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """DRF's exception handler; None lets an unforeseen error become a 500."""
    # Without a renderer the suffix, if there is one, has not been looked at yet.
    renderer = getattr(context.get("request"), "accepted_renderer", None)
    suffix = renderer.format if renderer else context.get("kwargs", {}).get("format")
    if isinstance(error, RecursionError) and context["request"].method not in SAFE_METHODS:
        # Whatever walked the body, its depth did it; the log says where if it was our own fault.
        logger.warning("a body was too deep", exc_info=error)
        error = exceptions.ParseError("the body is nested too deeply")
    return _answer(error, is_text=suffix in TEXT_FORMATS)


def _answer(error: Exception, *, is_text: bool) -> HttpResponse | None:
    if isinstance(error, InvalidValue):
        return problem(
            400, "the request is not valid", errors=[(error.field, error.detail)], is_text=is_text
        )
    if isinstance(error, DomainError):
        errors: list[FieldError] = getattr(error, "errors", [])
        detail = "the request is not valid" if errors else str(error)
        return problem(400, detail, errors=errors, is_text=is_text)
    if isinstance(error, exceptions.ValidationError):
        errors = list(_flattened(error.detail))
        return problem(400, "the request is not valid", errors=errors, is_text=is_text)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, exceptions.APIException):
        members = getattr(error, "members", {})
        return problem(
            error.status_code,
            str(error.detail),
            headers=_headers(error),
            is_text=is_text,
            **members,
        )
    return None


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


def _flattened(detail: Any, pointer: str = "") -> Iterator[FieldError]:
    """DRF's nested messages as pairs of JSON pointer and text."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            # DRF names so what is wrong with the object itself, and that has the pointer of the
            # object.
            step = "" if name == "non_field_errors" else f"/{_escaped(str(name))}"
            yield from _flattened(inner, pointer + step)
    elif isinstance(detail, (list, tuple)):
        for index, inner in enumerate(detail):
            is_nested = isinstance(inner, (Mapping, list))
            yield from _flattened(inner, f"{pointer}/{index}" if is_nested else pointer)
    else:
        yield pointer, str(detail)


def _escaped(name: str) -> str:
    # The order matters: the escape sign itself comes first (RFC 6901, 3).
    return name.replace("~", "~0").replace("/", "~1")
