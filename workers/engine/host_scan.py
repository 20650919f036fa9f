"""Looks at the key that a host presents, on a person's request."""

import asyncio
from functools import partial

from django.conf import settings

from backend.benchmarks.models import Host
from backend.benchmarks.services.hosts import host_scan_record
from backend.domain.errors import DriverError
from workers.remote import ssh


async def _presented(host: Host) -> str:
    """The approved key where the host still has it, else the one that is preferred."""
    scan = partial(ssh.scan, host.address, host.port, is_private_allowed=settings.SSH_ALLOW_PRIVATE)
    key = await scan(first_type=host.host_key.partition(" ")[0])
    if host.host_key and key != host.host_key:
        return await scan()
    return key


def scan_host(host_id: str) -> None:
    """Record the presented key, or why there is none. Nothing is sent to the host or run on it."""
    host = Host.objects.get(pk=host_id)
    try:
        key = asyncio.run(_presented(host))
    except DriverError as error:
        host_scan_record(host_id=host_id, key=None, error=str(error))
    else:
        host_scan_record(host_id=host_id, key=key, error="")
