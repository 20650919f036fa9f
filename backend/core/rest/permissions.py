"""Who may do what: a scope per method of a view, held by the token or the person."""

from typing import Any, Protocol

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

READ = "read"
WRITE = "write"
RUN = "run"
ADMIN = "admin"


class GrantedScope(Protocol):
    """A level of rights, as the accounts define them."""

    def includes(self, needed: Any, /) -> bool:
        """True if these rights are at least the needed ones."""
        ...


def scope_of_method(view: Any, method: str) -> str:
    """Scope of the method by the view's `scopes`; reading needs read, all else admin."""
    # HEAD and OPTIONS show no more than GET, so they need what GET needs.
    scopes: dict[str, str] = getattr(view, "scopes", {})
    if method in SAFE_METHODS:
        return scopes.get("GET", READ)
    # A view that forgets to say what writing needs is closed to all but admins.
    return scopes.get(method, ADMIN)


class ScopePermission(BasePermission):
    """The scope of the token or person must include what the view asks for.

    Without either, reading is allowed where PUBLIC_READ is on. DRF answers 401 to a stranger and
    403 to somebody known.
    """

    message = "the scope of this token or account does not allow it"

    def has_permission(self, request: Request, view: object) -> bool:
        needed = scope_of_method(view, request.method or "")
        if not request.user.is_authenticated:
            is_reading = needed == READ
            return bool(settings.PUBLIC_READ) and is_reading
        scope: GrantedScope = request.user.scope
        return scope.includes(needed)
