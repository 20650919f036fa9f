"""Work that one process does at a time, however many there are."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Of who changes all tables: migrations, and a copy that is put in their place.
SCHEMA_LOCK = 7_268_101


@contextmanager
def alone(lock: int) -> Iterator[bool]:
    """True if no other process has this lock of the database; released with the connection if we die."""
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


@contextmanager
def schema_alone() -> Iterator[None]:
    """Waits until nobody else changes all tables; others wait for us."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [SCHEMA_LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [SCHEMA_LOCK])
