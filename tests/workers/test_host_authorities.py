"""Hosts whose key an authority has signed: real certificates, presented by a real OpenSSH."""

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from backend.benchmarks.models import Host, HostAuthority, HostState
from backend.benchmarks.services.host_authorities import host_authority_remove, host_authority_set
from backend.benchmarks.services.hosts import KeyRevoked, host_approve
from backend.benchmarks.services.login_keys import login_key_get
from backend.foundation.addresses import key_fingerprint
from backend.foundation.errors import DriverError, Reason
from tests import factories
from workers.engine.host_scan import scan_host
from workers.engine.steps import target_of
from workers.remote import ssh

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = [
    pytest.mark.skipif(SSHD is None, reason="needs OpenSSH's sshd"),
    pytest.mark.django_db(transaction=True),
]
NAME = ("-h", "-n", "127.0.0.1")


class Machine:
    """The keys of a machine and of an authority, and the sshd that presents them.

    As root, sshd would need a user and a directory of its package, so it runs as nobody then: it
    presents its key and lets nobody in.
    """

    def __init__(self, folder):
        self.folder = folder
        self.user = "nobody" if os.geteuid() == 0 else getpass.getuser()
        for name, kind in {"ca": "ed25519", "other": "ed25519", "host": "ecdsa"}.items():
            self._run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", self.folder / name)
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]

    def _run(self, *arguments):
        subprocess.run([str(one) for one in arguments], check=True)

    def public(self, name):
        return " ".join((self.folder / f"{name}.pub").read_text().split()[:2])

    def sign(self, *options, by="ca"):
        self._run(
            "ssh-keygen",
            "-q",
            "-s",
            self.folder / by,
            "-I",
            "rack",
            *options,
            self.folder / "host.pub",
        )

    def unsign(self):
        (self.folder / "host-cert.pub").unlink()

    @contextmanager
    def serving(self):
        config = self.folder / "sshd_config"
        certificate = self.folder / "host-cert.pub"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nPidFile none\nHostKey {self.folder / 'host'}\n"
            + (f"HostCertificate {certificate}\n" if certificate.exists() else "")
        )
        for path in (self.folder, *self.folder.iterdir()):
            path.chmod(0o700 if path.is_dir() else 0o600)
            shutil.chown(path, self.user)
        process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(config)],
            stderr=subprocess.PIPE,
            text=True,
            user=self.user,
        )
        try:
            said = process.stderr.readline()
            assert "Server listening" in said, said + process.stderr.read()
            yield
        finally:
            process.terminate()
            process.wait()
            process.stderr.close()


@pytest.fixture
def machine():
    # Not below pytest's own directory, which only its owner may enter.
    with tempfile.TemporaryDirectory() as folder:
        yield Machine(Path(folder))


@pytest.fixture
def host(machine, settings, queued):
    settings.SSH_ALLOW_PRIVATE = True
    return factories.host(name="rack", port=machine.port, state=HostState.UNVERIFIED)


def trust(machine, name="ca", *, patterns="127.0.0.*", is_revoked=False):
    return host_authority_set(
        workspace=factories.workspace(),
        patterns=patterns,
        public_key=machine.public(name),
        is_revoked=is_revoked,
        actor="tester",
    )


def scanned(host, machine):
    with machine.serving():
        scan_host(str(host.pk))
    host.refresh_from_db()
    assert host.scan_error == ""
    return host


async def refusal(target):
    with pytest.raises(DriverError) as raised:
        await ssh.connect(target)
    return raised.value


def refused(host, machine):
    """Why a login ends; ours is let in nowhere, so that "refuses the key" means that the host's key was accepted."""
    target = target_of(Host.objects.select_related("workspace").get(pk=host.pk))
    with machine.serving():
        error = asyncio.run(refusal(target))
    assert (error.reason, error.retryable) == (Reason.AUTH, False)
    return error.detail


def with_key(host):
    """With the key that logs in, as hosts have that were added by a person."""
    login_key_get(workspace=host.workspace)
    return host


def test_host_with_a_certificate_of_the_authority_needs_no_approval(host, machine, queued):
    machine.sign(*NAME)
    # Waiting for an approval it is asked at once when its authority is trusted.
    assert trust(machine)
    host.refresh_from_db()
    assert host.scan_requested_at is not None
    assert scanned(host, machine).state == HostState.TRUSTED
    assert host.host_key == host.scanned_key == machine.public("host")
    assert host.authority == HostAuthority.objects.get()
    assert "refuses the key" in refused(with_key(host), machine)
    # The key changes with the certificate, and again nobody is asked.
    machine._run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", machine.folder / "new")
    for ending in ("", ".pub"):
        (machine.folder / f"new{ending}").replace(machine.folder / f"host{ending}")
    machine.sign(*NAME)
    assert "refuses the key" in refused(host, machine)
    assert not trust(machine)


