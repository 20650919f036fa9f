"""Machines of Vultr: cloud compute instances (vultr.com/api, version 2)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from backend.foundation.errors import Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import HosterDriver, Order, Server, public_ipv4
from backend.providers.machines import ProviderResourceState


class VultrDriver(HosterDriver):
    """The marks are the instance's label."""

    api = "https://api.vultr.com"
    path, key = "/v2/instances", "instance"
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

    async def whoami(self) -> str:
        return f"account of {(await self.ask('GET', '/v2/account'))['account']['email']}"

    async def _types(self, region: str) -> Sequence[str]:
        answer = await self.get_or_none(f"/v2/regions/{region}/availability")
        return answer["available_plans"] if answer else []

    async def _image(self, region: str) -> str:
        systems = await self._pages("/v2/os", "os")
        return self._choose_image(region, {system["name"]: str(system["id"]) for system in systems})

    async def _pages(self, path: str, key: str) -> list[Any]:
        """Rows of a list; each page names the next one (vultr.com/api, "Cursors")."""
        rows: list[Any] = []
        query: dict[str, str] | None = None
        while True:
            answer = await self.ask("GET", path, query=query)
            rows += answer[key]
            following = answer["meta"]["links"]["next"]
            if not following:
                return rows
            query = {"cursor": following}

    async def _list(self) -> Sequence[Any]:
        return await self._pages(self.path, "instances")

    async def _request(self, order: Order) -> Any:
        return {
            "region": order.spec.region,
            "plan": order.spec.machine_type,
            "os_id": int(await self._image(order.spec.region)),
            "label": order.name,
            "hostname": order.marks[0],
            "user_data": order.user_data_base64,
            "activation_email": False,
            "backups": "disabled",
        }

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
