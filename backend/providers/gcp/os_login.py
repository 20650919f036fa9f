"""Logging in by OS Login, as an organisation may require (compute.requireOsLogin).

The key of a launch is imported for the identity that we are at Google, not written on the machine. It
expires with the machine, is listed as a thing of its launch, and is removed at the end like any other.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import (
    INSTALLATION,
    Access,
    LaunchSpec,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    unsupported_error,
)

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

HOST = "https://oslogin.googleapis.com"
CALL_S = 10
SCOPES = ("https://www.googleapis.com/auth/compute",)
# Of our ids, so that a key is never taken for a machine, whose id begins with its zone.
KEY_PREFIX = "os-login/"
# The comment of a key is all that OS Login keeps beside it: workspace, launch token, installation.
_COMMENT = re.compile(r"rackrate:([^:\s]*):([^:\s]*):([^:\s]*)$")


def uses_os_login(access: Access) -> bool:
    return access.settings.get("login") == "os_login"


def credentials_of(access: Access, scopes: Sequence[str] = SCOPES) -> "Credentials":
    """Credentials for Google's API; of no value where another address is asked."""
    import google.auth
    from google.auth.credentials import AnonymousCredentials
    from google.oauth2.service_account import Credentials

    if access.settings.get("endpoint_url"):
        # Credentials would be sent to whatever stands at that address.
        return AnonymousCredentials()  # type: ignore[no-untyped-call]
    if access.kind == "workload_identity":
        return google.auth.default(scopes=scopes)[0]
    try:
        key = json.loads(access.secret["service_account_json"])
        made = Credentials.from_service_account_info(key, scopes=scopes)  # type: ignore[no-untyped-call]
    except (KeyError, ValueError):
        raise DriverError(
            Reason.AUTH, "the service account's key cannot be read", retryable=False
        ) from None
    return made  # type: ignore[no-any-return]


class OsLogin:
    """The login profile of our identity; lets the library's errors through."""

    def __init__(self, access: Access, credentials: "Credentials") -> None:
        self._access, self._credentials = access, credentials

    def let_in(self, spec: LaunchSpec, token: str) -> None:
        """Import the launch's key until its machine expires; doing it again changes nothing."""
        comment = f"rackrate:{spec.tag}:{token}:{spec.labels.get(INSTALLATION, '')}"
        micros = int(spec.expires_at.timestamp() * 1e6)
        body = {
            "key": f"{' '.join(spec.public_key.split()[:2])} {comment}",
            "expirationTimeUsec": str(micros),
        }
        self._ask("POST", ":importSshPublicKey", query=self._project, body=body)

    def username(self) -> str:
        """The POSIX name that machines of the project know us by."""
        if (name := self.known_as()) is None:
            detail = "OS Login does not show our POSIX account yet"
            raise DriverError(Reason.AUTH, detail, retryable=True)
        return name

    def known_as(self) -> str | None:
        """Name we log in with; None before the first key is imported, which makes it."""
        project = self._project["projectId"]
        accounts = self._profile().get("posixAccounts", ())
        ours = [account for account in accounts if account.get("accountId") in {project, None}]
        # The primary one first: the others are those of other projects and systems.
        ours.sort(key=lambda account: not account.get("primary"))
        of_linux = (
            account["username"]
            for account in ours
            if account.get("operatingSystemType") in {"LINUX", None}
        )
        return next(of_linux, None)

    def keys(self, tag: str, token: str = "") -> list[ProviderResource]:
        """Keys that carry our tag, of all launches or of one."""
        listed = (_key(key) for key in self._profile().get("sshPublicKeys", {}).values())
        return [key for of, key in filter(None, listed) if of == tag and token in {"", key.token}]

    def described(self, resource: ProviderResource) -> ProviderResource:
        shown = self._profile().get("sshPublicKeys", {}).get(_fingerprint(resource))
        marked = _key(shown) if shown else None
        return marked[1] if marked else replace(resource, state=ProviderResourceState.ABSENT)

    def remove(self, resource: ProviderResource) -> None:
        self._ask("DELETE", f"/sshPublicKeys/{_fingerprint(resource)}", is_absence_fine=True)

    def _profile(self) -> Mapping[str, Any]:
        return self._ask("GET", "/loginProfile", query=self._project)

    @property
    def _project(self) -> dict[str, str]:
        return {"projectId": str(self._access.settings.get("project", ""))}

    @cached_property
    def user(self) -> str:
        """The e-mail address of our identity."""
        if key := self._access.secret.get("service_account_json"):
            return str(json.loads(key)["client_email"])
        email = getattr(self._credentials, "service_account_email", None)
        # The metadata server's identity is called so until it has logged in once.
        if email == "default":
            from google.auth.transport.requests import Request

            self._credentials.refresh(Request())  # type: ignore[no-untyped-call]
            email = getattr(self._credentials, "service_account_email", None)
        if not email:
            raise unsupported_error("OS Login needs a service account, and the identity is none")
        return str(email)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, str] | None = None,
        is_absence_fine: bool = False,
    ) -> Mapping[str, Any]:
        from google.api_core.exceptions import from_http_response
        from google.auth.transport.requests import AuthorizedSession

        host = self._access.settings.get("endpoint_url") or HOST
        with AuthorizedSession(self._credentials) as session:  # type: ignore[no-untyped-call]
            answer = session.request(  # type: ignore[no-untyped-call]
                method,
                f"{host}/v1/users/{quote(self.user)}{path}",
                params=query,
                json=body,
                timeout=CALL_S,
            )
        if is_absence_fine and answer.status_code == 404:
            return {}
        if answer.status_code != 200:
            raise from_http_response(answer)  # type: ignore[no-untyped-call]
        document: Mapping[str, Any] = answer.json()
        return document


def _fingerprint(resource: ProviderResource) -> str:
    """Fingerprint of a key, from our id of it."""
    fingerprint = resource.id.removeprefix(KEY_PREFIX)
    if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
        raise unsupported_error(f"{resource.id!r} is no id of a key")
    return fingerprint


def _key(answer: Mapping[str, Any]) -> tuple[str, ProviderResource] | None:
    """Its workspace and the key as a thing of a launch; None for one of somebody else's."""
    marks = _COMMENT.search(str(answer.get("key", "")).strip())
    if marks is None:
        return None
    micros = int(answer.get("expirationTimeUsec") or 0)
    return marks[1], ProviderResource(
        id=f"{KEY_PREFIX}{answer['fingerprint']}",
        state=ProviderResourceState.RUNNING,
        kind=ResourceKind.KEY_PAIR,
        token=marks[2],
        installation=marks[3],
        expires_at=dt.datetime.fromtimestamp(micros / 1e6, dt.UTC) if micros else None,
    )
