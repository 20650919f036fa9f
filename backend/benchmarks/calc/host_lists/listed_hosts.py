"""Hosts of a list, and what is collected while it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.benchmarks.calc.host_document import LIST_COLUMNS, ListedHost
from backend.foundation.errors import InvalidDocument

MAX_HOSTS = 2_000
# What the list of hosts has beside: a header with the first of them is its export.
EXPORTED = (
    "id", "offer", "driver", "state", "fingerprint_sha256", "approved_sha256", "authority_sha256",
    "scanned_at", "scan_error", "created_at", "login_key", "certificate_refusal",
)  # fmt: skip
# How hosts are reached that lists may name.
STATIC = "static"


@dataclass(frozen=True)
class HostLine:
    """A host with its line in the list."""

    line: int
    host: ListedHost
    keys: tuple[str, ...] = ()
    """Its public host keys, in OpenSSH form, the preferred type first."""
    host_id: str = ""
    """Id of the host that a line of an export is of, here or in another installation."""


@dataclass(frozen=True)
class ListedAuthority:
    """A key that signs the keys of hosts, or one that counts no more."""

    line: int
    patterns: str
    """The names that it may sign for, as known_hosts has them."""
    public_key: str
    """`type base64`"""
    is_revoked: bool


@dataclass
class HostReading:
    """The hosts and authorities read so far, and what is wrong with which line."""

    hosts: list[HostLine] = field(default_factory=list)
    authorities: list[ListedAuthority] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    columns: frozenset[str] = frozenset()
    """Columns of an export."""

    def refuse(self, line: int, detail: str) -> None:
        # All wrong lines are named at once: lists are long, and one upload for each error is many.
        self.errors.append((f"/text/{line}", detail))

    def add(self, line: int, cells: Mapping[str, object], keys: tuple[str, ...] = ()) -> None:
        """The host of a line; empty cells leave open what they are for."""
        # The machine of a worker, or one that was rented: no list makes those.
        if cells.get("driver", STATIC) != STATIC:
            return
        stated = {name: cells[name] for name in LIST_COLUMNS if cells.get(name)}
        # Inventories often name hosts by the address alone, and tables by theirs.
        stated = {"address": stated.get("name"), "name": stated.get("address"), **stated}
        port, tags = stated.get("port"), stated.get("tags")
        if isinstance(tags, str):
            stated["tags"] = tags.split()
        # As a spreadsheet writes a number; a longer one is none of a port.
        if isinstance(port, str) and port.isascii() and port.isdecimal() and len(port) <= 5:
            stated["port"] = int(port)
        try:
            host = ListedHost.read(stated)
        except InvalidDocument as error:
            for pointer, detail in error.errors:
                self.refuse(line, f"{pointer.removeprefix('/')}: {detail}")
        else:
            self.hosts.append(HostLine(line, host, keys, str(cells.get("id") or "")))
