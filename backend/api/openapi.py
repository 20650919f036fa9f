"""The OpenAPI schema of the API, and its page."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.renderers import OpenApiJsonRenderer2
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from backend.common.rest.permissions import ScopePermission


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """TokenAuthentication in the schema."""

    target_class = "backend.accounts.api.TokenAuthentication"
    name = ["bearer", "basic"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """One or the other."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "http", "scheme": "basic"}]


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """SessionAuthentication in the schema."""

    target_class = "backend.accounts.api.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


class OpenApiView(SpectacularAPIView):
    """The schema as YAML; as JSON where Accept or `?format=json` asks for it."""

    permission_classes = (ScopePermission,)

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        if request.query_params.get("format") != OpenApiJsonRenderer2.format:
            return super().perform_content_negotiation(request, force)
        return OpenApiJsonRenderer2(), OpenApiJsonRenderer2.media_type


schema_view = OpenApiView.as_view()
# The strict policy allows no script within a page: here it has an address of its own.
docs_view = SpectacularSwaggerSplitView.as_view(
    url_name="api:schema", template_name="api/docs.html", permission_classes=[ScopePermission]
)
