"""Lists of hosts as people keep them: CSV, Ansible inventories and known_hosts files; and lists of the
fingerprints that their host keys have.

The format of known_hosts: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT", read on 2026-11-23.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from backend.benchmarks.calc.host_document import LIST_COLUMNS, LIST_NAMES, SSH_PORT
from backend.benchmarks.calc.host_lists.ansible_inventories import read_ansible
from backend.benchmarks.calc.host_lists.listed_hosts import (
    EXPORTED,
    MAX_HOSTS,
    HostReading,
    ListedAuthority,
)
from backend.foundation.errors import InvalidDocument
from backend.providers.host_keys import TYPES, host_key

# 43 characters are the 32 bytes of SHA-256 in base64 without padding; a shorter text was cut.
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/])")
# Of a key that signs those of hosts, and of one that counts no more, whatever it is.
AUTHORITY, REVOKED = "@cert-authority", "@revoked"
# Exports put it before what a spreadsheet would take for a formula.
_GUARD = re.compile(r"^'(?=[=+\-@＝＋－＠])")
_BRACKETED = re.compile(r"\[(.+)\]:(\d+)")


def read_hosts(text: str, format: str) -> HostReading:  # noqa: A002
    """The hosts and authorities of a list in one of FORMATS; raises InvalidDocument with `/text/<line>` for each
    line that cannot be read, and for hosts that two lines name."""
    reading = HostReading()
    FORMATS[format](text, reading)
    seen: dict[str, int] = {}
    for entry in reading.hosts:
        # Two lines of one name would be one host with the settings of either.
        if (first := seen.setdefault(entry.host.name, entry.line)) != entry.line:
            reading.refuse(entry.line, f"line {first} names {entry.host.name}, too")
    if len(reading.hosts) > MAX_HOSTS:
        reading.refuse(reading.hosts[MAX_HOSTS].line, f"more than {MAX_HOSTS} hosts")
    if reading.errors:
        raise InvalidDocument(reading.errors)
    return reading


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


def _read_csv(text: str, reading: HostReading) -> None:
    text = text.removeprefix("\ufeff")
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    lines = csv.reader(io.StringIO(text), strict=True, delimiter=mark)
    header: list[str] = []
    try:
        for row in lines:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not header:
                header = [cell.lower() for cell in cells]
                columns = set(LIST_COLUMNS)
                if EXPORTED[0] in header:
                    header = [LIST_NAMES.get(name, name) for name in header]
                    reading.columns = frozenset(header)
                    columns.update(EXPORTED)
                if not columns.issuperset(header) or "address" not in header:
                    known = ", ".join(LIST_COLUMNS)
                    detail = f"the first line names the columns, address among them: {known}"
                    reading.refuse(lines.line_num, detail)
                    return
            elif len(cells) != len(header):
                reading.refuse(lines.line_num, f"{len(cells)} cells, not {len(header)}")
            else:
                plain = [_GUARD.sub("", cell) for cell in cells]
                reading.add(lines.line_num, dict(zip(header, plain, strict=True)))
    except csv.Error as error:
        reading.refuse(lines.line_num, str(error))


# --- known_hosts ----------------------------------------------------------------------------------


def _read_known_hosts(text: str, reading: HostReading) -> None:
    keys: dict[tuple[str, int], tuple[int, list[str]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if marker not in {"", AUTHORITY, REVOKED}:
            reading.refuse(number, f"{marker} is neither {AUTHORITY} nor {REVOKED}")
            continue
        if words and words[0].startswith("|"):
            detail = (
                "the name is hashed, which cannot be undone; ssh-keyscan writes it in the clear"
            )
            reading.refuse(number, detail)
            continue
        key = " ".join(words[1:3])
        if host_key(key) is None:
            reading.refuse(number, f"not a whole key of a type that we use ({', '.join(TYPES)})")
            continue
        if marker:
            reading.authorities.append(
                ListedAuthority(number, words[0], key, is_revoked=marker == REVOKED)
            )
            continue
        for name in words[0].split(","):
            bracketed = _BRACKETED.fullmatch(name)
            endpoint = (bracketed[1], int(bracketed[2])) if bracketed else (name, SSH_PORT)
            keys.setdefault(endpoint, (number, []))[1].append(key)
    for (address, port), (number, presented) in keys.items():
        ordered = sorted(presented, key=lambda key: TYPES.index(key.split()[0]))
        name = address if port == SSH_PORT else f"{address}:{port}"
        cells = {"name": name, "address": address, "port": port}
        reading.add(number, cells, tuple(ordered))


FORMATS: Mapping[str, Callable[[str, HostReading], None]] = MappingProxyType(
    {"csv": _read_csv, "ansible": read_ansible, "known_hosts": _read_known_hosts}
)
