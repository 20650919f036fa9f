"""SSH with a pinned host key, deadlines and capped output; every failure has a named reason.

No configuration file, no password: the key that is given is the only way in, beside those of an agent
where the worker's setting names one, and the pinned host key is the only machine that is talked to.
A bastion is logged in to likewise and runs nothing; it only connects to the machine behind it.
"""

import asyncio
import datetime as dt
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

import asyncssh

from backend.benchmarks.calc.host_certificates import certificate_refusal
from backend.foundation.addresses import check_address, is_public, key_fingerprint
from backend.foundation.errors import DriverError, InvalidValue, Reason
from backend.providers.host_keys import TYPES
from workers.remote.agent import agent_keys, key_lines
from workers.remote.driver import HostKeyChanged, Target
from workers.remote.outdated import age_of_server
from workers.remote.presented import ALGORITHMS, CERTIFICATE_ALGORITHMS, PresentedKey
from workers.remote.ssh_transport import SshTransport

T = TypeVar("T")
CONNECT_TIMEOUT_S = 10
MAX_BANNER = 300
# Of the addresses of one name, such as one of IPv6 and one of IPv4.
MAX_ADDRESSES = 3
# A dead network is seen so after three of them; without, a read would wait for hours.
KEEPALIVE_S = 15

# How a machine without a key of a type that is asked for ends the connection, which either side may do first: a
# reset throws away what the server had said.
NO_COMMON_KEY = (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError)

asyncssh.set_log_level("WARNING")  # one line for every connection and channel otherwise


class _Client(PresentedKey):
    """Remembers a host key that is not the pinned one, and refuses it; and what the machine says
    before the login. Where an authority has to have signed the key, its certificate is judged."""

    presented: str | None = None
    banner = ""
    refusal = ""

    def __init__(self, target: Target) -> None:
        super().__init__(self._certificate_refusal)
        self._target = target

    def _certificate_refusal(self, line: str) -> str:
        target = self._target
        if target.authorities:
            self.refusal = certificate_refusal(
                line,
                address=target.address,
                trusted=target.authorities,
                revoked=target.revoked,
                now=dt.datetime.now(dt.UTC),
            )
        return self.refusal

    def auth_banner_received(self, msg: str, lang: str) -> None:
        self.banner = (self.banner + msg)[:MAX_BANNER]

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.presented = _public_line(key)
        # Never by asking anybody: a key that is not the pinned one ends the connection before the login.
        return False


def _public_line(key: asyncssh.SSHKey) -> str:
    # What may stand after the key is a comment, which is no part of what is compared.
    return " ".join(key.export_public_key("openssh").decode().split()[:2])


async def _route(
    address: str, port: int, via: Target | None, *, is_private_allowed: bool
) -> tuple[Sequence[str], SshTransport | None]:
    """Address to connect to, and the bastion that does so. Behind one the name is looked up there:
    its network is not ours, so none of its addresses leads to a machine of ours."""
    try:
        check_address(address)
    except InvalidValue as error:
        raise DriverError(Reason.UNREACHABLE, error.detail, retryable=False) from error
    if via is not None:
        return [address], await connect(via)
    return await _resolve(address, port, is_private_allowed=is_private_allowed), None


async def _resolve(address: str, port: int, *, is_private_allowed: bool) -> Sequence[str]:
    """The IPs to connect to. Checked after resolving and then used themselves, so that a name
    cannot change its mind between the check and the connection."""
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
    return allowed[:MAX_ADDRESSES]


async def _first_reached(names: Sequence[str], call: Callable[[str], Awaitable[T]]) -> T:
    """Answer of the first of a machine's addresses that can be reached: many a worker has no IPv6,
    many a name such an address, which stands first."""
    for name in names[:-1]:
        try:
            return await call(name)
        except OSError as error:
            if isinstance(error, NO_COMMON_KEY):  # somebody was there
                raise
    return await call(names[-1])


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
    key = await _server_key(
        address,
        port,
        is_private_allowed=is_private_allowed,
        via=via,
        # The library prefers RSA, people's ssh and the consoles of clouds show Ed25519: both must
        # speak of one key.
        algorithms=[name for key_type in types for name in ALGORITHMS[key_type]],
        is_any_expected=True,
    )
    if key is None:
        detail = f"{address} port {port} presents no host key"
        raise DriverError(Reason.UNSUPPORTED, detail, retryable=False)
    return _public_line(key)


