"""Too many calls in too short a time are called that, by every provider: never its quota of machines,
with which nobody could do anything about it."""

import pytest

from backend.domain.errors import DriverError, Reason
from backend.providers.aws import api as aws
from backend.providers.azure import refusals as azure
from backend.providers.gcp import documents as gcp
from backend.providers.machines import Access
from tests.fakes.rest import Answer, Asked, RestServer
from workers.remote.registry import cloud

THROTTLED = (Reason.TIMEOUT, True)
PAGE = b"<html><title>429 Too Many Requests</title></html>"
# What they are asked with.
HOSTERS = {
    "hetzner": {"token": "t"},
    "digitalocean": {"token": "t"},
    "linode": {"token": "t"},
    "ovh": {"application_key": "a", "application_secret": "s", "consumer_key": "c"},
    "scaleway": {"access_key": "a", "token": "t"},
    "upcloud": {"username": "u", "password": "p"},
    "vultr": {"token": "t"},
}


class Busy(RestServer):
    """Says the same to every request."""

    def __init__(self, said: Answer) -> None:
        super().__init__()
        self._said = said

    def answer(self, asked: Asked) -> Answer:
        return self._said


async def _refused(slug: str, said: Answer) -> tuple[Reason, bool]:
    with Busy(said) as server:
        settings = {"regions": ["one"], "endpoint_url": server.url, "project": "p"}
        driver = cloud(slug, Access("token", settings, HOSTERS[slug]))
        with pytest.raises(DriverError) as refusal:
            await driver.whoami()
    return refusal.value.reason, refusal.value.retryable


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
    assert await _refused(slug, Answer(body, status)) == THROTTLED


@pytest.mark.parametrize("body", [PAGE, {}])
@pytest.mark.parametrize("slug", HOSTERS)
async def test_page_of_a_proxy_that_takes_no_more_calls_is_understood(slug, body):
    assert await _refused(slug, Answer(body, 429)) == THROTTLED


@pytest.mark.parametrize(
    "body", [{"error": "Bad"}, {"errors": ["Bad"]}, {"error": ["Bad"]}, b"null"]
)
@pytest.mark.parametrize("slug", HOSTERS)
async def test_answer_of_a_gateway_is_a_fault_that_may_pass(slug, body):
    assert await _refused(slug, Answer(body, 502)) == (Reason.UNREACHABLE, True)


# learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/troubleshooting-throttling-errors and
# learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling
@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (429, "OperationNotAllowed", "too many requests, the quota of calls is used up"),
        (429, "SubscriptionRequestsThrottled", "Number of requests exceeded the limit"),
        (429, "QuotaExceeded", "The request is being throttled"),
        (429, "", ""),
        (409, "TooManyRequests", "the limit has been reached for operation 'PutVM'"),
        (0, "TooManyRequests", "the limit has been reached for operation 'PutVM'"),
    ],
)
def test_azure_that_takes_no_more_calls_is_not_full(status, code, message):
    refusal = azure.answered({"error": {"code": code, "message": message}}, status)
    assert (refusal.reason, refusal.retryable) == THROTTLED


# As cloud.google.com/compute/api-quota and cloud.google.com/apis/design/errors say.
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (403, {"errors": [{"reason": "rateLimitExceeded"}]}),
        (403, {"errors": [{"reason": "userRateLimitExceeded"}]}),
        (403, {"errors": [{"reason": "RATE_LIMIT_EXCEEDED"}]}),
        (
            403,
            {
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "RATE_LIMIT_EXCEEDED",
                        "domain": "googleapis.com",
                    }
                ]
            },
        ),
        (429, {"status": "RESOURCE_EXHAUSTED"}),
        (429, {}),
    ],
)
def test_google_that_takes_no_more_calls_is_not_full(status, error):
    from google.api_core.exceptions import format_http_response_error

    said = {
        "error": {"code": status, "message": "Quota exceeded for 'Queries per minute'", **error}
    }
    refusal = gcp.call_error(format_http_response_error(_Response(status), "GET", "u", said))
    assert (refusal.reason, refusal.retryable) == THROTTLED


class _Response:
    """As much of an answer as the library looks at."""

    def __init__(self, status: int) -> None:
        self.status_code = status


# docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html, and the names that botocore's
# own retries count as throttling
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("RequestLimitExceeded", 503),
        ("EC2ThrottledException", 400),
        ("ThrottledException", 400),
        ("LimitExceededException", 400),
        ("SomeLimitExceeded", 429),
        ("429", 429),
    ],
)
def test_aws_that_takes_no_more_calls_is_not_full(name, status):
    assert aws.meaning(name, "Request limit exceeded.", status) == THROTTLED


def test_quota_is_still_one_when_the_words_are_those_of_machines():
    azure_said = "exceeding approved Total Regional Cores quota"
    refusal = azure.refused("OperationNotAllowed", 409, azure_said)
    assert (refusal.reason, refusal.retryable) == (Reason.QUOTA, False)
    assert aws.meaning("VcpuLimitExceeded", "", 400) == (Reason.QUOTA, False)
