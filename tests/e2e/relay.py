"""Passes connections to ports of one address on to the same ports on loopback.

`python -m tests.e2e.relay [--delay-s S] [--cut-s S] ADDRESS PORT…` lets network namespaces reach servers that listen on
loopback only, and stands for a line on which each packet takes its time or that breaks every few seconds.
"""

import argparse
import asyncio
from functools import partial

LOOPBACK = "127.0.0.1"
CHUNK_BYTES = 65_536


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float) -> None:
    """Until either end closes; then the target is closed, too."""
    try:
        while chunk := await source.read(CHUNK_BYTES):
            await asyncio.sleep(delay_s)
            target.write(chunk)
            await target.drain()
    except OSError:
        pass  # the connection was cut
    finally:
        target.close()


async def _pass_on(
    port: int,
    delay_s: float,
    open_writers: set[asyncio.StreamWriter],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        answers, requests = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        writer.close()
        return
    open_writers.update(both := {writer, requests})
    await asyncio.gather(_copy(reader, requests, delay_s), _copy(answers, writer, delay_s))
    open_writers.difference_update(both)


async def _cut(every_s: float, open_writers: set[asyncio.StreamWriter]) -> None:
    while True:
        await asyncio.sleep(every_s)
        for writer in open_writers:
            writer.transport.abort()


async def relay(address: str, ports: list[int], delay_s: float, cut_s: float | None) -> None:
    """Listen for good."""
    open_writers: set[asyncio.StreamWriter] = set()
    servers = [
        await asyncio.start_server(partial(_pass_on, port, delay_s, open_writers), address, port)
        for port in ports
    ]
    work = [server.serve_forever() for server in servers]
    if cut_s is not None:
        work.append(_cut(cut_s, open_writers))
    await asyncio.gather(*work)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-s", type=float, default=0.0)
    parser.add_argument("--cut-s", type=float)
    parser.add_argument("address")
    parser.add_argument("ports", type=int, nargs="+")
    given = parser.parse_args()
    asyncio.run(relay(given.address, given.ports, given.delay_s, given.cut_s))
