"""Texts outside of the database: a bucket with the interface of S3, where EVIDENCE_STORE names one."""

import datetime as dt
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

CONNECT_S, ANSWER_S = "3s", "10s"
# The library's own default would try for three minutes, while somebody waits for a page.
RETRIES, RETRIED_S = 2, 8


class StoreAway(Exception):
    """The object store did not answer, or refused. What lies there cannot be read or written now."""


def put(key: str, content: bytes) -> None:
    """Store an object, in place of an earlier one of its key. Raises StoreAway."""
    with _Away("written"):
        _store().put(key, content)


def get(key: str) -> bytes:
    """The whole object. Raises StoreAway, also where there is none."""
    with _Away("read"):
        return bytes(_store().get(key).bytes())


def delete(keys: Sequence[str]) -> None:
    """Objects that are not there are no fault. Raises StoreAway."""
    with _Away("deleted"):
        if keys:
            _store().delete(keys)


class _Away:
    """Every fault of the library as ours; without addresses or keys, which may stand in its text."""

    def __init__(self, done: str) -> None:
        self._done = done

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, _: object) -> None:
        from obstore.exceptions import BaseError

        if isinstance(error, (BaseError, OSError)):
            detail = f"an object cannot be {self._done}: {type(error).__name__}"
            raise StoreAway(detail) from error


@cache
def _store() -> "S3Store":
    # Here: a process that needs no object loads nothing.
    from obstore.store import S3Store

    bucket = urlsplit(settings.EVIDENCE_STORE)
    endpoint = settings.EVIDENCE_STORE_ENDPOINT
    given = {
        "access_key_id": settings.EVIDENCE_STORE_KEY_ID,
        "secret_access_key": settings.EVIDENCE_STORE_SECRET,
        "endpoint": endpoint,
        "region": settings.EVIDENCE_STORE_REGION,
    }
    # Without keys the library asks the machine that it runs on for its own identity.
    config: S3Config = {name: word for name, word in given.items() if word}  # type: ignore[assignment]
    return S3Store(
        bucket.netloc,
        prefix=bucket.path.strip("/") or None,
        config=config,
        virtual_hosted_style_request=not endpoint,
        client_options={
            "connect_timeout": CONNECT_S,
            "timeout": ANSWER_S,
            "allow_http": endpoint.startswith("http://"),
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": dt.timedelta(seconds=RETRIED_S)},
    )