async def scan_certificate(
    address: str, port: int, *, is_private_allowed: bool, via: Target | None = None
) -> str:
    """The certificate of its key that a machine presents, in OpenSSH form; "" where it has none.
    Nothing is sent or run."""
    seen: list[str] = []

    def keep(line: str) -> str:
        seen.append(line)
        return ""

    try:
        await _server_key(
            address,
            port,
            is_private_allowed=is_private_allowed,
            via=via,
            algorithms=CERTIFICATE_ALGORITHMS,
            client_factory=lambda: PresentedKey(keep),
        )
    except DriverError as error:
        # Either side may hang up first where there is nothing that both know.
        if not isinstance(error.__cause__, NO_COMMON_KEY):
            raise
    return next(iter(seen), "")


async def _server_key(
    address: str,
    port: int,
    *,
    is_private_allowed: bool,
    via: Target | None,
    algorithms: Sequence[str],
    client_factory: Callable[[], asyncssh.SSHClient] = asyncssh.SSHClient,
    is_any_expected: bool = False,
) -> asyncssh.SSHKey | None:
    names, bastion = await _route(address, port, via, is_private_allowed=is_private_allowed)
    name = names[0]

    async def presented(at: str) -> asyncssh.SSHKey | None:
        nonlocal name
        name = at
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await asyncssh.get_server_host_key(
                at,
                port,
                tunnel=bastion.connection if bastion else (),
                config=None,
                server_host_key_algs=algorithms,
                options=asyncssh.SSHClientConnectionOptions(
                    client_factory=client_factory, config=None
                ),
            )

    try:
        return await _first_reached(names, presented)
    except (OSError, asyncssh.Error) as error:
        endpoint = f"{address} port {port}"
        if is_any_expected and isinstance(error, NO_COMMON_KEY):
            tunnel = bastion.connection if bastion else None
            if why := await age_of_server(name, port, tunnel, algorithms):
                detail = f"{endpoint}: {why}"
                raise DriverError(Reason.UNSUPPORTED, detail, retryable=False) from error
        raise _connect_error(error, endpoint) from error
    finally:
        if bastion is not None:
            await bastion.close()


async def connect(target: Target) -> "SshTransport":
    """Log in; raises HostKeyChanged before anything is sent to a machine with another key."""
    if not target.authorities and not target.host_key:
        detail = f"no host key of {target.address} is approved"
        raise DriverError(Reason.AUTH, detail, retryable=False)
    names, bastion = await _route(
        target.address, target.port, target.via, is_private_allowed=target.is_private_allowed
    )
    endpoint = f"{target.username}@{target.address} port {target.port}"
    try:
        connection = await _log_in(target, names, endpoint, bastion)
    # Also when the step's time is over: the way through the bastion would stay open.
    except BaseException:
        if bastion is not None:
            await bastion.close()
        raise
    return SshTransport(connection, endpoint, bastion)


async def _log_in(
    target: Target, names: Sequence[str], endpoint: str, bastion: SshTransport | None
) -> asyncssh.SSHClientConnection:
    async with agent_keys(target.agent_socket, is_of_host=target.is_agent_of_host) as keys:
        return await _connect(target, names, endpoint, bastion, keys)


