"""Which state of the data a page shows: for some seconds an earlier one, for whoever wrote the present.

Pages that rank hold on to a state (rankings.services.current_data). Whoever has sent a form sees what
it did: a cookie says so for as long as an earlier state may be shown. A page that needs what has
changed since is made once more, of the present state.
"""

import math
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from backend.catalog.selectors.data_version import DataStamp, StateGone
from backend.rankings.services.current_data import shown

COOKIE = "wrote"
READING = frozenset({"GET", "HEAD", "OPTIONS"})


def stamp_shown(request: HttpRequest) -> DataStamp:
    """The state that the page of a request is made of."""
    has_written = request.method not in READING or COOKIE in request.COOKIES
    return shown.get(is_fresh=has_written or hasattr(request, "is_made_again"))


class ShownState:
    """Remembers who wrote, and makes pages again that a held state does not serve."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        answer = self.get_response(request)
        if settings.PAGES_BEHIND_S and request.method not in READING:
            answer.set_cookie(
                COOKIE,
                "1",
                # Rounded up: browsers count whole seconds.
                max_age=math.ceil(settings.PAGES_BEHIND_S) + 1,
                httponly=True,
                secure=settings.SESSION_COOKIE_SECURE,
                samesite="Lax",
            )
        return answer

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """The page of the present state."""
        match = request.resolver_match
        if not isinstance(exception, StateGone) or match is None:
            return None
        request.is_made_again = True  # type: ignore[attr-defined]
        page: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return page
