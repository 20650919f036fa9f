"""Bills over the API: send one, follow its reading, read what it contains, remove it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import IO, Any, ClassVar

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from backend.accounts.api.authentication import actor
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.services.current_data import current_stamp
from backend.bills.calc.formats import FORMATS
from backend.bills.models import Bill, BillUpload, UploadState
from backend.bills.selectors.bills import bill_by_slug, bills_visible
from backend.bills.selectors.compared import ASSUMED, READERS, comparison_document
from backend.bills.services.bills import bill_delete
from backend.bills.services.uploads import MOST_BYTES, PART_BYTES, upload_keep
from backend.core.rest.documents import Problem
from backend.core.rest.jobs import Job, job_data
from backend.core.rest.parameters import read
from backend.core.rest.permissions import WRITE
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View
from backend.foundation.errors import InvalidValue, Reason

COLUMNS = (
    Column("slug", ColumnType.TEXT, "Name in addresses, which never changes"),
    Column("name", ColumnType.TEXT, "Name for people"),
    Column("formats", ColumnType.TEXT, f"{', '.join(FORMATS)}: of each file"),
    Column("total", ColumnType.DECIMAL, "Sum of all its lines", "currency"),
    Column("currency", ColumnType.TEXT, "Of all its amounts"),
    Column("line_count", ColumnType.INTEGER, "Lines of its files"),
    Column("unreadable_count", ColumnType.INTEGER, "Of these the ones that could not be read"),
    Column("created_by", ColumnType.TEXT, "User name, or token and its name"),
    Column("created_at", ColumnType.TIME, "When it was imported"),
)
# Bills say what a company spends: no role below analyst reads them, and no stranger ever.
SCOPES: Mapping[str, str] = {"GET": WRITE, "POST": WRITE, "DELETE": WRITE}


@dataclass(frozen=True)
class Pieces:
    """A body that was sent as it is."""

    content: Iterator[bytes]


class PieceParser(BaseParser):
    """The body as it is, whatever it calls itself, in pieces: it may hold gigabytes."""

    media_type = "*/*"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return Pieces(iter(lambda: stream.read(PART_BYTES), b""))


class BillDetail(serializers.Serializer[Any]):
    """Content of a bill: amounts as text, in its currency."""

    slug = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    currency = serializers.CharField()
    total = serializers.CharField(help_text="Of all lines, to the last digit")
    lines = serializers.IntegerField()
    hours = serializers.IntegerField(help_text="From its first period to the end of its last one")
    months = serializers.ListField(child=serializers.DictField())
    by_kind = serializers.ListField(child=serializers.DictField())
    by_service = serializers.ListField(child=serializers.DictField())
    machines = serializers.ListField(child=serializers.DictField())
    volumes = serializers.ListField(
        child=serializers.DictField(), default=list, help_text="GB of disks and of traffic"
    )
    wasted = serializers.DictField(
        default=dict, help_text="What is paid for and not used: commitments, idle"
    )
    notes = serializers.ListField(
        child=serializers.DictField(), default=list, help_text="Readings that somebody should check"
    )
    month_count = serializers.CharField(
        default=None, allow_null=True, help_text="Months that its amounts are of"
    )
    unreadable = serializers.DictField()
    shares = serializers.DictField(help_text="How machine hours were bought")
    compared = serializers.DictField(
        help_text="Of the alternatives: metric, what the machines cost a month, and what is assumed"
    )
    alternatives = serializers.ListField(child=serializers.DictField())


def _bill_of(request: Request, slug: str) -> Bill:
    bill = bill_by_slug(workspace_of(request), slug)
    if bill is None:
        raise Http404
    return bill


def _cells(bill: Bill) -> dict[str, Any]:
    cells = {column.name: getattr(bill, column.name) for column in COLUMNS}
    # Without the zeros of the database's column.
    return cells | {"total": Decimal(f"{bill.total.normalize():f}")}


def upload_job(upload: BillUpload, request: Request) -> Any:
    """How far the reading of a file is."""
    bill = upload.bill
    return job_data(
        # To a program a question is a failure: it sends the file again with the answer.
        state=UploadState.FAILED if upload.state == UploadState.ASKS else upload.state,
        progress=upload.progress_ratio,
        created_at=upload.created_at,
        result_url=reverse("api:bill", kwargs={"slug": bill.slug}, request=request)
        if bill is not None
        else None,
        reason=Reason.UNSUPPORTED if upload.failure else "",
        failure=upload.failure,
    )


class BillsView(ListView):
    """Bills that were imported, the newest first."""

    name = "bills"
    orders = {"name": "name", "created_at": "created_at"}
    since = "created_at"
    columns = COLUMNS
    scopes: ClassVar[Mapping[str, str]] = SCOPES
    parser_classes = (MultiPartParser, PieceParser)
    most_bytes = MOST_BYTES

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = bills_visible(workspace_of(request))
        return ListAnswer(COLUMNS, rows, rows.count(), cells=_cells, **shown)

    @extend_schema(
        parameters=[
            OpenApiParameter("name", str, description="Of the bill; that of the file otherwise"),
            OpenApiParameter("format", str, description=", ".join(FORMATS)),
            OpenApiParameter(
                "price_is", str, description="Of a plain table: unit or total, where it was asked"
            ),
        ],
        request={
            "application/octet-stream": OpenApiTypes.BINARY,
            "multipart/form-data": {
                "type": "object",
                "properties": {"file": {"type": "string", "format": "binary"}},
                "required": ["file"],
            },
        },
        responses={202: Job, 413: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """Send a file as the body or as `file` of a form; a worker reads it."""
        file_name, pieces = _upload_of(request)
        upload = upload_keep(
            workspace=workspace_of(request),
            name=request.query_params.get("name") or file_name.partition(".")[0] or "bill",
            file_name=file_name,
            content=pieces,
            format_slug=request.query_params.get("format", ""),
            price_is=request.query_params.get("price_is", ""),
            actor=actor(request),
        )
        url = reverse("api:job", kwargs={"job_id": upload.pk}, request=request)
        return Response(upload_job(upload, request), status=202, headers={"Location": url})


def _upload_of(request: Request) -> tuple[str, Iterable[bytes]]:
    """Name and content of the file."""
    sent: object = request.data
    if isinstance(sent, Pieces):
        return "bill", sent.content
    file = request.FILES.get("file")
    if file is None:
        is_form = (request.content_type or "").startswith("multipart/")
        raise InvalidValue(
            "/file", "the part file of the form is needed" if is_form else "it is empty"
        )
    return file.name or "bill", file.chunks(PART_BYTES)


class BillView(View):
    """A bill."""

    scopes: ClassVar[Mapping[str, str]] = SCOPES

    @extend_schema(
        operation_id="bills_get",
        parameters=[
            OpenApiParameter(name, str, description=words) for name, words in ASSUMED.items()
        ],
        responses={200: BillDetail},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The bill's content, and the cost of its machines elsewhere."""
        bill = _bill_of(request, slug)
        own = {name: getattr(bill, name) for name in ("slug", "name", "created_at")}
        asked, _ = read(dict(request.query_params.lists()), READERS)
        compared = comparison_document(bill, current_stamp(), asked)
        return Response(BillDetail({**bill.estate, **own, **compared}).data)

    @extend_schema(operation_id="bills_delete", responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        bill_delete(bill=_bill_of(request, slug), actor=actor(request))
        return Response(status=204)
