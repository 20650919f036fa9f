"""docker-compose.yml for real: built, started, used, broken, taken down, copied and restored.

Runs wherever a Docker engine answers (DOCKER_HOST), with `./rackrate test --deep`. Where no registry of
images is reached, tests/containers/base_images.sh makes stand-ins first.
"""

import json
import os
import re
import secrets
import ssl
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import httpx
import pytest

from launcher.environment import KEYS
from tests.containers import deployment as form
from tests.containers.deployment import PASSWORD, SERVICES, SSH_TARGET, UID, Deployment
from tests.e2e.chaos_form import NOTES
from tests.e2e.stack import eventually

pytestmark = [pytest.mark.serial, pytest.mark.deep]
RUN_WITHIN_S = 300
SECRET = "signs what is sent to a hook"
OPENING = """
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import subscription_secret
print(subscription_secret(subscription=Subscription.objects.get()).decode())
"""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Built once; each test leaves it healthy."""
    if why := form.unavailable():
        pytest.skip(why)
    form.base_images()
    made = Deployment(tmp_path_factory.mktemp("deployment"))
    try:
        began = time.monotonic()
        made.run("build", "migrate")
        built = time.monotonic()
        made.up()
        NOTES.append(
            f"containers: built in {built - began:.0f} s, healthy {time.monotonic() - built:.0f} s later"
        )
        made.manage("user", "create", "first", "--role", "admin")
        yield made
    finally:
        made.remove()


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    """A directory that the containers' user may write to."""
    path = tmp_path / "exchange"
    path.mkdir()
    os.chown(path, UID, UID)
    tmp_path.chmod(0o755)
    return path


@pytest.fixture
def reader(deployment: Deployment, tmp_path: Path) -> Iterator[httpx.Client]:
    """Through the proxy, over TLS that is verified."""
    authority = ssl.create_default_context(
        cafile=str(deployment.authority(tmp_path / "authority.pem"))
    )
    base = f"https://localhost:{deployment.proxy_port}"
    with httpx.Client(base_url=base, verify=authority, timeout=30) as client:
        yield client


def _sign_in(deployment: Deployment, reader: httpx.Client, name: str) -> None:
    document = json.loads(deployment.manage("user", "link", name, "--json"))
    path = document["login_url"].removeprefix("https://localhost")
    page = reader.get(path)
    (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text))
    origin = str(reader.base_url).rstrip("/")
    entered = reader.post(path, data={"csrfmiddlewaretoken": token}, headers={"Origin": origin})
    assert entered.status_code == 302, entered.text[:500]


def test_containers_are_healthy_bounded_and_without_root(deployment):
    states = deployment.states()
    assert {name: states[name] for name in SERVICES} == dict.fromkeys(SERVICES, "healthy")
    for name in SERVICES:
        said = deployment.container(name)
        host = said["HostConfig"]
        assert host["Memory"] > 0, name
        assert host["PidsLimit"] > 0, name
        assert host["LogConfig"]["Config"]["max-size"] == "10m", name
        if name not in {"postgres", "redis"}:
            assert said["Config"]["User"] == f"{UID}:{UID}", name
            assert host["ReadonlyRootfs"], name
        # Not among the arguments, which every user of the machine may read.
        assert PASSWORD not in json.dumps(said["Args"]), name


def _keys_of(deployment: Deployment, service: str) -> set[str]:
    """The keys in a container's environment, by the names of their settings."""
    pairs = [pair.partition("=") for pair in deployment.container(service)["Config"]["Env"]]
    names = {name.removesuffix("_FILE") for name, _, value in pairs if value}
    return names & set(KEYS)


