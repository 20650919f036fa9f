"""The interface of a machine that can be logged in to, and its errors."""

from dataclasses import dataclass, field
from typing import Protocol

from backend.foundation.errors import DriverError, Reason


class HostKeyChanged(DriverError):
    """The machine presented another key than the pinned one; nothing was run or sent."""

    def __init__(self, detail: str, *, pinned: str, presented: str | None) -> None:
        super().__init__(Reason.AUTH, detail, retryable=False)
        self.pinned = pinned
        """The pinned one: which of the machines on the way it was."""
        self.presented = presented
        """The presented public key in OpenSSH form, when it is known."""


@dataclass(frozen=True)
class Target:
    """A machine and how to log in to it; the local machine needs none of it."""

    address: str = ""
    port: int = 22
    username: str = ""
    private_key: bytes = field(default=b"", repr=False)
    earlier_key: bytes = field(default=b"", repr=False)
    """The private key that was replaced by that one, and may still be the one that is let in."""
    certificate: str = ""
    """Certificate of one of the two keys, in OpenSSH form, for hosts that trust an authority."""
    agent_socket: str = ""
    """Socket of an SSH agent whose keys may log in beside that key."""
    is_agent_of_host: bool = False
    """True if a person named the agent for this machine, not the worker's setting for all."""
    host_key: str = ""
    """The pinned public key in OpenSSH form."""
    authorities: tuple[str, ...] = ()
    """Instead of it: the public keys of which one has to have signed the machine's key."""
    revoked: frozenset[str] = frozenset()
    """Public keys of authorities and machines that count no more."""
    is_private_allowed: bool = False
    """True if addresses that are not public may be connected to."""
    via: "Target | None" = None
    """The bastion that is logged in to first and connects to the machine from there."""


@dataclass(frozen=True)
class Output:
    """Output and exit code of a command."""

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
        # While it is read: a host that is hostile or broken must not fill the worker's memory.
        if size_bytes > limit_bytes:
            raise DriverError(
                Reason.UNSUPPORTED, f"a command wrote over {limit_bytes} bytes", retryable=False
            )
        chunks.append(chunk)
    return b"".join(chunks)


def write_refusal(said: str) -> Reason:
    """Why a command failed that writes files, by its standard error."""
    is_full = "No space left" in said or "quota exceeded" in said.lower()
    return Reason.DISK_FULL if is_full else Reason.UNSUPPORTED


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


class MachineDriver(Protocol):
    """How to log in to a machine; `Host.driver` names one."""

    async def connect(self, target: Target) -> Transport:
        """Raises DriverError."""
        ...
