"""Hosts in network namespaces of their own, each with a real sshd, on links of a given rate.

Every host has one link, as rented machines do: it carries the measurement and our SSH alike. The
addresses are those set aside for benchmarks of networks (198.18.0.0/15).
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from tests.e2e.stack import Processes, eventually

SHAPE = ("root", "tbf", "rate", "1gbit", "burst", "256kb", "latency", "50ms")
SSHD = "/usr/sbin/sshd"
SEPARATION = Path("/run/sshd")
"""OpenSSH insists on this directory; its package makes it when the service starts."""


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
    except FileNotFoundError:
        raise Refused(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"{' '.join(command)}: {error.stderr.strip()}") from None


@contextmanager
def shaped_hosts(directory: Path, count: int) -> Iterator[list[ShapedHost]]:
    """So many hosts on one bridge, both ends of each link shaped to 1 Gbit/s. Raises Refused."""
    if os.geteuid() != 0:
        raise Refused("only root may make network namespaces")
    if not Path(SSHD).exists():
        raise Refused("no sshd is installed")
    pid = os.getpid()
    bridge, network = f"rr{pid}br", f"198.18.{pid % 256}"
    with ExitStack() as undo:
        _run("ip", "link", "add", bridge, "type", "bridge")
        undo.callback(_run, "ip", "link", "del", bridge)
        _run("ip", "addr", "add", f"{network}.1/24", "dev", bridge)
        _run("ip", "link", "set", bridge, "up")
        if not SEPARATION.exists():
            SEPARATION.mkdir(mode=0o755)
            undo.callback(SEPARATION.rmdir)
        processes = Processes(directory)
        places = []
        for number in range(count):
            name = f"rr{pid}n{number}"
            _run("ip", "netns", "add", name)
            undo.callback(_remove, name)
            address = f"{network}.{number + 10}"
            _link(name, f"rr{pid}h{number}", bridge, address)
            places.append(_serve(processes, directory / name, name, address))
        undo.callback(processes.kill_all)
        yield places


def _link(namespace: str, outer: str, bridge: str, address: str) -> None:
    inside = ("ip", "-n", namespace)
    _run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _run("ip", "link", "set", outer, "master", bridge, "up")
    _run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
    _run(*inside, "link", "set", "eth0", "up")
    _run(*inside, "link", "set", "lo", "up")
    _run("tc", "qdisc", "add", "dev", outer, *SHAPE)
    _run("tc", "-n", namespace, "qdisc", "add", "dev", "eth0", *SHAPE)


def _remove(namespace: str) -> None:
    """End what runs in a namespace of ours, and the namespace with its link."""
    said = subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True
    )
    for pid in said.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _run("ip", "netns", "del", namespace)


def _serve(processes: Processes, directory: Path, namespace: str, address: str) -> ShapedHost:
    """A real sshd that lets one key in; everything it starts has a TMPDIR of its own."""
    temporary = directory / "tmp"
    temporary.mkdir(parents=True)
    client = asyncssh.generate_private_key("ssh-ed25519")
    for name in ("ed25519", "ecdsa", "rsa"):
        _run("ssh-keygen", "-q", "-t", name, "-N", "", "-f", str(directory / f"host_{name}_key"))
    (directory / "authorized_keys").write_bytes(client.export_public_key("openssh"))
    (directory / "sshd_config").write_text(
        f"Port 22\nListenAddress {address}\nHostKey {directory}/host_rsa_key\n"
        f"HostKey {directory}/host_ecdsa_key\nHostKey {directory}/host_ed25519_key\n"
        f"AuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n"
        f"SetEnv TMPDIR={temporary}\n"
    )
    argv = [SSHD, "-D", "-e", "-f", str(directory / "sshd_config")]
    processes.start(namespace, ["ip", "netns", "exec", namespace, *argv], env=dict(os.environ))
    log = processes.directory / f"{namespace}.log"
    eventually(lambda: "Server listening" in log.read_text(), log.read_text(), within_s=20)
    return ShapedHost(
        name=namespace,
        address=address,
        port=22,
        username="root",
        private_key=client.export_private_key("openssh").decode(),
        host_key=" ".join((directory / "host_ed25519_key.pub").read_text().split()[:2]),
        temporary=temporary,
    )
