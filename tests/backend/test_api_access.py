"""Who may do what: tokens, sessions, scopes, PUBLIC_READ, limits, and how refusals look."""

import base64
import datetime as dt
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client

from backend.accounts.models import ApiToken, AuditEntry
from backend.accounts.selectors import tokens as selectors
from backend.accounts.services import tokens as services
from backend.core import clock
from tests import factories
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db
NOBODY = "00000000-0000-4000-8000-000000000000"  # the id of nothing
READS = ("rankings", "offers", "providers", "regions", "prices", "fx-rates", "metrics", "columns")
MORE_READS = ("hosts", "runs", "samples", "evidence", "schema/", "docs/", "schemas/host.json")


def basic(password: str, user: str = "anything") -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


@pytest.mark.parametrize("name", [*READS, *MORE_READS])
def test_reading_is_public_only_where_that_is_set(
    client: Client, settings: LazySettings, token: Callable[..., str], name: str
) -> None:
    settings.PUBLIC_READ = True
    assert client.get(f"{API}/{name}").status_code == 200
    settings.PUBLIC_READ = False
    refused = client.get(f"{API}/{name}")
    assert refused.status_code == 401
    assert "Bearer" in refused["WWW-Authenticate"]
    known = client.get(f"{API}/{name}", headers={"authorization": f"Bearer {token()}"})
    assert known.status_code == 200


def test_refusal_is_a_problem_document_and_never_a_redirect(
    client: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_READ = False
    refused = client.get(f"{API}/rankings", headers={"accept": "text/html"})
    assert fields(refused) == []
    assert refused.json()["title"] == "Unauthorized"
    assert client.get(f"{API}/rankings.csv")["Content-Type"].startswith("text/plain")


def test_token_works_as_bearer_and_as_password_of_basic(
    client: Client, settings: LazySettings, token: Callable[..., str]
) -> None:
    settings.PUBLIC_READ = False
    plaintext = token()
    for headers in (
        {"authorization": f"Bearer {plaintext}"},
        {"authorization": f"bearer {plaintext}"},
        basic(plaintext),
        basic(plaintext, user=""),
    ):
        assert client.get(f"{API}/rankings", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "Bearer rr_0000000000",
        "Bearer rr_",
        "Bearer",
        "Bearer \x00",
        "Bearer ünknown",
        "Basic not-base64!",
        basic("rr_wrong")["authorization"],
        "Digest rr_x",
    ],
)
def test_bad_token_is_401_also_where_reading_is_public(
    client: Client, settings: LazySettings, header: str
) -> None:
    settings.PUBLIC_READ = True
    refused = client.get(f"{API}/rankings", headers={"authorization": header})
    assert refused.status_code == 401
    assert "Bearer" in refused["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("get", "rankings", "read"),
        ("get", "hosts", "read"),
        ("post", "hosts", "run"),
        ("post", f"hosts/{NOBODY}/scan", "run"),
        ("post", f"hosts/{NOBODY}/approve", "run"),
        ("post", "runs", "run"),
        ("post", f"runs/{NOBODY}/cancel", "run"),
        ("get", "tokens", "admin"),
        ("post", "tokens", "admin"),
        ("delete", f"tokens/{NOBODY}", "admin"),
    ],
)
def test_scope_decides_and_each_includes_those_below(
    client: Client, caller: Callable[..., Client], method: str, path: str, needed: str
) -> None:
    order = ["read", "write", "run", "admin"]
    anonymous = getattr(client, method)(f"{API}/{path}", content_type="application/json")
    assert (anonymous.status_code == 401) is (needed != "read")
    for scope in order:
        known = getattr(caller(scope), method)(f"{API}/{path}", content_type="application/json")
        is_allowed = order.index(scope) >= order.index(needed)
        assert (known.status_code != 403) is is_allowed, scope
        assert known.status_code != 401


