"""The key by which Rackrate logs in to hosts that were given none: shown, replaced, dropped."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.consequences import earlier_key_consequences
from backend.benchmarks.selectors.hosts import hosts_with_login_key, login_key_of
from backend.benchmarks.services.login_keys import login_key_drop, login_key_replace
from backend.core.rest.deleting import delete_response, deleting
from backend.core.rest.documents import NoDocument, Problem
from backend.core.rest.permissions import ADMIN, RUN
from backend.core.rest.problem import Conflict
from backend.core.rest.views import View
from backend.foundation.errors import InvalidValue


class LoginKeyDetail(serializers.Serializer[Any]):
    """Lines for authorized_keys."""

    public_key = serializers.CharField(allow_null=True, help_text="null before the first host")
    earlier_public_key = serializers.CharField(
        allow_null=True, help_text="the earlier key, which also logs in until it is dropped"
    )
    host_count = serializers.IntegerField(help_text="hosts that are logged in to with it")


class LoginKeyView(View):
    """Rackrate's own key in this workspace."""

    scopes: ClassVar[Mapping[str, str]] = {"GET": RUN, "POST": ADMIN}

    @extend_schema(operation_id="login_key_get", responses={200: LoginKeyDetail})
    def get(self, request: Request) -> Response:
        """Its public half, and that of the earlier key while it is kept."""
        return Response(_detail(request))

    @extend_schema(
        operation_id="login_key_replace",
        request=NoDocument,
        responses={200: LoginKeyDetail, 409: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Make a new one. The earlier key also logs in until it is dropped; 409 while an even earlier
        one is still kept."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        try:
            login_key_replace(workspace=workspace_of(request), actor=actor(request))
        except InvalidValue as error:
            raise Conflict(error.detail) from error
        return Response(_detail(request))


class EarlierLoginKeyView(View):
    """The earlier key."""

    scopes: ClassVar[Mapping[str, str]] = {"DELETE": ADMIN}

    @deleting("login_key_drop")
    def delete(self, request: Request) -> Response:
        """Forget it: hosts that accept only that key refuse Rackrate from then on."""
        workspace = workspace_of(request)
        return delete_response(
            request,
            partial(earlier_key_consequences, workspace),
            partial(login_key_drop, workspace=workspace, actor=actor(request)),
        )


def _detail(request: Request) -> Any:
    workspace = workspace_of(request)
    key = login_key_of(workspace)
    return LoginKeyDetail(
        {
            "public_key": key.public_key if key else None,
            "earlier_public_key": (key.earlier_public_key if key else "") or None,
            "host_count": hosts_with_login_key(workspace).count(),
        }
    ).data
