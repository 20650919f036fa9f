"""A machine with a real sshd whose share of the processors is changed while it serves."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from launcher.loopback import free_port
from tests.e2e.stack import Processes, eventually

CPU_GROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
PERIOD_US = 100_000
BEFORE_OTHERS = ("nice", "-n", "-30")
# OpenSSH insists on this directory; its package makes it when the service starts.
SEPARATION = Path("/run/sshd")


class Unsupported(Exception):
    """This machine does not let us make what we need; the text says what."""


@dataclass(frozen=True)
class QuotaHost:
    """A machine to log in to; `limit` is a shell command that takes all processors but one away."""

    name: str
    address: str
    port: int
    username: str
    private_key: str
    host_key: str
    limit: str
    unlimit: str


@contextmanager
def quota_host(directory: Path) -> Iterator[QuotaHost]:
    """An sshd of OpenSSH on loopback, in a group of processes of its own. Raises Unsupported."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if os.geteuid() != 0 or sshd is None:
        raise Unsupported("an sshd of root's own is needed")
    if len(os.sched_getaffinity(0)) < 2:
        raise Unsupported("a second processor is needed, to take it away")
    with ExitStack() as undo:
        if not SEPARATION.exists():
            SEPARATION.mkdir(mode=0o755)
            undo.callback(SEPARATION.rmdir)
        port, client = free_port(), asyncssh.generate_private_key("ssh-ed25519")
        key = directory / "host_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        (directory / "authorized_keys").write_bytes(client.export_public_key("openssh"))
        temporary = directory / "tmp"
        temporary.mkdir()
        (directory / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {key}\n"
            f"AuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            f"PidFile {directory}/pid\nSetEnv TMPDIR={temporary}\n"
        )
        processes = Processes(directory)
        # Before all others: most of what they do meanwhile would count as their disturbance.
        command = [*BEFORE_OTHERS, sshd, "-D", "-e", "-f", str(directory / "sshd_config")]
        processes.start("sshd", command, env=dict(os.environ))
        undo.callback(processes.kill_all)
        eventually((directory / "pid").exists, processes.said(), within_s=20)
        limit, unlimit = _limits(int((directory / "pid").read_text()), undo)
        yield QuotaHost(
            name=f"quota{port}",
            address="127.0.0.1",
            port=port,
            username="root",
            private_key=client.export_private_key("openssh").decode(),
            host_key=" ".join(key.with_suffix(".pub").read_text().split()[:2]),
            limit=limit,
            unlimit=unlimit,
        )


def _limits(pid: int, undo: ExitStack) -> tuple[str, str]:
    """Commands that set and lift a quota of one processor, for the process and its children.

    Of a whole one: less than that would take its turns away from every thread, which is work of
    others to the probes. Where this machine hands out no groups of processes, they are left one
    processor by affinity instead.
    """
    for parent in CPU_GROUPS:
        with suppress(OSError):
            group = parent / f"rackrate-{os.getpid()}"
            group.mkdir()
            undo.callback(_remove, group)
            if (old := group / "cpu.cfs_quota_us").exists():
                (group / "cgroup.procs").write_text(str(pid))
                return f"echo {PERIOD_US} > {old}", f"echo -1 > {old}"
            if (new := group / "cpu.max").exists():
                (group / "cgroup.procs").write_text(str(pid))
                return f"echo '{PERIOD_US} {PERIOD_US}' > {new}", f"echo max > {new}"
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    first = cpus.partition(",")[0]
    return f"taskset -apc {first} {pid}", f"taskset -apc {cpus} {pid}"


def _remove(group: Path) -> None:
    """Processes of the group go back to its parent; it is empty then."""
    for line in (group / "cgroup.procs").read_text().split():
        with suppress(OSError):
            (group.parent / "cgroup.procs").write_text(line)
    eventually(lambda: not (group / "cgroup.procs").read_text().strip(), f"{group} is empty")
    group.rmdir()
