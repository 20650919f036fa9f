"""The OpenAPI schema of the API, and its page."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.renderers import OpenApiJsonRenderer2
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from backend.core.rest.permissions import ScopePermission


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """TokenAuthentication in the schema."""

    target_class = "backend.accounts.api.authentication.TokenAuthentication"
    # Basic is for spreadsheets, whose dialogs ask for a name and a password.
    name = ["bearer", "basic"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Bearer or basic."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "http", "scheme": "basic"}]


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """SessionAuthentication in the schema."""

    target_class = "backend.accounts.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class DocumentExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """The documents that the domain reads, and what it answers."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    # Before drf-spectacular's own for pydantic, which writes JSON Schema 2020-12.
    priority = 1

    def get_name(self, auto_schema: Any, direction: str) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = self.target.model_json_schema(ref_template="#/components/schemas/{model}")
        # References lead to the components of the whole schema, so the parts are registered there, once.
        for name, inner in schema.pop("$defs", {}).items():
            auto_schema.registry.register_on_missing(
                ResolvedComponent(  # type: ignore[no-untyped-call]
                    name=name,
                    type=ResolvedComponent.SCHEMA,
                    object=name,
                    schema=openapi_schema(inner),
                )
            )
        result: dict[str, Any] = openapi_schema(schema)
        return result


class AnswerFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Fields of documents in answers."""

    target_class = "backend.core.rest.documents.AnswerField"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema: dict[str, Any] = openapi_schema(self.target.schema)
        return schema


def openapi_schema(schema: Any) -> Any:
    """A schema of 2020-12 as OpenAPI 3.0 states it: null, several types and open bounds differ."""
    if isinstance(schema, list):
        return [openapi_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # A field may itself be called "type" or "$ref", so names of properties are left alone.
    result = {
        name: {key: openapi_schema(each) for key, each in inner.items()}
        if name == "properties"
        else openapi_schema(inner)
        for name, inner in schema.items()
    }
    # 3.0 has a flag beside the bound where 2020-12 has the bound itself.
    if "exclusiveMinimum" in result:
        result |= {"minimum": result["exclusiveMinimum"], "exclusiveMinimum": True}
    if "prefixItems" in result:
        # OpenAPI 3.0 knows no tuples: that each place has a type of its own is lost.
        result["items"] = {"anyOf": result.pop("prefixItems")}
    if "$ref" in result and len(result) > 1:
        # In 3.0 everything beside a $ref is ignored, so its description would be.
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    if isinstance(result.get("type"), list):
        kinds = [kind for kind in result.pop("type") if kind != "null"]
        is_null = "null" in schema["type"]
        result |= {"type": kinds[0]} if len(kinds) == 1 else {"anyOf": _kinds(kinds, result)}
        result |= {"nullable": True} if is_null else {}
    if {"type": "null"} in result.get("anyOf", ()):
        kinds = [each for each in result.pop("anyOf") if each != {"type": "null"}]
        is_single = len(kinds) == 1 and "$ref" not in kinds[0]
        result |= (kinds[0] if is_single else {"anyOf": kinds}) | {"nullable": True}
    return result


def _kinds(kinds: list[str], bounds: dict[str, Any]) -> list[dict[str, Any]]:
    """A decimal string, or a number within its bounds, which leave the schema beside it."""
    of_text = {name: bounds.pop(name) for name in ("pattern",) if name in bounds}
    names = ("minimum", "maximum", "exclusiveMinimum")
    of_number = {name: bounds.pop(name) for name in names if name in bounds}
    return [{"type": kind, **(of_text if kind == "string" else of_number)} for kind in kinds]


class OpenApiView(SpectacularAPIView):
    """The schema as YAML; as JSON where Accept or `?format=json` asks for it."""

    permission_classes = (ScopePermission,)

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        # Here alone: elsewhere a parameter of that name chooses nothing (URL_FORMAT_OVERRIDE).
        if request.query_params.get("format") != OpenApiJsonRenderer2.format:
            return super().perform_content_negotiation(request, force)
        return OpenApiJsonRenderer2(), OpenApiJsonRenderer2.media_type


schema_view = OpenApiView.as_view()
# The strict policy allows no script within a page: here it has an address of its own.
docs_view = SpectacularSwaggerSplitView.as_view(
    url_name="api:schema", template_name="api/docs.html", permission_classes=[ScopePermission]
)


def without_null_enum(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Choices that may be null say so by `nullable` alone (a hook of drf-spectacular).

    Of the enum whose one value is null, openapi-generator makes a class that is no Python.
    """
    schemas = result["components"]["schemas"]
    null = {"$ref": "#/components/schemas/NullEnum"}
    for schema in schemas.values():
        for member in schema.get("properties", {}).values():
            choices = member.get("oneOf", [])
            if null in choices:
                choices.remove(null)
                member["allOf" if len(choices) == 1 else "oneOf"] = member.pop("oneOf")
    schemas.pop("NullEnum", None)
    return result
