"""Tables that a process holds from one state of the data to the next, reading only what changed."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from threading import Lock
from typing import Any, Protocol, TypeVar
from uuid import UUID

from backend.catalog.selectors.data_changes import changed_offers
from backend.catalog.selectors.data_version import Position


class Sized(Protocol):
    """A table that says how large it is."""

    @property
    def nbytes(self) -> int: ...


Table = TypeVar("Table", bound=Sized)


class KnownTables:
    """The newest of each table up to so many bytes, and when each was read."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._known: OrderedDict[Hashable, tuple[Position, Any]] = OrderedDict()
        self._lock = Lock()

    def get(
        self,
        key: Hashable,
        changes: tuple[str, str],
        now: Position,
        read: Callable[[], Table],
        patched: Callable[[Table, AbstractSet[UUID]], Table | None],
    ) -> Table:
        """The table as it is now: the one held, as `patched` makes it of what the offers have that
        changed, or `read`, where nothing is held or it gives None.

        `changes` are kind and metric of what it is made of; `now` was asked before the data, so that
        what is changed while they are read is changed since.
        """
        with self._lock:
            since, old = self._known.get(key, (None, None))
        table: Table | None = None
        if since is not None and old is not None and not now.is_writing:
            kind, metric = changes
            offers = changed_offers(kind, since, now, metric)
            if offers is not None:
                table = patched(old, offers)
        made = read() if table is None else table
        # What this transaction has written it may take back, and nobody would be told.
        if not now.is_writing:
            self._keep(key, now, made)
        return made

    def _keep(self, key: Hashable, now: Position, table: Sized) -> None:
        with self._lock:
            self._known[key] = (now, table)
            self._known.move_to_end(key)
            while len(self._known) > 1 and self._nbytes() > self._most_bytes:
                self._known.popitem(last=False)

    def _nbytes(self) -> int:
        return sum(table.nbytes for _, table in self._known.values())
