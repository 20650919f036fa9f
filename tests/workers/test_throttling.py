"""Too many calls in too short a time are called that, by every provider: never its quota of machines,
with which nobody could do anything about it. tests/workers/test_hoster_calls.py has the hosters."""

import pytest

from backend.foundation.errors import Reason
from backend.providers.aws import api as aws
from backend.providers.azure import refusals as azure
from backend.providers.gcp import documents as gcp

THROTTLED = (Reason.TIMEOUT, True)


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
    refusal = azure.error_of_answer({"error": {"code": code, "message": message}}, status)
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
    refusal = azure.error_of_code("OperationNotAllowed", 409, azure_said)
    assert (refusal.reason, refusal.retryable) == (Reason.QUOTA, False)
    assert aws.meaning("VcpuLimitExceeded", "", 400) == (Reason.QUOTA, False)
