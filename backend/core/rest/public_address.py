"""The address under which others reach what a request asked for."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from backend.foundation.addresses import is_loopback


def public_address(request: HttpRequest | Request, path: str | None = None) -> str:
    """`path`, else the address of the request, under PUBLIC_URL; where that is of this machine alone,
    as the request came."""
    if is_local(str(settings.PUBLIC_URL)):
        return str(request.build_absolute_uri(path))
    return str(settings.PUBLIC_URL).rstrip("/") + (path or request.get_full_path())


def is_local(address: str) -> bool:
    """True if only programs on this machine reach an address."""
    return is_loopback(urlsplit(address).hostname or "")
