"""The keys of an SSH agent, which signs logins and never shows them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from backend.foundation.errors import DriverError, Reason

ANSWER_TIMEOUT_S = 5
# An sshd hangs up after six wrong keys unless it is set otherwise, and Rackrate's own one comes first.
MOST_KEYS = 5


@asynccontextmanager
async def agent_keys(
    socket_path: str, *, is_of_host: bool = False
) -> AsyncIterator[list[asyncssh.SSHKeyPair]]:
    """The keys that the agent would sign with, while it is connected; none without a socket. Raises
    DriverError that says what to do, to whoever named it: for one host, or by the worker's setting."""
    named = socket_path if is_of_host else f"SSH_AGENT_SOCKET={socket_path}"
    if not socket_path:
        yield []
        return
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            agent = await asyncssh.connect_agent(socket_path)
            keys = list(await agent.get_keys())
    except (OSError, ValueError, asyncssh.Error) as error:
        detail = f"does not answer ({str(error) or type(error).__name__})"
        advice = (
            "the worker has to run as the user whose agent it is; benchmark the host again from a "
            "session that has one, or give a key with --identity"
            if is_of_host
            else "start ssh-agent there for the user that runs the worker, or unset the setting"
        )
        raise _refusal(named, f"{detail}: {advice}") from error
    async with agent:
        if not keys:
            raise _refusal(named, "has no keys: add one with ssh-add")
        yield keys[:MOST_KEYS]


def key_lines(keys: list[asyncssh.SSHKeyPair]) -> str:
    """The keys as a person finds them in `ssh-add -l`; "" for none."""
    names = [key.get_comment() or key.get_algorithm() for key in keys]
    return f"; the SSH agent offered {', '.join(names)}" if names else ""


def _refusal(named: str, what: str) -> DriverError:
    return DriverError(Reason.AUTH, f"the SSH agent at {named} {what}", retryable=False)
