"""Authorities that sign the keys of hosts: trusted, revoked or removed by people."""

from types import MappingProxyType

from django.db import transaction
from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.host_certificates import names_match
from backend.benchmarks.models import Host, HostAuthority, HostState
from backend.benchmarks.selectors.hosts import bastions_of, fingerprint
from backend.benchmarks.services.hosts import host_scan
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.foundation.errors import InvalidValue
from backend.providers.host_keys import TYPES, host_key

MOST_PATTERNS = 2_000
# Of a host that waits for another approval.
UNSURE = MappingProxyType({"state": HostState.UNVERIFIED, "host_key": "", "authority": None})


@transaction.atomic
def host_authority_set(
    *, workspace: Workspace, patterns: str, public_key: str, is_revoked: bool, actor: str
) -> bool:
    """Trust the key of an authority for hosts of these names, or trust a key no more, whether it is an
    authority's or a host's. Returns whether that is new.

    Hosts that wait for an approval are asked for their certificates. Raises InvalidValue with the
    field as a JSON pointer.
    """
    # What stands behind the key is a comment, which differs between copies of one key.
    key = " ".join(public_key.split()[:2])
    if host_key(key) is None:
        raise InvalidValue(
            "/public_key", f"not a whole key of a type that we use ({', '.join(TYPES)})"
        )
    if not patterns or len(patterns) > MOST_PATTERNS or any(map(str.isspace, patterns)):
        raise InvalidValue("/patterns", "names such as *.example.org are needed, without blanks")
    schedule_lock(workspace_id=workspace.pk)
    known = HostAuthority.objects.filter(workspace=workspace, public_key=key).first()
    if known is None:
        known = HostAuthority(workspace=workspace, public_key=key)
    elif known.is_revoked and not is_revoked:
        raise InvalidValue("/public_key", f"the key {fingerprint(key)} is revoked here")
    elif (known.patterns, known.is_revoked) == (patterns, is_revoked):
        return False
    known.patterns, known.is_revoked = patterns, is_revoked
    known.save()
    _record(known, "host_authority_revoke" if is_revoked else "host_authority_trust", actor)
    if is_revoked:
        Host.objects.filter(workspace=workspace, host_key=key).update(
            **UNSURE, certificate_refusal="its key is revoked"
        )
        _distrust(known.hosts.all(), "its authority is revoked", actor)
        return True
    unnamed = [host.pk for host in known.hosts.all() if not _names(known, host)]
    _distrust(Host.objects.filter(pk__in=unnamed), "its authority may not sign for it", actor)
    for host in bastions_of(workspace).exclude(state=HostState.TRUSTED):
        if _names(known, host):
            host_scan(host=host, actor=actor)
    return True


def _names(authority: HostAuthority, host: Host) -> bool:
    return names_match(authority.patterns, host.address, host.port)


@transaction.atomic
def host_authority_remove(*, authority: HostAuthority, actor: str) -> None:
    """Trust the authority no more, or count a revoked key again; hosts that it made sure wait for
    another approval."""
    schedule_lock(workspace_id=authority.workspace_id)
    _distrust(authority.hosts.all(), "its authority was removed", actor)
    _record(authority, "host_authority_remove", actor)
    authority.delete()


def _distrust(hosts: QuerySet[Host], why: str, actor: str) -> None:
    """Hosts that only an authority made sure are asked anew: another one may have signed, too."""
    for host in list(hosts):
        Host.objects.filter(pk=host.pk).update(**UNSURE, certificate_refusal=why)
        host.refresh_from_db()
        host_scan(host=host, actor=actor)


def _record(authority: HostAuthority, action: str, actor: str) -> None:
    audit_record(
        actor=actor,
        action=action,
        target=authority,
        detail={
            "patterns": authority.patterns,
            "fingerprint_sha256": fingerprint(authority.public_key),
        },
    )
