"""Makes bills of files: those of a command at once, those that people sent when a worker reads them.

Apart from the other services, as it loads a library of 100 MB that the web process does not need.
"""

import hashlib
import io
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast
from uuid import UUID

from django.db import transaction
from django.db.models import F

from backend.accounts.models import Workspace
from backend.bills.calc.estate import estate, hour_of
from backend.bills.calc.estate_document import estate_document
from backend.bills.calc.joined import (
    join_unreadable,
    join_usage,
    refuse_repeated_months,
)
from backend.bills.calc.unit_prices import PriceIs, UnclearPrice
from backend.bills.models import Bill, BillUpload, BillUploadPart, UploadState
from backend.bills.services.bills import bill_name, bill_store
from backend.bills.services.list_prices import check_prices
from backend.bills.services.reading import Reading, bill_read
from backend.foundation.errors import InvalidValue

PROGRESS_S = 1.0
# A worker that dies while it reads leaves the upload to the next one, so often.
MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class BillFile:
    """A file of a bill: its name for messages, and how to open it."""

    name: str
    open: Callable[[], BinaryIO]


class _HashedFile(io.RawIOBase):
    """Passes a file on and hashes what is read of it."""

    def __init__(self, file: BinaryIO, digest: Any) -> None:
        self._file, self._digest = file, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._digest.update(data)
        buffer[: len(data)] = data
        return len(data)


def bill_import(
    *,
    workspace: Workspace,
    name: str,
    files: Sequence[BillFile],
    actor: str,
    slug: str | None = None,
    price_is: PriceIs = PriceIs.UNKNOWN,
) -> Bill:
    """Read the files of one bill and keep what it contains; `slug` is their format, if stated.

    InvalidValue names what is wrong with a file, or that it was imported before; UnclearPrice asks
    whether amounts are of a unit or of a line. Nothing is kept then.
    """
    kept_name = bill_name(name)
    digest, salt = hashlib.sha256(), secrets.token_hex(16)
    readings = [
        (file.name, _read(file, digest, slug=slug, salt=salt, price_is=price_is)) for file in files
    ]
    groups = [(named, list(reading.groups())) for named, reading in readings]
    refuse_repeated_months(groups)
    usage = join_usage([reading.usage for _, reading in readings])
    unreadable = (
        readings[0][1].unreadable
        if len(readings) == 1
        else join_unreadable((named, reading.unreadable) for named, reading in readings)
    )
    whole = estate([part for _, of_file in groups for part in of_file], usage, unreadable)
    if price_is is PriceIs.UNKNOWN:
        for _, reading in readings:
            check_prices(reading, whole, workspace)
    first_hour = 0 if usage.begin is None else hour_of(usage.begin)
    formats = dict.fromkeys(reading.format.slug for _, reading in readings)
    return bill_store(
        bill=Bill(
            workspace=workspace,
            name=kept_name,
            formats=",".join(formats),
            sha256=digest.hexdigest(),
            currency=whole.currency,
            total=whole.total,
            line_count=whole.lines,
            unreadable_count=whole.unreadable.lines,
            estate=estate_document(whole, first_hour),
            created_by=actor,
        )
    )


def _read(file: BillFile, digest: Any, **given: Any) -> Reading:
    with file.open() as opened:
        try:
            return bill_read(cast("BinaryIO", _HashedFile(opened, digest)), **given)
        except InvalidValue as error:
            raise InvalidValue(error.field, f"{file.name}: {error.detail}") from error


# --- what people sent -------------------------------------------------------------------------


def upload_read(*, upload: BillUpload) -> None:
    """Make the bill of an upload, or note why it is none; its pieces go either way.

    Whoever calls it makes sure that nobody else reads it (workers.bills).
    """
    # Counted before it is read, or a bill that ends its worker each time would be tried for ever.
    BillUpload.objects.filter(pk=upload.pk).update(attempts=F("attempts") + 1)
    if upload.attempts >= MOST_ATTEMPTS:
        _fail(upload, "reading it ended a worker several times")
        return
    file = BillFile(upload.file_name, partial(_open, upload))
    try:
        bill = bill_import(
            workspace=upload.workspace,
            name=upload.name,
            files=[file],
            slug=upload.format or None,
            actor=upload.created_by,
            price_is=PriceIs(upload.price_is),
        )
    except UnclearPrice as error:
        # Its pieces stay until somebody answers (uploads.upload_answer).
        BillUpload.objects.filter(pk=upload.pk).update(
            state=UploadState.ASKS, failure=error.detail, attempts=0
        )
        return
    except InvalidValue as error:
        # The page names the file itself.
        _fail(upload, error.detail.removeprefix(f"{upload.file_name}: "))
        return
    with transaction.atomic():
        BillUpload.objects.filter(pk=upload.pk).update(
            state=UploadState.DONE, progress_ratio=1, bill=bill
        )
        upload.parts.all().delete()


@transaction.atomic
def _fail(upload: BillUpload, why: str) -> None:
    BillUpload.objects.filter(pk=upload.pk).update(state=UploadState.FAILED, failure=why)
    upload.parts.all().delete()


def _open(upload: BillUpload) -> BinaryIO:
    return cast(
        "BinaryIO", io.BufferedReader(_UploadedFile(upload.pk, partial(_save_progress, upload)))
    )


def _save_progress(upload: BillUpload, read: int) -> None:
    ratio = min(0.99, read / upload.size_bytes)
    BillUpload.objects.filter(pk=upload.pk).update(progress_ratio=ratio)


class _UploadedFile(io.RawIOBase):
    """The pieces of an upload, one after the other; says how far it is about once a second."""

    def __init__(self, upload_id: UUID, progressed: Callable[[int], None]) -> None:
        self._id, self._progressed = upload_id, progressed
        self._number, self._read, self._left = 0, 0, memoryview(b"")
        self._said_at = time.monotonic()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            parts = BillUploadPart.objects.filter(upload=self._id, number=self._number)
            content = parts.values_list("content", flat=True).first()
            if content is None:
                return 0
            self._left, self._number = memoryview(content), self._number + 1
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        self._read += size
        if time.monotonic() > self._said_at + PROGRESS_S:
            self._said_at = time.monotonic()
            self._progressed(self._read)
        return size
