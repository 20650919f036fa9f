"""Dedicated, rented and on-premises hosts over SSH."""

from workers.remote import ssh
from workers.remote.driver import Target, Transport


class StaticDriver:
    """A host with an address, a user, a key and a pinned host key."""

    async def connect(self, target: Target) -> Transport:
        return await ssh.connect(target)
