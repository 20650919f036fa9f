"""A real SSH server on a loopback port that can be told to misbehave.

Faults: a slow login (`delay_s`), a closed port (`refuse`), cut connections (`drop`), a network
that swallows everything (`silence`), other host keys (`change_host_key`), a reboot (`reboot`);
`accept` is the end of the first four. A full disk is a small file system that the caller mounts
at `temporary` before, and one without programs is mounted noexec.

As on hardened hosts it shows a banner before the login (sshd_config(5), Banner), its shell's start-up
files print before each command (bash(1), "Bash attempts to determine when it is being run with its
standard input connected to a network connection"), commands run as another `user_id`, and before a shutdown
nobody is let in (pam_nologin(8): shutdown(8) makes /run/nologin five minutes before). As a bastion it
connects to what `inside` names (sshd_config(5), AllowTcpForwarding and PermitOpen).
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import asyncssh

from backend.foundation.addresses import key_fingerprint

asyncssh.set_log_level("WARNING")  # several lines for every command otherwise
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# As `systemctl show` prints it: 0 of a unit that is not active (org.freedesktop.systemd1(5)).
UNITS = "Id=ssh.socket\\nActiveEnterTimestampMonotonic=0\\n\\nId=ssh.service\\nActiveEnterTimestampMonotonic={}\\n"
# Of the keys that images of Linux make on the first boot, in the order in which ssh asks for them.
HOST_KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")
PORT_FREE_WITHIN_S = 5.0
_Listener = TypeVar("_Listener")


@cache
def _rsa_key() -> asyncssh.SSHKey:
    """One for all servers of the process: making one takes long."""
    return asyncssh.generate_private_key("ssh-rsa", key_size=2048)


def _uptime_us() -> int:
    """Since the kernel started, as systemd states times."""
    seconds = Path("/proc/uptime").read_text().split()[0]
    return int(float(seconds) * 1e6)


def processes_in(directory: Path) -> list[int]:
    """Processes whose working directory is this one or below it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            cwd = os.readlink(entry / "cwd").removesuffix(" (deleted)")
            if Path(cwd).is_relative_to(directory):
                found.append(int(entry.name))
    return found


