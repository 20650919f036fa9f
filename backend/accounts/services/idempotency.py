"""A request that comes again with its Idempotency-Key is done once; its answer is kept for a day."""

import datetime as dt
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from backend.accounts.models import KeptAnswer
from backend.core import clock
from backend.core.crypto import seal, unseal
from backend.core.sealing import identity_of

LIFE = dt.timedelta(hours=24)


class KeyReused(Exception):
    """The key came with another request before."""


@dataclass(frozen=True)
class StoredAnswer:
    """Status, header fields and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request_digest(method: str, address: str, body: bytes) -> bytes:
    """SHA-256 of the parts that make two requests the same."""
    return hashlib.sha256(b"\0".join((method.encode(), address.encode(), body))).digest()


def answer_claim(*, caller: str, key: str, digest: bytes) -> tuple[KeptAnswer, StoredAnswer | None]:
    """The row of this key, and the answer that was kept in it; None: the request is to be done.

    To be called in the transaction that does the request: the same one beside it waits here until
    that ends, and an interrupted one leaves no row. Raises KeyReused for another request.
    """
    KeptAnswer.objects.filter(created_at__lt=clock.now() - LIFE).delete()
    row, is_new = KeptAnswer.objects.get_or_create(
        caller=caller, key=key, defaults={"request_sha256": digest}
    )
    if is_new:
        return row, None
    if not hmac.compare_digest(bytes(row.request_sha256), digest):
        raise KeyReused
    body = unseal(bytes(row.sealed_body or b""), identity=identity_of(row), ring=row.ring)
    return row, StoredAnswer(row.status, row.headers, body)


def answer_keep(*, row: KeptAnswer, answer: StoredAnswer) -> None:
    """Keeps the answer for whoever asks again."""
    row.status, row.headers = answer.status, dict(answer.headers)
    row.sealed_body = seal(answer.body, identity=identity_of(row), ring=row.ring)
    row.save()
