"""Each process has the keys that it needs: the web opens no credentials, beat nothing."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.hashers import make_password
from django_otp.oath import totp

from backend.accounts.models import Authenticator, User
from backend.accounts.services.tokens import token_create
from backend.accounts.services.workspaces import default_workspace
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import subscription_secret
from launcher.environment import KEYS
from launcher.paths import MANAGE
from tests import factories
from tests.e2e.stack import Stack, eventually

pytestmark = pytest.mark.serial
PASSWORD = "a horse with correct batteries"
SECRET = "signs what is sent to a hook"
SETTINGS = {"HTTPS_ONLY": "0", "ALLOWED_HOSTS": "127.0.0.1"}
OPENING = """
import django; django.setup()
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import subscription_secret
subscription_secret(subscription=Subscription.objects.get())
"""


@pytest.fixture(scope="module")
def stack(make_stack: Any, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    static = {"STATIC_ROOT": str(tmp_path_factory.mktemp("static"))}
    subprocess.run(
        [sys.executable, str(MANAGE), "collectstatic", "--no-input", "-v", "0"],
        env={**os.environ, **static},
        check=True,
    )
    made: Stack = make_stack(10, SETTINGS | static)
    made.up("web")
    return made


@pytest.fixture
def client(stack: Stack) -> Any:
    with httpx.Client(base_url=f"http://127.0.0.1:{stack.web_port}", timeout=30) as made:
        # Beat asks for the ticks that it looks at.
        eventually(lambda: is_ready(made), f"a web server and an engine that ticks: {stack.said()}")
        yield made


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def names_of(stack: Stack, program: str) -> set[str]:
    """The keys in the environment of a program, by the names of their settings."""
    content = Path(f"/proc/{stack.pid(program)}/environ").read_bytes()
    names = {entry.partition(b"=")[0].decode() for entry in content.split(b"\0")}
    return {name for name in KEYS if name in names or f"{name}_FILE" in names}


def test_each_process_is_given_the_keys_that_it_needs(stack: Stack, client: httpx.Client) -> None:
    assert names_of(stack, "web") == {"CREDENTIAL_PUBLIC_KEY", "WEB_KEY", "WEB_KEYS_PREVIOUS"}
    assert names_of(stack, "beat") == set()
    assert "CREDENTIAL_KEY" in names_of(stack, "worker")


def test_web_seals_credentials_that_only_others_open(stack: Stack, client: httpx.Client) -> None:
    owner = factories.owner()
    _, token = token_create(workspace=default_workspace(), owner=owner, name="tests", scope="admin")
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "once"}
    document = {
        "channel": "webhook", "address": "https://hooks.example/x", "secret": SECRET,
        "kinds": ["run_failed"],
    }  # fmt: skip
    answers = [
        client.post("/api/v1/subscriptions", json=document, headers=headers) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201], answers[0].text
    # It opens the answer that it keeps for the second time.
    assert answers[1].headers["Idempotency-Replayed"] == "true"
    assert answers[0].json() == answers[1].json()
    assert subscription_secret(subscription=Subscription.objects.get()) == SECRET.encode()
    done = subprocess.run(
        [sys.executable, "-c", OPENING], env=stack.environment_of("web"), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "KeyMissing: this process opens no credentials: it has no CREDENTIAL_KEY" in done.stderr


def test_web_checks_the_codes_of_second_factors(stack: Stack, client: httpx.Client) -> None:
    user = factories.user(username="ada", role="admin")
    user.password = make_password(PASSWORD, hasher="scrypt")  # the only one that the web knows
    user.save()
    assert signed_in(client).headers["Location"] == "/"
    page = client.get("/accounts/second-factor/").text
    assert "data:image/svg+xml" in page, stack.said()
    assert "recovery" in form(client, "/accounts/second-factor/", code=code_of(user)).text.lower()
    client.cookies.clear()
    # A code works once, and the next one only comes in half a minute.
    Authenticator.objects.update(last_t=-1)
    assert signed_in(client).headers["Location"] == "/accounts/code/"
    assert client.get("/accounts/").is_redirect
    assert form(client, "/accounts/code/", code=code_of(user)).is_redirect
    assert client.get("/accounts/").status_code == 200


def signed_in(client: httpx.Client) -> httpx.Response:
    client.get("/accounts/login/")
    return form(client, "/accounts/login/", username="ada", password=PASSWORD)


def form(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    return client.post(path, data=fields | {"csrfmiddlewaretoken": client.cookies["csrftoken"]})


def code_of(user: User) -> str:
    return f"{totp(Authenticator.objects.get(user=user).key()):06}"
