"""`manage.py benchmark` of machines as the person's own ssh names and logs in to them."""

import io
import re
import stat

import asyncssh
import pytest
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Host, Run
from backend.benchmarks.services.login_keys import host_private_key
from backend.benchmarks.services.workers import instance, worker_seen
from tests.fakes.sshd import FakeSshd
from tests.workers.test_commands import TINY
from tests.workers.test_ssh_agent import Agent
from workers.management.commands import benchmark
from workers.remote.ssh_config import SshConfigFault, certificate_for, destination, login

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def home(queued, tmp_path, monkeypatch, settings):
    """A home of its own, without an agent."""
    settings.SSH_ALLOW_PRIVATE = True
    monkeypatch.setattr(benchmark, "LOOK_S", 0.2)
    path = tmp_path / "home"
    (path / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return path


@pytest.fixture
def agent(tmp_path_factory, monkeypatch):
    agent = Agent(tmp_path_factory.mktemp("a"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent.socket))
    try:
        yield agent
    finally:
        agent.stop()


def stored(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def configured(home, text):
    stored(home / ".ssh" / "config", text)


def benchmarked(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("benchmark", *arguments, *TINY, stdout=out, stderr=err)
    assert Run.objects.latest("created_at").state == "done"
    return err.getvalue()


def test_alias_of_the_ssh_config_is_benchmarked_with_its_key(sshd, home):
    stored(home / "key", sshd.private_key)
    configured(
        home,
        f"Host build1\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User bench\n"
        f"  IdentityFile {home}/key\n",
    )
    benchmarked("build1", "--fingerprint", sshd.fingerprint)
    host = Host.objects.get()
    assert (host.name, host.address, host.port, host.username) == (
        "build1", "127.0.0.1", sshd.port, "bench",
    )  # fmt: skip
    benchmarked("build1")  # by its name from now on
    with pytest.raises(CommandError, match="no host is named 'build2'"):
        benchmarked("build2")


def test_another_file_than_the_ssh_config_is_read_when_it_is_named(sshd, home, tmp_path):
    stored(home / "key", sshd.private_key)
    path = stored(
        tmp_path / "other", f"Host b\n HostName 127.0.0.1\n Port {sshd.port}\n User bench\n"
    )
    named = ["b", "--config", str(path), "--identity", str(home / "key")]
    benchmarked(*named, "--fingerprint", sshd.fingerprint)
    with pytest.raises(CommandError, match=r"nowhere: .*No such file"):
        benchmarked("c", "--config", str(tmp_path / "nowhere"))
    stored(path, "User me\nPort many\n")
    with pytest.raises(CommandError, match=r"other.* line 2"):
        benchmarked("c", "--config", str(path))


def test_default_key_logs_in_when_nothing_is_named(sshd, home):
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_private_key("openssh")
    stored(home / ".ssh" / "id_ed25519", other.decode())
    stored(home / ".ssh" / "id_ecdsa", sshd.private_key)
    place = f"bench@127.0.0.1:{sshd.port}"
    benchmarked(place, "--fingerprint", sshd.fingerprint)
    kept = asyncssh.import_private_key(host_private_key(host=Host.objects.get()))
    assert kept.public_data == asyncssh.import_private_key(sshd.private_key).public_data


def test_keys_that_are_let_in_nowhere_end_with_one_error(sshd, home):
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh").decode()
    key = stored(home / ".ssh" / "id_ed25519", other)
    with pytest.raises(CommandError, match=f"lets in none of {key}"):
        benchmarked(f"bench@127.0.0.1:{sshd.port}", "--fingerprint", sshd.fingerprint)
    assert not Run.objects.exists()


def test_agent_of_the_command_logs_in_and_its_socket_is_renewed(sshd, agent, monkeypatch, settings):
    sshd.allow(agent.add("right"))
    place = f"bench@127.0.0.1:{sshd.port}"
    benchmarked(place, "--fingerprint", sshd.fingerprint)
    host = Host.objects.get()
    assert (host.agent_socket, host.worker_id) == (str(agent.socket), settings.WORKER_ID)
    assert host.sealed_private_key is None
    moved = agent.socket.rename(agent.socket.with_name("later"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(moved))
    benchmarked(place)
    assert Host.objects.get().agent_socket == str(moved)


def test_agent_is_refused_in_one_line_when_workers_are_elsewhere(sshd, agent):
    sshd.allow(agent.add("right"))
    worker_seen(worker_id="elsewhere", instance=instance())
    with pytest.raises(CommandError) as raised:
        benchmarked(f"bench@127.0.0.1:{sshd.port}", "--fingerprint", sshd.fingerprint)
    assert "which the workers of elsewhere cannot use: run the command on" in str(raised.value)
    assert not Host.objects.exists()


def test_encrypted_key_is_opened_by_a_passphrase_that_is_no_argument(
    sshd, home, tmp_path, monkeypatch
):
    key = asyncssh.import_private_key(sshd.private_key)
    path = tmp_path / "key"
    stored(path, key.export_private_key("openssh", passphrase="s3cret", rounds=50).decode())
    named = [f"bench@127.0.0.1:{sshd.port}", "--identity", str(path)]
    with pytest.raises(CommandError, match="has a passphrase: give it by --passphrase-file or"):
        benchmarked(*named)
    monkeypatch.setenv("KEY_PASSPHRASE", "wrong")
    with pytest.raises(CommandError, match="/passphrase: it does not open the key"):
        benchmarked(*named, "--passphrase-env", "KEY_PASSPHRASE")
    assert not Host.objects.exists()
    secret = stored(tmp_path / "passphrase", "s3cret\n")
    trusted = ["--fingerprint", sshd.fingerprint]
    benchmarked(*named, "--passphrase-file", str(secret), *trusted)
    monkeypatch.setenv("KEY_PASSPHRASE", "s3cret")
    benchmarked(*named, "--passphrase-env", "KEY_PASSPHRASE")


def test_certificate_beside_the_key_logs_in(sshd, home, tmp_path):
    authority = asyncssh.generate_private_key("ssh-ed25519")
    key = asyncssh.generate_private_key("ssh-ed25519")
    sshd.trust(authority)
    path = stored(tmp_path / "key", key.export_private_key("openssh").decode())
    signed = authority.generate_user_certificate(key, "me", principals=["bench"])
    stored(tmp_path / "signed.pub", signed.export_certificate().decode())
    configured(home, f"Host *\n  CertificateFile {tmp_path}/signed.pub\n")
    named = [f"bench@127.0.0.1:{sshd.port}", "--identity", str(path)]
    benchmarked(*named, "--fingerprint", sshd.fingerprint)
    assert (
        Host.objects.get().certificate.split()[1] == signed.export_certificate().split()[1].decode()
    )
    (home / ".ssh" / "config").unlink()
    (tmp_path / "signed.pub").rename(tmp_path / "key-cert.pub")
    benchmarked(*named)


def test_machine_behind_a_jump_is_benchmarked_through_it(sshd, home, tmp_path):
    (tmp_path / "jump").mkdir()
    jump = FakeSshd(tmp_path / "jump")
    jump.inside = {"inner.example": sshd.port}
    jump.start()
    try:
        stored(home / "key", sshd.private_key)
        stored(home / "jump-key", jump.private_key)
        configured(
            home,
            f"Host gate\n  HostName 127.0.0.1\n  Port {jump.port}\n  User hop\n"
            f"  IdentityFile {home}/jump-key\n"
            "Host inner\n  HostName inner.example\n  User bench\n  ProxyJump gate\n"
            f"  IdentityFile {home}/key\n",
        )
        with pytest.raises(
            CommandError, match=f"add --jump-fingerprint {re.escape(jump.fingerprint)}"
        ):
            benchmarked("inner")
        trusted = ["--jump-fingerprint", jump.fingerprint, "--fingerprint", sshd.fingerprint]
        benchmarked("inner", *trusted)
    finally:
        jump.stop()
    host = Host.objects.get(name="inner")
    assert (host.bastion.name, host.bastion.username) == ("gate", "hop")
    assert set(jump.led_to) == {"inner.example"}
    assert jump.commands == []


def test_key_that_others_can_read_is_warned_about(sshd, tmp_path):
    path = stored(tmp_path / "key", sshd.private_key, 0o644)
    named = [f"bench@127.0.0.1:{sshd.port}", "--identity", str(path)]
    said = benchmarked(*named, "--fingerprint", sshd.fingerprint)
    assert f"others can read the private key {path}: chmod 600 {path}" in said
    path.chmod(stat.S_IRUSR)
    assert "chmod" not in benchmarked(*named)


def test_known_machine_keeps_its_name_and_another_port_gets_its_own(sshd, tmp_path):
    path = stored(tmp_path / "key", sshd.private_key)
    (tmp_path / "second").mkdir()
    second = FakeSshd(tmp_path / "second")
    second.start()
    try:
        identity = ["--identity", str(path)]
        place = f"bench@127.0.0.1:{sshd.port}"
        benchmarked(place, *identity, "--fingerprint", sshd.fingerprint)
        with pytest.raises(CommandError, match="is known as '127-0-0-1': leave out --name"):
            benchmarked(place, "--name", "other")
        other_key = stored(tmp_path / "key2", second.private_key)
        other = [f"bench@127.0.0.1:{second.port}", "--identity", str(other_key)]
        benchmarked(*other, "--fingerprint", second.fingerprint)
    finally:
        second.stop()
    names = set(Host.objects.values_list("name", flat=True))
    assert names == {"127-0-0-1", f"127-0-0-1-{second.port}"}


def test_address_that_does_not_resolve_leaves_nothing_behind(sshd, tmp_path):
    path = stored(tmp_path / "key", sshd.private_key)
    with pytest.raises(CommandError, match=r"typo\.invalid does not resolve"):
        benchmarked("root@typo.invalid", "--identity", str(path))
    assert not Host.objects.exists()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("me@host", ("host", "me", None)),
        ("me@192.0.2.1:2200", ("192.0.2.1", "me", 2200)),
        ("me@2001:db8::1", ("2001:db8::1", "me", None)),
        ("me@[2001:db8::1]:2200", ("2001:db8::1", "me", 2200)),
        ("me@[2001:db8::1]", ("2001:db8::1", "me", None)),
        ("build1", ("build1", None, None)),
    ],
)
def test_destination_is_user_name_and_port(text, found):
    where = destination(text)
    assert (where.name, where.username, where.port) == found


@pytest.mark.parametrize(
    ("line", "socket"),
    [
        ("", "/run/agent"),
        ("IdentityAgent none", ""),
        ("IdentityAgent $OTHER", "/run/other"),
        ("IdentityAgent SSH_AUTH_SOCK", "/run/agent"),
        ("IdentityAgent /run/third", "/run/third"),
    ],
)
def test_agent_is_that_of_the_config_or_the_environment(home, line, socket):
    configured(home, f"Host *\n  {line}\n")
    environ = {"SSH_AUTH_SOCK": "/run/agent", "OTHER": "/run/other"}
    there = login(destination("x"), config=None, environ=environ, home=home)
    assert there.agent_socket == socket
    assert not there.is_configured


def test_certificate_that_cannot_be_read_is_named(sshd, tmp_path):
    (tmp_path / "key-cert.pub").write_text("nothing")
    with pytest.raises(SshConfigFault, match=r"the certificate .*key-cert\.pub cannot be read"):
        certificate_for(sshd.private_key, tmp_path / "key", ())
