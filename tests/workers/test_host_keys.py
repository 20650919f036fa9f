"""Which of a machine's host keys is shown, approved and held against it: as images of Linux make
them, and each type alone, presented by a real OpenSSH and by the server of the other tests."""

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import asyncssh
import pytest

from backend.benchmarks.models import Host, HostState, RunState
from backend.benchmarks.services.hosts import host_approve
from backend.foundation.addresses import key_fingerprint
from backend.foundation.errors import DriverError, Reason
from tests.fakes.sshd import HOST_KEY_TYPES, FakeSshd
from tests.workers.conftest import driven, tiny_run
from workers.engine.host_scan import scan_host
from workers.remote import ssh
from workers.remote.driver import HostKeyChanged, Target

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
ED25519, ECDSA, RSA = HOST_KEY_TYPES


STRANGER = asyncssh.generate_private_key(ED25519).export_private_key("openssh")


@dataclass(frozen=True)
class Server:
    """Something that presents host keys, here by their type."""

    port: int
    host_keys: dict[str, str]

    async def scan(self, **options) -> str:
        return await ssh.scan("127.0.0.1", self.port, is_private_allowed=True, **options)

    async def refusal(self, pinned) -> DriverError:
        """Why a stranger is not let in by a server that has to have this host key."""
        target = Target(
            "127.0.0.1", self.port, "bench", STRANGER, host_key=pinned, is_private_allowed=True
        )
        with pytest.raises(DriverError) as raised:
            await ssh.connect(target)
        return raised.value


@contextmanager
def asyncssh_server(*key_types):
    with tempfile.TemporaryDirectory() as directory:
        sshd = FakeSshd(Path(directory), host_key_types=key_types)
        sshd.start()
        try:
            yield Server(sshd.port, dict(zip(key_types, sshd.host_keys, strict=True)))
        finally:
            sshd.stop()


@cache
def key_of(key_type):
    return asyncssh.generate_private_key(key_type)


def public(key):
    return " ".join(key.export_public_key("openssh").decode().split()[:2])


@contextmanager
def openssh_server(*key_types, options=""):
    """The sshd of this machine. As root it would need a user and a directory of its package, so it
    runs as nobody then."""
    username = "nobody" if os.geteuid() == 0 else getpass.getuser()
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for key_type in key_types:
            (directory / key_type).write_bytes(key_of(key_type).export_private_key("openssh"))
        (directory / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nPidFile none\n{options}\n"
            # Upside down, as only the client's order counts.
            + "".join(f"HostKey {directory / one}\n" for one in reversed(key_types))
        )
        for path in (directory, *directory.iterdir()):
            path.chmod(0o700 if path.is_dir() else 0o600)
            shutil.chown(path, username)
        process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(directory / "sshd_config")],
            stderr=subprocess.PIPE,
            text=True,
            user=username,
        )
        try:
            said = process.stderr.readline()
            assert "Server listening" in said, said + process.stderr.read()
            yield Server(port, {one: public(key_of(one)) for one in key_types})
        finally:
            process.terminate()
            process.wait()
            process.stderr.close()


@pytest.fixture(
    params=[
        asyncssh_server,
        pytest.param(
            openssh_server, marks=pytest.mark.skipif(SSHD is None, reason="needs OpenSSH's sshd")
        ),
    ],
    ids=["asyncssh", "openssh"],
)
def serving(request):
    return request.param


@pytest.mark.parametrize(
    "key_types", [HOST_KEY_TYPES, (ECDSA, RSA), (ED25519, RSA), (ED25519,), (ECDSA,), (RSA,)]
)
async def test_scan_shows_the_preferred_key_of_those_there(serving, key_types):
    with serving(*key_types) as server:
        assert await server.scan() == server.host_keys[key_types[0]]


@pytest.mark.parametrize("bits", ["384", "521"])
async def test_scan_shows_an_ecdsa_key_of_each_curve_before_rsa(serving, bits):
    with serving(f"ecdsa-sha2-nistp{bits}", RSA) as server:
        assert await server.scan() == server.host_keys[f"ecdsa-sha2-nistp{bits}"]


async def test_scan_shows_the_key_of_the_type_asked_for(serving):
    with serving(*HOST_KEY_TYPES) as server:
        for key_type, key in server.host_keys.items():
            assert await server.scan(first_type=key_type) == key


async def test_scan_shows_the_preferred_key_when_the_type_asked_for_is_missing(serving):
    with serving(ECDSA, RSA) as server:
        assert await server.scan(first_type=ED25519) == server.host_keys[ECDSA]


