"""SSH where a machine is in trouble: what is somebody else's machine, and what only has to be tried again."""

import asyncio
import socket
from dataclasses import replace

import asyncssh
import pytest

from backend.foundation.errors import DriverError, Reason
from tests.fakes.sshd import FakeSshd
from workers.remote import ssh
from workers.remote.driver import HostKeyChanged

NAME = "rack-7.example"


@pytest.fixture
def stranger(sshd, tmp_path):
    """Another machine, at another address and the same port, with a key of another type."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    server = FakeSshd(
        folder, address="127.0.0.2", port=sshd.port, host_key_types=["ecdsa-sha2-nistp256"]
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture
def named(monkeypatch):
    """Makes NAME mean these addresses, in this order."""
    real = socket.getaddrinfo

    def name(*addresses):
        def resolved(host, port, *given, **options):
            names = addresses if host == NAME else [host]
            return [one for name in names for one in real(name, port, *given, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", resolved)

    return name


def ending(monkeypatch, error):
    """Every login ends so."""

    async def connect(*_, **__):
        raise error

    monkeypatch.setattr(asyncssh, "connect", connect)


async def refusal(call):
    with pytest.raises(DriverError) as raised:
        await call
    return raised.value


async def test_next_address_is_not_asked_when_somebody_else_answered(
    target, sshd, stranger, named, monkeypatch
):
    """Of one name one machine is meant. A server that knows no key of the type may also reset."""
    real = asyncssh.connect

    async def connect(name, *given, **options):
        try:
            return await real(name, *given, **options)
        except asyncssh.Error as error:
            raise ConnectionResetError from error

    monkeypatch.setattr(asyncssh, "connect", connect)
    named(stranger.address, sshd.address)
    error = await refusal(ssh.connect(replace(target, address=NAME)))
    assert isinstance(error, HostKeyChanged)
    assert (error.presented, error.pinned) == (stranger.host_key, sshd.host_key)
    assert sshd.commands == stranger.commands == []


async def test_pinned_machine_in_trouble_is_tried_again_and_not_distrusted(target, monkeypatch):
    ending(monkeypatch, asyncssh.ConnectionLost("closed in the middle"))
    error = await refusal(ssh.connect(target))
    assert not isinstance(error, HostKeyChanged)
    assert (error.reason, error.retryable) == (Reason.UNREACHABLE, True)


# The server may hang up first where it knows none of the algorithms that are asked for.
@pytest.mark.parametrize(
    ("certificate", "reason", "retryable"),
    [("ecdsa-cert AAAA", Reason.UNREACHABLE, True), ("", Reason.AUTH, False)],
)
async def test_host_that_hangs_up_is_distrusted_only_without_a_certificate(
    target, monkeypatch, certificate, reason, retryable
):
    async def scanned(*_, **__):
        return certificate

    ending(monkeypatch, asyncssh.ConnectionLost("closed in the middle"))
    monkeypatch.setattr(ssh, "scan_certificate", scanned)
    certified = replace(target, host_key="", authorities=(target.host_key,))
    error = await refusal(ssh.connect(certified))
    assert (error.reason, error.retryable) == (reason, retryable)
    assert ("no certificate" in error.detail) is not retryable


async def test_host_that_is_away_is_not_one_without_a_certificate(target, sshd):
    """ "" would say that its key is signed no more, and take its trust away."""
    await asyncio.to_thread(sshd.refuse)
    call = ssh.scan_certificate(target.address, target.port, is_private_allowed=True)
    error = await refusal(call)
    assert (error.reason, error.retryable) == (Reason.UNREACHABLE, True)


async def test_host_without_any_certificate_is_no_failure(target):
    scanned = await ssh.scan_certificate(target.address, target.port, is_private_allowed=True)
    assert scanned == ""


async def test_server_without_a_host_key_cannot_be_pinned(target, monkeypatch):
    """asyncssh answers with None for one that proves itself otherwise (GSS-API, RFC 4462)."""

    async def none(*_, **__):
        return None

    monkeypatch.setattr(asyncssh, "get_server_host_key", none)
    error = await refusal(ssh.scan(target.address, target.port, is_private_allowed=True))
    assert (error.reason, error.retryable) == (Reason.UNSUPPORTED, False)
    assert "presents no host key" in error.detail


@pytest.mark.parametrize("failure", [asyncssh.ConnectionLost("cut"), asyncio.CancelledError()])
async def test_connection_to_the_bastion_is_closed_when_the_login_fails(
    target, sshd, monkeypatch, failure
):
    real, opened = asyncssh.connect, []

    async def connect(*given, **options):
        if opened:
            raise failure
        opened.append(await real(*given, **options))
        return opened[0]

    async def scanned(*_, **__):
        return target.host_key

    monkeypatch.setattr(asyncssh, "connect", connect)
    monkeypatch.setattr(ssh, "scan", scanned)
    behind = replace(target, address="inside", via=target)
    with pytest.raises((DriverError, asyncio.CancelledError)):
        await ssh.connect(behind)
    async with asyncio.timeout(5):
        await opened[0].wait_closed()