def test_session_reads_with_its_role_and_posts_need_its_csrf_token(
    settings: LazySettings,
) -> None:
    settings.PUBLIC_READ = False
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user(role="run"))
    assert client.get(f"{API}/rankings").status_code == 200
    refused = client.post(f"{API}/runs", "{}", content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    client.force_login(factories.user(role="read"))
    assert client.get(f"{API}/tokens").status_code == 403


def test_expired_and_revoked_tokens_are_refused(
    client: Client, token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = token(name="brief", expires_days=1)
    lasting = token(name="lasting")
    services.token_revoke(token=ApiToken.objects.get(name="lasting"))
    later = clock.now() + dt.timedelta(hours=25)
    assert (
        client.get(f"{API}/rankings", headers={"authorization": f"Bearer {brief}"}).status_code
        == 200
    )
    monkeypatch.setattr(clock, "now", lambda: later)
    for plaintext in (brief, lasting):
        refused = client.get(f"{API}/rankings", headers={"authorization": f"Bearer {plaintext}"})
        assert refused.status_code == 401


def test_use_of_a_token_is_noted_at_most_once_a_minute(
    caller: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = clock.now()
    known = caller()
    noted = []
    for seconds in (0, 30, 59, 61):
        at = start + dt.timedelta(seconds=seconds)
        monkeypatch.setattr(clock, "now", lambda at=at: at)
        known.get(f"{API}/metrics")
        noted.append(ApiToken.objects.get().last_used_at)
    assert noted == [start, start, start, start + dt.timedelta(seconds=61)]


def test_only_an_hmac_of_the_token_is_stored(token: Callable[..., str]) -> None:
    plaintext = token()
    stored = ApiToken.objects.get()
    assert plaintext == f"rr_{stored.lookup}{plaintext[11:]}"
    assert len(plaintext[11:]) == 48  # 24 random bytes as hexadecimal digits
    assert plaintext[11:] not in repr(stored.__dict__)
    assert bytes(stored.digest) == selectors.token_digest(plaintext)


def test_another_pepper_finds_no_token(token: Callable[..., str], settings: LazySettings) -> None:
    plaintext = token()
    assert selectors.token_in_force(plaintext) is not None
    settings.TOKEN_PEPPER = "another pepper altogether, long enough"
    assert selectors.token_in_force(plaintext) is None


def test_token_goes_over_to_another_pepper_when_it_is_used(
    token: Callable[..., str], settings: LazySettings
) -> None:
    plaintext = token()
    before, settings.TOKEN_PEPPER = settings.TOKEN_PEPPER, "another pepper altogether, long enough"
    settings.TOKEN_PEPPERS_PREVIOUS = [before]
    known = Client(headers={"authorization": f"Bearer {plaintext}"})
    assert known.get(f"{API}/metrics").status_code == 200
    settings.TOKEN_PEPPERS_PREVIOUS = []
    assert known.get(f"{API}/metrics").status_code == 200


def test_tokens_are_made_listed_and_revoked_by_an_admin(
    client: Client, caller: Callable[..., Client]
) -> None:
    admin = caller("admin")
    made = admin.post(
        f"{API}/tokens",
        {"name": "sheet", "scope": "read", "expires_days": 7},
        content_type="application/json",
    )
    assert made.status_code == 201
    headers = {"authorization": f"Bearer {made.json()['token']}"}
    assert client.get(f"{API}/rankings", headers=headers).status_code == 200
    listed = admin.get(f"{API}/tokens")
    assert made.json()["token"] not in listed.content.decode()
    assert {row["name"] for row in listed.json()["results"]} == {"admin token", "sheet"}
    again = admin.post(
        f"{API}/tokens", {"name": "sheet", "scope": "read"}, content_type="application/json"
    )
    assert fields(again) == ["/name"]
    assert admin.delete(f"{API}/tokens/{made.json()['id']}").status_code == 204
    assert client.get(f"{API}/rankings", headers=headers).status_code == 401
    actions = AuditEntry.objects.filter(actor="token admin token").values_list("action", flat=True)
    assert sorted(actions) == ["token_create", "token_revoke"]


def test_too_many_requests_are_429_with_whole_seconds(
    client: Client, caller: Callable[..., Client], settings: LazySettings
) -> None:
    settings.THROTTLE_ANONYMOUS = "2/hour"
    settings.THROTTLE_TOKEN = "3/hour"
    address = f"198.51.100.{uuid4().int % 250}-{uuid4()}"
    answers = [client.get(f"{API}/metrics", REMOTE_ADDR=address) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 3600
    assert fields(answers[-1]) == []
    known = caller()
    codes = [known.get(f"{API}/metrics", REMOTE_ADDR=address).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]


def test_address_of_a_caller_is_not_taken_from_its_own_word(
    client: Client, settings: LazySettings
) -> None:
    settings.THROTTLE_ANONYMOUS = "1/hour"
    settings.HTTPS_ONLY = False
    address = str(uuid4())
    codes = [
        client.get(
            f"{API}/metrics", REMOTE_ADDR=address, headers={"x-forwarded-for": str(uuid4())}
        ).status_code
        for _ in range(2)
    ]
    assert codes == [200, 429]


def test_counting_that_is_broken_stops_nobody(client: Client, settings: LazySettings) -> None:
    location = "redis://127.0.0.1:1/0"  # nothing listens on port 1
    backend = "backend.core.redis_cache.RedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": location}}
    assert client.get(f"{API}/metrics").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "none-such", 404),
        ("post", "none-such", 404),
        ("get", f"runs/{NOBODY}", 404),
        ("get", "runs/1", 404),
        ("get", f"hosts/{NOBODY}", 404),
        ("get", f"runs/{NOBODY}/evidence/1", 404),
        ("get", "rankings.pdf", 404),
        ("get", "offers/no-such-offer", 404),
        ("get", "schemas/none-such.json", 404),
        ("delete", "rankings", 405),
        ("put", "runs", 405),
    ],
)
def test_every_refusal_is_a_problem_document(
    caller: Callable[..., Client], method: str, path: str, status: int
) -> None:
    response = getattr(caller("admin"), method)(f"{API}/{path}")
    assert response.status_code == status
    assert fields(response) == []


