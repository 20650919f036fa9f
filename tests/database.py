"""Quick forms of what tests do with the database again and again: empty it, load the same rows."""

import copy
import fcntl
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction

from backend.catalog.models import DataVersion
from backend.core import clock

Made = TypeVar("Made")
MADE_BY_MIGRATE = {"django_migrations", "django_content_type", "auth_permission"}


def tables() -> list[str]:
    """Every table of a model; the databases of tests have no others to empty."""
    models = (model for model in apps.get_models(include_auto_created=True))
    managed = {model._meta.db_table for model in models if model._meta.managed}
    return sorted(managed - MADE_BY_MIGRATE)


def tables_with_rows() -> list[str]:
    queries = (f"SELECT '{table}' WHERE EXISTS (SELECT FROM \"{table}\")" for table in tables())
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(queries))
        return sorted(table for (table,) in cursor.fetchall())


@contextmanager
def _without_triggers() -> Iterator[None]:
    """Foreign keys and marks are not looked after: rows come and go as a whole."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        cursor.execute("SET LOCAL session_replication_role = origin")


def _delete(names: list[str]) -> None:
    with connection.cursor() as cursor:
        for table in names:
            cursor.execute(f'DELETE FROM "{table}"')


def empty() -> None:
    """Delete every row, in a tenth of the time of Django's flush.

    That truncates all tables, of which most are empty, and makes content types and permissions anew.
    """
    with _without_triggers():
        _delete(tables_with_rows())


class Loaded(Generic[Made]):
    """Rows that a function makes: from the second time on they are copied instead.

    The processes of a whole suite share a directory (`ROWS_DIRECTORY`): one of them makes the rows.
    """

    def __init__(self, function: Callable[[], Made]) -> None:
        self._function = function
        self._rows: dict[str, list[bytes]] = {}
        self._made: Made

    def load(self) -> Made:
        """What the function answers. Its rows are kept when the database was empty before, and
        copied into tables that are empty; in any other it makes them."""
        filled = {*tables_with_rows()}
        if not self._rows and not filled:
            return self._first()
        if self._rows and not filled & self._rows.keys():
            self._copy_in()
            return copy.deepcopy(self._made)
        return self._function()

    def _first(self) -> Made:
        directory = os.environ.get("ROWS_DIRECTORY")
        if directory is None:
            return self._make()
        path = Path(directory, f"{self._function.__module__}.{self._function.__qualname__}")
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the others wait for the one that makes them
            if file.tell():
                file.seek(0)
                self._rows, self._made = pickle.load(file)
                self._copy_in()
                return copy.deepcopy(self._made)
            made = self._make()
            pickle.dump((self._rows, self._made), file)
        return made

    def _make(self) -> Made:
        made = self._function()
        self._copy_out()
        self._made = copy.deepcopy(made)
        return made

    def _copy_out(self) -> None:
        for table in tables_with_rows():
            with connection.cursor() as cursor, cursor.copy(f'COPY "{table}" TO STDOUT') as rows:
                self._rows[table] = [bytes(chunk) for chunk in rows]

    def _copy_in(self) -> None:
        with _without_triggers(), connection.cursor() as cursor:
            for table, chunks in self._rows.items():
                with cursor.copy(f'COPY "{table}" FROM STDIN') as rows:
                    for chunk in chunks:
                        rows.write(chunk)
            names = ", ".join(f'"{table}"' for table in self._rows)
            cursor.execute(f"ANALYZE {names}")
        self._advance_sequences()
        # What a process remembers of an earlier test's data version is not of this one's.
        DataVersion.objects.update(changed_at=clock.now())
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE catalog_storedstate SET changes_since = pg_current_xact_id()::text::bigint + 1"
            )

    def _advance_sequences(self) -> None:
        """Past the keys of rows that were numbered in another database.

        At every copy: rows of another function, which end at a lower key, may have come between.
        """
        models = [
            model
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed and model._meta.db_table in self._rows
        ]
        with connection.cursor() as cursor:
            for query in connection.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(query)
