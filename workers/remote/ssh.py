"""SSH with a pinned host key, deadlines and capped output; every failure has a named reason.

No agent, no configuration file, no password: the key that is given is the only way in, and the
pinned host key is the only machine that is talked to. A bastion is logged in to likewise and runs
nothing; it only connects to the machine behind it.
"""

import asyncio
import contextlib
import shlex
import socket
from pathlib import PurePosixPath
from typing import Any

import asyncssh

from backend.domain.addresses import checked_address, is_public, key_fingerprint
from backend.domain.errors import DriverError, InvalidValue, Reason
from backend.domain.host_keys import TYPES
from workers.remote.driver import HostKeyChanged, Output, Target, read_capped, write_refusal

CONNECT_TIMEOUT_S = 10
# A dead network is seen so after three of them; without, a read would wait for hours.
KEEPALIVE_S = 15
# RSA keys sign by SHA-2 although their type is called ssh-rsa: asked for by that name they would sign by
# SHA-1, which new servers refuse.
SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}

asyncssh.set_log_level("WARNING")  # one line for every connection and channel otherwise


class _Client(asyncssh.SSHClient):
    """Remembers a host key that is not the pinned one, and refuses it; and what the machine says
    before the login."""

    presented: str | None = None
    banner = ""

    def auth_banner_received(self, msg: str, lang: str) -> None:
        self.banner += msg

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.presented = _public_line(key)
        # Never by asking anybody: a key that is not the pinned one ends the connection before the login.
        return False


def _public_line(key: asyncssh.SSHKey) -> str:
    return " ".join(key.export_public_key("openssh").decode().split()[:2])


async def _route(
    address: str, port: int, via: Target | None, *, is_private_allowed: bool
) -> "tuple[str, SshTransport | None]":
    """What to connect to, and the bastion that does so. Behind one the name is looked up there: its
    network is not ours, so none of its addresses leads to a machine of ours."""
    try:
        checked_address(address)
    except InvalidValue as error:
        raise DriverError(Reason.UNREACHABLE, error.detail, retryable=False) from error
    if via is not None:
        return address, await connect(via)
    return await _resolved(address, port, is_private_allowed=is_private_allowed), None


async def _resolved(address: str, port: int, *, is_private_allowed: bool) -> str:
    """The IP to connect to. Checked after resolving and then used itself, so that a name cannot
    change its mind between the check and the connection."""
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(
            address, port, type=socket.SOCK_STREAM
        )
    except socket.gaierror as error:
        raise DriverError(
            Reason.UNREACHABLE, f"{address} does not resolve: {error.strerror}", retryable=True
        ) from error
    ips = [str(entry[4][0]) for entry in entries]
    allowed = [ip for ip in ips if is_private_allowed or is_public(ip)]
    if not allowed:
        raise DriverError(
            Reason.UNREACHABLE,
            f"{address} is not a public address, and SSH_ALLOW_PRIVATE is off",
            retryable=False,
        )
    return allowed[0]


async def scan(
    address: str,
    port: int,
    *,
    is_private_allowed: bool,
    first_type: str = "",
    via: Target | None = None,
) -> str:
    """The host key that a machine presents, in OpenSSH form, which begins with its type: that of
    `first_type` where the machine has one, else the one we prefer. Nothing is sent or run."""
    types = (first_type, *TYPES) if first_type else TYPES
    algorithms = [name for one in types for name in SIGNATURES.get(one, (one,))]
    name, bastion = await _route(address, port, via, is_private_allowed=is_private_allowed)
    endpoint = f"{address} port {port}"
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            key = await asyncssh.get_server_host_key(
                name,
                port,
                tunnel=bastion.connection if bastion else (),
                config=None,
                # The library prefers RSA, people's ssh and the consoles of clouds show Ed25519: both must
                # speak of one key.
                server_host_key_algs=algorithms,
            )
    except (OSError, asyncssh.Error) as error:
        raise _connect_error(error, endpoint) from error
    finally:
        if bastion is not None:
            await bastion.close()
    if key is None:
        raise DriverError(Reason.UNSUPPORTED, f"{endpoint} presents no host key", retryable=False)
    return _public_line(key)


async def connect(target: Target) -> "SshTransport":
    """Log in; raises HostKeyChanged before anything is sent to a machine with another key."""
    name, bastion = await _route(
        target.address, target.port, target.via, is_private_allowed=target.is_private_allowed
    )
    endpoint = f"{target.username}@{target.address} port {target.port}"
    try:
        connection = await _logged_in(target, name, endpoint, bastion)
    # Also when the step's time is over: the way through the bastion would stay open.
    except BaseException:
        if bastion is not None:
            await bastion.close()
        raise
    return SshTransport(connection, endpoint, bastion)


