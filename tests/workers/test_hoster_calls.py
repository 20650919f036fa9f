"""Meaning of answers that every hoster, and what stands in front of its API, may give."""

import logging
import time
import traceback

import httpx
import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import Access, ProviderDriver
from backend.providers.ovh.driver import OvhDriver
from tests.fakes.rest import Answer, Asked, RestServer
from workers.remote.registry import cloud

# What they are asked with.
SECRETS = {
    "hetzner": {"token": "planted-token"},
    "digitalocean": {"token": "planted-token"},
    "linode": {"token": "planted-token"},
    "ovh": {
        "application_key": "planted-application",
        "application_secret": "planted-secret",
        "consumer_key": "planted-consumer",
    },
    "scaleway": {"access_key": "planted-access", "token": "planted-token"},
    "upcloud": {"username": "planted-user", "password": "planted-password"},
    "vultr": {"token": "planted-token"},
}
PAGE = b"<html><title>Bad gateway</title></html>"
MAY_PASS = (Reason.UNREACHABLE, True)
THROTTLED = (Reason.TIMEOUT, True)
REFUSED = (Reason.UNSUPPORTED, False)


class Echo(RestServer):
    """Gives the same answer to every request, and remembers them."""

    def __init__(self, said: Answer) -> None:
        super().__init__()
        self.said, self.asked = said, list[Asked]()

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return self.said


def _driver(slug: str, url: str) -> ProviderDriver:
    settings = {"regions": ["one"], "endpoint_url": url, "project": "p"}
    return cloud(slug, Access("token", settings, SECRETS[slug]))


async def _refusal(slug: str, said: Answer) -> DriverError:
    with Echo(said) as server, pytest.raises(DriverError) as refusal:
        await _driver(slug, server.url).whoami()
    return refusal.value


def _meaning(refusal: DriverError) -> tuple[Reason, bool]:
    return refusal.reason, refusal.retryable


# --- statuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", SECRETS)
@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (400, REFUSED),
        (404, REFUSED),
        (412, REFUSED),
        (422, REFUSED),
        (429, THROTTLED),
        (500, MAY_PASS),
        (502, MAY_PASS),
        (503, MAY_PASS),
        (504, MAY_PASS),
        (401, (Reason.AUTH, False)),
        (403, (Reason.AUTH, False)),
        (408, MAY_PASS),
        (409, (Reason.UNSUPPORTED, True)),
        (423, (Reason.UNSUPPORTED, True)),
    ],
)
async def test_status_has_its_meaning_when_no_word_is_known(slug, status, meaning):
    refusal = await _refusal(slug, Answer({"message": "no"}, status))
    assert _meaning(refusal) == meaning


@pytest.mark.parametrize("slug", SECRETS)
@pytest.mark.parametrize("status", [200, 401, 404, 502])
@pytest.mark.parametrize("body", [PAGE, b'{"half": '])
async def test_answer_that_is_no_json_may_be_asked_again(slug, status, body):
    refusal = await _refusal(slug, Answer(body, status))
    assert _meaning(refusal) == MAY_PASS


async def test_redirect_is_not_followed_with_the_secret():
    with Echo(Answer({})) as other:
        away = Answer({"message": "moved"}, 307, {"Location": f"{other.url}/1.0/elsewhere"})
        for slug in SECRETS:
            assert _meaning(await _refusal(slug, away)) == REFUSED
    assert other.asked == []


@pytest.mark.parametrize("slug", SECRETS)
async def test_answer_that_comes_too_late_may_be_asked_again(slug, monkeypatch):
    with Echo(Answer({})) as server:
        driver = _driver(slug, server.url)
        monkeypatch.setattr(driver, "call_s", 0.05)
        server.faults.set("slow_answer", times=9, seconds=0.3)
        with pytest.raises(DriverError) as refusal:
            await driver.whoami()
    assert _meaning(refusal.value) == MAY_PASS


# --- too many calls -------------------------------------------------------------------------------


# Bodies as the hosters document them: docs.hetzner.cloud#errors, docs.digitalocean.com/reference/api,
# techdocs.akamai.com/linode-api/reference/rate-limits, api.ovh.com, scaleway.com/en/developers/api,
# developers.upcloud.com/1.3/3-errors, vultr.com/api (which said 503 before 429).
@pytest.mark.parametrize(
    ("slug", "status", "body"),
    [
        (
            "hetzner",
            429,
            {
                "error": {
                    "code": "rate_limit_exceeded",
                    "message": "limit of 3600 requests per hour",
                }
            },
        ),
        (
            "digitalocean",
            429,
            {"id": "too_many_requests", "message": "API Rate limit exceeded."},
        ),
        ("linode", 429, {"errors": [{"reason": "Too many requests"}]}),
        ("ovh", 429, {"class": "Client::TooManyRequests", "message": "Quota of calls exceeded"}),
        (
            "scaleway",
            429,
            {"type": "too_many_requests", "message": "quota of requests exceeded, try again"},
        ),
        ("upcloud", 429, {"error": {"error_code": "RATE_LIMIT_REACHED", "error_message": "wait"}}),
        ("vultr", 429, {"error": "Rate limit exceeded.", "status": 429}),
        ("vultr", 503, {"error": "Rate limit hit. Try your request again later.", "status": 503}),
    ],
)
async def test_hoster_that_takes_no_more_calls_is_not_full(slug, status, body):
    refusal = await _refusal(slug, Answer(body, status))
    assert _meaning(refusal) == THROTTLED


