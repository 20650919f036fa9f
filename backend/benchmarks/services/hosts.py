"""Writes of hosts: where they are logged in to, and which host key they have."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.host_document import (
    MAX_NAME,
    STORED,
    HostDescription,
    HostDocument,
    HostLogin,
    HostSettings,
)
from backend.benchmarks.models import TERMINAL_STATES, Host, HostState, Run, Worker
from backend.benchmarks.selectors.hosts import (
    bastion_of,
    fingerprint,
    host_document,
    revoked_keys,
)
from backend.benchmarks.services.host_certificates import WORKER, host_certify
from backend.benchmarks.services.login_keys import (
    check_certificate,
    check_private_key,
    host_key_seal,
    host_private_key_forget,
    host_private_key_replace,
    login_key_get,
    public_line,
)
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.workers import LOCAL_DRIVER, worker_get
from backend.catalog.models import Offer, OfferKind
from backend.catalog.selectors.offers import offer_with_slug
from backend.catalog.services.offers import OWN_PROVIDER, own_offer_create
from backend.catalog.services.prices import PriceInput
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.foundation.errors import DomainError, InvalidValue

LOCAL_OFFER_NAME = "this machine"
STATIC_DRIVER = "static"
# A host that came with the archive of a run: there is nothing to log in to.
ARCHIVE_DRIVER = "archive"
LOGIN_FIELDS = {*HostLogin.model_fields, "bastion", "certificate"}


class HostNotTrusted(DomainError):
    """The host's key is not approved, or has changed; `fingerprint` is what it showed last."""

    def __init__(self, fingerprint: str | None) -> None:
        super().__init__(f"the host key {fingerprint or '(not scanned yet)'} is not approved")
        self.fingerprint = fingerprint


class HostBusy(DomainError):
    """Runs use the host now; `runs` are their identifiers."""

    def __init__(self, host: Host, runs: Sequence[UUID]) -> None:
        super().__init__(f"{host.name} is used by {len(runs)} unfinished run(s)")
        self.runs = [str(run) for run in runs]


class KeyRevoked(DomainError):
    """The key that was scanned is one that counts no more."""


class KeyMismatch(DomainError):
    """The fingerprint to approve is not that of the key that was scanned."""

    def __init__(self, given: str, scanned: str | None) -> None:
        super().__init__(f"{given} is not the scanned key {scanned or '(none yet)'}")
        self.fingerprint = scanned


@transaction.atomic
def host_create(*, workspace: Workspace, document: HostDocument, actor: str) -> Host:
    """A host to log in to over SSH, through its bastion if it has one; unverified until a person
    approves its key.

    Without a private key it has to let in Rackrate's own one, with its certificate where it has one.
    Without an offer it becomes one of its own, `own-<slug of its name>`, of the kind and price.
    Raises InvalidValue with the field as a JSON pointer.
    """
    _check_name(workspace, document.name)
    host = Host(
        workspace=workspace,
        offer=_offer(workspace, document),
        driver=STATIC_DRIVER,
        bastion=bastion_of(workspace, document.bastion),
        **{name: getattr(document, name) for name in STORED},
    )
    host.tags = sorted(set(host.tags))
    if private_key := (document.private_key or "").strip():
        key = check_private_key(private_key)
        host_key_seal(host=host, private_key=key)
        public_key = public_line(key)
    else:
        public_key = login_key_get(workspace=workspace).public_key
    host.certificate = check_certificate(host.certificate, public_key)
    host.save()
    detail = document.model_dump(include={"name", *HostLogin.model_fields})
    if host.bastion is not None:
        detail["bastion"] = host.bastion.name
    audit_record(workspace=workspace, actor=actor, action="host_create", target=host, detail=detail)
    return host


def _offer(workspace: Workspace, document: HostDocument) -> Offer:
    """The offer that the host is an instance of, which may be made for it."""
    price = document.price
    if document.offer is None:
        return own_offer_create(
            workspace=workspace,
            name=document.name,
            kind=document.kind,
            price=PriceInput(**dict(price)) if price else None,
        )
    if price is not None:
        raise InvalidValue("/price", "an offer that is given has its own prices")
    return offer_with_slug(document.offer, workspace.slug)


def _check_name(workspace: Workspace, name: str) -> None:
    if Host.objects.filter(workspace=workspace, name=name).exists():
        raise InvalidValue("/name", f"a host named {name!r} exists")


