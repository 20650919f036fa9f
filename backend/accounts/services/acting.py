"""In which workspace a request acts, and who may sign in at all."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from backend.accounts.models import ApiToken, User, Workspace
from backend.accounts.services.sessions import session_is_over
from backend.accounts.services.workspaces import (
    DEFAULT_WORKSPACE,
    default_workspace,
    home_workspace,
)

SIGN_IN_BACKEND = "backend.accounts.services.acting.MembersBackend"
KEPT = "_workspace"
# Key of the session: slug of the workspace that the person chose.
CHOSEN = "workspace"


class MembersBackend(ModelBackend):
    """People who are active, and members of a workspace or superusers; asked at every request."""

    def authenticate(self, request: HttpRequest | None, *args: Any, **given: Any) -> Any:
        """None where nobody signs in by a password."""
        if not settings.PASSWORD_SIGN_IN:
            return None
        return super().authenticate(request, *args, **given)

    def user_can_authenticate(self, user: Any) -> bool:
        if not super().user_can_authenticate(user):
            return False
        return user.is_superuser or user.membership is not None


class ActingWorkspace:
    """Lets the person of a session act in the workspace that they chose."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Lazy, as Django's own: most static answers ask for nobody.
        request.user = SimpleLazyObject(lambda: _acting(request))  # type: ignore[assignment]
        return self.get_response(request)


def _acting(request: HttpRequest) -> User | AnonymousUser:
    user = get_user(request)
    if isinstance(user, User):
        if session_is_over(request):
            request.session.flush()
            return AnonymousUser()
        user.chosen_workspace = request.session.get(CHOSEN, "")
        # Whether the person may sign in was asked of the first membership.
        user.__dict__.pop("membership", None)
    return user


def workspace_of(request: Any) -> Workspace:
    """The workspace that a request of API or pages acts in: that of its token or of its person's
    choice; strangers see the default one."""
    auth: object = getattr(request, "auth", None)
    if isinstance(auth, ApiToken):
        return auth.workspace
    # Kept with the request: a page asks for it a dozen times.
    kept: Workspace | None = request.__dict__.get(KEPT)
    if kept is None:
        kept = request.__dict__[KEPT] = _workspace_of_person(request.user)
    return kept


def workspace_slug(request: Any) -> str:
    """The slug of the same; of strangers without a query."""
    if getattr(request, "auth", None) is None and not isinstance(request.user, User):
        return DEFAULT_WORKSPACE
    return workspace_of(request).slug


def _workspace_of_person(user: object) -> Workspace:
    """The chosen workspace of a member; a superuser may choose any."""
    if not isinstance(user, User):
        return default_workspace()
    if user.is_superuser and user.chosen_workspace:
        chosen = Workspace.objects.filter(slug=user.chosen_workspace).first()
        if chosen is not None:
            return chosen
    return home_workspace(user)
