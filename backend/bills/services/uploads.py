"""Writes of uploads: kept in pieces as they come, until a worker has read them (importing)."""

from collections.abc import Iterable

from django.db import transaction

from backend.accounts.models import Workspace
from backend.bills.models import BillUpload, BillUploadPart
from backend.bills.services.bills import bill_name
from backend.common.queue import Task, enqueue
from backend.domain.bills.formats import FORMATS
from backend.domain.errors import InvalidValue

MOST_BYTES = 2 * 1024**3
PART_BYTES = 4 * 1024 * 1024


@transaction.atomic
def upload_keep(
    *,
    workspace: Workspace,
    name: str,
    file_name: str,
    content: Iterable[bytes],
    format_slug: str = "",
    actor: str,
) -> BillUpload:
    """Keep a file for a worker to read. InvalidValue for an empty one, or a name that cannot be."""
    if format_slug and format_slug not in FORMATS:
        raise InvalidValue("/format", f"one of {', '.join(FORMATS)} is needed")
    upload = BillUpload.objects.create(
        workspace=workspace,
        name=bill_name(name),
        file_name=file_name[:200],
        format=format_slug,
        size_bytes=0,
        created_by=actor,
    )
    for number, part in enumerate(_parts(content)):
        BillUploadPart.objects.create(upload=upload, number=number, content=part)
        upload.size_bytes += len(part)
    if not upload.size_bytes:
        raise InvalidValue("/file", "it is empty")
    upload.save(update_fields=("size_bytes",))
    enqueue(Task.READ_BILLS)
    return upload


def _parts(content: Iterable[bytes]) -> Iterable[bytes]:
    kept = bytearray()
    for piece in content:
        kept += piece
        while len(kept) >= PART_BYTES:
            yield bytes(kept[:PART_BYTES])
            del kept[:PART_BYTES]
    if kept:
        yield bytes(kept)
