"""Hosts that a command names as ssh would: by its settings, keys and agent of whoever starts it."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from backend.accounts.models import Workspace
from backend.benchmarks.calc.host_document import MAX_NAME, HostDocument
from backend.benchmarks.models import Host
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.services.hosts import host_create
from backend.benchmarks.services.login_keys import (
    check_certificate,
    check_private_key,
    decrypt_key,
    host_agent_set,
    host_private_key_replace,
    is_encrypted,
    public_line,
)
from backend.benchmarks.services.workers import workers_alive
from backend.foundation.errors import DomainError, DriverError, Reason
from workers.engine.steps import target_of
from workers.remote import ssh
from workers.remote.driver import Target
from workers.remote.ssh_config import (
    DEFAULT_PORT,
    SshLogin,
    SshName,
    certificate_for,
    destination,
    is_readable_by_others,
    login,
)

# More hops than anybody has: two settings that name each other would go round for ever.
MOST_JUMPS = 8


class HostRefused(DomainError):
    """Why a machine cannot be logged in to as it was asked for, and what to do."""


@dataclass(frozen=True)
class Key:
    """A thing to log in with: a private key, or the keys of an agent."""

    shown: str
    text: str = field(default="", repr=False)
    certificate: str = ""
    agent_socket: str = ""


@dataclass(frozen=True)
class SshHosts:
    """Makes hosts of what ssh would log in to; `approve` gets a host and the number of its machine,
    0 for the one that was asked for, and pins its key or raises."""

    workspace: Workspace
    actor: str
    kind: str
    identity: Path | None
    config: Path | None
    passphrase: Callable[[Path], str]
    warn: Callable[[str], None]
    approve: Callable[[Host, int], Host]

    def login(self, text: str) -> SshLogin:
        return self._login(destination(text))

    def _login(self, where: SshName) -> SshLogin:
        return login(where, config=self.config, environ=os.environ, home=Path.home())

    def host(self, there: SshLogin, *, name: str | None = None, depth: int = 0) -> Host:
        """The host with an approved key, through its bastions; made on first use."""
        if depth > MOST_JUMPS:
            raise HostRefused(
                f"{there.name} is behind more than {MOST_JUMPS} machines; the last one is reached "
                f"through {', '.join(there.jumps)}: do their ProxyJump settings name each other?"
            )
        bastion = None
        for hops, jump in enumerate(there.jumps):
            hop = self.login(jump)
            # Only the first one is reached from here; ssh reads its own jumps too.
            nearer = hop if hops == 0 else _without_jumps(hop)
            bastion = self._through(nearer, bastion, None, depth + len(there.jumps) - hops)
        return self._through(_without_jumps(there), bastion, name, depth)

    def _through(self, there: SshLogin, bastion: Host | None, name: str | None, depth: int) -> Host:
        if there.jumps:
            return self.host(there, depth=depth)
        known = self._find(there, bastion)
        if known is not None:
            return self.approve(self._renew(known, there, name, is_given=depth == 0), depth)
        keys = self._keys(there, is_given=depth == 0)
        first = next(keys, None)
        if first is None:
            raise HostRefused(
                f"{there.name} is not known yet: give its private key with --identity, or add one "
                "to an SSH agent"
            )
        # Behind a bastion the name is looked up from there, where it may mean something that we do
        # not know.
        if bastion is None:
            _check_resolves(there)
        document = HostDocument.read(
            {
                "name": name or self._free_name(there),
                "address": there.address,
                "port": there.port,
                "username": there.username,
                "private_key": first.text,
                "certificate": first.certificate,
                "bastion": bastion and bastion.pk,
                "kind": self.kind,
            }
        )
        host = host_create(workspace=self.workspace, document=document, actor=self.actor)
        if first.agent_socket:
            self._use(host, first)
        host = self.approve(host, depth)
        # What somebody names is left to the run to try.
        return host if self.identity and depth == 0 else self._let_in(host, first, keys)

    def _find(self, there: SshLogin, bastion: Host | None) -> Host | None:
        hosts = hosts_visible(self.workspace).filter(
            address=there.address, port=there.port, username=there.username
        )
        return (hosts.filter(bastion=bastion) if bastion else hosts).first()

    def _renew(self, host: Host, there: SshLogin, name: str | None, *, is_given: bool) -> Host:
        if name is not None and name != host.name:
            raise HostRefused(
                f"{there.username}@{there.address} port {there.port} is known as {host.name!r}: "
                "leave out --name, or change its name on its page"
            )
        if is_given and self.identity is not None:
            self._use(host, self._of_file(self.identity, there))
        elif host.agent_socket and there.agent_socket:
            # Its path is another one in every session.
            self._use(host, Key("the SSH agent", agent_socket=there.agent_socket))
        return host

    def _free_name(self, there: SshLogin) -> str:
        base = there.name.replace(".", "-").replace(":", "-")[:MAX_NAME]
        for name in (base, f"{base}-{there.port}", f"{base}-{there.port}-{there.username}"):
            if not hosts_visible(self.workspace).filter(name=name).exists():
                return name
        raise HostRefused(f"hosts named {base!r} exist: name this one with --name")

    # --- what logs in -----------------------------------------------------------------------

    def _keys(self, there: SshLogin, *, is_given: bool) -> Iterator[Key]:
        """Keys that ssh would try, in its order; keys that ask for a passphrase come last."""
        if is_given and self.identity is not None:
            yield self._of_file(self.identity, there)
            return
        # As for ssh an identity may be the public half of a key that only the agent has.
        files = [path for path in there.identities if "PRIVATE KEY" in _text(path)]
        locked = [path for path in files if is_encrypted(_text(path))]
        open_files = [path for path in files if path not in locked]
        if there.is_identity_named:
            yield from (self._of_file(path, there) for path in open_files)
        refusal = _agent_refusal(there.name) if there.agent_socket else ""
        if there.agent_socket and not refusal:
            yield Key("the SSH agent", agent_socket=there.agent_socket)
        if not there.is_identity_named:
            yield from (self._of_file(path, there) for path in open_files)
        yield from (self._of_file(path, there) for path in locked)
        # Last: a key of a file may have been let in without the agent.
        if refusal:
            raise HostRefused(refusal)

    def _of_file(self, path: Path, there: SshLogin) -> Key:
        text = _text(path)
        if is_readable_by_others(path) and "PRIVATE KEY" in text:
            self.warn(f"others can read the private key {path}: chmod 600 {path}")
        if is_encrypted(text):
            text = decrypt_key(text, self.passphrase(path))
        key = check_private_key(text)
        certificate = certificate_for(text, path, there.certificates)
        return Key(str(path), text, check_certificate(certificate, public_line(key)))

    def _use(self, host: Host, key: Key) -> None:
        if not key.agent_socket:
            host_private_key_replace(
                host=host, private_key=key.text, certificate=key.certificate, actor=self.actor
            )
            return
        if refusal := _agent_refusal(host.name):
            raise HostRefused(refusal)
        host_agent_set(
            host=host,
            agent_socket=key.agent_socket,
            worker_id=settings.WORKER_ID,
            actor=self.actor,
        )

    def _let_in(self, host: Host, key: Key, others: Iterator[Key]) -> Host:
        """The host with the first key that it lets in."""
        tried = [key.shown]
        while _is_refused(host):
            other = next(others, None)
            if other is None:
                raise HostRefused(f"{host.name} lets in none of {', '.join(tried)}")
            self._use(host, other)
            tried.append(other.shown)
        return host


def _agent_refusal(name: str) -> str:
    """Why no worker could use the agent of this machine; "" where one can, or this process has to."""
    alive = sorted(str(worker.pk) for worker in workers_alive())
    if not alive or settings.WORKER_ID in alive:
        return ""
    return (
        f"{name} would be logged in to by the SSH agent of this machine ({settings.WORKER_ID}), which "
        f"the workers of {', '.join(alive)} cannot use: run the command on a machine that has a "
        "worker, or give a key with --identity"
    )


def _is_refused(host: Host) -> bool:
    try:
        asyncio.run(_log_in(target_of(host)))
    except DriverError as error:
        if error.reason != Reason.AUTH:
            raise
        return True
    return False


async def _log_in(target: Target) -> None:
    transport = await ssh.connect(target)
    await transport.close()


def _check_resolves(there: SshLogin) -> None:
    try:
        socket.getaddrinfo(there.address, there.port or DEFAULT_PORT)
    except (OSError, UnicodeError) as error:
        # A name that cannot be encoded for the DNS raises a UnicodeError, which is no OSError.
        raise HostRefused(f"{there.address} does not resolve: {error}") from error


def _without_jumps(there: SshLogin) -> SshLogin:
    return SshLogin(**{**vars(there), "jumps": ()})


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise HostRefused(f"the private key {path} cannot be read: {error}") from error
