"""Who may see a page, and who may change something on it."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from backend.accounts.models import Scope, User
from backend.site.language import _

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def readable(view: View[P]) -> View[P]:
    """Page for everybody when PUBLIC_READ is on, else for people who have signed in."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not settings.PUBLIC_READ and not request.user.is_authenticated:
            # With the page asked for, to which signing in leads back.
            return redirect_to_login(request.get_full_path())
        return view(request, *args, **kwargs)

    return guarded


def sign_in_required(view: View[P]) -> View[P]:
    """Page for people who have signed in, whatever is public."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return view(request, *args, **kwargs)

    return guarded


def may(request: HttpRequest, needed: Scope) -> bool:
    """True if the person's role includes the scope; nobody's does not."""
    # Not only is_authenticated: an anonymous user has no scope to ask for.
    return isinstance(request.user, User) and request.user.scope.includes(needed)


def foreign_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answers a form without the token of its page (CSRF_FAILURE_VIEW)."""
    detail = _("This form is too old, or came from another page. Open its page again.")
    return render(request, "403.html", {"exception": detail}, status=HTTPStatus.FORBIDDEN)


def demand_installation(request: HttpRequest) -> None:
    """Raises PermissionDenied (403) for all but those who run the installation."""
    if not person_of(request).is_superuser:
        raise PermissionDenied(_("Only those who run this installation do this."))


def person_of(request: HttpRequest) -> User:
    """Who has signed in; raises PermissionDenied for a stranger."""
    if not isinstance(request.user, User):
        raise PermissionDenied(_("Sign in first."))
    return request.user


def demand(request: HttpRequest, needed: Scope) -> None:
    """Raises PermissionDenied (403) for a person whose role is too small."""
    if not may(request, needed):
        raise PermissionDenied(_("You need the role {label}. Ask an admin.", label=needed.label))
