"""Tables that a process holds from one state of the data to the next, reading only what changed.

What it does not hold it takes from a file that another process left, as if it had read it then.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from collections.abc import Set as AbstractSet
from threading import Lock
from typing import Any, Protocol, TypeVar
from uuid import UUID

from backend.catalog.selectors.data_changes import offers_with_changes
from backend.catalog.selectors.data_version import Position
from backend.core.shared_files import SharedFiles


class Sized(Protocol):
    """A table that says how large it is."""

    @property
    def nbytes(self) -> int: ...


Table = TypeVar("Table", bound=Sized)


class KnownTables:
    """The newest of each table up to so many bytes, and when each was read."""

    def __init__(self, most_bytes: int, files: SharedFiles) -> None:
        self._most_bytes = most_bytes
        self._files = files
        self._known: OrderedDict[Hashable, tuple[Position, Any]] = OrderedDict()
        self._lock = Lock()

    def get(
        self,
        key: Hashable,
        changes: tuple[str, str],
        now: Position,
        read: Callable[[], Table],
        patched: Callable[[Table, AbstractSet[UUID]], Table | None],
        *,
        known: Mapping[str, Any],
    ) -> Table:
        """The table as it is now: the one held, as `patched` makes it of what the offers have that
        changed, or `read`, where nothing is held or it gives None.

        `changes` are kind and metric of what it is made of; `now` was asked before the data, so that
        what is changed while they are read is changed since. `known` are objects that it refers to,
        by names that no others have.
        """

        # What this transaction has written it may take back, and nobody would be told.
        if now.is_writing:
            return read()

        def renewed(earlier: tuple[Position, Table] | None) -> Table | None:
            """A table that was read earlier as it is now."""
            if earlier is None:
                return None
            since, old = earlier
            # A slow request: what is newer than it asks for serves it as what it would read itself.
            if now.precedes(since):
                return patched(old, frozenset())
            offers = offers_with_changes(changes[0], since, now, changes[1])
            return None if offers is None else patched(old, offers)

        with self._lock:
            earlier = self._known.get(key)
        table: Table | None = renewed(earlier)
        if table is None:
            table = self._share(key, now, renewed, read, known)
        self._keep(key, now, table, known)
        return table

    def _share(
        self,
        key: Hashable,
        now: Position,
        renewed: Callable[[tuple[Position, Table] | None], Table | None],
        read: Callable[[], Table],
        known: Mapping[str, Any],
    ) -> Table:
        """The table of another process, or read and left to the others."""
        # One for each, however often the server was started since: the file says when it was read.
        name = f"{now.database[1:]} {key!r}"
        table = renewed(self._files.load(name, known))
        if table is None:
            with self._files.lock_out_others(name):
                # Whoever had the lock before has made it.
                table = renewed(self._files.load(name, known))
                if table is None:
                    made = read()
                    self._files.save(name, (now, made), known)
                    # From now on its arrays are those of the file, as for the others.
                    table = renewed(self._files.load(name, known)) or made
        return table

    def _keep(self, key: Hashable, now: Position, table: Sized, known: Mapping[str, Any]) -> None:
        with self._lock:
            # What it refers to stays as long: without it the same would be read and held twice.
            for other, (_, kept) in list(self._known.items()):
                if any(kept is table for table in known.values()):
                    self._known.move_to_end(other)
            # A slow request must not take the place of a newer table.
            if key in self._known and now.precedes(self._known[key][0]):
                return
            self._known[key] = (now, table)
            self._known.move_to_end(key)
            while len(self._known) > 1 and self._nbytes() > self._most_bytes:
                self._known.popitem(last=False)

    def _nbytes(self) -> int:
        return sum(table.nbytes for _, table in self._known.values())
