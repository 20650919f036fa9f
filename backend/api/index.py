"""Where everything is: the addresses of the API."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.core.rest.views import View


class IndexView(View):
    """The address of each list by its name, and of the description of all others."""

    names: tuple[str, ...] = ()

    @extend_schema(operation_id="index", responses={200: OpenApiTypes.OBJECT}, tags=["index"])
    def get(self, request: Request, **_: str) -> Response:
        names = (*self.names, "schema", "docs")
        return Response({name: reverse(f"api:{name}", request=request) for name in names})
