"""Every column that holds a sealed value, and the change of all of them to the present keys."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db.models import Model, QuerySet

from backend.core.crypto import (
    CREDENTIALS,
    KeyMissing,
    Ring,
    SealBroken,
    is_current,
    rewrap,
)

# Rows between two reports: rare enough to cost nothing, often enough to show that it goes on.
CHUNK = 500
PREFIX = "sealed_"


@dataclass(frozen=True)
class SealedColumn:
    """A column `sealed_…`; the value of a row is bound to `<model>:<primary key>`."""

    model: str
    """`app.Model`."""
    column: str

    def __str__(self) -> str:
        return f"{self.model}.{self.column}"


def secret_columns() -> list[SealedColumn]:
    """The columns of all models whose name says it, so that no app has to be listed here."""
    return [
        SealedColumn(model._meta.label, field.name)
        for model in apps.get_models()
        for field in model._meta.local_fields
        if field.name.startswith(PREFIX)
    ]


@dataclass
class Rotated:
    """The outcome of one column's values."""

    column: SealedColumn
    current: int = 0
    """Were under the current key already."""
    rewrapped: int = 0
    broken: list[str] = field(default_factory=list)
    """Rows whose value opens with none of our keys; they stay as they are."""


def keys_rotate(*, seen: Callable[[Rotated], None]) -> list[Rotated]:
    """Wrap every sealed value under the present key of its ring, row by row; no secret is opened.

    Each row is one statement that holds only for the value that was read, so the rotation may be
    ended and begun again at any time, beside workers. `seen` hears of every CHUNK rows.
    """
    return [_column_rotated(column, seen) for column in secret_columns()]


def _column_rotated(column: SealedColumn, seen: Callable[[Rotated], None]) -> Rotated:
    rotated = Rotated(column)
    # The base manager, since another one may hide rows whose secrets must not be forgotten.
    rows = apps.get_model(column.model)._base_manager.exclude(**{column.column: None})
    # Keys first and each row by itself: no transaction stays open over a whole table.
    keys = rows.order_by("pk").values_list("pk", flat=True)
    for number, key in enumerate(keys.iterator(chunk_size=CHUNK), start=1):
        _row_rotated(rows.filter(pk=key), rotated)
        if number % CHUNK == 0:
            seen(rotated)
    seen(rotated)
    return rotated


def _row_rotated(row: QuerySet[Any], rotated: Rotated) -> None:
    name, ring = rotated.column.column, ring_of(row.model)
    # Without a limit: a row is only read again when somebody else has written it in between.
    while (stored := row.only("pk", name).first()) is not None:
        value = bytes(getattr(stored, name))
        try:
            if is_current(value, ring=ring):
                rotated.current += 1
                return
            wrapped = rewrap(value, identity=identity_of(stored), ring=ring)
        except KeyMissing:
            raise
        except SealBroken:
            rotated.broken.append(str(stored.pk))
            return
        # A row that changed meanwhile is read again, so no newer secret is overwritten.
        if row.filter(**{name: value}).update(**{name: wrapped}):
            rotated.rewrapped += 1
            return


def ring_of(model: type[Model]) -> Ring:
    """The keys that seal and open what rows of the model hold: the credentials' unless it names others."""
    return getattr(model, "ring", CREDENTIALS)


def identity_of(row: Model) -> str:
    """Identity that the sealed values of a row are bound to."""
    return f"{row._meta.model_name}:{row.pk}"
