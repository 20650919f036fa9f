"""Writes of uploads: kept in pieces as they come, until a worker has read them (importing)."""

from collections.abc import Iterable

from django.db import transaction

from backend.accounts.models import Workspace
from backend.bills.calc.formats import FORMATS
from backend.bills.calc.unit_prices import PriceIs
from backend.bills.models import BillUpload, BillUploadPart, UploadState
from backend.bills.services.bills import bill_name
from backend.core.queue import Task, enqueue
from backend.foundation.errors import InvalidValue

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
    price_is: str = "",
    actor: str,
) -> BillUpload:
    """Keep a file for a worker to read. InvalidValue for an empty one, or a name that cannot be."""
    if format_slug and format_slug not in FORMATS:
        raise InvalidValue("/format", f"one of {', '.join(FORMATS)} is needed")
    upload = BillUpload.objects.create(
        price_is=_price_is(price_is),
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


@transaction.atomic
def upload_answer(*, upload: BillUpload, price_is: str) -> None:
    """Read it again with an answer to its question. InvalidValue where it has none."""
    if upload.state != UploadState.ASKS or not price_is:
        raise InvalidValue("/price_is", "the file waits for no answer: send it again")
    upload.price_is, upload.state, upload.failure = _price_is(price_is), UploadState.QUEUED, ""
    upload.save(update_fields=("price_is", "state", "failure"))
    enqueue(Task.READ_BILLS)


def _price_is(text: str) -> str:
    try:
        return PriceIs(text)
    except ValueError:
        raise InvalidValue("/price_is", "unit or total is needed") from None


def _parts(content: Iterable[bytes]) -> Iterable[bytes]:
    kept = bytearray()
    for piece in content:
        kept += piece
        while len(kept) >= PART_BYTES:
            yield bytes(kept[:PART_BYTES])
            del kept[:PART_BYTES]
    if kept:
        yield bytes(kept)
