"""The thread that talks to the hosts of running runs, and the connections it keeps.

There is one in a process. A connection outlives the window in which it was used for a little
while, so that the next window goes on with it: logging in to hundreds of hosts at once takes
seconds of computing.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from workers.remote.driver import MachineDriver, Target, Transport

T = TypeVar("T")
# Slots for logins: each costs milliseconds of computing for its keys, and all share one thread.
CONNECTS = 16
# A host that has not let us in by then is most likely silent and costs no computing: the next one gets its
# slot.
SLOT_S = 0.5
# Logins that go on without a slot; as many more may be slow for want of computing.
SLOW_CONNECTS = 64
# Hosts that did not answer the last time log in beside all others, and never take a slot of theirs.
SILENT_CONNECTS = 32
KEEP_S = 10.0


class Connections:
    """An event loop in a thread of its own. All that is kept is touched in that thread only."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(CONNECTS)
        self._connects = asyncio.Semaphore(CONNECTS + SLOW_CONNECTS)
        self._silent = asyncio.Semaphore(SILENT_CONNECTS)
        self._kept: dict[object, tuple[Target, Transport, asyncio.TimerHandle]] = {}
        # A daemon: a process that ends must not wait for hosts that are silent.
        threading.Thread(target=self._loop.run_forever, name="hosts", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Do the work in the thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def acquire(
        self, key: object, machine: MachineDriver, target: Target, *, is_silent: bool = False
    ) -> Transport:
        """The kept connection of that key, or a new one; raises DriverError. `is_silent` says that
        the host did not answer the last time."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            known, transport, end = kept
            end.cancel()
            # Keys or address may have been replaced since: what the row says now counts.
            if known == target:
                return transport
            await transport.close()
        if is_silent:
            async with self._silent:
                return await machine.connect(target)
        async with self._connects:
            return await self._connect_in_slot(machine, target)

    async def _connect_in_slot(self, machine: MachineDriver, target: Target) -> Transport:
        async with self._slots:
            login = asyncio.ensure_future(machine.connect(target))
            try:
                await asyncio.wait({login}, timeout=SLOT_S)
            except asyncio.CancelledError:
                # `asyncio.wait` leaves what it waits for running when it is cancelled itself.
                login.cancel()
                raise
        return await login

    def keep(self, key: object, target: Target, transport: Transport) -> None:
        """Keep a connection for whoever asks for the key soon, else close it."""
        self._loop.call_soon_threadsafe(self._keep, key, target, transport)

    def _keep(self, key: object, target: Target, transport: Transport) -> None:
        if key in self._kept:
            self._kept[key][2].cancel()
            self._end(key)
        end = self._loop.call_later(KEEP_S, self._end, key)
        self._kept[key] = (target, transport, end)

    def _end(self, key: object) -> None:
        _, transport, _ = self._kept.pop(key)
        # Kept in a name: a loop alone does not keep its tasks from being collected.
        self._closing = self._loop.create_task(transport.close())


@cache
def connections() -> Connections:
    """Connections of this process, made on first use: after a worker has forked."""
    return Connections()
