"""Microsoft's libraries: how they log in, how long they wait, and what their errors mean."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from backend.foundation.errors import DriverError, Reason
from backend.providers.azure.refusals import error_of_answer
from backend.providers.machines import Access

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

CALL_S = 10


class Clients:
    """Clients of one subscription, each loaded when it is used."""

    def __init__(self, access: Access) -> None:
        self._access, self._settings = access, access.settings
        self.id = str(self._settings.get("subscription", ""))

    @cached_property
    def groups(self) -> Any:
        from azure.mgmt.resource.resources import ResourceManagementClient

        return ResourceManagementClient(self._credential, self.id, **self._options())

    @cached_property
    def compute(self) -> Any:
        from azure.mgmt.compute import ComputeManagementClient

        return ComputeManagementClient(self._credential, self.id, **self._options())

    @cached_property
    def network(self) -> Any:
        from azure.mgmt.network import NetworkManagementClient

        return NetworkManagementClient(self._credential, self.id, **self._options())

    def _options(self) -> dict[str, Any]:
        """Without retries: the library's own would go on for minutes, beyond the step."""
        endpoint = self._settings.get("endpoint_url")
        other = {"base_url": endpoint, "authentication_policy": _no_login()} if endpoint else {}
        return {
            "connection_timeout": CALL_S,
            "read_timeout": CALL_S,
            "retry_total": 0,
            # Custom data holds the private half of a host key.
            "logging_enable": False,
            **other,
        }

    @cached_property
    def _credential(self) -> "TokenCredential":
        if self._settings.get("endpoint_url"):
            # The secret is for Microsoft's address alone.
            return _Anonymous()
        if secret := self._access.secret.get("client_secret"):
            from azure.identity import ClientSecretCredential

            return ClientSecretCredential(
                self._settings["tenant_id"],
                self._settings["client_id"],
                secret,
                connection_timeout=CALL_S,
                read_timeout=CALL_S,
                retry_total=0,
            )
        from azure.identity import (
            ChainedTokenCredential,
            ManagedIdentityCredential,
            WorkloadIdentityCredential,
        )

        try:
            federated = [WorkloadIdentityCredential()]
        except ValueError:  # no token of Kubernetes is there
            federated = []
        # Not Azure's default chain, which would also take what a developer's tools are logged in
        # with.
        return ChainedTokenCredential(*federated, ManagedIdentityCredential())


class _Anonymous:
    """Credential for another endpoint, which is not logged in to."""

    def get_token(self, *scopes: str, **_: Any) -> Any:
        from azure.core.credentials import AccessToken

        return AccessToken("anonymous", 2**31)


def _no_login() -> Any:
    from azure.core.pipeline.policies import SansIOHTTPPolicy

    return SansIOHTTPPolicy()


def translate_error(error: Exception) -> DriverError:
    """Meaning of a failed call: of the library, of its login or of the network."""
    from azure.core.exceptions import ClientAuthenticationError, HttpResponseError

    if isinstance(error, HttpResponseError) and error.response is not None:
        response: Any = error.response  # which the library types by what two transports share
        try:
            document = response.json()
        except ValueError:
            document = None
        wait = response.headers.get("Retry-After", "")
        return error_of_answer(document, error.status_code or 0, wait if wait.isdecimal() else "")
    if isinstance(error, ClientAuthenticationError):
        # Its text may quote what it was given.
        return DriverError(Reason.AUTH, "Azure does not accept our credentials", retryable=False)
    return DriverError(Reason.UNREACHABLE, f"no answer: {type(error).__name__}", retryable=True)
