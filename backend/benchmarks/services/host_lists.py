"""Many hosts at once: added from a list, and approved by keys or fingerprints that a person has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.host_document import HostDocument, HostFields
from backend.benchmarks.calc.host_lists.host_lists import FORMATS, read_fingerprints, read_hosts
from backend.benchmarks.calc.host_lists.listed_hosts import HostLine, HostReading
from backend.benchmarks.models import Host, HostState
from backend.benchmarks.selectors.hosts import (
    fingerprint,
    host_document,
    hosts_standing,
    hosts_visible,
    revoked_keys,
)
from backend.benchmarks.services.host_authorities import host_authority_set
from backend.benchmarks.services.hosts import (
    KeyRevoked,
    host_approve,
    host_create,
    host_scan,
    host_update,
)
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.catalog.calc.tables.table_files import text_lines
from backend.catalog.calc.tables.table_remarks import RefusedTable
from backend.foundation.errors import DomainError, InvalidDocument, InvalidValue

FINGERPRINTS = "fingerprints"
LIST_FORMATS = (*FORMATS, FINGERPRINTS)
MAX_LIST_BYTES = 2_000_000


@dataclass
class ImportedHosts:
    """The outcome of a list."""

    added: list[Host] = field(default_factory=list)
    approved: list[Host] = field(default_factory=list)
    changed: list[Host] = field(default_factory=list)
    """By lines of an export that differ."""
    authorities: int = 0
    """Keys of authorities that are trusted now, or revoked."""
    unchanged: int = 0
    """Lines that say nothing new, or are about machines that are no hosts here."""

    def report(self, key: str) -> dict[str, Any]:
        """The outcome with this attribute of each host."""
        return {
            name: [getattr(host, key) for host in value] if isinstance(value, list) else value
            for name, value in vars(self).items()
        }


@transaction.atomic
def hosts_import(
    *,
    workspace: Workspace,
    text: str | bytes,
    format: str,  # noqa: A002
    username: str,
    kind: str,
    actor: str,
    is_dry: bool = False,
) -> ImportedHosts:
    """Add the hosts of a list that are not known by their address yet, to log in to with Rackrate's
    own key, and approve those whose key the list has. A line of the exported list changes its host
    in what differs.

    A file may be a workbook with the columns of the CSV. `username` and `kind` are those of hosts
    that state none; a host without any user is not added. Nothing is done unless every line is
    right; raises InvalidDocument with `/text/<line>`. A dry run reports the same and stores nothing.
    """
    if len(text if isinstance(text, bytes) else text.encode()) > MAX_LIST_BYTES:
        raise InvalidDocument([("/text", f"more than {MAX_LIST_BYTES} bytes")])
    if isinstance(text, bytes):
        try:
            text = text_lines(text)
        except RefusedTable as error:
            wrong = [(f"/text/{remark.line}", remark.detail) for remark in error.remarks]
            raise InvalidDocument(wrong) from error
    schedule_lock(workspace_id=workspace.pk)
    if format == FINGERPRINTS:
        done = _approve_hosts(workspace, read_fingerprints(text), actor)
    else:
        done = _import_lines(workspace, read_hosts(text, format), username, kind, actor)
    # The workers are asked for keys on commit, so a dry run asks for none.
    if is_dry:
        transaction.set_rollback(True)
    return done


def _import_lines(
    workspace: Workspace, reading: HostReading, username: str, kind: str, actor: str
) -> ImportedHosts:
    known = {(host.address, host.port): host for host in hosts_visible(workspace)}
    done = ImportedHosts()
    errors: list[tuple[str, str]] = []
    for authority in reading.authorities:
        try:
            is_new = host_authority_set(
                workspace=workspace,
                patterns=authority.patterns,
                public_key=authority.public_key,
                is_revoked=authority.is_revoked,
                actor=actor,
            )
            done.authorities += is_new
            done.unchanged += not is_new
        except InvalidValue as error:
            errors.append((f"/text/{authority.line}", error.detail))
    revoked = revoked_keys(workspace)
    exported = {str(host.pk): host for host in known.values()}
    for entry in reading.hosts:
        try:
            if host := exported.get(entry.host_id):
                stated = entry.host.stated_in(reading.columns)
                if changes := _differences(host, stated, exported):
                    done.changed.append(host_update(host=host, changes=changes, actor=actor))
                else:
                    done.unchanged += 1
                continue
            listed = entry.host
            host = known.get((listed.address, listed.port))
            if host is None and (user := listed.username or username):
                login = {"username": user, "kind": listed.kind or kind}
                host = _add_host(workspace, entry, login, actor)
                known[listed.address, listed.port] = host
                done.added.append(host)
            elif host is None or not entry.keys:
                done.unchanged += 1
            if host is not None and entry.keys and _pin_key(host, entry.keys, revoked, actor):
                done.approved.append(host)
        except DomainError as error:
            errors.append((f"/text/{entry.line}", str(error).removeprefix("/")))
    # After all others: a list may name a bastion below the hosts that are behind it.
    errors += _behind_bastions(reading.hosts, done.added, known, actor)
    # The transaction is undone with it: a list is taken as a whole or not at all.
    if errors:
        raise InvalidDocument(errors)
    return done


def _differences(host: Host, stated: dict[str, Any], known: Mapping[str, Host]) -> dict[str, Any]:
    """Changes that make a host what its line of an export says."""
    if bastion := stated.get("bastion"):
        if bastion not in known:
            raise InvalidValue("/bastion", f"no host has the id {bastion!r}")
        stated["bastion"] = known[bastion].pk
    stored = dict(host_document(host))
    return {name: value for name, value in stated.items() if value != stored[name]}


class KeyDiffers(DomainError):
    """A host has, or shows, another key than a list says."""


def _add_host(workspace: Workspace, entry: HostLine, login: dict[str, str], actor: str) -> Host:
    stated = entry.host.model_dump(include=set(HostFields.model_fields))
    document = HostDocument.read(stated | login)
    host = host_create(workspace=workspace, document=document, actor=actor)
    # A key of the list needs no scan, and behind a bastion it cannot come before that is set.
    if not entry.keys and not entry.host.bastion:
        host_scan(host=host, actor=actor)
    return host


def _pin_key(host: Host, keys: Sequence[str], revoked: Collection[str], actor: str) -> bool:
    """True if the host is trusted now and was not before, under one of the keys."""
    if refused_key := next((key for key in keys if key in revoked), None):
        raise KeyRevoked(f"the key {fingerprint(refused_key)} is revoked")
    shown = host.host_key or host.scanned_key
    # Whoever wrote the list saw another key: one of both machines is not the one it is taken for.
    if shown and shown not in keys:
        said = "is approved with" if host.host_key else "shows"
        raise KeyDiffers(f"{host.name} {said} another key: {fingerprint(shown)}")
    if host.state == HostState.TRUSTED:
        return False
    host.host_key = host.scanned_key = shown or keys[0]
    host.state = HostState.TRUSTED
    host.save(update_fields=["host_key", "scanned_key", "state"])
    audit_record(
        actor=actor,
        action="host_approve",
        target=host,
        detail={"fingerprint_sha256": fingerprint(host.host_key), "by": "known_hosts"},
    )
    return True


def _behind_bastions(
    listed: Sequence[HostLine],
    added: Sequence[Host],
    known: dict[tuple[str, int], Host],
    actor: str,
) -> list[tuple[str, str]]:
    """Put the added hosts behind the bastions that the list names; returns what cannot be."""
    by_word = {host.address: host for host in known.values()}
    by_word |= {host.name: host for host in known.values()}
    by_word |= {
        entry.host_id: known[entry.host.address, entry.host.port]
        for entry in listed
        if entry.host_id and (entry.host.address, entry.host.port) in known
    }
    behind = {entry.host.name: entry for entry in listed if entry.host.bastion}
    errors = []
    for host in added:
        if (entry := behind.get(host.name)) is None:
            continue
        try:
            if (bastion := by_word.get(str(entry.host.bastion))) is None:
                raise InvalidValue("/bastion", f"no host is called {entry.host.bastion!r}")
            changes = {"bastion": bastion.pk}
            host_scan(host=host_update(host=host, changes=changes, actor=actor), actor=actor)
        except InvalidValue as error:
            errors.append((f"/text/{entry.line}", f"bastion: {error.detail}"))
    return errors


def _approve_hosts(workspace: Workspace, fingerprints: set[str], actor: str) -> ImportedHosts:
    """Approve each host that showed a key with one of the fingerprints."""
    done = ImportedHosts()
    for host in hosts_standing(workspace).exclude(scanned_key=""):
        shown = fingerprint(host.scanned_key)
        if shown in fingerprints and host.host_key != host.scanned_key:
            done.approved.append(host_approve(host=host, fingerprint_sha256=shown, actor=actor))
    done.unchanged = len(fingerprints) - len(done.approved)
    return done