def test_bodies_that_are_no_json_are_refused(caller: Callable[..., Client]) -> None:
    admin = caller("admin")
    for content_type, body, status in (
        ("text/xml", "<a/>", 415),
        ("application/json", "{", 400),
        ("application/json", "[]", 400),
        ("application/json", '"text"', 400),
    ):
        response = admin.post(f"{API}/runs", body, content_type=content_type)
        assert response.status_code == status
        assert response["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["runs", "scenarios/simulate"])
def test_key_that_stands_twice_is_refused_by_its_name(
    caller: Callable[..., Client], path: str
) -> None:
    body = '{"name": "x", "labels": {"a": 1, "b": 1, "a": 2}}'
    response = caller("admin").post(f"{API}/{path}", body, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["detail"] == "the key 'a' stands twice in one object of the body"


def test_error_that_nobody_foresaw_is_a_problem_without_details(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.rankings.api import rankings

    def broken() -> None:
        raise RuntimeError("the secret detail")

    monkeypatch.setattr(rankings, "current_stamp", broken)
    settings.DEBUG = False
    response: Any = Client(raise_request_exception=False).get(f"{API}/rankings")
    assert response.status_code == 500
    assert fields(response) == []
    assert "secret" not in response.content.decode()


def test_answers_depend_on_who_asks_and_are_asked_about_again(
    client: Client, caller: Callable[..., Client]
) -> None:
    anonymous = client.get(f"{API}/metrics")
    assert anonymous["Cache-Control"] == "public, no-cache"
    assert {"Accept", "Authorization", "Cookie"} <= set(anonymous["Vary"].split(", "))
    assert caller().get(f"{API}/metrics")["Cache-Control"] == "private, no-cache"
