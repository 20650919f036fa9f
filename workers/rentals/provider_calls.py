"""Calls of an account's provider: each taken from the account's bucket, bounded, without secrets in
what it says."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from operator import methodcaller
from threading import Thread
from typing import Any, TypeVar

from backend.accounts.models import CloudAccount
from backend.accounts.services.installation import own_installations
from backend.foundation.errors import DriverError, Reason
from backend.foundation.redaction import redact
from backend.providers.machines import (
    Inventory,
    ProviderDriver,
    ProviderResource,
    ProviderResourceState,
)
from backend.providers.registry import provider
from backend.rentals.services.account_access import call_take
from workers.remote.registry import cloud
from workers.rentals.account_access import access_of
from workers.time_limits import step_seconds

T = TypeVar("T")
# Drivers themselves stop after about 20 s; this is for one that does not.
CALL_S = 30
# A further call of the same step waits so long for the bucket.
PATIENCE_S = 5.0


def of_ours(listed: Inventory) -> Inventory:
    """Without what another installation has made: this database may be a copy of its."""
    # "" for what was made before installations had ids.
    own = {"", *own_installations()}
    return Inventory(
        (resource for resource in listed if resource.installation in own), listed.unread
    )


def _in_time(work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
    # A call that blocks is left behind in a thread of its own: a loop that ends waits for the threads that
    # it has begun, so a bound of 1 s came back after 6 s. Raises TimeoutError.
    answer: Future[T] = Future()

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work()

    def run() -> None:
        try:
            answer.set_result(asyncio.run(bounded()))
        except BaseException as error:  # noqa: BLE001  (it is raised where the answer is awaited)
            answer.set_exception(error)

    Thread(target=run, name="provider call", daemon=True).start()
    return answer.result(timeout=seconds)


class NoCallLeft(Exception):
    """The account's bucket of calls is empty for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no call of the provider is left for {seconds:.1f} s")
        self.seconds = seconds


class ProviderCalls:
    """An account's provider for one step. A first call is taken from the bucket when this is made:
    raises NoCallLeft when there is none. Further calls may wait for theirs a little, so that steps
    which need several get to their end also while many ask. A step that ends machines takes from
    a bucket of its own."""

    def __init__(self, account: CloudAccount, *, is_end: bool = False) -> None:
        self._account = account
        self._is_end = is_end
        self._access = access_of(account)
        # Before the step does anything: it can wait without having half done its work.
        self._take(0)
        self._has_taken = True

    def _take(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        record = provider(self._account.provider)
        take = partial(
            call_take,
            account=self._account,
            is_end=self._is_end,
            # Of each provider, as Hetzner locks an account at 3,600 calls an hour where others allow tens a
            # second.
            rate_per_s=record.calls_per_s,
            burst=record.calls_at_once,
        )
        while (seconds := take()) > 0:
            if time.monotonic() + seconds > until:
                raise NoCallLeft(seconds)
            time.sleep(seconds)

    def listed(self, tag: str, *, token: str, region: str) -> Inventory:
        """Resources of a launch at the provider."""
        return of_ours(self.ask(methodcaller("inventory", tag, token=token, region=region)))

    def described(self, handle: ProviderResource) -> ProviderResource:
        """Present state of the handle's resource; ABSENT where it is none of ours."""
        described = self.ask(methodcaller("describe", handle))
        absent = replace(handle, state=ProviderResourceState.ABSENT)
        return next(iter(of_ours(Inventory([described]))), absent)

    def ask(self, call: Callable[[ProviderDriver], Coroutine[Any, Any, T]]) -> T:
        """Answer of the provider; DriverError(timeout) when it takes too long."""
        if not self._has_taken:
            self._take(PATIENCE_S)
        self._has_taken = False
        machine = cloud(self._account.provider, self._access)

        try:
            return _in_time(lambda: call(machine), min(CALL_S, step_seconds()))
        except TimeoutError:
            detail = f"{self._account.provider} does not answer"
            raise DriverError(Reason.TIMEOUT, detail, retryable=True) from None
        except DriverError as error:
            detail = redact(error.detail, self._access.secret)
            # From None: the driver's own error would stand in the log with what was taken out.
            raise DriverError(
                error.reason, detail, retryable=error.retryable, proves_none=error.proves_none
            ) from None