def test_containers_are_given_the_keys_that_they_need(deployment):
    assert {name: _keys_of(deployment, name) for name in ("web", "worker", "reaper", "beat")} == {
        "web": {"CREDENTIAL_PUBLIC_KEY", "WEB_KEY", "WEB_KEYS_PREVIOUS"},
        "worker": {"CREDENTIAL_KEY"},
        "reaper": {"CREDENTIAL_KEY"},
        "beat": set(),
    }
    said = deployment.run("exec", "-T", "web", "sh", "-c", "stat -c '%a %u %n' /srv/web-keys/*")
    files = ("credential_public_key", "web_key", "web_keys_previous")
    assert said.splitlines() == [f"600 {UID} /srv/web-keys/{name}" for name in files]


def _subscribe(reader: httpx.Client, token: str) -> httpx.Response:
    """Always the same request, which is answered anew from what the web has sealed."""
    document = {
        "channel": "webhook", "address": "https://hooks.example/x", "secret": SECRET,
        "kinds": ["run_failed"],
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "once"}
    return reader.post("/api/v1/subscriptions", json=document, headers=headers)


def test_credential_key_is_changed_as_the_documents_say(deployment, exchange, reader):
    token = deployment.manage("token", "create", "keys", "--scope", "admin").strip()
    first = _subscribe(reader, token)
    assert first.status_code == 201, first.text
    old, new = deployment.value("CREDENTIAL_KEY"), b64encode(secrets.token_bytes(32)).decode()
    # docs/security.md, "Another credential key", steps 2 to 5
    for key, previous in ((old, new), (new, old), (new, "")):
        deployment.set("CREDENTIAL_KEY", key)
        deployment.set("CREDENTIAL_KEYS_PREVIOUS", previous)
        deployment.up("--force-recreate", "migrate", "web", "worker", "reaper")
        # The proxy finds the new web server; an older Caddy loses a body that it sends twice.
        eventually(lambda: reader.get("/readyz").status_code == 200, "readiness")
        again = _subscribe(reader, token)
        assert again.headers.get("Idempotency-Replayed") == "true", again.text
        assert again.json() == first.json()
        opening = ["python", "manage.py", "shell", "--verbosity", "0", "--command", OPENING]
        assert deployment.run("exec", "-T", "worker", *opening).strip() == SECRET
        if (key, previous) == (new, old):
            done = json.loads(deployment.once(exchange, "rotate_keys", "--json"))
            assert sum(one["rewrapped"] for one in done["columns"]) >= 2
            assert not any(one["broken"] for one in done["columns"])


def test_first_admin_signs_in_over_tls_and_sees_the_example_offers(deployment, reader):
    assert reader.get("/hosts/").status_code == 302
    _sign_in(deployment, reader, "first")
    deployment.manage("demo", "load")
    assert reader.get("/hosts/").status_code == 200
    ranking = reader.get("/")
    assert ranking.headers["Strict-Transport-Security"]
    assert len(set(re.findall(r'href="/offers/([a-z0-9.-]+)/"', ranking.text))) >= 5
    session = next(one for one in reader.cookies.jar if "session" in one.name)
    assert session.secure


