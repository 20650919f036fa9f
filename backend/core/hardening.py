"""Headers that every answer has, and what browsers keep of private pages: nothing."""

import ipaddress
import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from backend.core.rest.problem import problem

# None of them is used by a page of ours, so no script in one gets them either.
FEATURES = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "hid",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "publickey-credentials-get",
    "serial",
    "usb",
    "xr-spatial-tracking",
)
SCRAPE_PATH = "/metrics-prometheus"
PERMISSIONS = ", ".join(f"{feature}=()" for feature in FEATURES)


def is_from_this_machine(request: HttpRequest) -> bool:
    """True if the caller is a process of this machine and no proxy."""
    # A proxy on this machine calls from loopback, too, for whomever it says.
    if "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _is_own_scrape(request: HttpRequest) -> bool:
    return request.path == SCRAPE_PATH and is_from_this_machine(request)


def _own_host() -> str:
    name = settings.ALLOWED_HOSTS[0] if settings.ALLOWED_HOSTS else "*"
    return "localhost" if name == "*" else str(name).lstrip(".")


class Headers:
    """Middleware outside of whatever answers, static files included."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _is_own_scrape(request):
            # By whatever name of this machine: the rest of the answer is made as for anybody.
            request.META["HTTP_HOST"] = _own_host()
        response = self._refusal(request) or self._get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        match = request.resolver_match
        if match is not None and match.url_name == "logout":
            # Not the storage, which holds the choice of colours and nothing of what was read.
            response["Clear-Site-Data"] = '"cache"'
        # The API says for itself what may be kept and asks for it again each time. Here "back" after
        # signing out would show the page again.
        user = getattr(request, "user", None)
        if "Cache-Control" not in response and user is not None and user.is_authenticated:
            response["Cache-Control"] = "no-store"
        return response

    def _refusal(self, request: HttpRequest) -> HttpResponseBase | None:
        """Pages lead on from plain HTTP by themselves; what programs call does not."""
        is_plain = settings.SECURE_SSL_REDIRECT and not request.is_secure()
        is_program = re.match(settings.FOR_PROGRAMS, request.path.lstrip("/"))
        if is_plain and is_program and not _is_own_scrape(request):
            return problem(
                403, "plain HTTP is not answered; a token that was sent is no secret now"
            )
        return None
