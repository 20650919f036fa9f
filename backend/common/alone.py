"""Work that one process does at a time, however many there are."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def alone(lock: int) -> Iterator[bool]:
    """Whether no other process has this lock of the database; released with the connection if we die."""
    with connection.cursor() as cursor:
        # Of the session: the work is many transactions, and none is open while others are waited for.
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        if is_alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])