def test_run_is_done_although_each_service_is_killed_meanwhile(deployment, exchange):
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(exchange / "key"))
    os.chown(exchange / "key", UID, UID)
    deployment.set("AUTHORIZED_KEY", key.export_public_key().decode().strip())
    deployment.run(*SSH_TARGET, "up", "--build", "--detach", "--wait", "ssh-target")
    made = ["ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub"]
    # It makes its keys at its start.
    listening = ["sh", "-c", "until pidof sshd; do sleep 0.1; done"]
    deployment.run(*SSH_TARGET, "exec", "-T", "ssh-target", *listening)
    shown = deployment.run(*SSH_TARGET, "exec", "-T", "ssh-target", *made)
    target = [
        "benchmark", "bench@ssh-target", "--name", "target", "--identity", "/in/key",
        "--fingerprint", shown.split()[1], "--probe", "cmips", "--quiet", "--json",
    ]  # fmt: skip
    # Known and measured once, so that what follows needs no key.
    deployment.once(exchange, *target, "--set", "seconds=0.5")
    began = time.monotonic()
    command = [
        "run",
        "--rm",
        "--detach",
        "commands",
        "python",
        "manage.py",
        "benchmark",
        "target",
        "--probe",
        "cmips",
    ]
    deployment.run(*command, "--set", "seconds=20", "--set", "repeats=3", "--label", "part=killed")

    def states() -> list[str]:
        listed = json.loads(deployment.manage("runs", "list", "--host", "target", "--json"))
        return [one["state"] for one in listed]

    eventually(lambda: states()[:1] == ["running"], "a running run")
    for name in ("worker", "redis", "beat", "reaper", "postgres"):
        deployment.run("kill", "--signal", "KILL", name)
        deployment.run("up", "--detach", "--wait", "--no-recreate", name)
    eventually(lambda: states() == ["done", "done"], "two runs done", within_s=RUN_WITHIN_S)
    NOTES.append(
        f"containers: run done {time.monotonic() - began:.0f} s after five services were killed"
    )
    left = deployment.run(*SSH_TARGET, "exec", "-T", "ssh-target", "sh", "-c", "ls -a /tmp; ps ax")
    assert "rackrate" not in left
    deployment.become(dict.fromkeys(SERVICES, "healthy"))


def test_worker_and_beat_are_unhealthy_while_the_broker_is_gone(deployment, reader):
    deployment.run("stop", "redis")
    deployment.become({"worker": "unhealthy", "beat": "unhealthy", "reaper": "healthy"})
    # Readers are told, and the process is not taken for dead.
    assert reader.get("/readyz").status_code == 503
    assert reader.get("/healthz").status_code == 200
    deployment.run("start", "redis")
    deployment.become(dict.fromkeys(SERVICES, "healthy"))
    eventually(lambda: reader.get("/readyz").status_code == 200, "readiness")


def test_readers_are_served_by_the_other_web_server_when_one_ends(deployment, reader):
    ports = f"{deployment.proxy_port + 1}-{deployment.proxy_port + 5}"
    deployment.set("WEB_PORT", ports)
    deployment.up("--scale", "web=2")
    first, _second = deployment.run("ps", "--quiet", "web").split()
    subprocess.run(["docker", "kill", first], check=True, capture_output=True)
    answers = [reader.get("/healthz").status_code for _ in range(20)]
    assert answers == [200] * 20
    deployment.up("--scale", "web=1")


def test_rows_survive_when_it_is_taken_down_and_up(deployment):
    before = deployment.manage("user", "list", "--json")
    deployment.run(*form.PROXY, "down", "--timeout", "100")
    began = time.monotonic()
    deployment.up()
    NOTES.append(f"containers: up again in {time.monotonic() - began:.0f} s")
    assert deployment.manage("user", "list", "--json") == before


def test_copy_is_restored_when_all_volumes_are_lost(deployment, exchange):
    deployment.manage("demo", "load")
    before = deployment.manage("user", "list", "--json")
    deployment.once(exchange, "backup", "/in", "--keep", "3")
    (copy,) = exchange.glob("*.sealed")
    deployment.run(*form.PROXY, "down", "--volumes", "--timeout", "5")
    deployment.up("postgres", "redis", "migrate")
    began = time.monotonic()
    deployment.once(exchange, "restore", f"/in/{copy.name}")
    NOTES.append(f"containers: restored in {time.monotonic() - began:.0f} s")
    deployment.up()
    assert deployment.manage("user", "list", "--json") == before


def test_bundled_servers_are_not_started_when_others_are_named(deployment):
    external = ("docker-compose.external.yml",)
    started = set(deployment.run("config", "--services", files=external).split())
    assert started == {"migrate", "web", "worker", "beat", "reaper"}
    only_redis = deployment.run("--profile", "redis", "config", "--services", files=external)
    assert "redis" in only_redis.split()
    assert "postgres" not in only_redis.split()
