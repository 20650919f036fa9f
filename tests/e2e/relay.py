"""Passes connections to ports of one address on to the same ports on loopback.

`python -m tests.e2e.relay ADDRESS PORT…` lets network namespaces reach servers that listen on
loopback only.
"""

import asyncio
import sys
from functools import partial

LOOPBACK = "127.0.0.1"
CHUNK_BYTES = 65_536


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Until either end closes; then the target is closed, too."""
    try:
        while chunk := await source.read(CHUNK_BYTES):
            target.write(chunk)
            await target.drain()
    except OSError:
        pass  # the connection was cut
    finally:
        target.close()


async def _pass_on(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        answers, requests = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, requests), _copy(answers, writer))


async def relay(address: str, ports: list[int]) -> None:
    """Listen for good."""
    servers = [await asyncio.start_server(partial(_pass_on, port), address, port) for port in ports]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1], [int(port) for port in sys.argv[2:]]))
