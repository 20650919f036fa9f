"""The question before something is deleted: a page of its own, so it needs no script."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from backend.foundation.errors import DomainError
from backend.site.access import P, View
from backend.site.forms import refusal_said


class Question(NamedTuple):
    """A question; `consequences` says what depends on it, `back` is where "No" leads."""

    title: str
    button: str
    back: str
    consequences: tuple[str, ...] = ()


def confirm_first(
    asked: Callable[Concatenate[HttpRequest, P], Question],
) -> Callable[[View[P]], View[P]]:
    """Answers GET with the question; the view itself is called by POST alone. Where a service
    refuses, it leads back and says why.

    `asked` takes what the view takes, and demands the same scope.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        @require_http_methods(["GET", "HEAD", "POST"])
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method == "POST":
                try:
                    return view(request, *args, **kwargs)
                except DomainError as error:
                    refusal_said(request, error)
                    # The refusal is said on the page of the object, which is still there.
                    return HttpResponseRedirect(asked(request, *args, **kwargs).back)
            question = asked(request, *args, **kwargs)
            return render(request, "confirm.html", {"question": question})

        return guarded

    return decorate
