"""Lists of hosts as people keep them: CSV, Ansible inventories (INI) and known_hosts files; and lists of the
fingerprints that their host keys have.

Formats: https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html and sshd(8), "SSH_KNOWN_HOSTS FILE
FORMAT", both read on 2026-11-23.
"""

import csv
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from backend.domain.addresses import checked_address
from backend.domain.errors import InvalidDocument, InvalidValue
from backend.domain.host_keys import TYPES, host_key

MAX_HOSTS = 2_000
COLUMNS = ("name", "address", "port", "username", "kind", "tags", "bastion", "production")
SSH_PORT = 22
_RANGE = re.compile(r"\[(\w+):(\w+)\]")
_SECTION = re.compile(r"\[([^\]:]+)(?::(children|vars))?\]\s*(?:#.*)?")
_JUMP = re.compile(r"(?:-J\s*|ProxyJump[= ])(?:[^\s@'\"]+@)?([^\s,'\":]+)")
# 43 characters are the 32 bytes of SHA-256 in base64 without padding; a shorter text was cut.
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/])")
_BRACKETED = re.compile(r"\[(.+)\]:(\d+)")


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


@dataclass
class _Reading:
    """The hosts read so far, and what is wrong with which line."""

    hosts: list[ListedHost] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, line: int, detail: str) -> None:
        # All wrong lines are named at once: lists are long, and one upload for each error is many.
        self.errors.append((f"/text/{line}", detail))

    def add(self, line: int, **given: object) -> None:
        try:
            self.hosts.append(_checked(line, given))
        except InvalidValue as error:
            self.refuse(line, f"{error.field.removeprefix('/')}: {error.detail}")


def _checked(line: int, given: Mapping[str, object]) -> ListedHost:
    texts = {name: str(given.get(name) or "") for name in COLUMNS}
    # Inventories often name hosts by the address alone.
    address = checked_address(texts["address"] or texts["name"])
    port = texts["port"] or str(SSH_PORT)
    if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= 65_535):
        raise InvalidValue("/port", f"{port[:20]!r} is not within 1 … 65535")
    production = texts["production"].lower()
    # "true" or "1" taken for no would measure a host in production at full load.
    if production not in {"", "yes", "no"}:
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
        production == "yes",
    )


def read_hosts(text: str, format: str) -> list[ListedHost]:  # noqa: A002
    """The hosts of a list in one of FORMATS; raises InvalidDocument with `/text/<line>` for each
    line that cannot be read, and for hosts that two lines name."""
    reading = _Reading()
    FORMATS[format](text, reading)
    seen: dict[str, int] = {}
    for host in reading.hosts:
        # Two lines of one name would be one host with the settings of either.
        if (first := seen.setdefault(host.name, host.line)) != host.line:
            reading.refuse(host.line, f"line {first} names {host.name}, too")
    if len(reading.hosts) > MAX_HOSTS:
        reading.refuse(reading.hosts[MAX_HOSTS].line, f"more than {MAX_HOSTS} hosts")
    if reading.errors:
        raise InvalidDocument(reading.errors)
    return reading.hosts


def read_fingerprints(text: str) -> set[str]:
    """The fingerprints in lines as `ssh-keygen -l` prints them; raises InvalidDocument with `/text/<line>`
    for each line without one."""
    fingerprints, errors = set(), []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _FINGERPRINT.search(line):
            fingerprints.add(match[0])
        elif line.strip() and not line.lstrip().startswith("#"):
            errors.append((f"/text/{number}", "no fingerprint such as SHA256:… with 43 characters"))
    if errors:
        raise InvalidDocument(errors)
    return fingerprints


# --- CSV ------------------------------------------------------------------------------------------


def _read_csv(text: str, reading: _Reading) -> None:
    lines = csv.reader(io.StringIO(text), strict=True)
    header: list[str] = []
    try:
        for row in lines:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not header:
                header = [cell.lower() for cell in cells]
                unknown = [name for name in header if name not in COLUMNS]
                if unknown or "address" not in header:
                    known = ", ".join(COLUMNS)
                    detail = f"the first line names the columns, address among them: {known}"
                    reading.refuse(lines.line_num, detail)
                    return
            elif len(cells) != len(header):
                reading.refuse(lines.line_num, f"{len(cells)} cells, not {len(header)}")
            else:
                reading.add(lines.line_num, **dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        reading.refuse(lines.line_num, str(error))


# --- Ansible --------------------------------------------------------------------------------------


@dataclass
class _Group:
    parents: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)


