"""Abstract models shared by the apps."""

import hashlib
import json
import uuid
from collections.abc import Collection
from typing import Any, Self

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

# Of a value in the audit trail; of a longer one its hash says whether it changed.
MOST_CHARACTERS = 2_000


class Identified(models.Model):
    """A row addressed from outside by a UUID, with its creation time."""

    # Not a number that counts up: it would tell strangers how many rows there are, and invite to
    # try the next one.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Remembering(models.Model):
    """A row that knows what was read, so that the audit trail can say what a write changed."""

    class Meta:
        abstract = True

    _read: tuple[Collection[str], Collection[Any]] | None = None

    @classmethod
    def from_db(
        cls, db: str | None, field_names: Collection[str], values: Collection[Any], **given: Any
    ) -> Self:
        row = super().from_db(db, field_names, values, **given)
        # As it comes: only few rows that are read are ever written, and a mapping of each would cost.
        row._read = (field_names, values)
        return row

    def changes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields before and after, as JSON; of a new row all of them are after. No secrets: neither
        sealed values nor hashes of passwords."""
        shown = [
            field.attname
            for field in self._meta.concrete_fields
            if not isinstance(field, models.BinaryField) and field.name != "password"
        ]
        if self._read is None:
            return {}, {name: _as_json(getattr(self, name)) for name in shown}
        read = dict(zip(*self._read, strict=True))
        # What was deferred is not read now: it was not changed either.
        changed = [
            name
            for name in shown
            if name in read and name in self.__dict__ and read[name] != self.__dict__[name]
        ]
        before = {name: _as_json(read[name]) for name in changed}
        return before, {name: _as_json(self.__dict__[name]) for name in changed}


def _as_json(value: Any) -> Any:
    encoded = json.dumps(value, cls=DjangoJSONEncoder)
    if len(encoded) > MOST_CHARACTERS:
        digest = hashlib.sha256(encoded.encode()).hexdigest()
        return f"{len(encoded)} characters, SHA-256 {digest}"
    return json.loads(encoded)
