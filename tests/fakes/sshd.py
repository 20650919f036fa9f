"""A real SSH server on a loopback port that can be told to misbehave."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import asyncssh


class FakeSshd:
    """Runs every command by /bin/sh with `TMPDIR` below the given directory.

    Lives in a thread of its own, so that code under test may block.
    """

    username = "bench"

    def __init__(self, directory: Path) -> None:
        self.temporary = directory / "target"
        self.temporary.mkdir()
        self.commands: list[str] = []
        self.delay_s = 0.0
        """Wait before authentication is answered."""
        self.port = 0
        self._client_key = asyncssh.generate_private_key("ssh-ed25519")
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._listener: asyncssh.SSHAcceptor | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sshd")

    # --- what a client needs ------------------------------------------------------------------

    @property
    def private_key(self) -> str:
        """The client key that is let in, in OpenSSH form."""
        return self._client_key.export_private_key("openssh").decode()

    @property
    def host_key(self) -> str:
        """The public host key, `type base64`."""
        return " ".join(self._host_key.export_public_key("openssh").decode().split()[:2])

    # --- faults -------------------------------------------------------------------------------

    def refuse(self) -> None:
        """Stop listening: the next connection is refused. Open ones stay."""
        self._do(self._close_listener())

    def accept(self) -> None:
        """Listen again, on the same port."""
        self._do(self._listen())

    def drop(self) -> None:
        """Cut every open connection in the middle of whatever it does."""
        self._do(self._abort())

    def change_host_key(self, kind: str = "ssh-ed25519") -> None:
        """Come back as a machine with another host key."""
        self._host_key = asyncssh.generate_private_key(kind)
        self.refuse()
        self.accept()

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self.accept()

    def stop(self) -> None:
        self._do(self._abort())
        self._do(self._close_listener())
        self._do(self._cancel_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _listen(self) -> None:
        self._listener = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_factory=lambda: _Server(self),
            server_host_keys=[self._host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(
                self._client_key.export_public_key("openssh").decode()
            ),
            process_factory=self._serve,
            encoding=None,
        )
        self.port = self._listener.get_port()

    async def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            await self._listener.wait_closed()
            self._listener = None

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
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command or "exit 0",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(self.temporary)},
            start_new_session=True,
        )
        try:
            stdout, stderr = await child.communicate(await process.stdin.read())
            process.stdout.write(stdout)
            process.stderr.write(stderr)
            process.exit(child.returncode or 0)
        except (asyncssh.Error, OSError):
            pass  # the connection was cut
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()


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
        return True