@transaction.atomic
def host_update(*, host: Host, changes: Mapping[str, Any], actor: str) -> Host:
    """Change settings of a host; what is not named stays, and so does its pinned key. Another
    `private_key` replaces the one that logs in, an empty one deletes it: the host has to let in
    Rackrate's own key then.

    Raises InvalidDocument and InvalidValue by JSON pointer, and HostBusy while a run logs in to it.
    """
    host = _lock_host(host)
    after = _merge(host, changes)
    if after.private_key is not None:
        _change_key(host, after.private_key, actor)
    # A certificate is of the key that went, unless it came with the new one.
    kept = {} if "certificate" in changes else {"certificate": host.certificate}
    stated = {**dict(after), **kept, "tags": sorted(set(after.tags))}
    changed = {name: stated[name] for name in STORED if stated[name] != getattr(host, name)}
    if after.bastion != host.bastion_id:
        changed["bastion"] = bastion_of(host.workspace, after.bastion)
    if not changed:
        return host
    if "name" in changed:
        _check_name(host.workspace, changed["name"])
    if not changed.keys().isdisjoint(LOGIN_FIELDS):
        # A run logs in with every step: it would go on at another machine.
        _check_idle(host)
    bastion = changed.get("bastion")
    if bastion is not None and host in bastion.route:
        raise InvalidValue("/bastion", f"{bastion.name} is itself reached through {host.name}")
    if "certificate" in changed:
        own = None if host.sealed_private_key else login_key_get(workspace=host.workspace)
        public_key = own.public_key if own else ""
        changed["certificate"] = check_certificate(changed["certificate"], public_key)
    for name, value in changed.items():
        setattr(host, name, value)
    host.save(update_fields=list(changed))
    detail = {name: getattr(value, "name", value) for name, value in changed.items()}
    audit_record(actor=actor, action="host_update", target=host, detail=detail)
    return host


def _merge(host: Host, changes: Mapping[str, Any]) -> HostSettings:
    """The settings as they are to be."""
    before = host_document(host)
    if host.driver == STATIC_DRIVER and not host.is_rented:
        return before.merge(changes)
    stored = dict(before)
    differing = {n: value for n, value in changes.items() if n not in stored or value != stored[n]}
    if "private_key" in differing:
        detail = f"{host.name} is not logged in to by a key of a person's"
        raise InvalidValue("/private_key", detail)
    if differing.keys() & (HostSettings.model_fields.keys() - HostDescription.model_fields.keys()):
        raise InvalidValue("/address", f"{host.name} is not logged in to by an address")
    described = HostDescription.model_construct(**stored).merge(differing)
    return before.model_copy(update=dict(described))


@transaction.atomic
def host_remove(*, host: Host, actor: str) -> None:
    """Log in to a host no more: its private key and address are deleted, campaigns lose it.

    Its row stays under another name for the runs that were made on it. Raises HostBusy while runs
    use it, and InvalidValue for the machine of a worker or a rented one.
    """
    host = _lock_host(host)
    if host.driver == LOCAL_DRIVER:
        raise InvalidValue("/host", f"{host.name} is the machine that a worker runs on")
    if host.is_rented:
        raise InvalidValue("/host", f"{host.name} is rented: it ends with its run")
    if behind := host.hosts_behind.values_list("name", flat=True):
        raise InvalidValue("/host", f"{host.name} is the bastion of {', '.join(behind)}")
    _check_idle(host)
    # Before the row changes, so that the entry has the name that people know.
    audit_record(actor=actor, action="host_remove", target=host, detail={"name": host.name})
    # A campaign that names a host nobody can log in to could never start again.
    host.campaigns.clear()
    host.name = _free_name(host.workspace, f"{host.name[: MAX_NAME - 20]} (removed)")
    host.state = HostState.GONE
    host.sealed_private_key = None
    host.bastion = None
    host.address = host.username = host.host_key = host.scanned_key = host.scan_error = ""
    host.certificate = host.certificate_refusal = ""
    host.authority = host.worker = None
    host.agent_socket = ""
    host.save()


def _change_key(host: Host, private_key: str, actor: str) -> None:
    # A run logs in with every step.
    _check_idle(host)
    if private_key.strip():
        # A certificate is of the key that goes.
        host_private_key_replace(host=host, private_key=private_key, certificate="", actor=actor)
    elif host.sealed_private_key is not None:
        host_private_key_forget(host=host, actor=actor)


def _lock_host(host: Host) -> Host:
    """Read anew, and no run begins on it meanwhile."""
    schedule_lock(workspace_id=host.workspace_id)
    return Host.objects.select_for_update().select_related("workspace").get(pk=host.pk)


def _check_idle(host: Host) -> None:
    using = Run.objects.filter(Q(host=host) | Q(peer=host)).exclude(state__in=TERMINAL_STATES)
    if runs := list(using.values_list("pk", flat=True)):
        raise HostBusy(host, runs)


