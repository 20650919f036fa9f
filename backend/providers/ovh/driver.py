"""Machines of OVHcloud: instances of a Public Cloud project (api.ovh.com/console, /cloud).

Instances have no tags and no labels; their name carries all marks.
"""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from importlib import import_module
from typing import Any, ClassVar

from backend.domain.errors import Reason
from backend.providers.hoster_calls import answered, refusal
from backend.providers.hosters import LibcloudDriver, Order, Server, public_ipv4
from backend.providers.machines import Overview, ProviderResourceState, unsupported


class OvhDriver(LibcloudDriver):
    """Settings: project, api. Secret: application_key, application_secret, consumer_key."""

    connection = ("libcloud.common.ovh", "OvhConnection")
    image = "debian-12"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "BUILD": ProviderResourceState.PENDING,
        "BUILDING": ProviderResourceState.PENDING,
        "ACTIVE": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"quota", Reason.QUOTA),
        refusal(r"no valid host|not enough|out of stock", Reason.CAPACITY, is_retryable=True),
        refusal(r"invalid.?(credential|signature|key)|not.?granted|credential", Reason.AUTH),
    )

    _ahead_s: float | None = None

    def _keys(self) -> dict[str, str]:
        secret = self._access.secret
        return {
            "user_id": secret.get("application_key", ""),
            "key": secret.get("application_secret", ""),
            "ex_consumer_key": secret.get("consumer_key", ""),
            "region": self._settings.get("api") or "eu",
        }

    def _body(self, body: Any) -> Any:
        # This connection writes JSON itself, as it signs what it sends.
        return body

    def _opened(self) -> Any:
        opened = super()._opened()
        # Its own asks for the time over https at the usual port, whatever the endpoint is.
        opened.get_timestamp = partial(self._hoster_time_s, opened)
        return opened

    def _hoster_time_s(self, opened: Any) -> int:
        """By OVHcloud's clock, which signatures must follow; ours may be off."""
        if self._ahead_s is None:
            # The request of all its connections, which does not sign.
            plain = import_module("libcloud.common.base").Connection
            answer = plain.request(opened, "/1.0/auth/time")
            if answer.status != HTTPStatus.OK:
                raise self._refused(answer.status, answer.headers, answered(answer))
            self._ahead_s = int(answer.body) - time.time()
        return int(time.time() + self._ahead_s)

    def _text(self, document: Any) -> str:
        return f"{document.get('errorCode') or document.get('class', '')} {document.get('message')}"

    def _path(self, rest: str = "") -> str:
        return f"/1.0/cloud/project/{self._settings.get('project', '')}{rest}"

    def _identity(self) -> str:
        return f"project {self.ask('GET', self._path())['description']}"

    def _quota(self, region: str, overview: Overview) -> None:
        for quota in self.ask("GET", self._path("/quota")):
            if quota["region"] == region:
                limits = quota["instance"]
                used, limit = limits["usedInstances"], limits["maxInstances"]
                detail = f"{used} of {limit} instances, {limits['usedCores']} of {limits['maxCores']} cores"
                if used < limit and limits["usedCores"] < limits["maxCores"]:
                    overview.ready("quota", detail)
                else:
                    overview.not_ready("quota", detail, "Ask for a higher quota of the region.")

    def _types(self, region: str) -> Iterable[str]:
        return [flavor["name"] for flavor in self._flavors(region)]

    def _flavors(self, region: str) -> Iterable[Any]:
        for flavor in self.ask("GET", self._path("/flavor"), query={"region": region}):
            if flavor["available"] and flavor["osType"] == "linux":
                yield flavor

    def _image(self, region: str) -> str:
        query = {"osType": "linux", "region": region}
        images = self.ask("GET", self._path("/image"), query=query)
        return self._chosen(region, {image["name"]: image["id"] for image in images})

    def _servers(self) -> Iterable[Server]:
        return map(self._read, self.ask("GET", self._path("/instance")))

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(self._path(f"/instance/{number}"))
        return self._read(answer) if answer else None

    def _make(self, order: Order) -> Server:
        spec = order.spec
        ids = [
            flavor["id"]
            for flavor in self._flavors(spec.region)
            if flavor["name"] == spec.machine_type
        ]
        if not ids:
            raise unsupported(f"{spec.region} does not sell {spec.machine_type}")
        instance = {
            "name": order.name,
            "region": spec.region,
            "flavorId": ids[0],
            "imageId": self._image(spec.region),
            "userData": order.user_data,
            # By the hour: a month's price is not given back.
            "monthlyBilling": False,
        }
        return self._read(self.ask("POST", self._path("/instance"), body=instance))

    def _end(self, number: str) -> None:
        self.get_or_none(self._path(f"/instance/{number}"), method="DELETE")

    def _read(self, instance: Any) -> Server:
        addresses = instance.get("ipAddresses") or ()
        return Server(
            id=instance["id"],
            marks=instance["name"].split("."),
            state=self._state(instance["status"]),
            region=instance["region"],
            created=instance["created"],
            address=public_ipv4(
                address["ip"]
                for address in addresses
                if address["type"] == "public" and address["version"] == 4
            ),
        )


DRIVER = OvhDriver