async def test_login_accepts_the_pinned_key_of_each_type(serving):
    with serving(*HOST_KEY_TYPES) as server:
        for key in server.host_keys.values():
            error = await server.refusal(key)
            assert "refuses the key" in error.detail  # ours, after its own was accepted
            assert not isinstance(error, HostKeyChanged)


async def test_login_refuses_another_key_of_the_pinned_type(serving):
    pinned = public(asyncssh.generate_private_key(RSA))
    with serving(*HOST_KEY_TYPES) as server:
        error = await server.refusal(pinned)
    assert isinstance(error, HostKeyChanged)
    assert error.presented == server.host_keys[RSA]
    for key in (pinned, error.presented):
        assert f"{RSA} {key_fingerprint(key)}" in error.detail


async def test_login_refuses_a_host_without_the_pinned_type(serving):
    with serving(ED25519, ECDSA) as server:
        error = await server.refusal(public(key_of(RSA)))
    assert isinstance(error, HostKeyChanged)
    assert error.presented == server.host_keys[ED25519]


@pytest.mark.parametrize(
    "error",
    [asyncssh.ConnectionLost("connection lost"), ConnectionResetError(104, "reset by peer")],
    ids=["lost", "reset"],
)
async def test_connection_lost_is_no_changed_key_when_rsa_is_pinned(serving, monkeypatch, error):
    async def lost(*_, **__):
        raise error

    monkeypatch.setattr(asyncssh, "connect", lost)
    with serving(*HOST_KEY_TYPES) as server:
        refusal = await server.refusal(server.host_keys[RSA])
    assert (refusal.reason, refusal.retryable) == (Reason.UNREACHABLE, True)


@pytest.mark.skipif(SSHD is None, reason="needs OpenSSH's sshd")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("KexAlgorithms diffie-hellman-group1-sha1", "only key exchanges that"),
        ("HostKeyAlgorithms ssh-rsa", "only host key signatures that"),
        ("Ciphers aes128-cbc", "only ciphers that"),
    ],
)
async def test_old_sshd_is_named_with_what_can_be_done(options, words):
    with openssh_server(RSA, options=options) as server, pytest.raises(DriverError) as raised:
        await server.scan()
    assert (raised.value.reason, raised.value.retryable) == (Reason.UNSUPPORTED, False)
    assert words in raised.value.detail
    assert options.partition(" ")[2] in raised.value.detail
    assert "is needed, or a worker on the machine itself" in raised.value.detail


async def test_server_that_says_nothing_is_not_called_old():
    async def silent(reader, writer):
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DriverError) as raised:
            await ssh.scan("127.0.0.1", port, is_private_allowed=True)
    assert (raised.value.reason, raised.value.retryable) == (Reason.UNREACHABLE, True)


# --- hosts whose key a person approved --------------------------------------------------------------


def _scanned(host) -> Host:
    scan_host(str(host.pk))
    host.refresh_from_db()
    return host


@pytest.fixture
def rsa_host(ssh_host, sshd):
    """Approved when its RSA key was the one that was shown."""
    Host.objects.filter(pk=ssh_host.pk).update(host_key=sshd.host_keys[-1])
    ssh_host.refresh_from_db()
    return ssh_host


@pytest.mark.django_db(transaction=True)
def test_host_approved_by_its_rsa_key_keeps_running(rsa_host):
    assert rsa_host.host_key.startswith("ssh-rsa ")
    assert _scanned(rsa_host).state == HostState.TRUSTED
    assert rsa_host.scanned_key == rsa_host.host_key
    assert driven(tiny_run(rsa_host)).state == RunState.DONE
    rsa_host.refresh_from_db()
    assert rsa_host.state == HostState.TRUSTED


@pytest.mark.django_db(transaction=True)
def test_host_with_new_keys_shows_the_preferred_one_to_approve(rsa_host, sshd):
    sshd.change_host_key()
    assert _scanned(rsa_host).state == HostState.KEY_CHANGED
    assert rsa_host.scanned_key == sshd.host_key
    assert sshd.host_key.startswith("ssh-ed25519 ")
    approved = host_approve(
        host=rsa_host, fingerprint_sha256=key_fingerprint(sshd.host_key), actor="tester"
    )
    run = driven(tiny_run(approved))
    assert (run.state, run.failure_detail) == (RunState.DONE, "")


@pytest.mark.django_db(transaction=True)
def test_host_without_its_approved_rsa_key_is_not_trusted(rsa_host, sshd):
    sshd.change_host_key(ED25519)
    run = driven(tiny_run(rsa_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    rsa_host.refresh_from_db()
    assert (rsa_host.state, rsa_host.scanned_key) == (HostState.KEY_CHANGED, sshd.host_key)
    assert sshd.commands == []
