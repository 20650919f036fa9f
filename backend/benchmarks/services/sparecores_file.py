"""Spare Cores' SQLite file, read row by row and never written.

Files of sc-crawler 0.3 to 0.10 are understood: columns that came or went later may be absent.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from backend.foundation.errors import InvalidValue

NEEDED = {
    "vendor": ("vendor_id", "name"),
    "region": ("vendor_id", "region_id", "name"),
    "server": ("vendor_id", "server_id", "name", "vcpus", "memory_amount", "cpu_architecture"),
    "server_price": (
        "vendor_id",
        "region_id",
        "zone_id",
        "server_id",
        "operating_system",
        "allocation",
        "unit",
        "price",
        "currency",
        "observed_at",
    ),
    "benchmark_score": ("vendor_id", "benchmark_id", "config", "score", "observed_at"),
}
# Columns that are read as nothing where a file has none.
LATER = {
    "vendor": ("status",),
    "region": ("api_reference", "country_id", "display_name", "status"),
    "server": (
        "api_reference",
        "cpu_allocation",
        "cpu_manufacturer",
        "cpu_family",
        "cpu_model",
        "storage_size",
        "storage_type",
        "outbound_traffic",
        "status",
    ),
    "server_price": ("price_upfront", "price_tiered", "status"),
    "benchmark_score": (
        "server_id",
        "resource_id",
        "resource_type",
        "framework_version",
        "kernel_version",
        "environment",
        "note",
        "status",
    ),
}
KERNEL = "CASE WHEN json_valid(environment) THEN json_extract(environment, '$.kernel_version') END"
SCORE = (
    "vendor_id",
    "coalesce(server_id, resource_id)",
    "benchmark_id",
    "config",
    "score",
    "observed_at",
    "framework_version",
    f"coalesce(kernel_version, {KERNEL})",
    "note",
    "status",
)
OF_A_SERVER = "coalesce(lower(resource_type), 'server') = 'server'"
Row = dict[str, Any]
# Vendor, server, benchmark, configuration, score, time, version, kernel, note, status.
Score = tuple[Any, ...]


class SpareCoresFile:
    """The file while it is open. Every read raises InvalidValue where it is no such database."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        # Read only: SQLite would else make an empty database of a name that is misspelt.
        address = f"file:{quote(str(self.path.resolve()))}?mode=ro"
        try:
            self.database = sqlite3.connect(address, uri=True)
            self.columns = {table: self._columns(table) for table in NEEDED}
        except sqlite3.Error as error:
            raise InvalidValue("file", f"cannot be read: {error}") from error
        self._check()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.database.close()

    def _columns(self, table: str) -> set[str]:
        return {name for _, name, *_ in self.database.execute(f"PRAGMA table_info({table})")}

    def _check(self) -> None:
        for table, names in NEEDED.items():
            known = self.columns[table]
            if not known:
                raise InvalidValue("file", f"has no table {table}")
            if missing := [name for name in names if name not in known]:
                raise InvalidValue("file", f"its table {table} has no {', '.join(missing)}")
        if not self.columns["benchmark_score"] & {"server_id", "resource_id"}:
            raise InvalidValue("file", "its table benchmark_score has no server_id")

    def rows(self, table: str, vendor: str = "") -> Iterator[Row]:
        """The rows of a table, of one vendor where one is given, column → value."""
        names = (*NEEDED[table], *LATER[table])
        condition = "WHERE vendor_id = ?" if vendor else ""
        for row in self._read(table, names, condition, *([vendor] if vendor else [])):
            yield dict(zip(names, row, strict=True))

    def scores(self) -> Iterator[Score]:
        """Every score of a server; see Score."""
        return self._read("benchmark_score", SCORE, f"WHERE {OF_A_SERVER}")

    def score_count(self) -> int:
        """How many scores there are, of whatever."""
        [(count,)] = self._read("benchmark_score", ("count(*)",), "")
        return int(count)

    def scored(self) -> set[tuple[str, str]]:
        """Vendor and server of everything that has a score."""
        what = ("DISTINCT vendor_id", "coalesce(server_id, resource_id)")
        return set(self._read("benchmark_score", what, f"WHERE {OF_A_SERVER}"))

    def _read(
        self, table: str, what: tuple[str, ...], condition: str, *given: str
    ) -> Iterator[tuple[Any, ...]]:
        known = self.columns[table]
        absent = ", ".join(f"NULL AS {name}" for name in LATER[table] if name not in known)
        # Names of columns and tables are those above; what is given is bound.
        source = f"SELECT *{', ' if absent else ''}{absent} FROM {table}"  # noqa: S608
        statement = f"SELECT {', '.join(what)} FROM ({source}) {condition}"  # noqa: S608
        try:
            # `yield from` would speak to a database that is closed already.
            for row in self.database.execute(statement, given):  # noqa: UP028
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InvalidValue("file", f"its table {table} cannot be read: {error}") from error
