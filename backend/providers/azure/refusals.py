"""Refusals of Azure and their meaning; the codes are those of its REST reference.

learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors and
learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/allocation-failure
"""

from collections.abc import Mapping
from typing import Any

from backend.foundation.errors import DriverError, Reason

NO_CAPACITY = {
    "AllocationFailed",
    "ZonalAllocationFailed",
    "OverconstrainedAllocationRequest",
    "OverconstrainedZonalAllocationRequest",
    "SkuNotAvailable",
}
NO_QUOTA = {"QuotaExceeded", "ResourceQuotaExceeded", "PublicIPCountLimitReached"}
TOO_MANY_CALLS = {"TooManyRequests", "SubscriptionRequestsThrottled"}
NO_ACCESS = {
    "AuthorizationFailed",
    "LinkedAuthorizationFailed",
    "InvalidAuthenticationToken",
    "SubscriptionNotFound",
    "ReadOnlyDisabledSubscription",
}
# Also where the status says that it is only not now.
NEVER = {"MissingSubscriptionRegistration", "RequestDisallowedByPolicy"}


def error_of_code(
    code: str,
    status: int,
    message: str,
    *,
    retry_after: str = "",
    policies: str = "",
) -> DriverError:
    """Meaning of an answer with this code, or of the code that a machine failed with (status 0)."""
    detail = f"{code or status}: {message}"[:400]
    detail += f"; policy {policies}" if policies else ""
    detail += f"; again in {retry_after} s" if retry_after else ""
    # A full core quota is called OperationNotAllowed, as are other things.
    is_quota = code in NO_QUOTA or (code == "OperationNotAllowed" and "quota" in message.lower())
    if code in NO_CAPACITY:
        reason, is_retryable = Reason.CAPACITY, True
    elif status == 429 or code in TOO_MANY_CALLS:
        reason, is_retryable = Reason.TIMEOUT, True
    elif is_quota:
        reason, is_retryable = Reason.QUOTA, False
    elif code in NO_ACCESS or (status in {401, 403} and code not in NEVER):
        reason, is_retryable = Reason.AUTH, False
    elif status in {409, 412} and code not in NEVER:
        reason, is_retryable = Reason.UNSUPPORTED, True
    elif status >= 500:
        # A fault of theirs; of a launch nobody knows then whether it was heard.
        reason, is_retryable = Reason.UNREACHABLE, True
    else:
        reason, is_retryable = Reason.UNSUPPORTED, False
    return DriverError(reason, detail, retryable=is_retryable)


def error_of_answer(document: object, status: int, retry_after: str = "") -> DriverError:
    """Meaning of an answer that is an error."""
    body = document.get("error") if isinstance(document, dict) else None
    error: Mapping[str, Any] = body if isinstance(body, dict) else {}
    return error_of_code(
        str(error.get("code", "")),
        status,
        str(error.get("message", "")),
        retry_after=retry_after,
        policies=_policies(error),
    )


def _policies(error: Mapping[str, Any]) -> str:
    """Names of the policies that say no, as `additionalInfo` lists them."""
    infos = [detail.get("info") or {} for detail in error.get("additionalInfo") or ()]
    names = (
        info.get("policyAssignmentDisplayName") or info.get("policyDefinitionDisplayName")
        for info in infos
    )
    return ", ".join(str(name) for name in names if name)
