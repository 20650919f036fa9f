"""Many rows of the database as little Python as can be."""

from typing import Any

from django.db.models import BinaryField, Func, TextField

CHUNK = 500
"""Rows read from the database at a time: what lies between them in memory is lost to all else."""


def key_bytes(column: str) -> Func:
    """The bytes of a key, since tables hold them: objects of keys take longer to make than to read."""
    return Func(column, function="uuid_send", output_field=BinaryField())


def json_text(*columns: Any) -> Func:
    """The columns as one text of a JSON array: what many rows share is read once for all of them,
    where objects of each would take longer than all the rest."""
    return Func(
        *columns, template="json_build_array(%(expressions)s)::text", output_field=TextField()
    )