@pytest.mark.parametrize("body", [PAGE, {}, b""])
@pytest.mark.parametrize("slug", SECRETS)
async def test_page_of_a_proxy_that_takes_no_more_calls_is_understood(slug, body):
    refusal = await _refusal(slug, Answer(body, 429))
    assert _meaning(refusal) == THROTTLED


@pytest.mark.parametrize(
    "body", [{"error": "Bad"}, {"errors": ["Bad"]}, {"error": ["Bad"]}, b"null"]
)
@pytest.mark.parametrize("slug", SECRETS)
async def test_answer_of_a_gateway_is_a_fault_that_may_pass(slug, body):
    refusal = await _refusal(slug, Answer(body, 502))
    assert _meaning(refusal) == MAY_PASS


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", SECRETS)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_secret_is_in_no_text_when_the_server_repeats_it(slug, status, caplog):
    caplog.set_level(logging.DEBUG)
    said = " ".join(SECRETS[slug].values())
    errors = [{"reason": said, "field": said}]
    error = {"code": said, "message": said, "error_code": said, "error_message": said}
    for document in (
        {"message": said, "type": said, "class": said, "errors": errors, "error": error},
        {"error": said},
        said,
    ):
        refusal = await _refusal(slug, Answer(document, status))
        assert not _leaks(slug, _texts(refusal) + caplog.text)


@pytest.mark.parametrize("slug", SECRETS)
@pytest.mark.parametrize("ending", ["", "\n", "é"])
async def test_secret_is_in_no_text_when_nobody_answers(slug, ending, caplog):
    caplog.set_level(logging.DEBUG)
    settings = {"regions": ["one"], "endpoint_url": "http://127.0.0.1:9", "project": "p"}
    secret = {name: value + ending for name, value in SECRETS[slug].items()}
    with pytest.raises(DriverError) as refusal:
        await cloud(slug, Access("token", settings, secret)).whoami()
    assert _meaning(refusal.value) == MAY_PASS
    assert not _leaks(slug, _texts(refusal.value) + caplog.text)


def _texts(error: DriverError) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + error.detail


def _leaks(slug: str, text: str) -> list[str]:
    return [value for value in SECRETS[slug].values() if value in text]


# --- who asks -------------------------------------------------------------------------------------

# What the vendors' pages on authentication say: docs.hetzner.cloud, docs.digitalocean.com/reference/api,
# techdocs.akamai.com/linode-api, scaleway.com/en/developers/api, developers.upcloud.com/1.3/2-authentication
# (basic, here of "planted-user:planted-password"), vultr.com/api.
BEARER = ("authorization", "Bearer planted-token")
BASIC = ("authorization", "Basic cGxhbnRlZC11c2VyOnBsYW50ZWQtcGFzc3dvcmQ=")


@pytest.mark.parametrize(
    ("slug", "header"),
    [
        ("hetzner", BEARER),
        ("digitalocean", BEARER),
        ("linode", BEARER),
        ("vultr", BEARER),
        ("scaleway", ("x-auth-token", "planted-token")),
        ("upcloud", BASIC),
    ],
)
async def test_request_carries_the_secret_in_the_header_of_the_hoster(slug, header):
    with Echo(Answer({}, 400)) as server, pytest.raises(DriverError):
        await _driver(slug, server.url).whoami()
    (asked,) = server.asked
    assert header in asked.headers.items()
    assert not _leaks(slug, f"{asked.path} {asked.query}")


def test_signature_is_that_of_the_example_of_ovhcloud(monkeypatch):
    """help.ovhcloud.com/csm/en-api-getting-started-ovhcloud-api, "First API usage"."""
    now = 1366560945
    secret = {
        "application_key": "7kbG7Bk7S9Nt7ZSV",
        "application_secret": "EXEgWIz07P0HYwtQDs7cNIqCiQaWSuHF",
        "consumer_key": "MtSwSrPpNjqfVSmJhLbPyr2i45lSwPU1",
    }
    # Ours is an hour behind.
    monkeypatch.setattr(time, "time", lambda: now - 3600)
    driver = OvhDriver(Access("token", {}, secret))
    request = httpx.Request("GET", "https://eu.api.ovh.com/1.0/domains/")
    flow = driver._credentials()["auth"].auth_flow(request)
    assert str(next(flow).url) == "https://eu.api.ovh.com/1.0/auth/time"
    signed = flow.send(httpx.Response(200, text=str(now)))
    assert {name: text for name, text in signed.headers.items() if name.startswith("x-ovh")} == {
        "x-ovh-application": "7kbG7Bk7S9Nt7ZSV",
        "x-ovh-consumer": "MtSwSrPpNjqfVSmJhLbPyr2i45lSwPU1",
        "x-ovh-timestamp": str(now),
        "x-ovh-signature": "$1$d3705e8afb27a0d2970a322b96550abfc67bb798",
    }
