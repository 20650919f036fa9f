"""Why nothing was agreed on with an SSH server: read from what it offers."""

import asyncio
from collections.abc import Sequence

import asyncssh
from asyncssh.encryption import get_default_encryption_algs
from asyncssh.kex import get_default_kex_algs

from backend.measure.readers.key_exchange import outdated_algorithms, read_offer

ANSWER_TIMEOUT_S = 5
MAX_BYTES = 65_536
VERSION = b"SSH-2.0-rackrate\r\n"


async def age_of_server(
    name: str,
    port: int,
    tunnel: asyncssh.SSHClientConnection | None,
    signatures: Sequence[str],
) -> str:
    """Age of a server's algorithms, with the remedy; "" where it is none of this or does not say."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            offer = read_offer(await _first_bytes(name, port, tunnel))
    except (OSError, asyncssh.Error):
        return ""
    exchanges = [name.decode() for name in get_default_kex_algs()]
    ciphers = [encryption_alg.decode() for encryption_alg in get_default_encryption_algs()]
    accepted = {"key exchanges": exchanges, "host key signatures": signatures, "ciphers": ciphers}
    return outdated_algorithms(offer, accepted)


async def _first_bytes(name: str, port: int, tunnel: asyncssh.SSHClientConnection | None) -> bytes:
    reader: asyncio.StreamReader | asyncssh.SSHReader[bytes]
    writer: asyncio.StreamWriter | asyncssh.SSHWriter[bytes]
    if tunnel is None:
        reader, writer = await asyncio.open_connection(name, port)
    else:
        reader, writer = await tunnel.open_connection(name, port)
    try:
        # Some wait for our version before they offer anything.
        writer.write(VERSION)
        content = b""
        while len(content) < MAX_BYTES and not read_offer(content):
            if not (more := await reader.read(MAX_BYTES)):
                break
            content += more
        return content
    finally:
        writer.close()
