"""Many rows of the database as little Python as can be."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BinaryField, Func, QuerySet, TextField
from psycopg import ClientCursor

# Rows read from the database at a time: what lies between them in memory is lost to all else.
CHUNK = 500


def key_bytes(column: str) -> Func:
    """The bytes of a key, since tables hold them: objects of keys take longer to make than to read."""
    return Func(column, function="uuid_send", output_field=BinaryField())


def json_text(*columns: Any) -> Func:
    """The columns as one text of a JSON array: what many rows share is read once for all of them,
    where objects of each would take longer than all the rest."""
    return Func(
        *columns, template="json_build_array(%(expressions)s)::text", output_field=TextField()
    )


def copy_rows(rows: QuerySet[Any, Any], *types: str) -> Iterator[tuple[Any, ...]]:
    """The values of a query, of these types of PostgreSQL, while the database still makes the next.

    For all of a large table: of a cursor each side waits for the other, and only one process of the
    database works for it. Nothing else may be asked of the connection until all were read.
    """
    try:
        sql, parameters = rows.query.sql_with_params()
    # Conditions that no row can meet.
    except EmptyResultSet:
        return
    with connection.cursor() as cursor:
        # COPY takes no parameters of its own.
        query = ClientCursor(connection.connection).mogrify(sql, parameters)
        with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)") as copy:
            copy.set_types(types)
            yield from copy.rows()