class FakeSshd:
    """Runs every command by /bin/sh with `TMPDIR` below the given directory.

    Lives in a thread of its own, so that code under test may block.
    """

    username = "bench"

    def __init__(
        self,
        directory: Path,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        host_key_types: Sequence[str] = HOST_KEY_TYPES,
        user_id: int | None = None,
    ) -> None:
        self.address = address
        self.user_id = user_id
        self.banner = ""
        self.start_up_output = b""
        self.is_shutting_down = False
        self.only_user = ""
        """The only name that is let in; "" = any."""
        self.inside: dict[str, int] = {}
        """Names that only this machine can look up, or addresses → their loopback port."""
        self.led_to: list[str] = []
        """Where it connected to for others."""
        self.temporary = directory / "target"
        self.temporary.mkdir(exist_ok=True)
        self.programs = directory / "programs"
        """Of the machine, before those of the real one."""
        self.programs.mkdir(exist_ok=True)
        self.commands: list[str] = []
        self.delay_s = 0.0
        """Wait before authentication is answered."""
        self.port = port
        self._client_key = asyncssh.generate_private_key("ssh-ed25519")
        self._authority = ""
        self._allowed = {_plain(self._client_key.export_public_key("openssh").decode())}
        self._host_keys = [
            _rsa_key() if one == "ssh-rsa" else asyncssh.generate_private_key(one)
            for one in host_key_types
        ]
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._listener: asyncssh.SSHAcceptor | None = None
        self._swallowing: socket.socket | None = None
        self._boot_id: Path | None = None
        self._is_audible = asyncio.Event()
        """Unset while the network swallows everything."""
        self._loop = asyncio.new_event_loop()
        # A daemon: pytest ends even if a test fails before it stops its server.
        self._thread = threading.Thread(target=self._loop.run_forever, name="sshd", daemon=True)

    # --- what a client needs ------------------------------------------------------------------

    @property
    def private_key(self) -> str:
        """The client key that is let in, in OpenSSH form."""
        return self._client_key.export_private_key("openssh").decode()

    @property
    def host_keys(self) -> list[str]:
        """The public host keys, `type base64`."""
        return [_plain(key.export_public_key("openssh").decode()) for key in self._host_keys]

    @property
    def host_key(self) -> str:
        """The first of them, which a client sees that asks as ssh does."""
        return self.host_keys[0]

    @property
    def fingerprint(self) -> str:
        """Of the first host key, SHA256:…"""
        return key_fingerprint(self.host_key)

    @property
    def console(self) -> str:
        """What cloud-init writes to a machine's console at the end of the first boot."""
        said = "<14>Nov 21 15:27:31 cloud-init: "
        shown = (_as_ssh_keygen_shows(key) for key in reversed(self.host_keys))
        return "".join(
            f"{line}\r\n"
            for line in (
                "[    0.000000] Linux version 6.1.0-26-cloud-amd64",
                f"{said}-----BEGIN SSH HOST KEY FINGERPRINTS-----",
                *(f"{said}{line}" for line in shown),
                f"{said}-----END SSH HOST KEY FINGERPRINTS-----",
                "-----BEGIN SSH HOST KEY KEYS-----",
                *(f"{key} root@machine" for key in reversed(self.host_keys)),
                "-----END SSH HOST KEY KEYS-----",
            )
        )

    def allow(self, public_key: str) -> None:
        """Let in whoever has the private one of this key, too."""
        self._allowed.add(_plain(public_key))

    def trust(self, authority: asyncssh.SSHKey) -> None:
        """Let in whose key the authority has signed (sshd_config(5), TrustedUserCAKeys), nobody else."""
        self._authority = _plain(authority.export_public_key("openssh").decode())
        self._allowed.clear()

    def install(self, name: str, body: str) -> None:
        """A program that the machine has instead of the real one."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def answer(self, command: str, stdin: bytes, stdout: bytes) -> bytes:
        """What a client gets of a command's output; servers that lie say something else."""
        return stdout

    # --- faults -------------------------------------------------------------------------------

    def refuse(self) -> None:
        """Stop listening: the next connection is refused. Open ones stay."""
        self._do(self._close_listener())

    def silence(self) -> None:
        """Swallow everything: open connections hang, new ones are made and never answered.

        Commands that were begun go on, as behind a cut cable.
        """
        self._do(self._swallow())

    def accept(self) -> None:
        """Listen again, on the same port; connections that hang go on where they were."""
        self._do(self._listen())

    def reboot(self) -> None:
        """Cut every connection and end every process below `temporary`, whose files stay.

        From now on scripts that ask for the boot's id are told another one.
        """
        self._do(self._abort())
        for pid in processes_in(self.temporary):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._boot_id = self.temporary.with_name("boot_id")
        self._boot_id.write_text(f"{uuid.uuid4()}\n")

    def drop(self) -> None:
        """Cut every open connection in the middle of whatever it does."""
        self._do(self._abort())

    def change_host_key(self, *key_types: str) -> None:
        """Come back as a machine with other host keys, of all types or of these only."""
        types = key_types or HOST_KEY_TYPES
        self._host_keys = [asyncssh.generate_private_key(one) for one in types]
        self.refuse()
        self.accept()

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self.accept()

    def stop(self) -> None:
        """End the thread, even if a connection does not close in time."""
        try:
            self._do(self._abort())
            self._do(self._close_listener())
            self._do(self._cancel_rest())
        finally:
            self._stop_swallowing()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=10)
            self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _listen(self) -> None:
        self._stop_swallowing()
        for connection in self._connections:
            _reading(connection, is_paused=False)
        self._is_audible.set()
        self.install("systemctl", f"printf '{UNITS}'".format(_uptime_us()))
        self._listener = await _once_port_is_free(self._listening)
        self.port = self._listener.get_port()

    async def _listening(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            self.address,
            self.port,
            server_factory=lambda: _Server(self),
            server_host_keys=self._host_keys,
            process_factory=self._serve,
            encoding=None,
        )

    async def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            await self._listener.wait_closed()
            self._listener = None

    def _stop_swallowing(self) -> None:
        if self._swallowing is not None:
            self._swallowing.close()
            self._swallowing = None

    async def _swallow(self) -> None:
        await self._close_listener()
        self._is_audible.clear()
        for connection in self._connections:
            _reading(connection, is_paused=True)
        self._swallowing = await _once_port_is_free(self._deaf)

    async def _deaf(self) -> socket.socket:
        return socket.create_server((self.address, self.port), backlog=1000)

    async def _abort(self) -> None:
        for connection in list(self._connections):
            connection.abort()

    async def _cancel_rest(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self.commands.append(process.command or "")
        stdin = await process.stdin.read()
        if self._boot_id is not None and "sh -s" in (process.command or ""):
            stdin = stdin.replace(BOOT_ID.encode(), bytes(self._boot_id))
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command or "exit 0",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                "PATH": f"{self.programs}:{os.environ['PATH']}",
                "TMPDIR": str(self.temporary),
            },
            start_new_session=True,
            user=self.user_id,
            group=self.user_id,
            extra_groups=None if self.user_id is None else [],
        )
        try:
            stdout, stderr = await child.communicate(stdin)
            await self._is_audible.wait()
            said = self.answer(process.command or "", stdin, stdout)
            process.stdout.write(self.start_up_output + said)
            process.stderr.write(stderr)
            process.exit(child.returncode or 0)
        except (asyncssh.Error, OSError):
            pass  # the connection was cut
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()


