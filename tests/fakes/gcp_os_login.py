"""OS Login as the faked Google Cloud has it: login profiles with keys that expire.

Documents as in cloud.google.com/compute/docs/oslogin/rest/v1/users; how long a key lives and that a
service account is called sa_ and its number: cloud.google.com/compute/docs/oslogin/set-up-oslogin.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from typing import Any

from tests.fakes.gcp_region import Refused
from tests.fakes.rest import Asked

POSIX_NAME = "sa_112233445566778899"
EMAIL = "bench@rackrate-bench.iam.gserviceaccount.com"


class GceOsLogin:
    """The profile of one service account, which has a POSIX name once it has a key."""

    project: str
    clock: Callable[[], dt.datetime]

    def __init__(self) -> None:
        self.login_keys: dict[str, dict[str, str]] = {}
        """By fingerprint."""
        self.has_posix_account = False
        self.is_os_login_enabled = True
        """Whether the API is enabled in the project."""

    def os_login(self, asked: Asked) -> dict[str, Any]:
        if not self.is_os_login_enabled:
            raise Refused(403, "accessNotConfigured", "Cloud OS Login API has not been used")
        match = re.fullmatch(r"/v1/users/([^/:]+)(.*)", asked.path)
        if match is None or match[1].replace("%40", "@") != EMAIL:
            raise Refused(403, "forbidden", "another user's profile")
        known = {
            ("POST", ":importSshPublicKey"): self._import,
            ("GET", "/loginProfile"): lambda _: self._profile(),
        }
        if handler := known.get((asked.method, match[2])):
            return handler(asked)
        fingerprint = match[2].removeprefix("/sshPublicKeys/")
        if asked.method != "DELETE" or fingerprint not in self.login_keys:
            raise Refused(404, "notFound", asked.path)
        del self.login_keys[fingerprint]
        return {}

    def _import(self, asked: Asked) -> dict[str, Any]:
        if asked.query.get("projectId") != self.project:
            raise Refused(400, "invalid", "projectId")
        key = asked.body["key"]
        fingerprint = hashlib.sha256(key.split()[1].encode()).hexdigest()
        name = f"users/{EMAIL}/sshPublicKeys/{fingerprint}"
        document = {**asked.body, "fingerprint": fingerprint, "name": name}
        self.login_keys[fingerprint] = document
        self.has_posix_account = True
        return {"loginProfile": self._profile()}

    def _profile(self) -> dict[str, Any]:
        account = {
            "primary": True,
            "username": POSIX_NAME,
            "accountId": self.project,
            "operatingSystemType": "LINUX",
        }
        return {
            "name": EMAIL,
            "posixAccounts": [account] * self.has_posix_account,
            "sshPublicKeys": dict(self.login_keys),
        }

    def keys_in_force(self) -> list[str]:
        """Public keys that machines let in now."""
        now_us = self.clock().timestamp() * 1e6
        return [
            one["key"]
            for one in self.login_keys.values()
            if float(one["expirationTimeUsec"]) > now_us
        ]
