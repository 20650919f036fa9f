"""Answers that are sent again only when they are not what the caller has (RFC 9110, 13)."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import parse_http_date, quote_etag
from rest_framework.request import Request


def unchanged(request: Request, headers: Mapping[str, str]) -> HttpResponseBase | None:
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


def by_content(request: Request, rendered: Any) -> HttpResponseBase | None:
    """The ETag of an answer that only its content identifies."""
    rendered["ETag"] = quote_etag(hashlib.sha256(rendered.content).hexdigest()[:32])
    conditional = get_conditional_response(
        request._request, etag=rendered["ETag"], response=rendered
    )
    return None if conditional is rendered else conditional
