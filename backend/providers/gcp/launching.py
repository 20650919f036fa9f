"""A launch at Compute Engine, from its request to the end of its operation."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from backend.foundation.errors import DriverError, Reason
from backend.providers.gcp.documents import (
    POLICY_REFUSED,
    call_error,
    demand_success,
    failures,
    instance,
    maintenance_policies,
    moment,
)
from backend.providers.machines import Access, LaunchSpec

if TYPE_CHECKING:
    from google.cloud import compute_v1

# Name space of the ids of requests, which must be UUIDs: fixed, so that a token always gives the same.
REQUESTS = uuid.UUID("5b6b7a1c-3c0e-4a55-9d60-0f7f0f5a3a52")
# Part of the ids of requests for the second maintenance policy.
OTHER_POLICY = "other policy"
# Ids of requests that a launch goes through: Google answers the id of a failed one with the same failure.
RENEWALS = 5


class ZoneLaunch:
    """A machine to be made in a zone. Doing it again makes no second one."""

    def __init__(
        self, ask: Callable[..., Any], access: Access, spec: LaunchSpec, token: str, zone: str
    ) -> None:
        self._ask, self._spec, self._token, self._zone = ask, spec, token, zone
        self._body, self._other_body = (
            instance(spec, token, zone, access, policy) for policy in maintenance_policies(spec)
        )

    @property
    def name(self) -> str:
        return str(self._body["name"])

    def begin(self) -> dt.datetime | None:
        """When it began. The second maintenance policy is asked for where Google refuses the first:
        the types that take only one of them change with every family."""
        try:
            return self._begin(self._body, self._token)
        except DriverError as refusal:
            if not _is_policy_refused(refusal):
                raise
        except failures() as failure:
            if not _is_policy_refused(call_error(failure)):
                raise
        # Ids of its own: Google keeps the refused body with the ids of the first.
        return self._begin(self._other_body, f"{self._token} {OTHER_POLICY}")

    def _begin(self, body: dict[str, Any], seed: str) -> dt.datetime | None:
        return moment(self._finish(self._insert(body, seed)).insert_time)

    def _insert(self, body: dict[str, Any], seed: str) -> "compute_v1.Operation":
        """The operation under way. One that had failed before is asked for under the next id: there
        is no machine then, and if there is, its name is refused."""
        number = self._spec.round * RENEWALS
        while True:
            operation: compute_v1.Operation = self._ask(
                "Instances",
                "insert_unary",
                zone=self._zone,
                instance_resource=body,
                request_id=str(uuid.uuid5(REQUESTS, f"{seed} {self._zone} {number}")),
            )
            number += 1
            if not operation.error.errors or number == (self._spec.round + 1) * RENEWALS:
                return operation

    def _finish(self, operation: "compute_v1.Operation") -> "compute_v1.Operation":
        """The operation at its end; DriverError for a failure, or where it is not known in time."""
        if operation.status.name != "DONE":
            # Google answers when it is over or after two minutes: our own limit may end the call
            # before, and the launch is asked for again.
            operation = self._ask(
                "ZoneOperations", "wait", zone=self._zone, operation=operation.name
            )
        if operation.status.name != "DONE":
            raise DriverError(Reason.TIMEOUT, "the launch goes on", retryable=True)
        demand_success(operation)
        return operation


def _is_policy_refused(error: DriverError) -> bool:
    return error.reason == Reason.UNSUPPORTED and bool(POLICY_REFUSED.search(error.detail))
