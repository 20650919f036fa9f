"""Hosts that a workspace may see."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.calc.host_certificates import names_match
from backend.benchmarks.calc.host_document import STORED, HostSettings
from backend.benchmarks.models import Host, HostAuthority, HostState, LoginKey
from backend.foundation.addresses import key_fingerprint
from backend.foundation.errors import InvalidValue


def fingerprint(key_line: str) -> str:
    """`SHA256:…` of a public key in OpenSSH form; empty for an empty key."""
    return key_fingerprint(key_line) if key_line else ""


def host_document(host: Host) -> HostSettings:
    """The host as a person would state it, but for its private key."""
    stored = {name: getattr(host, name) for name in STORED}
    return HostSettings.model_construct(bastion=host.bastion_id, **stored)


def login_key_line(host: Host) -> str:
    """The line that the host's authorized_keys needs; "" where it was given a key of its own, or
    trusts an authority."""
    is_own = host.sealed_private_key is None and host.address and not host.certificate
    if host.is_rented or not is_own:
        return ""
    key = getattr(host.workspace, "login_key", None)
    return key.public_key if key else ""


def login_key_of(workspace: Workspace) -> LoginKey | None:
    """The key by which Rackrate logs in to hosts that were given none; None before the first."""
    return LoginKey.objects.filter(workspace=workspace).first()


def hosts_with_login_key(workspace: Workspace) -> QuerySet[Host]:
    """Hosts that are logged in to with it."""
    hosts = hosts_standing(workspace).filter(sealed_private_key=None, agent_socket="")
    return hosts.exclude(address="").order_by("name")


def hosts_visible(workspace: Workspace) -> QuerySet[Host]:
    """Hosts of the workspace that were not removed, with their offer, its provider and the bastion."""
    hosts = Host.objects.filter(workspace=workspace).select_related(
        "offer__provider", "bastion", "workspace__login_key", "authority"
    )
    # A removed host keeps its row for its runs only; a rented one belongs to its run, gone or not.
    return hosts.exclude(state=HostState.GONE, is_rented=False)


def hosts_standing(workspace: Workspace) -> QuerySet[Host]:
    """Visible hosts that stay: a machine that was rented for a run ends with it."""
    return hosts_visible(workspace).filter(is_rented=False)


def tags_of(hosts: Iterable[Host]) -> list[str]:
    """The words that group these hosts."""
    return sorted({tag for host in hosts for tag in host.tags})


def bastions_of(workspace: Workspace) -> QuerySet[Host]:
    """Hosts that others may be reached through: those that we log in to by an address."""
    return hosts_standing(workspace).exclude(address="")


def bastion_of(workspace: Workspace, host_id: UUID | None) -> Host | None:
    """The bastion with the id, None for none; raises InvalidValue("/bastion")."""
    if host_id is None:
        return None
    bastion = bastions_of(workspace).filter(pk=host_id).first()
    if bastion is None:
        raise InvalidValue("/bastion", f"no host that is logged in to has the id {host_id}")
    return bastion


def host_authorities(workspace: Workspace) -> QuerySet[HostAuthority]:
    """The keys that sign those of hosts, and those that count no more."""
    return HostAuthority.objects.filter(workspace=workspace)


def authorities_of(
    workspace: Workspace, host: Host
) -> tuple[dict[str, HostAuthority], frozenset[str]]:
    """By their keys the workspace's authorities that may sign the host's one, and the keys that are
    revoked."""
    known = workspace.host_authorities.all()
    trusted = {
        key.public_key: key
        for key in known
        if not key.is_revoked and names_match(key.patterns, host.address, host.port)
    }
    return trusted, frozenset(key.public_key for key in known if key.is_revoked)


def revoked_keys(workspace: Workspace) -> frozenset[str]:
    """Keys of authorities and hosts that count no more."""
    revoked = host_authorities(workspace).filter(is_revoked=True)
    return frozenset(revoked.values_list("public_key", flat=True))
