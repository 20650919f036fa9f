"""Answers that are sent again only when they are not what the caller has (RFC 9110, 13)."""

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags, parse_http_date, quote_etag
from rest_framework.exceptions import APIException
from rest_framework.request import Request


def condition_response(request: Request, headers: Mapping[str, str]) -> HttpResponseBase | None:
    """304 or 412 where the request's conditions ask for it."""
    modified = headers.get("Last-Modified")
    response = get_conditional_response(
        request._request,
        etag=headers["ETag"],
        last_modified=parse_http_date(modified) if modified else None,
    )
    if response is not None:
        for name, value in headers.items():
            response[name] = value
    return response


class PreconditionFailed(APIException):
    """If-Match names another version than the one that is stored."""

    status_code = HTTPStatus.PRECONDITION_FAILED
    default_code = "precondition_failed"
    default_detail = "somebody else changed it meanwhile: read it again, then send your change"


def require_match(request: Request, content: bytes) -> None:
    """Raises PreconditionFailed where If-Match names another content. `*` is any."""
    etags = parse_etags(request.headers.get("If-Match", ""))
    # A weak one counts as well: compressing an answer alone makes its ETag weak.
    versions = {etag.removeprefix("W/") for etag in etags}
    if "*" not in versions and content_etag(content) not in versions:
        raise PreconditionFailed


def content_etag(content: bytes) -> str:
    return quote_etag(hashlib.sha256(content).hexdigest()[:32])


def by_content(request: Request, rendered: Any) -> HttpResponseBase | None:
    """The ETag of an answer that only its content identifies."""
    rendered["ETag"] = content_etag(rendered.content)
    conditional = get_conditional_response(
        request._request, etag=rendered["ETag"], response=rendered
    )
    return None if conditional is rendered else conditional
