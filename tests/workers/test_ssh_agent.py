"""Logins by the keys of a real ssh-agent, which has to be switched on, and what is said when it cannot help."""

import asyncio
import shutil
import subprocess

import pytest

from backend.benchmarks.services.login_keys import fresh_private_key, host_key_seal, login_key_get
from backend.foundation.errors import DriverError, Reason
from tests import factories
from tests.workers.conftest import driven, tiny_run
from workers.engine.steps import target_of
from workers.remote import ssh

pytestmark = [
    pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="needs OpenSSH's ssh-agent"),
    pytest.mark.django_db(transaction=True),
]


class Agent:
    """An ssh-agent that ends with the test."""

    def __init__(self, folder):
        self.folder = folder
        self.socket = folder / "agent"
        self.process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", str(self.socket)], stdout=subprocess.PIPE
        )
        # It names its socket once it listens.
        assert b"SSH_AUTH_SOCK" in self.process.stdout.readline()

    def add(self, name):
        """Makes a key and gives it to the agent alone; returns the public one."""
        path = self.folder / name
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run(made, check=True)
        added = ["ssh-add", "-q", str(path)]
        subprocess.run(added, check=True, env={"SSH_AUTH_SOCK": str(self.socket)})
        path.unlink()
        return path.with_suffix(".pub").read_text()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def agent(tmp_path_factory, settings):
    agent = Agent(tmp_path_factory.mktemp("a"))
    settings.SSH_AGENT_SOCKET = str(agent.socket)
    try:
        yield agent
    finally:
        agent.stop()


@pytest.fixture
def host(sshd, settings):
    """Without a private key of its own; nobody has let in that of Rackrate."""
    settings.SSH_ALLOW_PRIVATE = True
    host = factories.host(port=sshd.port, username=sshd.username, host_key=sshd.host_key)
    login_key_get(workspace=host.workspace)
    return host


def refusal(host):
    with pytest.raises(DriverError) as raised:
        asyncio.run(ssh.connect(target_of(host)))
    assert (raised.value.reason, raised.value.retryable) == (Reason.AUTH, False)
    return raised.value.detail


def test_key_of_the_agent_measures_a_host(host, sshd, agent):
    agent.add("other")
    sshd.allow(agent.add("right"))
    run = driven(tiny_run(host))
    assert (run.state, run.failure_detail) == ("done", "")


def test_agent_is_not_asked_unless_it_is_set(host, sshd, agent, settings, monkeypatch):
    sshd.allow(agent.add("right"))
    settings.SSH_AGENT_SOCKET = ""
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent.socket))
    assert "refuses the key" in refusal(host)


def test_host_with_a_key_of_its_own_never_gets_the_agent(host, sshd, agent):
    sshd.allow(agent.add("right"))
    host_key_seal(host=host, private_key=fresh_private_key())
    host.save()
    assert "agent" not in refusal(host)


def test_keys_that_are_let_in_nowhere_are_named(host, sshd, agent):
    agent.add("first")
    agent.add("second")
    said = refusal(host)
    assert said.endswith("; the SSH agent offered first, second")
    assert sshd.commands == []


def test_agent_without_keys_says_how_to_add_one(host, agent):
    assert f"SSH_AGENT_SOCKET={agent.socket} has no keys: add one with ssh-add" in refusal(host)


@pytest.mark.parametrize("kind", ["none", "no socket"])
def test_agent_that_is_away_says_what_to_do(host, settings, tmp_path, kind):
    path = tmp_path / "agent"
    if kind == "no socket":
        path.write_text("")
    settings.SSH_AGENT_SOCKET = str(path)
    said = refusal(host)
    assert "does not answer" in said
    assert "start ssh-agent there for the user that runs the worker, or unset the setting" in said