async def _logged_in(
    target: Target, name: str, endpoint: str, bastion: "SshTransport | None"
) -> asyncssh.SSHClientConnection:
    client = _Client()
    try:
        return await asyncssh.connect(
            name,
            target.port,
            tunnel=bastion.connection if bastion else (),
            username=target.username,
            client_keys=[_login_key(target)],
            # Of host keys, only those of the pinned one's type are asked for.
            known_hosts=f"* {target.host_key}\n".encode(),
            client_factory=lambda: client,
            config=None,
            # Nothing of the worker's own user, its agent, configuration or known hosts, may open or trust a
            # host.
            agent_path=None,
            password=None,
            preferred_auth="publickey",
            gss_host=None,
            connect_timeout=CONNECT_TIMEOUT_S,
            login_timeout=CONNECT_TIMEOUT_S,
            keepalive_interval=KEEPALIVE_S,
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise _changed(target, endpoint, client.presented) from error
    except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError) as error:
        # No host key of the pinned type, which either side may say first by hanging up (a reset
        # throws away what the server had said): the machine has another one, which a scan names.
        presented = await scan(
            target.address,
            target.port,
            is_private_allowed=target.is_private_allowed,
            first_type=target.host_key.partition(" ")[0],
            via=target.via,
        )
        # The right machine after all, in trouble: nothing to distrust it for.
        if presented == target.host_key:
            raise _connect_error(error, endpoint) from error
        raise _changed(target, endpoint, presented) from error
    except (OSError, asyncssh.Error, asyncssh.KeyImportError) as error:
        raise _connect_error(error, endpoint, client.banner) from error


def _login_key(target: Target) -> asyncssh.SSHKey | tuple[asyncssh.SSHKey, Any]:
    """The private key, with its certificate where it has one."""
    key = asyncssh.import_private_key(target.private_key)
    if not target.certificate:
        return key
    return key, asyncssh.import_certificate(target.certificate)


def _changed(target: Target, endpoint: str, presented: str | None) -> HostKeyChanged:
    shown = _named(presented) if presented else "an unknown key"
    pinned = _named(target.host_key)
    return HostKeyChanged(
        f"{endpoint} presents the host key {shown}, but {pinned} is pinned; nothing was run",
        pinned=target.host_key,
        presented=presented,
    )


def _named(key_line: str) -> str:
    return f"{key_line.split(maxsplit=1)[0]} {key_fingerprint(key_line)}"


def _connect_error(error: Exception, endpoint: str, banner: str = "") -> DriverError:
    """The named reason of a connection that was not made, with what the machine said before it."""
    if isinstance(error, asyncssh.PermissionDenied):
        # Such as that it is about to shut down, and lets nobody in any more.
        said = f" (it says: {' '.join(banner.split())[:300]})" if banner.strip() else ""
        detail = f"{endpoint} refuses the key: {error}{said}"
        return DriverError(Reason.AUTH, detail, retryable=False)
    if isinstance(error, asyncssh.KeyImportError):
        return DriverError(Reason.AUTH, f"the private key cannot be read: {error}", retryable=False)
    if isinstance(error, TimeoutError):
        detail = f"{endpoint} does not answer within {CONNECT_TIMEOUT_S} s"
    else:
        detail = f"{endpoint}: {error}"
    return DriverError(Reason.UNREACHABLE, detail, retryable=True)


class SshTransport:
    """Commands and files over one connection, and through that of the bastion."""

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        endpoint: str,
        bastion: "SshTransport | None" = None,
    ) -> None:
        self.connection = connection
        self._endpoint = endpoint
        self._bastion = bastion

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float, limit_bytes: int = 16 * 2**20
    ) -> Output:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._run(command, stdin, limit_bytes)
        except TimeoutError:
            raise DriverError(
                Reason.TIMEOUT,
                f"{self._endpoint}: a command took more than {timeout_s:g} s",
                retryable=True,
            ) from None
        except (OSError, asyncssh.Error) as error:
            raise DriverError(
                Reason.UNREACHABLE, f"{self._endpoint}: connection lost: {error}", retryable=True
            ) from error

    async def _run(self, command: str, stdin: bytes, limit_bytes: int) -> Output:
        # The login shell of the account may be any; ours is always the POSIX one.
        async with self.connection.create_process(
            f"exec /bin/sh -c {shlex.quote(command)}", encoding=None
        ) as process:
            # It may have ended already, as accounts without a shell do.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.write_eof()
            stdout, stderr = await asyncio.gather(
                read_capped(process.stdout, limit_bytes), read_capped(process.stderr, limit_bytes)
            )
            await process.wait_closed()
            if process.returncode is None:
                raise asyncssh.ConnectionLost("the command ended without a status")
            return Output(process.returncode, stdout, stderr)

    async def put(self, content: bytes, path: str, *, mode: int, timeout_s: float) -> None:
        # No SFTP: small systems often have none.
        name, part = shlex.quote(path), shlex.quote(f"{path}.part")
        command = f"cat >{part} && chmod {mode:o} {part} && mv -f {part} {name}"
        output = await self.run(command, stdin=content, timeout_s=timeout_s)
        if output.exit_code != 0:
            raise self._file_error(path, output)

    async def get(self, path: str, *, timeout_s: float, limit_bytes: int = 16 * 2**20) -> bytes:
        output = await self.run(
            f"cat {shlex.quote(path)}", timeout_s=timeout_s, limit_bytes=limit_bytes
        )
        if output.exit_code != 0:
            raise self._file_error(path, output)
        return output.stdout

    def _file_error(self, path: str, output: Output) -> DriverError:
        said = output.stderr.decode(errors="replace").strip()[-300:]
        return DriverError(
            write_refusal(said),
            f"{self._endpoint}: {PurePosixPath(path).name}: {said}",
            retryable=False,
        )

    async def close(self) -> None:
        self.connection.abort()
        if self._bastion is not None:
            await self._bastion.close()
