"""Login slots: hosts that do not answer keep nobody waiting."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, wait

import pytest

from backend.foundation.errors import DriverError, Reason
from workers.remote import connections as module
from workers.remote.connections import CONNECTS, SILENT_CONNECTS, SLOW_CONNECTS, Connections
from workers.remote.driver import Target, Transport
from workers.remote.local import LocalTransport

SILENT = Target(address="silent")
HEALTHY = Target(address="healthy")


class Network:
    """Some of its hosts say nothing for as long as the test goes on."""

    def __init__(self) -> None:
        self.hanging = 0
        self.most_at_once = 0

    async def connect(self, target: Target) -> Transport:
        if target == HEALTHY:
            await asyncio.sleep(0)
            return LocalTransport()
        self.hanging += 1
        self.most_at_once = max(self.most_at_once, self.hanging)
        try:
            await asyncio.Event().wait()
        finally:
            self.hanging -= 1
        raise DriverError(Reason.UNREACHABLE, "it was never there", retryable=True)


@pytest.fixture
def hosts() -> Connections:
    return Connections()


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def pending() -> Iterator[list["Future[Transport]"]]:
    """What is to be given up at the end of a test."""
    logins: list[Future[Transport]] = []
    yield logins
    for login in logins:
        login.cancel()


def logins(
    hosts: Connections, network: Network, target: Target, count: int, *, is_silent: bool = False
) -> list["Future[Transport]"]:
    return [
        hosts.submit(hosts.acquire((target, n), network, target, is_silent=is_silent))
        for n in range(count)
    ]


def test_healthy_hosts_log_in_while_fifty_do_not_answer(hosts, network, pending, monkeypatch):
    monkeypatch.setattr(module, "SLOT_S", 0.01)
    pending += logins(hosts, network, SILENT, 50)
    healthy = logins(hosts, network, HEALTHY, 250)
    assert not wait(healthy, timeout=60).not_done
    assert network.hanging == 50
    assert not any(login.done() for login in pending)


def test_hosts_known_as_silent_take_no_slot(hosts, network, pending, monkeypatch):
    monkeypatch.setattr(module, "SLOT_S", 3600)
    pending += logins(hosts, network, SILENT, 300, is_silent=True)
    healthy = logins(hosts, network, HEALTHY, 250)
    assert not wait(healthy, timeout=60).not_done
    assert network.most_at_once == SILENT_CONNECTS


def test_logins_without_an_answer_are_limited(hosts, network, pending, monkeypatch):
    monkeypatch.setattr(module, "SLOT_S", 0.001)
    pending += logins(hosts, network, SILENT, 300)
    (last,) = logins(hosts, network, HEALTHY, 1)
    while network.hanging < CONNECTS + SLOW_CONNECTS:
        hosts.submit(asyncio.sleep(0.01)).result()
    assert not last.done()
    assert network.most_at_once == CONNECTS + SLOW_CONNECTS
    # those that are given up make place
    for login in pending:
        login.cancel()
    assert last.result(timeout=60) is not None
    while network.hanging:
        hosts.submit(asyncio.sleep(0.01)).result()
