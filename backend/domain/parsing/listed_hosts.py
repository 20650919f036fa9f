"""A host as a list names it, and what is collected while a list is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.domain.addresses import check_address
from backend.domain.errors import InvalidValue

MAX_HOSTS = 2_000
COLUMNS = ("name", "address", "port", "username", "kind", "tags", "bastion", "production")
# What the list of hosts has beside: a header with the first of them is its export.
EXPORTED = (
    "id", "offer", "driver", "state", "fingerprint_sha256", "approved_sha256", "authority_sha256",
    "scanned_at", "scan_error", "created_at", "is_in_production", "login_key", "certificate_refusal",
)  # fmt: skip
# How hosts are reached that lists may name.
STATIC = "static"
SSH_PORT = 22
YES = frozenset(
    ["yes", "true", "ja", "wahr", "oui", "vrai", "sí", "si", "verdadero", "sì", "vero", "1"]
)
# As people write them, and as spreadsheets in their languages write TRUE and FALSE of an export.
NO = frozenset(["no", "false", "nein", "falsch", "non", "faux", "falso", "0"])


@dataclass(frozen=True)
class ListedHost:
    """A host as a list names it; what the list leaves open is empty."""

    line: int
    name: str
    address: str
    port: int = SSH_PORT
    username: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    bastion: str = ""
    """The name or address of another host."""
    is_in_production: bool = False
    keys: tuple[str, ...] = ()
    """Its public host keys, in OpenSSH form, the preferred type first."""
    host_id: str = ""
    """Id of the host that a line of an export is of, here or in another installation."""
    stated: frozenset[str] = frozenset()
    """The columns that the export still has."""


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

    hosts: list[ListedHost] = field(default_factory=list)
    authorities: list[ListedAuthority] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, line: int, detail: str) -> None:
        # All wrong lines are named at once: lists are long, and one upload for each error is many.
        self.errors.append((f"/text/{line}", detail))

    def add(self, line: int, **given: object) -> None:
        # The machine of a worker, or one that was rented: no list makes those.
        if given.get("driver", STATIC) != STATIC:
            return
        try:
            self.hosts.append(_check_host(line, given))
        except InvalidValue as error:
            self.refuse(line, f"{error.field.removeprefix('/')}: {error.detail}")


def _check_host(line: int, given: Mapping[str, object]) -> ListedHost:
    texts = {name: str(given.get(name) or "") for name in COLUMNS}
    # Inventories often name hosts by the address alone.
    address = check_address(texts["address"] or texts["name"])
    port = texts["port"] or str(SSH_PORT)
    if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= 65_535):
        raise InvalidValue("/port", f"{port[:20]!r} is not within 1 … 65535")
    production = texts["production"] or str(given.get("is_in_production") or "")
    # A word taken for no would measure a host in production at full load.
    if production.casefold() not in {"", *YES, *NO}:
        raise InvalidValue("/production", f"{production[:20]!r} is neither yes nor no")
    return ListedHost(
        line,
        texts["name"] or address,
        address,
        int(port),
        texts["username"],
        texts["kind"],
        tuple(texts["tags"].split()),
        texts["bastion"],
        production.casefold() in YES,
        host_id=str(given.get("id") or ""),
        stated=frozenset(given) if "id" in given else frozenset(),
    )
