"""Commands and files over an SSH connection, with deadlines and capped output; every failure has a named reason."""

import asyncio
import contextlib
import shlex
from pathlib import PurePosixPath

import asyncssh

from backend.foundation.errors import DriverError, Reason
from backend.foundation.reading.texts import text_of
from workers.remote.driver import Output, read_capped, write_refusal
from workers.remote.scripts import FULL_PATH


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
            # A connection that is lost in the middle may look like the end of the output; only the
            # missing status shows it.
            if process.returncode is None:
                raise asyncssh.ConnectionLost("the command ended without a status")
            return Output(process.returncode, stdout, stderr)

    async def put(self, content: bytes, path: str, *, mode: int, timeout_s: float) -> None:
        # No SFTP: small systems often have none.
        name, part = shlex.quote(path), shlex.quote(f"{path}.part")
        command = f"{FULL_PATH}; cat >{part} && chmod {mode:o} {part} && mv -f {part} {name}"
        output = await self.run(command, stdin=content, timeout_s=timeout_s)
        if output.exit_code != 0:
            raise self._file_error(path, output)

    async def get(self, path: str, *, timeout_s: float, limit_bytes: int = 16 * 2**20) -> bytes:
        output = await self.run(
            f"{FULL_PATH}; cat {shlex.quote(path)}", timeout_s=timeout_s, limit_bytes=limit_bytes
        )
        if output.exit_code != 0:
            raise self._file_error(path, output)
        return output.stdout

    def _file_error(self, path: str, output: Output) -> DriverError:
        said = text_of(output.stderr).strip()[-300:]
        return DriverError(
            write_refusal(said),
            f"{self._endpoint}: {PurePosixPath(path).name}: {said}",
            retryable=False,
        )

    async def close(self) -> None:
        # Not in the polite way, which a silent host would never answer.
        self.connection.abort()
        if self._bastion is not None:
            await self._bastion.close()