def _read_ansible(text: str, reading: _Reading) -> None:
    groups: dict[str, _Group] = {"all": _Group()}
    hosts: dict[str, tuple[int, set[str], dict[str, str]]] = {}
    section, part = "ungrouped", None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped.startswith("["):
            if (match := _SECTION.fullmatch(stripped)) is None:
                reading.refuse(number, "not a section such as [web], [web:vars] or [web:children]")
                continue
            section, part = match[1], match[2]
            groups.setdefault(section, _Group())
        elif part == "children":
            groups.setdefault(stripped.split()[0], _Group()).parents.add(section)
        elif part == "vars":
            name, _, value = stripped.partition("=")
            groups[section].values[name.strip()] = value.strip().strip("'\"")
        else:
            _ansible_line(number, stripped, section, hosts, reading)
    for name, (number, own, values) in hosts.items():
        order = _ancestors(own, groups)
        merged: dict[str, str] = {}
        for group in order:
            merged |= groups[group].values if group in groups else {}
        merged |= values
        jump = _JUMP.search(merged.get("ansible_ssh_common_args", ""))
        reading.add(
            number,
            name=name,
            address=merged.get("ansible_host", merged.get("ansible_ssh_host", name)),
            port=merged.get("ansible_port", merged.get("ansible_ssh_port", "")),
            username=merged.get("ansible_user", merged.get("ansible_ssh_user", "")),
            tags=" ".join(one for one in order if one not in {"all", "ungrouped"}),
            bastion=jump[1] if jump else "",
        )


def _ansible_line(
    number: int,
    line: str,
    section: str,
    hosts: dict[str, tuple[int, set[str], dict[str, str]]],
    reading: _Reading,
) -> None:
    try:
        pattern, *words = shlex.split(line, comments=True)
    except ValueError as error:
        reading.refuse(number, f"the quotes do not match: {error}")
        return
    wrong = [word for word in words if "=" not in word]
    if wrong or pattern.endswith(":"):
        detail = f"{(wrong or [pattern])[0]!r} is not name=value; YAML inventories are not read"
        reading.refuse(number, detail)
        return
    try:
        names = list(_expanded(pattern))
    except ValueError:
        reading.refuse(number, f"{pattern!r} is no range such as [01:20] or [a:f]")
        return
    values = dict(word.split("=", 1) for word in words)
    for name in names:
        _, known, before = hosts.setdefault(name, (number, set(), {}))
        known.add(section)
        before |= values


def _expanded(pattern: str) -> Iterator[str]:
    """web[01:03] → web01, web02, web03; ValueError for a range without a meaning."""
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    first, last = match[1], match[2]
    if first.isdecimal() and last.isdecimal():
        steps = [f"{n:0{len(first)}d}" for n in range(int(first), min(int(last), 10**6) + 1)]
    elif len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        steps = [chr(n) for n in range(ord(first), ord(last) + 1)]
    else:
        raise ValueError(pattern)
    if not 0 < len(steps) <= MAX_HOSTS:
        raise ValueError(pattern)
    for step in steps:
        yield from _expanded(pattern[: match.start()] + step + pattern[match.end() :])


def _ancestors(own: set[str], groups: Mapping[str, _Group]) -> list[str]:
    """The groups of a host, those above first, so that the nearest one wins."""
    order: list[str] = []

    def climb(name: str, below: frozenset[str]) -> None:
        if name in order or name in below:
            return
        for parent in sorted(groups[name].parents if name in groups else ()):
            climb(parent, below | {name})
        order.append(name)

    for name in ("all", *sorted(own)):
        climb(name, frozenset())
    return order


# --- known_hosts ----------------------------------------------------------------------------------


def _read_known_hosts(text: str, reading: _Reading) -> None:
    keys: dict[tuple[str, int], tuple[int, list[str]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0].startswith("@"):
            reading.refuse(number, f"{words[0]} is not read, only keys of hosts are")
            continue
        if words[0].startswith("|"):
            detail = (
                "the name is hashed, which cannot be undone; ssh-keyscan writes it in the clear"
            )
            reading.refuse(number, detail)
            continue
        key = " ".join(words[1:3])
        if host_key(key) is None:
            reading.refuse(number, f"not a whole key of a type that we use ({', '.join(TYPES)})")
            continue
        for name in words[0].split(","):
            bracketed = _BRACKETED.fullmatch(name)
            endpoint = (bracketed[1], int(bracketed[2])) if bracketed else (name, SSH_PORT)
            keys.setdefault(endpoint, (number, []))[1].append(key)
    for (address, port), (number, presented) in keys.items():
        try:
            checked_address(address)
        except InvalidValue as error:
            reading.refuse(number, error.detail)
            continue
        ordered = sorted(presented, key=lambda key: TYPES.index(key.split()[0]))
        name = address if port == SSH_PORT else f"{address}:{port}"
        reading.hosts.append(ListedHost(number, name, address, port, keys=tuple(ordered)))


FORMATS: Mapping[str, Callable[[str, _Reading], None]] = MappingProxyType(
    {"csv": _read_csv, "ansible": _read_ansible, "known_hosts": _read_known_hosts}
)
