"""Machines of Vultr: cloud compute instances (vultr.com/api, version 2)."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from backend.domain.errors import Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import LibcloudDriver, Order, Server, public_ipv4
from backend.providers.machines import ProviderResourceState

INSTANCES = "/v2/instances"


class VultrDriver(LibcloudDriver):
    """The marks are the instance's label."""

    connection = ("libcloud.common.vultr", "VultrConnectionV2")
    image = "debian-12-x64"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "pending": ProviderResourceState.PENDING,
        "active": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"maximum|limit", Reason.QUOTA),
        refusal(r"not available|sold out|out of stock", Reason.CAPACITY, is_retryable=True),
        refusal(r"locked", Reason.UNSUPPORTED, is_retryable=True),
    )

    def _identity(self) -> str:
        return f"account of {self.ask('GET', '/v2/account')['account']['email']}"

    def _types(self, region: str) -> Iterable[str]:
        answer = self.get_or_none(f"/v2/regions/{region}/availability")
        return answer["available_plans"] if answer else []

    def _image(self, region: str) -> str:
        systems = self._pages("/v2/os", "os")
        return self._chosen(region, {system["name"]: str(system["id"]) for system in systems})

    def _pages(self, path: str, key: str) -> Iterator[Any]:
        """Rows of a list; each page names the next one."""
        query: dict[str, str] = {}
        while True:
            answer = self.ask("GET", path, query=query)
            yield from answer[key]
            following = answer["meta"]["links"]["next"]
            if not following:
                return
            query = {"cursor": following}

    def _servers(self) -> Iterable[Server]:
        return map(self._read, self._pages(INSTANCES, "instances"))

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(f"{INSTANCES}/{number}")
        return self._read(answer["instance"]) if answer else None

    def _make(self, order: Order) -> Server:
        instance = {
            "region": order.spec.region,
            "plan": order.spec.machine_type,
            "os_id": int(self._image(order.spec.region)),
            "label": order.name,
            "hostname": order.marks[0],
            "user_data": base64.b64encode(order.user_data.encode()).decode(),
            "activation_email": False,
            "backups": "disabled",
        }
        return self._read(self.ask("POST", INSTANCES, body=instance)["instance"])

    def _end(self, number: str) -> None:
        self.get_or_none(f"{INSTANCES}/{number}", method="DELETE")

    def _read(self, instance: Any) -> Server:
        state = self._state(instance["status"])
        # One that has switched itself off stays active, and goes on costing.
        if state == ProviderResourceState.RUNNING and instance["power_status"] != "running":
            is_new = instance["server_status"] in {"none", "locked", "installingbooting"}
            state = ProviderResourceState.PENDING if is_new else ProviderResourceState.ENDING
        return Server(
            id=instance["id"],
            marks=instance["label"].split("."),
            state=state,
            region=instance["region"],
            created=instance["date_created"],
            address=public_ipv4([instance["main_ip"]]),
        )


DRIVER = VultrDriver
