"""No secret is anywhere but sealed in its row and in the memory of a worker.

Secrets are planted through the API and the pages, machines are rented and hosts logged in to by
real processes, much of it in vain; then every place is searched for each of them in every spelling.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.contrib.auth.hashers import make_password

from backend.accounts.services.tokens import token_create
from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Host,
    HostState,
    Resource,
    Run,
)
from backend.benchmarks.services.login_keys import host_private_key
from backend.config import keys
from backend.notifications.models import Notice
from launcher.paths import MANAGE
from tests import factories
from tests.e2e.canaries import (
    Net,
    broker_values,
    database_cells,
    database_files,
    file_contents,
    indiscreet_server,
    overheard,
)
from tests.e2e.stack import Stack, eventually
from tests.fakes.fake_provider import FakeProvider
from tests.fakes.receivers import web_server
from tests.fakes.sshd import FakeSshd

LEASE_S = 10
REGION = "here-1"
TINY = {"seconds": 0.2, "repeats": 2, "quiet_budget_s": 0}
LIMITS = {
    "CLOUD_ENDPOINTS": "1", "WEBHOOK_ALLOW_PRIVATE": "1", "LOG_LEVEL": "DEBUG", "REAP_S": "2",
    "PROVIDER_SETTLE_S": "1", "PUBLIC_READ": "1", "HTTPS_ONLY": "0", "ALLOWED_HOSTS": "127.0.0.1",
}  # fmt: skip


# --- the net itself -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        lambda s: s,
        lambda s: s.encode().hex().upper(),
        lambda s: b64encode(s.encode()).decode(),
        lambda s: b64encode(b'{"token": "' + s.encode() + b'"}').decode(),
        lambda s: b64encode(b"ab" + s.encode() + b"c").decode(),
        lambda s: httpx.QueryParams({"q": s}).__str__(),
        lambda s: json.dumps({"text": s}),
        lambda s: f"\\x{s.encode().hex()}",
    ],
)
def test_net_catches_a_secret_in_another_encoding(written: Callable[[str], str]) -> None:
    net = Net()
    net.plant("odd", 'pa/ss+wo"rd\n0123456789')
    net.see("log", b"nothing of it")
    assert net.caught() == []
    net.see("log", f"before {written(net.canaries['odd'])} after".encode())
    assert net.caught() != []


# --- the whole --------------------------------------------------------------------------------------


@dataclass
class Caller:
    """Talks to the web process over HTTP; the net sees every answer."""

    net: Net
    client: httpx.Client

    def _answered(self, answer: httpx.Response) -> httpx.Response:
        head = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        # The address is the caller's own.
        self.net.see("answers", head.encode() + b"\n" + answer.content)
        return answer

    def get(self, path: str) -> httpx.Response:
        return self._answered(self.client.get(path))

    def post(self, path: str, document: object) -> httpx.Response:
        return self._answered(self.client.post(f"/api/v1/{path}", json=document))

    def raw(self, path: str, body: str) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        return self._answered(self.client.post(f"/api/v1/{path}", content=body, headers=headers))

    def form(self, path: str, fields: dict[str, str]) -> httpx.Response:
        token = self.client.cookies["csrftoken"]
        return self._answered(self.client.post(path, data={**fields, "csrfmiddlewaretoken": token}))


def key_line(pem: str) -> str:
    """A line from the middle of a private key."""
    lines = [line for line in pem.splitlines() if line and not line.startswith("-")]
    return lines[len(lines) // 2][:60]


def service_account(net: Net, token_uri: str) -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    net.plant("service account key", key_line(key.decode()))
    return json.dumps(
        {
            "type": "service_account", "project_id": "bench-1", "client_email": "b@c.example",
            "private_key_id": net.plant("service account key id", secrets.token_hex(20)),
            "private_key": key.decode(), "token_uri": token_uri,
        }
    )  # fmt: skip


@pytest.fixture
def net() -> Net:
    found = Net()
    private_key = keys.private_key(settings.CREDENTIAL_KEY).private_bytes_raw()
    for name, key in {
        "credential key": settings.CREDENTIAL_KEY,
        "private key of the credentials": private_key,
        "key of the web": settings.WEB_KEYS[0],
    }.items():
        found.plant(name, b64encode(key).decode())
    found.plant("pepper", settings.TOKEN_PEPPER)
    found.plant("signing key", settings.SECRET_KEY)
    return found


@pytest.fixture
def busy(make_stack: Any, tmp_path: Path) -> Stack:
    """Everything that runs in an installation, talking as much as it can."""
    static = {"STATIC_ROOT": str(tmp_path / "static")}
    made: Stack = make_stack(LEASE_S, LIMITS | static)
    subprocess.run(
        [sys.executable, str(MANAGE), "collectstatic", "--no-input", "-v", "0"],
        env={**os.environ, **static},
        check=True,
    )
    made.up("web")
    return made


@pytest.fixture
def caller(net: Net, busy: Stack) -> Iterator[Caller]:
    _, token = token_create(
        workspace=default_workspace(), owner=factories.owner(), name="tests", scope="admin"
    )
    net.plant("API token", token)
    url = f"http://127.0.0.1:{busy.web_port}"
    with httpx.Client(base_url=url, timeout=30) as client:

        def is_up() -> bool:
            try:
                return client.get("/healthz").status_code == 200
            except httpx.TransportError:
                return False

        eventually(is_up, "the web server", within_s=60)
        client.headers["Authorization"] = f"Bearer {token}"
        yield Caller(net, client)


def accounts_planted(caller: Caller, address: str, folder: Path) -> None:
    """An account at each cloud; the real ones are a server that refuses and quotes."""
    net = caller.net
    token = net.plant("cloud token", f"hc-{secrets.token_urlsafe(30)}")
    key = {
        "access_key_id": net.plant("cloud key id", f"AKIA{secrets.token_hex(8).upper()}"),
        "secret_access_key": net.plant("cloud key", f"{secrets.token_urlsafe(28)}/+=="),
    }
    fake = net.plant("faked cloud's token", f"fk-{secrets.token_urlsafe(30)}")
    key_file = service_account(net, f"{address}/token")
    documents: list[dict[str, Any]] = [
        {"name": "aws", "provider": "aws", "access": "static_key", "secret": key,
         "settings": {"regions": ["eu-west-1"], "endpoint_url": address}},
        {"name": "hetzner", "provider": "hetzner", "access": "token", "secret": {"token": token},
         "settings": {"regions": ["fsn1"], "endpoint_url": address}},
        {"name": "gcp", "provider": "gcp", "access": "static_key",
         "secret": {"service_account_json": key_file},
         "settings": {"regions": ["europe-west1"], "project": "bench-1"}},
        {"name": "fake", "provider": "fake", "access": "token", "secret": {"token": fake},
         "settings": {"regions": [REGION], "folder": str(folder)}},
    ]  # fmt: skip
    for document in documents:
        name = document["name"]
        bad = {**document, "settings": {**document["settings"], "regions": ["no such"]}}
        assert caller.post("cloud-accounts", bad).status_code == 400
        assert caller.post("cloud-accounts", {**document, "colour": "red"}).status_code == 400
        twisted = {**document, "secret": {**document["secret"], "extra": token}}
        assert caller.post("cloud-accounts", twisted).status_code == 400
        assert caller.raw("cloud-accounts", json.dumps(document)[:-1]).status_code == 400
        made = caller.post("cloud-accounts", document)
        assert made.status_code == 201, made.text
        path = f"cloud-accounts/{made.json()['id']}"
        checked = caller.post(f"{path}/check", {})
        # The library of one cloud takes seconds to load.
        expected = {200} if name == "fake" else {502, 504}
        assert checked.status_code in expected, (name, checked.text)
        eventually(lambda path=path: not _is_asked(caller, path), f"the check of {name}")
        again = caller.post(f"{path}/secret", {"secret": document["secret"]})
        assert again.status_code == 200
        assert caller.post(f"{path}/secret", {"secret": {"token": [token]}}).status_code == 400
        assert caller.get(f"/api/v1/{path}").status_code == 200


def _is_asked(caller: Caller, path: str) -> bool:
    shown = caller.get(f"/api/v1/{path}").json()
    assert shown["checking"] or shown["identity"] or shown["check_error"]
    return bool(shown["checking"])


def host_planted(caller: Caller, sshd: FakeSshd) -> Host:
    """A host to log in to, and attempts to add one that are refused."""
    key = sshd.private_key
    caller.net.plant("SSH key", key_line(key))
    document = {
        "name": "standing", "address": "127.0.0.1", "port": sshd.port, "username": sshd.username,
        "private_key": key,
    }  # fmt: skip
    assert caller.post("hosts", {**document, "port": 0}).status_code == 400
    assert caller.post("hosts", {**document, "private_key": key[:-80]}).status_code == 400
    assert caller.post("hosts", {**document, "address": "-x"}).status_code == 400
    made = caller.post("hosts", document)
    assert made.status_code == 201, made.text
    path = f"hosts/{made.json()['id']}"
    scanned = caller.post(f"{path}/scan", {})
    assert scanned.status_code == 200, scanned.text
    assert caller.post(f"{path}/approve", {"fingerprint_sha256": "SHA256:x"}).status_code == 409
    assert caller.post(f"{path}/approve", {"fingerprint_sha256": sshd.fingerprint}).is_success
    return Host.objects.get(pk=made.json()["id"])


def webhook_planted(caller: Caller, url: str) -> None:
    secret = caller.net.plant("webhook secret", secrets.token_urlsafe(24))
    document = {"channel": "webhook", "address": url, "secret": secret, "kinds": ["run_failed"]}
    assert caller.post("subscriptions", {**document, "kinds": ["no"]}).status_code == 400
    made = caller.post("subscriptions", document)
    assert made.status_code == 201, made.text


def pages_visited(caller: Caller) -> None:
    """Signs in as a person and sends forms that are refused; every page is looked at."""
    net, client = caller.net, caller.client
    password = net.plant("password", f"{secrets.token_urlsafe(12)} ä<&>")
    user = factories.user(username="olga", role="admin")
    user.password = make_password(password, hasher="scrypt")  # the only one that the web knows
    user.save()
    bearer = client.headers.pop("Authorization")
    caller.get("/accounts/login/")
    wrong = net.plant("mistyped password", f"{password[:10]}-{secrets.token_hex(4)}")
    assert caller.form("/accounts/login/", {"username": "olga", "password": wrong}).is_success
    assert caller.form("/accounts/login/", {"username": "olga", "password": password}).is_redirect
    token = net.canaries["cloud token"]
    forms_sent = {
        "/accounts/clouds/new/hetzner/": {"name": "x", "access": "token", "secret_token": token},
        "/accounts/clouds/new/gcp/": {
            "name": "x", "access": "static_key", "secret_service_account_json": f'{{"k": "{token}"}}',
        },
        "/hosts/new/": {"name": "x", "private_key": net.canaries["SSH key"]},
        "/subscriptions/new/": {"channel": "webhook", "secret": net.canaries["webhook secret"]},
    }  # fmt: skip
    for path, fields in forms_sent.items():
        caller.get("/hosts/")
        assert caller.form(path, fields).status_code == 200, path
    account_ids = [row["id"] for row in caller.get("/api/v1/cloud-accounts").json()["results"]]
    run_ids = [str(pk) for pk in Run.objects.values_list("pk", flat=True)]
    for path in (
        *("/", "/hosts/", "/runs/", "/campaigns/", "/schedules/", "/accounts/clouds/"),
        *(f"/accounts/clouds/{one}/" for one in account_ids),
        *(f"/runs/{one}/" for one in run_ids),
        *(f"/api/v1/{name}" for name in ("hosts", "runs", "subscriptions", "tokens", "samples")),
        *(f"/api/v1/runs/{one}" for one in run_ids),
        *(f"/api/v1/runs/{one}/archive" for one in run_ids),
        *("/api/v1/cloud-accounts.csv", "/admin/", "/admin/accounts/auditentry/"),
    ):
        answer = caller.get(path)
        assert answer.status_code in {200, 302, 403, 409}, (path, answer.status_code)
    client.headers["Authorization"] = bearer


def machine_rented(caller: Caller, **given: Any) -> Run:
    """A run by offer; while its machine lives its key is a canary too."""
    asked = {
        "offer": "fake-small", "profile": "quick", "probes": ["cmips"], "parameters": TINY,
        "budget": {"amount": "5", "currency": "USD"}, **given,
    }  # fmt: skip
    answer = caller.post("runs", asked)
    assert answer.status_code == 202, answer.text
    run = Run.objects.select_related("host").get(pk=answer.json()["id"])

    def has_key() -> bool:
        run.host.refresh_from_db()
        return run.host.sealed_private_key is not None

    eventually(has_key, "the key of the rented machine")
    caller.net.plant(f"key of {run.host.name}", key_line(host_private_key(host=run.host).decode()))
    return run


def ended(run: Run) -> Run:
    def is_over() -> bool:
        run.refresh_from_db()
        return run.state in TERMINAL_STATES

    eventually(is_over, f"the end of run {run.pk}")
    return run


@pytest.mark.serial
@pytest.mark.native
def test_no_secret_leaks_anywhere_when_rentals_go_wrong(net, busy, caller, tmp_path):
    standing = tmp_path / "standing"
    standing.mkdir()
    sshd = FakeSshd(standing)
    sshd.start()
    try:
        with (
            overheard(net, busy.broker_url),
            indiscreet_server() as address,
            FakeProvider(tmp_path) as provider,
            web_server() as hooks,
        ):
            accounts_planted(caller, address, provider.folder)
            host = host_planted(caller, sshd)
            webhook_planted(caller, hooks.url)
            region = factories.region(REGION, provider_slug="fake")
            offer = factories.offer(
                "fake-small", provider_slug="fake", region=region, name="fake.small", arch="x86_64"
            )
            factories.price(offer, "0.36")
            good = ended(machine_rented(caller))
            assert good.state == "done", (good.failure_reason, good.failure_detail, busy.said())
            asked = {
                "host": str(host.pk),
                "profile": "quick",
                "probes": ["cmips"],
                "parameters": TINY,
            }
            on_host = ended(Run.objects.get(pk=caller.post("runs", asked).json()["id"]))
            assert on_host.state == "done"
            sshd.change_host_key()
            refused = ended(Run.objects.get(pk=caller.post("runs", asked).json()["id"]))
            assert refused.failure_reason == "auth"
            eventually(lambda: bool(hooks.requests), "the notice of the failure")
            pages_visited(caller)
            eventually(lambda: not provider.cloud.alive(), "an empty cloud")
    finally:
        sshd.stop()
    for content in (*database_cells(), *database_files()):
        net.see("database", content)
    for content in broker_values(busy.broker_url):
        net.see("broker", content)
    shutil.rmtree(busy.web_keys)  # the one place that the web process is given its keys in
    for content in file_contents([busy.directory, standing]):
        net.see("logs and files", content)
    # The net hangs where something passes by.
    assert b"workers.run_step" in b"".join(net.seen["messages"])
    assert b"backend.config.celery" in b"".join(net.seen["arguments"])
    assert str(good.pk).encode() in b"".join(net.seen["logs and files"])
    assert b"the request is not valid" in b"".join(net.seen["answers"])
    assert b"cloud_account_use" in b"".join(net.seen["database"])
    assert Host.objects.get(pk=good.host_id).state == HostState.GONE
    assert Resource.objects.get(run=good).state == "gone"
    assert Notice.objects.exclude(sent_at=None).exists()
    assert net.seen["broker"]
    assert len(net.canaries) > 12
    assert net.caught() == []
