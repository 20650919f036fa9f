"""This machine: commands in a subprocess, files by copying. No SSH, no key."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import cast

from backend.foundation.errors import DriverError, Reason
from workers.remote.driver import Output, Target, Transport, read_capped

# By name what is kept, as a new secret of ours would else have to be thought of here.
KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "USER", "LOGNAME")


def _environment() -> dict[str, str]:
    """Part of our environment that a probe may see: never the service's secrets."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    # Parsers read English messages and decimal points, whatever the language of the worker's user
    # is.
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}


class LocalTransport:
    """Commands of /bin/sh on this machine, each in a session of its own."""

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float, limit_bytes: int = 16 * 2**20
    ) -> Output:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
            cwd="/",
            # So that a command that takes too long is ended with all that it started.
            start_new_session=True,
        )
        # Buffered and not waited for: a command that writes much before it has read all would else
        # wait for us, and we for it.
        cast("asyncio.StreamWriter", process.stdin).write(stdin)
        cast("asyncio.StreamWriter", process.stdin).close()
        try:
            async with asyncio.timeout(timeout_s):
                stdout, stderr = await asyncio.gather(
                    read_capped(cast("asyncio.StreamReader", process.stdout), limit_bytes),
                    read_capped(cast("asyncio.StreamReader", process.stderr), limit_bytes),
                )
                exit_code = await process.wait()
        except TimeoutError:
            raise DriverError(
                Reason.TIMEOUT, f"a command took more than {timeout_s:g} s", retryable=True
            ) from None
        finally:
            if process.returncode is None:
                # It may end between the look and the signal.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Output(exit_code, stdout, stderr)

    async def put(self, content: bytes, path: str, *, mode: int, timeout_s: float) -> None:
        await asyncio.to_thread(_write, content, Path(path), mode)

    async def get(self, path: str, *, timeout_s: float, limit_bytes: int = 16 * 2**20) -> bytes:
        return await asyncio.to_thread(_content, Path(path), limit_bytes)

    async def close(self) -> None:
        """Nothing is held open."""


def _write(content: bytes, path: Path, mode: int) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        part.chmod(mode)
        # By rename: a worker that dies must not leave half a file under the right name.
        part.replace(path)
    except OSError as error:
        raise _file_error(error) from error


def _content(path: Path, limit_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit_bytes)
    except OSError as error:
        raise _file_error(error) from error


def _file_error(error: OSError) -> DriverError:
    is_full = error.errno in {28, 122}  # ENOSPC, EDQUOT
    reason = Reason.DISK_FULL if is_full else Reason.UNSUPPORTED
    return DriverError(reason, f"{error.filename}: {error.strerror}", retryable=False)


class LocalDriver:
    """The machine that the worker runs on."""

    async def connect(self, target: Target) -> Transport:
        return LocalTransport()