@transaction.atomic
def host_local(*, workspace: Workspace, worker_id: str | None = None) -> Host:
    """The machine of a worker (of this process by default), made on first use: trusted, without a
    price. The first one's offer is `own-this-machine`, that of any other has the worker's name."""
    schedule_lock(workspace_id=workspace.pk)
    worker = worker_get(worker_id=worker_id or settings.WORKER_ID)
    host = Host.objects.filter(workspace=workspace, driver=LOCAL_DRIVER, worker=worker).first()
    if host is not None:
        return host
    return Host.objects.create(
        workspace=workspace,
        offer=_local_offer(workspace, worker),
        name=_free_name(workspace, worker.pk),
        driver=LOCAL_DRIVER,
        worker=worker,
        # No network lies between worker and machine, so there is no key that could be another's.
        state=HostState.TRUSTED,
    )


def _local_offer(workspace: Workspace, worker: Worker) -> Offer:
    """An offer that no other local host has: results of unlike machines never mix."""
    name = LOCAL_OFFER_NAME
    if Host.objects.filter(driver=LOCAL_DRIVER, workspace=workspace).exists():
        # The first one's name was fixed before there were several workers, and its address has to
        # stay.
        name = f"{LOCAL_OFFER_NAME} {worker.pk}"
    # By name: its slug may be one that an earlier version made.
    own = Offer.objects.filter(workspace=workspace, provider__slug=OWN_PROVIDER, name=name)
    return own.first() or own_offer_create(
        workspace=workspace, name=name, kind=OfferKind.ONPREM, price=None
    )


def _free_name(workspace: Workspace, base: str) -> str:
    name, number = base, 1
    while Host.objects.filter(workspace=workspace, name=name).exists():
        number += 1
        name = f"{base}-{number}"
    return name


@transaction.atomic
def host_scan(*, host: Host, actor: str) -> None:
    """Ask a worker for the key that the host presents; `scanned_at` or `scan_error` answer."""
    if host.driver == ARCHIVE_DRIVER:
        raise InvalidValue("/host", f"{host.name} came with an archive: it has no key")
    if host.is_rented:
        raise InvalidValue("/host", f"{host.name} is rented: its key comes from its console")
    host.scan_requested_at = clock.now()
    host.scan_error = ""
    host.save(update_fields=["scan_requested_at", "scan_error"])
    audit_record(actor=actor, action="host_scan", target=host)
    enqueue(Task.SCAN_HOST, host_id=str(host.pk))


@transaction.atomic
def host_scan_record(
    *, host_id: UUID | str, key: str | None, error: str, certificate: str = ""
) -> None:
    """Keep what a scan saw. Another key than the pinned one takes the host's trust away; the
    certificate of an authority that a person trusts gives it."""
    host = Host.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=host_id)
    host.scan_error = error[:500]
    if key is not None:
        host.scanned_key = key
        host.scanned_at = clock.now()
        is_pinned = host.state == HostState.TRUSTED and host.host_key == key
        # What a person has approved by itself needs no authority.
        if is_pinned and host.authority_id is None:
            host.certificate_refusal = ""
        elif not host_certify(host=host, certificate=certificate) and host.host_key not in {
            "",
            key,
        }:
            # Without an authority a scan only takes trust away: to give it is for a person.
            host.state = HostState.KEY_CHANGED
    host.scan_requested_at = None
    host.save()
    _scan_behind(host, WORKER)


def _scan_behind(bastion: Host, actor: str) -> None:
    """Ask the hosts for their keys that could not be asked before their bastion was trusted."""
    if bastion.state == HostState.TRUSTED:
        for host in bastion.hosts_behind.filter(state=HostState.UNVERIFIED, scanned_key=""):
            host_scan(host=host, actor=actor)


def host_key_distrust(*, host: Host, pinned: str, presented: str | None) -> None:
    """The host, or its bastion where that had the pinned key, is refused until a person approves
    the key that it shows now."""
    changed: dict[str, object] = {"state": HostState.KEY_CHANGED}
    if presented is not None:
        changed |= {"scanned_key": presented, "scanned_at": clock.now()}
    route = [machine.pk for machine in host.route]
    # Only where that key is still pinned: a person may have approved another one since.
    Host.objects.filter(pk__in=route, host_key=pinned).update(**changed)


@transaction.atomic
def host_approve(*, host: Host, fingerprint_sha256: str, actor: str) -> Host:
    """Pin the scanned key, named by its fingerprint; raises KeyMismatch for another one, and
    KeyRevoked."""
    host = Host.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=host.pk)
    scanned = fingerprint(host.scanned_key)
    # Between a person's look and approval another scan may have brought another key.
    if not scanned or fingerprint_sha256 != scanned:
        raise KeyMismatch(fingerprint_sha256, scanned or None)
    if host.scanned_key in revoked_keys(host.workspace):
        raise KeyRevoked(f"the key {scanned} is revoked")
    host.host_key = host.scanned_key
    host.state = HostState.TRUSTED
    host.save(update_fields=["host_key", "state"])
    audit_record(
        actor=actor, action="host_approve", target=host, detail={"fingerprint_sha256": scanned}
    )
    _scan_behind(host, actor)
    return host