@pytest.mark.parametrize(
    ("options", "by", "words"),
    [
        (
            (*NAME, "-V", "20200101000000Z:20210101000000Z"),
            "ca",
            "expired at 2021-01-01 00:00:00 UTC",
        ),
        (("-h", "-n", "rack.example.org"), "ca", "is for rack.example.org, not for 127.0.0.1"),
        (NAME, "other", "which is no authority"),
    ],
)
def test_other_certificates_leave_the_host_to_a_person(host, machine, options, by, words):
    machine.sign(*options, by=by)
    trust(machine)
    assert scanned(host, machine).state == HostState.UNVERIFIED
    assert words in host.certificate_refusal
    shown = key_fingerprint(machine.public("host"))
    host_approve(host=host, fingerprint_sha256=shown, actor="tester")
    assert "refuses the key" in refused(with_key(host), machine)


def test_certificate_that_expired_since_is_refused_before_the_login(host, machine):
    machine.sign(*NAME)
    trust(machine)
    scanned(with_key(host), machine)
    machine.sign(*NAME, "-V", "20200101000000Z:20210101000000Z")
    assert "its certificate expired at 2021-01-01 00:00:00 UTC; sign a new one" in refused(
        host, machine
    )
    machine.unsign()
    assert "it shows no certificate of its key" in refused(host, machine)
    assert scanned(host, machine).state == HostState.UNVERIFIED
    assert (host.authority, host.certificate_refusal) == (None, "it shows no certificate any more")


@pytest.mark.parametrize("revoked", ["ca", "host"])
def test_revoked_key_is_refused_at_once_and_cannot_be_approved(host, machine, revoked):
    machine.sign(*NAME)
    trust(machine)
    scanned(with_key(host), machine)
    before = target_of(host)
    assert trust(machine, revoked, is_revoked=True)
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.UNVERIFIED, "")
    assert "no host key" in refused(host, machine)
    assert scanned(host, machine).state == HostState.UNVERIFIED
    assert before.authorities == (machine.public("ca"),)
    if revoked == "host":
        assert "is revoked" in host.certificate_refusal
        with pytest.raises(KeyRevoked, match="is revoked"):
            host_approve(
                host=host,
                fingerprint_sha256=key_fingerprint(machine.public("host")),
                actor="tester",
            )


def test_removed_authority_leaves_its_hosts_to_another_one(host, machine):
    machine.sign(*NAME)
    trust(machine)
    scanned(host, machine)
    trust(machine, "other", patterns="*")
    host_authority_remove(authority=host.authority, actor="tester")
    host.refresh_from_db()
    assert (host.state, host.certificate_refusal) == (
        HostState.UNVERIFIED,
        "its authority was removed",
    )
    assert host.scan_requested_at is not None
    machine.sign(*NAME, by="other")
    assert scanned(host, machine).state == HostState.TRUSTED


def test_authority_that_may_sign_for_others_only_leaves_its_host(host, machine):
    machine.sign(*NAME)
    trust(machine)
    scanned(host, machine)
    assert trust(machine, patterns="*,!127.0.0.1")
    host.refresh_from_db()
    assert (host.state, host.authority) == (HostState.UNVERIFIED, None)
    assert host.certificate_refusal == "its authority may not sign for it"
    assert scanned(host, machine).state == HostState.UNVERIFIED


def test_hosts_behind_a_bastion_are_asked_once_it_is_trusted(host, machine):
    waiting = {"state": HostState.UNVERIFIED, "bastion": host, "address": "192.0.2.9"}
    behind = factories.host(name="behind", scan_error="the bastion is not approved", **waiting)
    seen = factories.host(name="seen", scanned_key=machine.public("other"), **waiting)
    scanned(host, machine)
    behind.refresh_from_db()
    assert behind.scan_requested_at is None
    machine.sign(*NAME)
    trust(machine)
    scanned(host, machine)
    for one in (behind, seen):
        one.refresh_from_db()
    assert (behind.scan_requested_at is not None, behind.scan_error) == (True, "")
    assert seen.scan_requested_at is None


def test_host_that_a_person_approved_needs_no_certificate(host, machine):
    key = machine.public("host")
    Host.objects.filter(pk=host.pk).update(state=HostState.TRUSTED, host_key=key)
    trust(machine)
    host.refresh_from_db()
    assert host.scan_requested_at is None
    assert scanned(host, machine).state == HostState.TRUSTED
    assert (host.authority, host.host_key) == (None, key)
