"""The OpenAPI schema of the API, and its page."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from backend.common.rest.permissions import ScopePermission
from backend.common.rest.problem import CONTENT_TYPE

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457; `field` is a JSON pointer into the document or a parameter's name.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["field", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
}


class Generator(SchemaGenerator):
    """Adds to every operation that all other answers are problem documents."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        schema: dict[str, Any] = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
        content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"]["default"] = {"description": "Problem", "content": content}
        return schema


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """TokenAuthentication in the schema."""

    target_class = "backend.accounts.api.TokenAuthentication"
    name = ["bearer", "basic"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "http", "scheme": "basic"}]


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """SessionAuthentication in the schema."""

    target_class = "backend.accounts.api.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


schema_view = SpectacularAPIView.as_view(
    generator_class=Generator, permission_classes=[ScopePermission]
)
docs_view = SpectacularSwaggerView.as_view(
    url_name="api:schema", permission_classes=[ScopePermission]
)
