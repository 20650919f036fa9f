"""Headers that every answer has, and what browsers keep of private pages: nothing."""

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from backend.common.rest.problem import problem

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
PERMISSIONS = ", ".join(f"{feature}=()" for feature in FEATURES)


class Headers:
    """Middleware outside of whatever answers, static files included."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
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
        if is_plain and re.match(settings.FOR_PROGRAMS, request.path.lstrip("/")):
            return problem(
                403, "plain HTTP is not answered; a token that was sent is no secret now"
            )
        return None
