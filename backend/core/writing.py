"""Many rows into the database at once."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db import connection, models

BATCH = 10_000


def rows_create(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    """Insert the rows that no constraint refuses.

    As one document: of `bulk_create` most of the time goes to making a statement.
    """
    fields = [
        field
        for field in model._meta.concrete_fields
        if not field.generated and not isinstance(field, models.AutoField)
    ]
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    table = connection.ops.quote_name(model._meta.db_table)
    statement = f"""
        INSERT INTO {table} ({names})
        SELECT {names} FROM json_populate_recordset(NULL::{table}, %s) ON CONFLICT DO NOTHING
    """  # noqa: S608 - names of our own models only
    # Only a field that is filled on writing has something to do.
    filled = [field for field in fields if getattr(field, "auto_now_add", False)]
    columns, values = (
        [str(field.column) for field in fields],
        attrgetter(*(f.attname for f in fields)),
    )

    def documents() -> Iterator[dict[str, Any]]:
        for row in rows:
            for field in filled:
                field.pre_save(row, add=True)
            yield dict(zip(columns, values(row), strict=True))

    made = documents()
    with connection.cursor() as cursor:
        while batch := list(islice(made, BATCH)):
            cursor.execute(statement, [json.dumps(batch, default=str)])
