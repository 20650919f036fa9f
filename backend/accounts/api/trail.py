"""Where requests come from, for the audit trail; and what of the answers is recorded there: what
known callers take away in files, and what they are refused."""

from collections.abc import Callable
from http import HTTPStatus

from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from redis.exceptions import RedisError

from backend.accounts.services.acting import workspace_of
from backend.accounts.services.audit import audit_context, audit_record
from backend.core.logs import mask_secrets, request_id
from backend.core.rest.throttles import client_address

# A program that reads the same table in a loop is one line a minute.
RECORDED_EVERY_S = 60


class AuditTrail:
    """Middleware behind the one that numbers requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with audit_context(address=client_address(request), request_id=request_id()):
            response = self._get_response(request)
            if response.status_code == HTTPStatus.FORBIDDEN:
                _record(request, "refused")
            elif response.status_code == HTTPStatus.OK and "Content-Disposition" in response:
                _record(request, "export")
        return response


def _record(request: HttpRequest, action: str) -> None:
    # Of strangers only the log knows: whoever may read without an account may read everything
    # often, and would fill the trail.
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not _is_first(request, action):
        return
    workspace = workspace_of(request)
    detail: dict[str, object] = {"method": request.method, "path": _path(request)}
    if query := request.META.get("QUERY_STRING"):
        detail["query"] = mask_secrets(query)[:500]
    audit_record(actor=str(user)[:150], action=action, target=workspace, detail=detail)


def _path(request: HttpRequest) -> str:
    # PostgreSQL's JSON cannot hold a NUL.
    return mask_secrets(request.path).replace("\0", "?")


def _is_first(request: HttpRequest, action: str) -> bool:
    key = f"audit:{action}:{request.user.pk}:{request.path}"[:200]
    try:
        return bool(cache.add(key, 1, RECORDED_EVERY_S))
    except RedisError:
        return True
