"""Hosts as their owners harden them: measured all the same, or refused by name."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import asyncssh
import pytest

from backend.benchmarks.models import HostState, RunState
from backend.benchmarks.selectors.evidence import evidence_text
from backend.benchmarks.selectors.hosts import login_key_line
from backend.benchmarks.services.hosts import host_scan, host_update
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.fakes.sshd import FakeSshd
from tests.workers.conftest import driven, tiny_run
from workers.engine.host_scan import scan_host

pytestmark = pytest.mark.django_db(transaction=True)
NOBODY = 65_534
BANNER = "Authorised use only.\nAll activity is recorded.\n"


@pytest.fixture
def open_directory():
    """A directory that every user may enter; those of pytest are its own."""
    directory = Path(tempfile.mkdtemp(prefix="hardened-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def hardened(open_directory, built_probes):
    """One host key, a banner, a talkative shell, no programs from its temporary directory, and
    where the test may change users, one without any rights."""
    is_root = os.geteuid() == 0
    server = FakeSshd(
        open_directory, host_key_types=["ssh-ed25519"], user_id=NOBODY if is_root else None
    )
    server.banner = BANNER
    server.start_up_output = b"Welcome to rack 7\n@ boot_id 3\nabc\n"
    options = ["-t", "tmpfs", "-o", "noexec,nosuid,nodev,mode=1777", "tmpfs", server.temporary]
    is_mounted = is_root and subprocess.run(["mount", *options]).returncode == 0
    server.start()
    yield server
    server.stop()
    if is_mounted:
        subprocess.run(["umount", str(server.temporary)], check=True)


@pytest.fixture
def bastion_sshd(tmp_path):
    server = FakeSshd(tmp_path)
    server.start()
    yield server
    server.stop()


def host_at(server, name, address="127.0.0.1", *, bastion=None, **stated):
    bastion_id = bastion and bastion.pk
    return factories.ssh_host(server, name, address=address, bastion=bastion_id, **stated)


@pytest.fixture
def bastion(bastion_sshd, queued, settings):
    settings.SSH_ALLOW_PRIVATE = True
    return host_at(bastion_sshd, "Bastion")


@pytest.fixture
def host(hardened, bastion_sshd, bastion):
    """The hardened machine, which only the bastion can look up."""
    bastion_sshd.inside["rack-7.internal"] = hardened.port
    return host_at(hardened, "Rack 7", "rack-7.internal", port=22, bastion=bastion)


def test_hardened_host_behind_a_bastion_is_measured(host, hardened, bastion_sshd):
    host_scan(host=host, actor="tester")
    scan_host(str(host.pk))
    host.refresh_from_db()
    assert (host.scan_error, host.scanned_key) == ("", hardened.host_key)

    run = driven(tiny_run(host))
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    assert sorted(run.samples.values_list("metric", "repeat")) == [
        ("cmips_score", 0), ("cmips_score", 1),
        ("cmips_single_score", 0), ("cmips_single_score", 1),
    ]  # fmt: skip
    assert b"Welcome" not in b"".join(evidence_text(one).encode() for one in run.evidence.all())
    assert bastion_sshd.commands == []
    if os.path.ismount(hardened.temporary):
        # Fallen back to where programs run; the lock stays where all users look for it.
        assert Path(run.live["directory"]).parent != hardened.temporary
    assert not Path(run.live["directory"]).exists()
    assert list(hardened.temporary.iterdir()) == []


def test_host_that_shuts_down_refuses_and_says_so(host, hardened):
    hardened.is_shutting_down = True
    hardened.banner = (
        "System is going down. Unprivileged users are not permitted to log in anymore."
    )
    run = driven(tiny_run(host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert "it says: System is going down." in run.failure_detail


def test_bastion_with_another_key_is_distrusted_and_not_the_host(host, bastion, bastion_sshd):
    bastion_sshd.change_host_key()
    run = driven(tiny_run(host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    host.refresh_from_db()
    bastion.refresh_from_db()
    assert (host.state, bastion.state) == (HostState.TRUSTED, HostState.KEY_CHANGED)
    # From now on nothing is sent to it: neither runs nor scans begin.
    run = driven(tiny_run(host))
    assert run.failure_detail == "the host key of Bastion is not approved"
    scan_host(str(host.pk))
    host.refresh_from_db()
    assert "bastion Bastion is not approved" in host.scan_error


def test_bastion_that_does_not_reach_the_host_is_named_with_it(host, bastion_sshd):
    bastion_sshd.inside.clear()
    scan_host(str(host.pk))
    host.refresh_from_db()
    assert "rack-7.internal port 22: open failed" in host.scan_error


def test_bastions_do_not_go_in_circles(host, bastion):
    with pytest.raises(InvalidValue, match="Rack 7 is itself reached through Bastion") as refusal:
        host_update(host=bastion, changes={"bastion": host.pk}, actor="tester")
    assert refusal.value.field == "/bastion"


def test_own_key_and_its_certificate_log_in(hardened, queued, settings):
    """The host lets in whatever its authority has signed, and no single key."""
    settings.SSH_ALLOW_PRIVATE = True
    host = host_at(hardened, "Rack 8", private_key="")
    assert driven(tiny_run(host, probes=["inventory"])).failure_reason == "auth"
    hardened.allow(login_key_line(host))
    assert driven(tiny_run(host, probes=["inventory"])).state == RunState.DONE

    authority = asyncssh.generate_private_key("ssh-ed25519")
    other = host_at(hardened, "Rack 9")
    public = asyncssh.import_public_key(login_key_line(host))
    certificate = authority.generate_user_certificate(public, "rackrate", principals=["bench"])
    hardened.trust(authority)
    line = certificate.export_certificate("openssh").decode()
    host_update(host=host, changes={"certificate": line}, actor="tester")
    host.refresh_from_db()
    assert login_key_line(host) == ""
    assert driven(tiny_run(host, probes=["inventory"])).state == RunState.DONE
    assert driven(tiny_run(other, probes=["inventory"])).failure_reason == "auth"


class _NoShell(FakeSshd):
    """An account that may log in and run nothing: nologin(8) politely refuses."""

    async def _serve(self, process):
        process.stdout.write(b"This account is currently not available.\n")
        process.exit(1)


def test_account_without_a_shell_is_named(tmp_path, queued, settings):
    settings.SSH_ALLOW_PRIVATE = True
    server = _NoShell(tmp_path)
    server.start()
    try:
        run = driven(tiny_run(host_at(server, "No shell")))
    finally:
        server.stop()
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unsupported")
    assert run.failure_detail == (
        "the login shell runs no commands: This account is currently not available."
    )
