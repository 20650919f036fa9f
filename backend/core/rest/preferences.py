"""Preferences of a client (RFC 7240)."""

from urllib.request import parse_http_list

from rest_framework.request import Request

RESPOND_ASYNC = "respond-async"
APPLIED = "Preference-Applied"


def prefers(request: Request, preference: str) -> bool:
    """True if the request names the preference, among others and with parameters or without."""
    stated = parse_http_list(request.headers.get("Prefer", ""))
    names = (
        preference.partition(";")[0].partition("=")[0].strip().lower() for preference in stated
    )
    return preference in names
