"""Looks at the key that a host presents, on a person's request."""

import asyncio
from functools import partial

from django.conf import settings

from backend.benchmarks.models import Host, HostState
from backend.benchmarks.selectors.hosts import authorities_of
from backend.benchmarks.services.hosts import host_scan_record
from backend.foundation.errors import DriverError, Reason
from workers.engine.steps import target_of
from workers.remote import ssh
from workers.remote.driver import Target


async def _choose_key(host: Host, bastion: Target | None, *, is_certified: bool) -> tuple[str, str]:
    """The approved key where the host still has it, else the one that is preferred; and the
    certificate of a key, "" where nobody could have signed one."""
    is_private_allowed = settings.SSH_ALLOW_PRIVATE
    scan = partial(
        ssh.scan, host.address, host.port, is_private_allowed=is_private_allowed, via=bastion
    )
    key = await scan(first_type=host.host_key.partition(" ")[0])
    if host.host_key and key != host.host_key:
        # The approved key is gone: what is shown now is the type that a person's own ssh shows, to
        # compare.
        key = await scan()
    if not is_certified:
        return key, ""
    # By a connection of its own: a server presents one key or one certificate in an exchange, never
    # both.
    return key, await ssh.scan_certificate(
        host.address, host.port, is_private_allowed=is_private_allowed, via=bastion
    )


def _bastion(host: Host) -> Target | None:
    """How to log in to the host's bastion, which shows us the key; None without one."""
    # An unapproved bastion could show us any key it likes as the host's.
    for machine in host.route[1:]:
        if machine.state != HostState.TRUSTED:
            detail = f"the host key of the bastion {machine.name} is not approved"
            raise DriverError(Reason.AUTH, detail, retryable=False)
    return target_of(host.bastion) if host.bastion else None


def scan_host(host_id: str) -> None:
    """Record the presented key, or why there is none. Nothing is sent to the host or run on it.

    Whatever happens something is recorded: a person waits for it.
    """
    host = Host.objects.select_related("bastion", "workspace").get(pk=host_id)
    trusted, _ = authorities_of(host.workspace, host)
    try:
        key, certificate = asyncio.run(
            _choose_key(host, _bastion(host), is_certified=bool(trusted))
        )
    except DriverError as error:
        host_scan_record(host_id=host_id, key=None, error=str(error))
    except Exception as error:
        host_scan_record(host_id=host_id, key=None, error=f"{Reason.BUG}: {type(error).__name__}")
        raise
    else:
        host_scan_record(host_id=host_id, key=key, error="", certificate=certificate)
