"""Network namespaces on one bridge, and hosts in them with a real sshd, on links of a given rate.

Every namespace has one link, as rented machines do: it carries the measurement and our SSH alike.
The addresses are those set aside for benchmarks of networks (198.18.0.0/15).
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from tests.e2e.stack import Processes, eventually

SHAPE = ("root", "tbf", "rate", "1gbit", "burst", "256kb", "latency", "50ms")
SSHD = "/usr/sbin/sshd"
# OpenSSH insists on this directory; its package makes it when the service starts.
SEPARATION = Path("/run/sshd")


@dataclass(frozen=True)
class ShapedHost:
    """A machine to log in to."""

    name: str
    address: str
    port: int
    username: str
    private_key: str
    host_key: str
    temporary: Path


class Refused(Exception):
    """This machine does not let us make what we need; the text says what."""


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (FileNotFoundError, PermissionError):
        raise Refused(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"{' '.join(command)}: {error.stderr.strip()}") from None


@dataclass(frozen=True)
class Namespace:
    """Where processes have a network of their own."""

    name: str
    address: str

    def inside(self, argv: list[str]) -> list[str]:
        """The command that runs this one there."""
        return ["ip", "netns", "exec", self.name, *argv]

    def send(self, number: int) -> None:
        """A signal to everything that runs there."""
        said = subprocess.run(
            ["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True
        )
        for pid in said.stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), number)


class Network:
    """A bridge to which this machine has a link, and namespaces linked to it.

    The bridge is in a namespace of its own: where a machine filters what bridges forward, as one
    with Docker does, its rules would drop what one of our hosts sends to another.
    """

    def __init__(self, undo: ExitStack) -> None:
        self._undo, self._count = undo, 0
        self._prefix, self._network = f"rr{os.getpid()}", f"198.18.{os.getpid() % 256}"
        self._switch, self.address = f"{self._prefix}br", f"{self._network}.1"
        switch, ours = self._switch, f"{self._prefix}h"
        self._add_namespace(switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "bridge", "up")
        _run("ip", "link", "add", ours, "type", "veth", "peer", "name", "uplink", "netns", switch)
        _run("ip", "-n", switch, "link", "set", "uplink", "master", "bridge", "up")
        _run("ip", "addr", "add", f"{self.address}/24", "dev", ours)
        _run("ip", "link", "set", ours, "up")

    def namespace(self, shape: Sequence[str] = ()) -> Namespace:
        """A new one; `shape` is a queueing discipline for both ends of its link."""
        number, self._count = self._count, self._count + 1
        made = Namespace(f"{self._prefix}n{number}", f"{self._network}.{number + 10}")
        self._add_namespace(made.name)
        self._undo.callback(made.send, signal.SIGKILL)
        self._link(made, f"n{number}", shape)
        return made

    def _add_namespace(self, name: str) -> None:
        _run("ip", "netns", "add", name)
        self._undo.callback(_run, "ip", "netns", "del", name)

    def _link(self, to: Namespace, outer: str, shape: Sequence[str]) -> None:
        switch, inside = ("ip", "-n", self._switch), ("ip", "-n", to.name)
        _run(
            *switch, "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", to.name
        )
        _run(*switch, "link", "set", outer, "master", "bridge", "up")
        _run(*inside, "addr", "add", f"{to.address}/24", "dev", "eth0")
        _run(*inside, "link", "set", "eth0", "up")
        _run(*inside, "link", "set", "lo", "up")
        if shape:
            _run("tc", "-n", self._switch, "qdisc", "add", "dev", outer, *shape)
            _run("tc", "-n", to.name, "qdisc", "add", "dev", "eth0", *shape)


@contextmanager
def network() -> Iterator[Network]:
    """A network without namespaces yet; it ends with all that runs in them. Raises Refused."""
    if os.geteuid() != 0:
        raise Refused("only root may make network namespaces")
    with ExitStack() as undo:
        yield Network(undo)


@contextmanager
def shaped_hosts(directory: Path, count: int) -> Iterator[list[ShapedHost]]:
    """So many hosts on one bridge, both ends of each link shaped to 1 Gbit/s. Raises Refused."""
    if shutil.which(SSHD) is None:
        raise Refused("no sshd is installed")
    with ExitStack() as undo:
        bridged = undo.enter_context(network())
        if not SEPARATION.exists():
            SEPARATION.mkdir(mode=0o755)
            undo.callback(SEPARATION.rmdir)
        processes = Processes(directory)
        undo.callback(processes.kill_all)
        yield [_serve(processes, bridged.namespace(SHAPE)) for _ in range(count)]


def _serve(processes: Processes, there: Namespace) -> ShapedHost:
    """A real sshd that lets one key in; everything it starts has a TMPDIR of its own."""
    directory = processes.directory / there.name
    temporary = directory / "tmp"
    temporary.mkdir(parents=True)
    client = asyncssh.generate_private_key("ssh-ed25519")
    for name in ("ed25519", "ecdsa", "rsa"):
        _run("ssh-keygen", "-q", "-t", name, "-N", "", "-f", str(directory / f"host_{name}_key"))
    (directory / "authorized_keys").write_bytes(client.export_public_key("openssh"))
    (directory / "sshd_config").write_text(
        f"Port 22\nListenAddress {there.address}\nHostKey {directory}/host_rsa_key\n"
        f"HostKey {directory}/host_ecdsa_key\nHostKey {directory}/host_ed25519_key\n"
        f"AuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n"
        f"SetEnv TMPDIR={temporary}\n"
    )
    argv = [SSHD, "-D", "-e", "-f", str(directory / "sshd_config")]
    processes.start(there.name, there.inside(argv), env=dict(os.environ))
    log = processes.directory / f"{there.name}.log"
    eventually(lambda: "Server listening" in log.read_text(), log.read_text(), within_s=20)
    return ShapedHost(
        name=there.name,
        address=there.address,
        port=22,
        username="root",
        private_key=client.export_private_key("openssh").decode(),
        host_key=" ".join((directory / "host_ed25519_key.pub").read_text().split()[:2]),
        temporary=temporary,
    )
