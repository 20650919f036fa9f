"""Cookies, headers and caches under HTTPS, and secrets that no log line or error page shows."""

import json
import logging
import os
import subprocess
import sys
from base64 import b64encode

import pytest
from django.conf import LazySettings
from django.conf import settings as server
from django.test import Client

from backend.core.crypto import seal, unseal
from backend.core.logs import mask_secrets
from tests import factories

PAGES = ("/metrics/", "/api/v1/metrics", "/healthz", "/nothing/here/")


@pytest.mark.django_db
@pytest.mark.parametrize("address", PAGES)
def test_every_answer_refuses_features_and_other_sites(client: Client, address: str) -> None:
    answer = client.get(address)
    assert "camera=()" in answer["Permissions-Policy"]
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.django_db
def test_page_of_somebody_who_has_signed_in_is_not_stored(client: Client) -> None:
    assert "no-store" not in client.get("/metrics/").get("Cache-Control", "")
    client.force_login(factories.user())
    assert client.get("/metrics/")["Cache-Control"] == "no-store"
    # The API's answers may be kept by who got them, and are asked about each time.
    assert client.get("/api/v1/metrics")["Cache-Control"] == "private, no-cache"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/accounts/logout/", "/admin/logout/"])
def test_signing_out_clears_what_the_browser_kept(client: Client, address: str) -> None:
    client.force_login(factories.user(is_staff=True))
    assert client.post(address)["Clear-Site-Data"] == '"cache"'


def test_plain_http_leads_pages_on_and_refuses_programs(
    client: Client, settings: LazySettings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/hosts/")["Location"] == "https://testserver/hosts/"
    for address in ("/api/v1/metrics", "/feeds/rf_0123456789abcdef/view.csv"):
        refused = client.get(address)
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
        assert "Location" not in refused
    assert client.get("/healthz").status_code == 200


def test_cookies_and_hsts_are_strict_under_https() -> None:
    names = (
        "SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SESSION_COOKIE_SECURE", "SESSION_COOKIE_DOMAIN",
        "SESSION_COOKIE_PATH", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD",
    )  # fmt: skip
    program = (
        "import json; from backend.config import settings as s; "
        f"print(json.dumps([getattr(s, n, None) for n in {names!r}]))"
    )

    def read(**given: str) -> list[object]:
        environment = {**os.environ, "HTTPS_ONLY": "1", **given}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        return json.loads(done.stdout)

    assert read()[:4] == ["__Host-sessionid", "__Host-csrftoken", True, None]
    assert read()[5:] == [True, False]
    assert read(HSTS_SUBDOMAINS="0", HSTS_PRELOAD="1")[5:] == [False, True]


def test_secret_of_the_server_is_masked_by_value_in_logs() -> None:
    record = logging.makeLogRecord({"msg": "sent %s", "args": (server.SECRET_KEY,)})
    formatter = logging.Formatter("%(message)s")
    assert mask_secrets(formatter.format(record)) == "sent ***"
    assert mask_secrets(f"redis://:{server.TOKEN_PEPPER}@host") == "redis://:***@host"
    for key in (server.CREDENTIAL_KEY, *server.WEB_KEYS):
        assert mask_secrets(f"sealed by {b64encode(key).decode()}") == "sealed by ***"


def test_secret_is_masked_once_it_was_opened() -> None:
    value = "-----BEGIN KEY-----\nc2VjcmV0IGtleSBvZiBhIGhvc3Q=\n-----END KEY-----"
    assert mask_secrets(value) == value
    unseal(seal(value.encode(), identity="row"), identity="row")
    assert mask_secrets(f"tried {value.splitlines()[1]} in vain") == "tried *** in vain"


@pytest.mark.django_db
def test_error_page_of_debug_shows_no_secret_by_value(
    client: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        harmless = f"amqp {server.TOKEN_PEPPER}"
        raise RuntimeError(harmless)

    settings.DEBUG = True
    client.raise_request_exception = False
    monkeypatch.setattr("backend.accounts.pages.activity.views.demand", failing)
    page = client.get("/activity/").content.decode()
    assert "RuntimeError" in page
    assert server.TOKEN_PEPPER not in page
