"""The OpenAPI schema of the API, and its page."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

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


schema_view = SpectacularAPIView.as_view(permission_classes=[ScopePermission])
docs_view = SpectacularSwaggerView.as_view(
    url_name="api:schema", permission_classes=[ScopePermission]
)
