"""What the engine asks of a provider and of a machine, and how both say no."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from backend.domain.errors import Reason


class DriverError(Exception):
    """A provider or a machine did not do what it was asked; `detail` holds no secret."""

    def __init__(self, reason: Reason, detail: str, *, retryable: bool) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.retryable = retryable


class HostKeyChanged(DriverError):
    """The machine presented another key than the pinned one; nothing was run or sent."""

    def __init__(self, detail: str, *, presented: str | None) -> None:
        super().__init__(Reason.AUTH, detail, retryable=False)
        self.presented = presented
        """The presented public key in OpenSSH form, when it is known."""


@dataclass(frozen=True)
class Target:
    """A machine and how to log in to it; the local machine needs none of it."""

    address: str = ""
    port: int = 22
    username: str = ""
    private_key: bytes = field(default=b"", repr=False)
    host_key: str = ""
    """The pinned public key in OpenSSH form."""
    is_private_allowed: bool = False
    """Whether addresses that are not public may be connected to."""


@dataclass(frozen=True)
class Output:
    """What a command left behind."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class ByteReader(Protocol):
    """The reading end of a stream, of a subprocess or of an SSH channel."""

    async def read(self, n: int = -1, /) -> bytes: ...


async def read_capped(reader: ByteReader, limit_bytes: int) -> bytes:
    """Everything up to the end of the stream; DriverError when that is over the limit."""
    chunks: list[bytes] = []
    size_bytes = 0
    while chunk := await reader.read(65_536):
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise DriverError(
                Reason.UNSUPPORTED, f"a command wrote over {limit_bytes} bytes", retryable=False
            )
        chunks.append(chunk)
    return b"".join(chunks)


class Transport(Protocol):
    """An open way to one machine. Every call has a deadline and raises DriverError."""

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float, limit_bytes: int = 16 * 2**20
    ) -> Output:
        """Run a command line of POSIX sh built by us; output beyond the limit is an error."""
        ...

    async def put(self, content: bytes, path: str, *, mode: int, timeout_s: float) -> None:
        """Write a whole file under a temporary name and rename it."""
        ...

    async def get(self, path: str, *, timeout_s: float, limit_bytes: int = 16 * 2**20) -> bytes:
        """The whole content of a file."""
        ...

    async def close(self) -> None:
        """Let go of the machine; never raises."""
        ...


class ResourceState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    ENDING = "ending"
    """Asked to go, or stopped; it may still cost money."""
    GONE = "gone"
    """The provider knows it and says that it is over."""
    ABSENT = "absent"
    """The provider does not know it: never made, forgotten since, or not told of yet."""


class ResourceKind(StrEnum):
    MACHINE = "machine"
    KEY_PAIR = "key_pair"
    SECURITY_GROUP = "security_group"
    DISK = "disk"
    ADDRESS = "address"


@dataclass(frozen=True)
class Access:
    """An account at a provider: what is not secret, and what is."""

    kind: str
    """accounts.AccessKind."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class LaunchSpec:
    """The machine to start: the provider's own names for type, region and zone."""

    machine_type: str
    region: str
    arch: str
    """x86_64 or arm64."""
    lifetime_s: int
    """It ends itself, at the latest, so many seconds after its boot."""
    expires_at: dt.datetime
    """Written on it: whoever finds it later may end it."""
    public_key: str
    """In OpenSSH form; whoever has the private one may log in."""
    tag: str
    """Whose it is: the id of the workspace. `inventory` finds it by that."""
    labels: Mapping[str, str]
    """Further marks: run, owner. Lower-case letters, digits and hyphens."""
    zone: str = ""
    is_spot: bool = False
    max_price_per_hour: Decimal | None = None
    """Of a spot machine, in the provider's currency; None = the provider's own limit."""


@dataclass(frozen=True)
class Resource:
    """Something at a provider that exists or existed, as the provider describes it."""

    id: str
    state: ResourceState
    kind: ResourceKind = ResourceKind.MACHINE
    token: str = ""
    """Of the launch that made it; "" when it carries none."""
    region: str = ""
    zone: str = ""
    address: str = ""
    port: int = 22
    username: str = ""
    """Who may log in."""
    launched_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    expires_at: dt.datetime | None = None
    detail: str = ""
    """Why it ended, in the provider's words."""


@dataclass(frozen=True)
class Listing:
    """One machine type that a provider sells in a region."""

    name: str
    region: str


class ProviderDriver(Protocol):
    """One provider, reached with one account. A machine that is simply there has nothing to launch
    or terminate. Every call raises DriverError; detail and logs never hold a secret.

    Retries are the engine's: a call here tries once, within about 20 s. `retryable` says whether
    the same call may succeed later.
    """

    is_launching: bool
    """Whether machines of this provider are started for a run and end with it."""

    async def whoami(self) -> str:
        """Who the provider says we are; AUTH when it does not know us."""
        ...

    async def offers(self) -> Sequence[Listing]:
        """Machine types on sale."""
        ...

    async def launch(self, spec: LaunchSpec, token: str) -> Resource:
        """Start a machine; the same token never starts a second one.

        Tags, lifetime and expiry are set in the same call. Reasons: CAPACITY (try another zone),
        QUOTA, AUTH, UNSUPPORTED, and TIMEOUT when nobody knows whether it was made.
        """
        ...

    async def describe(self, resource: Resource) -> Resource:
        """The resource as it is now; GONE and ABSENT are the provider's word."""
        ...

    async def terminate(self, resource: Resource) -> None:
        """Ask for the end of a resource of any kind; asking twice, or for one that is gone, is
        fine. What cannot go before another one is gone raises a retryable error."""
        ...

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Sequence[Resource]:
        """Everything at the provider that carries our tag, of every kind, in every region that the
        account names; with a token or region only that. What is over need not be in it."""
        ...

    async def console_fingerprint(self, resource: Resource) -> str | None:
        """The host key's fingerprint (SHA256:…) from the machine's console, None until it is there.

        Of several keys the ed25519 one."""
        ...

    async def connect(self, target: Target) -> Transport:
        """Log in to the machine."""
        ...


class StandingMachine:
    """The part of a driver that is the same for every machine that is simply there."""

    is_launching = False

    async def whoami(self) -> str:
        return ""

    async def offers(self) -> Sequence[Listing]:
        return ()

    async def launch(self, spec: LaunchSpec, token: str) -> Resource:
        raise DriverError(Reason.UNSUPPORTED, "this machine is not started by us", retryable=False)

    async def describe(self, resource: Resource) -> Resource:
        return resource

    async def terminate(self, resource: Resource) -> None:
        """A machine that we did not start is never ended by us."""

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Sequence[Resource]:
        return ()

    async def console_fingerprint(self, resource: Resource) -> str | None:
        return None
