"""Limits of what a request may carry."""

from http import HTTPStatus

from rest_framework.exceptions import APIException
from rest_framework.request import Request


class TooLarge(APIException):
    """413: the body is larger than this address takes."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def check_length(request: Request, most: int) -> None:
    """Refuse by its stated length, before any of it is read; a WSGI body ends there."""
    stated = str(request.META.get("CONTENT_LENGTH") or "0")
    if not stated.isdigit() or int(stated) > most:
        raise TooLarge(f"the body has {stated} bytes; {most} are the most")