async def _once_port_is_free(listen: Callable[[], Awaitable[_Listener]]) -> _Listener:
    """What `listen` makes; OSError when the port is still taken after some seconds.

    A child that another thread has forked keeps a copy of a closed socket until it executes its
    program, which takes a moment on a busy machine.
    """
    until = time.monotonic() + PORT_FREE_WITHIN_S
    while True:
        try:
            return await listen()
        except OSError as fault:
            if fault.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
        await asyncio.sleep(0.05)


def _plain(public_key: str) -> str:
    """`type base64`, without a comment."""
    return " ".join(public_key.split()[:2])


def _as_ssh_keygen_shows(public_key: str) -> str:
    """A line of `ssh-keygen -l`."""
    name, _ = public_key.split()
    bits, kind = {"ssh-ed25519": (256, "ED25519"), "ssh-rsa": (2048, "RSA")}.get(
        name, (name.removeprefix("ecdsa-sha2-nistp"), "ECDSA")
    )
    return f"{bits} {key_fingerprint(public_key)} root@machine ({kind})"


def _reading(connection: asyncssh.SSHServerConnection, *, is_paused: bool) -> None:
    """Take nothing more from the wire, or go on with it."""
    transport = connection._transport
    if isinstance(transport, asyncio.ReadTransport) and not transport.is_closing():
        if is_paused:
            transport.pause_reading()
        else:
            transport.resume_reading()


class _Server(asyncssh.SSHServer):
    def __init__(self, sshd: FakeSshd) -> None:
        self._sshd = sshd

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._sshd._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._sshd._connections.discard(self._connection)

    async def begin_auth(self, username: str) -> bool:
        await asyncio.sleep(self._sshd.delay_s)
        if self._sshd.banner:
            self._connection.send_auth_banner(self._sshd.banner)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        is_known = _plain(key.export_public_key("openssh").decode()) in self._sshd._allowed
        is_user = self._sshd.only_user in {"", username}
        return is_known and is_user and not self._sshd.is_shutting_down

    def validate_ca_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return _plain(key.export_public_key("openssh").decode()) == self._sshd._authority

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession]:
        if dest_host not in self._sshd.inside:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "open failed"
            )
        self._sshd.led_to.append(dest_host)
        address = dest_host if dest_host.startswith("127.") else "127.0.0.1"
        return self._connection.forward_connection(address, self._sshd.inside[dest_host])
