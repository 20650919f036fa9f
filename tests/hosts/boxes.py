"""Machines of every kind on loopback: a real SSH server behind mounts, limits, another root or a bad line.

Each runs in namespaces of its own (unshare(1)) with its own /home, /tmp and /etc/passwd, so that whatever is changed
there is gone with it. Root and these namespaces are needed; Unsupported says what this machine refuses.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from launcher.loopback import free_port
from tests.e2e.stack import Processes, eventually

GUEST_ID = 61_234
LINE_ADDRESS = "127.0.0.2"
# Where the server's own files are on the machine.
OWN = "/home/.box"
DROPBEAR = (
    f"dropbearconvert openssh dropbear {OWN}/host_key {OWN}/dropbear_key; "
    f"exec dropbear -F -E -s -p 127.0.0.1:$PORT -r {OWN}/dropbear_key -P /run/dropbear.pid"
)
OPENSSH = f"exec /usr/sbin/sshd -D -e -f {OWN}/sshd_config"


class Unsupported(Exception):
    """This machine does not let us make what a row needs; the text says what."""


@dataclass(frozen=True)
class Box:
    """How a machine differs from an ordinary one."""

    shell: str = "/bin/bash"
    """Login shell of its user."""
    user: str = "guest"
    """`root`, or `guest`, who may do nothing."""
    rc: str = ""
    """What the login shell reads first."""
    rc_name: str = ".bashrc"
    sshd: Sequence[str] = ()
    """Lines of sshd_config, before the usual ones."""
    script: str = ""
    """Shell commands in the machine's namespaces, before the server starts."""
    server: str = OPENSSH
    root: Path | None = None
    """Directory with another system, else that of this machine."""
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Controller of cgroups v1 → file → limit."""
    line: Sequence[str] = ()
    """Options of tests.e2e.relay for a connection that is slow or breaks."""


@dataclass(frozen=True)
class Machine:
    """A machine that accepts logins."""

    address: str
    port: int
    username: str
    private_key: str
    host_key: str
    processes: Processes
    groups: Mapping[str, Path]

    @property
    def is_up(self) -> bool:
        return self.processes.is_running("sshd")


def packages(*names: str) -> None:
    """Raises Unsupported unless all these programs are installed."""
    missing = [name for name in names if shutil.which(name, path=_PATH) is None]
    if missing:
        raise Unsupported(f"{', '.join(missing)} not installed")


_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


@contextmanager
def machine(box: Box) -> Iterator[Machine]:
    """The machine, up to the end of the context. Raises Unsupported."""
    if os.geteuid() != 0:
        raise Unsupported("only root may make such a machine")
    packages("sshd", "unshare", "ssh-keygen")
    with ExitStack() as undo:
        # Those of pytest let nobody but root through.
        directory = Path(tempfile.mkdtemp(prefix="box-", dir="/var/tmp"))
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        port, client = free_port(), asyncssh.generate_private_key("ssh-ed25519")
        _write_files(directory, box, port, client.export_public_key("openssh"))
        groups = {name: _group(name, files, undo) for name, files in box.groups.items()}
        processes = Processes(directory)
        undo.callback(processes.kill_all)
        joins = "".join(f"echo $$ > {path}/cgroup.procs && " for path in groups.values())
        start = [
            "sh",
            "-c",
            f'{joins}exec "$@"',
            "sh",
            *_ISOLATED,
            "sh",
            "-e",
            f"{directory}/start",
        ]
        processes.start("sshd", start, env={"PATH": _PATH, "PORT": str(port)})
        _await_server(processes, port)
        address = "127.0.0.1"
        if box.line:
            address = LINE_ADDRESS
            relay = [sys.executable, "-m", "tests.e2e.relay", *box.line, address, str(port)]
            processes.start("line", relay, env=dict(os.environ))
            eventually(lambda: _answers(address, port), processes.said(), within_s=20)
        host_key = (directory / "home/.box/host_key.pub").read_text()
        yield Machine(
            address=address,
            port=port,
            username=box.user,
            private_key=client.export_private_key("openssh").decode(),
            host_key=" ".join(host_key.split()[:2]),
            processes=processes,
            groups=groups,
        )


# Killed with its first process is everything that was started there.
_ISOLATED = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]


def _write_files(directory: Path, box: Box, port: int, public_key: bytes) -> None:
    own, home, tmp = (directory / name for name in ("home/.box", "home/user", "tmp"))
    for path in (own, home / ".ssh", tmp):
        path.mkdir(parents=True)
    directory.chmod(0o755)
    tmp.chmod(0o1777)
    for path in (own / "authorized_keys", home / ".ssh/authorized_keys"):
        path.write_bytes(public_key)
    # Written for the login shell of the row, and for fish, which reads no file of bash.
    (home / box.rc_name).parent.mkdir(parents=True, exist_ok=True)
    (home / box.rc_name).write_text(f"{box.rc}\n")
    key = own / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    config = (
        *box.sshd, f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {OWN}/host_key",
        f"AuthorizedKeysFile {OWN}/authorized_keys", "StrictModes no", "UsePAM no", "PidFile none",
        "PasswordAuthentication no", "PermitRootLogin prohibit-password", "AcceptEnv LC_* LANG",
        "Subsystem sftp internal-sftp",
    )  # fmt: skip
    (own / "sshd_config").write_text("\n".join(config) + "\n")
    root = box.root or Path("/")
    users = (root / "etc/passwd").read_text().splitlines()
    others = [line for line in users if not line.startswith(("root:", "guest:"))]
    guest_id = 0 if box.user == "root" else GUEST_ID
    entries = [f"{box.user}:*:{guest_id}:{guest_id}::/home/user:{box.shell}", *others]
    if box.user != "root":
        entries.append("root:*:0:0:root:/root:/bin/sh")
    (directory / "passwd").write_text("\n".join(entries) + "\n")
    subprocess.run(["chown", "-R", f"{guest_id}:{guest_id}", str(home)], check=True)
    (directory / "start").write_text(_start_script(directory, box))


def _start_script(directory: Path, box: Box) -> str:
    """What makes the machine from the inside of its namespaces."""
    root = "" if box.root is None else str(box.root)
    lines = [
        f"mkdir -p '{root}/home' '{root}/tmp'",
        f"mount --bind {directory}/passwd '{root}/etc/passwd'",
        f"mount -t tmpfs tmpfs '{root}/run'",
        f"mkdir '{root}/run/sshd'",
        f"mount --bind {directory}/home '{root}/home'",
        f"mount -t proc proc '{root}/proc'",
    ]
    if root:
        lines += [f"mount --rbind /{name} '{root}/{name}'" for name in ("sys", "dev")]
    # Last, as the script itself may lie below.
    lines.append(f"mount --bind {directory}/tmp '{root}/tmp'")
    inside = f"{box.script}\n{box.server}".replace("'", "'\\''")
    enter = f"chroot '{root}' /bin/sh" if root else "/bin/sh"
    lines.append(f"cd / && exec {enter} -ec '{inside}'")
    return "\n".join(lines) + "\n"


def _group(controller: str, files: Mapping[str, str], undo: ExitStack) -> Path:
    """A cgroup of version 1 of our own with these limits."""
    path = Path("/sys/fs/cgroup", controller, f"rackrate-box-{os.getpid()}-{time.monotonic_ns()}")
    try:
        path.mkdir()
        undo.callback(_remove, path)
        for name, limit in files.items():
            (path / name).write_text(limit)
    except OSError as error:
        raise Unsupported(f"no cgroup with a limit of {controller}: {error}") from None
    return path


def _remove(path: Path) -> None:
    for _ in range(100):
        with suppress(OSError):
            path.rmdir()
            return
        time.sleep(0.05)


def _await_server(processes: Processes, port: int) -> None:
    until = time.monotonic() + 20
    while not _answers("127.0.0.1", port):
        if not processes.is_running("sshd") or time.monotonic() > until:
            refusal = re.sub(r"\s+", " ", processes.log("sshd"))[-200:]
            raise Unsupported(f"the machine did not start: {refusal}")
        time.sleep(0.05)


def _answers(address: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((address, port), timeout=2):
        return True
    return False