async def _connect(
    target: Target,
    names: Sequence[str],
    endpoint: str,
    bastion: SshTransport | None,
    keys: list[asyncssh.SSHKeyPair],
) -> asyncssh.SSHClientConnection:
    client = _Client(target)

    async def connected(name: str) -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            name,
            target.port,
            tunnel=bastion.connection if bastion else (),
            username=target.username,
            client_keys=[*_login_keys(target), *keys],
            known_hosts=_trusted_keys(target),
            # The name that a certificate has to have; without one nothing goes by it.
            host_key_alias=target.address.lower(),
            client_factory=lambda: client,
            config=None,
            # Nothing of the worker's own user, its configuration or known hosts, may open or trust a host,
            # nor an agent that nobody has set.
            agent_path=None,
            password=None,
            preferred_auth="publickey",
            gss_host=None,
            connect_timeout=CONNECT_TIMEOUT_S,
            login_timeout=CONNECT_TIMEOUT_S,
            keepalive_interval=KEEPALIVE_S,
        )

    try:
        return await _first_reached(names, connected)
    except asyncssh.HostKeyNotVerifiable as error:
        if target.authorities:
            raise _no_certificate_error(endpoint, client.refusal or str(error)) from error
        raise _key_changed_error(target, endpoint, client.presented) from error
    except NO_COMMON_KEY as error:
        if target.authorities:
            raise await _without_certificate(target, endpoint, error) from error
        # The machine has no key of the pinned type but another one, which a scan names.
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
        raise _key_changed_error(target, endpoint, presented) from error
    except (OSError, asyncssh.Error, asyncssh.KeyImportError) as error:
        raise _connect_error(error, endpoint, client.banner, key_lines(keys)) from error


def _trusted_keys(target: Target) -> bytes:
    # Of host keys, only those of the pinned one's type are asked for, or certificates.
    if target.authorities:
        return "".join(f"@cert-authority * {key}\n" for key in target.authorities).encode()
    return f"* {target.host_key}\n".encode()


async def _without_certificate(target: Target, endpoint: str, error: Exception) -> DriverError:
    """Why there was no certificate that both sides know: the machine has none, or is in trouble."""
    certificate = await scan_certificate(
        target.address, target.port, is_private_allowed=target.is_private_allowed, via=target.via
    )
    if certificate:
        return _connect_error(error, endpoint)
    return _no_certificate_error(endpoint, "it shows no certificate of its key")


def _no_certificate_error(endpoint: str, why: str) -> DriverError:
    detail = f"{endpoint} is trusted by the certificate of its key, but {why}; nothing was run"
    return DriverError(Reason.AUTH, detail, retryable=False)


def _login_keys(target: Target) -> Iterator[asyncssh.SSHKey | tuple[asyncssh.SSHKey, Any]]:
    """The private key, and the one before it, with the certificate where it is for one of them."""
    certificate = asyncssh.import_certificate(target.certificate) if target.certificate else None
    for content in filter(None, (target.private_key, target.earlier_key)):
        key = asyncssh.import_private_key(content)
        is_certified = certificate and certificate.key.public_data == key.public_data
        yield (key, certificate) if is_certified else key


def _key_changed_error(target: Target, endpoint: str, presented: str | None) -> HostKeyChanged:
    shown = _key_words(presented) if presented else "an unknown key"
    pinned = _key_words(target.host_key)
    return HostKeyChanged(
        f"{endpoint} presents the host key {shown}, but {pinned} is pinned; nothing was run",
        pinned=target.host_key,
        presented=presented,
    )


def _key_words(key_line: str) -> str:
    return f"{key_line.split(maxsplit=1)[0]} {key_fingerprint(key_line)}"


def _connect_error(
    error: Exception, endpoint: str, banner: str = "", tried: str = ""
) -> DriverError:
    """The named reason of a connection that was not made, with what the machine said before it."""
    if isinstance(error, asyncssh.PermissionDenied):
        # Such as that it is about to shut down, and lets nobody in any more.
        said = f" (it says: {' '.join(banner.split())[:300]})" if banner.strip() else ""
        detail = f"{endpoint} refuses the key: {error}{said}{tried}"
        return DriverError(Reason.AUTH, detail, retryable=False)
    if isinstance(error, asyncssh.KeyImportError):
        return DriverError(Reason.AUTH, f"the private key cannot be read: {error}", retryable=False)
    if isinstance(error, TimeoutError):
        detail = f"{endpoint} does not answer within {CONNECT_TIMEOUT_S} s"
    else:
        detail = f"{endpoint}: {error}"
    return DriverError(Reason.UNREACHABLE, detail, retryable=True)
