"""SSH against a real server that can misbehave."""

import asyncio
import socket

import asyncssh
import pytest

from backend.foundation.addresses import key_fingerprint
from backend.foundation.errors import DriverError, Reason
from workers.remote import ssh
from workers.remote.driver import HostKeyChanged, Target


def changed(target, **fields):
    return Target(**{**target.__dict__, **fields})


async def refusal(target):
    with pytest.raises(DriverError) as raised:
        await ssh.connect(target)
    return raised.value


async def test_run_returns_status_and_both_streams(target):
    transport = await ssh.connect(target)
    output = await transport.run("cat; echo b >&2; exit 3", stdin=b"a\n", timeout_s=5)
    await transport.close()
    assert (output.exit_code, output.stdout, output.stderr) == (3, b"a\n", b"b\n")


async def test_put_and_get_carry_bytes_and_mode(target, tmp_path):
    transport = await ssh.connect(target)
    content, path = bytes(range(256)) * 5000, tmp_path / "it's here"
    await transport.put(content, str(path), mode=0o700, timeout_s=5)
    assert path.stat().st_mode & 0o777 == 0o700
    assert await transport.get(str(path), timeout_s=5) == content
    assert list(tmp_path.glob("*.part")) == []
    with pytest.raises(DriverError, match="No such file"):
        await transport.get(str(tmp_path / "none"), timeout_s=5)
    await transport.close()


async def test_command_over_its_time_is_a_timeout(target):
    transport = await ssh.connect(target)
    with pytest.raises(DriverError) as raised:
        await transport.run("sleep 60", timeout_s=0.3)
    await transport.close()
    assert (raised.value.reason, raised.value.retryable) == (Reason.TIMEOUT, True)


async def test_endless_output_is_cut_off(target):
    transport = await ssh.connect(target)
    with pytest.raises(DriverError, match="over 1000 bytes"):
        await transport.run("head -c 5000 /dev/zero", timeout_s=5, limit_bytes=1000)
    await transport.close()


async def test_connection_cut_in_a_command_is_unreachable(target, sshd):
    transport = await ssh.connect(target)
    running = asyncio.create_task(transport.run("sleep 60", timeout_s=20))
    while not sshd.commands:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(sshd.drop)
    with pytest.raises(DriverError) as raised:
        await running
    assert (raised.value.reason, raised.value.retryable) == (Reason.UNREACHABLE, True)


async def test_refused_connection_is_unreachable(target, sshd):
    await asyncio.to_thread(sshd.refuse)
    error = await refusal(target)
    assert (error.reason, error.retryable) == (Reason.UNREACHABLE, True)


async def test_slow_host_is_unreachable(target, sshd, monkeypatch):
    monkeypatch.setattr(ssh, "CONNECT_TIMEOUT_S", 0.3)
    sshd.delay_s = 30
    error = await refusal(target)
    assert (error.reason, error.retryable) == (Reason.UNREACHABLE, True)
    assert "does not answer within 0.3 s" in error.detail


@pytest.mark.parametrize("address", ["nowhere.invalid", "-oProxyCommand=x", "a b", "", "127.1"])
async def test_name_that_means_nothing_is_unreachable(target, address):
    assert (await refusal(changed(target, address=address))).reason == Reason.UNREACHABLE


async def test_key_that_was_replaced_logs_in_beside_the_new_one(target):
    new = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh")
    both = changed(target, private_key=new, earlier_key=target.private_key)
    transport = await ssh.connect(both)
    output = await transport.run("echo in", timeout_s=5)
    await transport.close()
    assert output.stdout == b"in\n"


async def test_other_user_key_is_auth(target, sshd):
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh")
    error = await refusal(changed(target, private_key=other))
    assert (error.reason, error.retryable) == (Reason.AUTH, False)
    assert sshd.commands == []


async def test_unreadable_user_key_is_auth_and_not_quoted(target):
    error = await refusal(changed(target, private_key=b"secret words"))
    assert error.reason == Reason.AUTH
    assert "secret" not in str(error)


@pytest.mark.parametrize("kind", ["ssh-ed25519", "rsa-sha2-256", "ecdsa-sha2-nistp256"])
async def test_changed_host_key_names_both_fingerprints_and_runs_nothing(target, sshd, kind):
    await asyncio.to_thread(sshd.change_host_key, "ssh-rsa" if kind.startswith("rsa") else kind)
    error = await refusal(target)
    assert isinstance(error, HostKeyChanged)
    assert (error.reason, error.retryable) == (Reason.AUTH, False)
    assert error.presented == sshd.host_key
    assert key_fingerprint(sshd.host_key) in error.detail
    assert key_fingerprint(target.host_key) in error.detail
    assert sshd.commands == []


async def test_scan_shows_the_host_key_without_logging_in(sshd):
    key = await ssh.scan("127.0.0.1", sshd.port, is_private_allowed=True)
    assert key == sshd.host_key
    assert sshd.commands == []


async def test_private_address_is_refused_where_it_is_not_allowed(target, sshd):
    for address in ("127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "::1"):
        error = await refusal(changed(target, address=address, is_private_allowed=False))
        assert (error.reason, error.retryable) == (Reason.UNREACHABLE, False)
        assert "SSH_ALLOW_PRIVATE" in error.detail
    with pytest.raises(DriverError, match="SSH_ALLOW_PRIVATE"):
        await ssh.scan("127.0.0.1", sshd.port, is_private_allowed=False)


def test_target_does_not_show_its_key():
    assert "secret" not in repr(Target(private_key=b"secret"))


@pytest.mark.parametrize("reached", [0, 1])
async def test_next_address_of_a_name_is_tried_when_one_is_not_reached(
    target, monkeypatch, reached
):
    """Many a name has an address of IPv6 first, and many a worker no way there."""
    # Nobody listens at the others.
    addresses = ["127.0.0.8", "127.0.0.9"]
    addresses.insert(reached, target.address)
    real = socket.getaddrinfo

    def resolved(host, port, *given, **named):
        names = addresses if host == "rack-7.example" else [host]
        return [one for name in names for one in real(name, port, *given, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    there = changed(target, address="rack-7.example")
    key = await ssh.scan(there.address, there.port, is_private_allowed=True)
    transport = await ssh.connect(there)
    output = await transport.run("echo here", timeout_s=5)
    await transport.close()
    assert (key, output.stdout) == (target.host_key, b"here\n")
    addresses.remove(target.address)
    refused = await refusal(there)
    assert (refused.reason, refused.retryable) == (Reason.UNREACHABLE, True)
    assert "rack-7.example port" in refused.detail
