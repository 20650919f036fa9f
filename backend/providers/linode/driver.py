"""Machines of Linode, which is now a part of Akamai (techdocs.akamai.com/linode-api)."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from backend.foundation.errors import Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import HosterDriver, Order, Server, public_ipv4
from backend.providers.machines import (
    PEER_PORTS,
    UNGUARDED,
    ProviderResource,
    ProviderResourceState,
)


class LinodeDriver(HosterDriver):
    """A label has 64 characters at most and is unique: it is the first mark, the others are tags."""

    api = "https://api.linode.com"
    path = "/v4/linode/instances"
    image = "linode/debian12"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "provisioning": ProviderResourceState.PENDING,
        "booting": ProviderResourceState.PENDING,
        "running": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"limit.*(reached|exceeded|support)|account limit", Reason.QUOTA),
        refusal(r"capacity|not available|unavailable in", Reason.CAPACITY, is_retryable=True),
        refusal(r"must be unique", Reason.UNSUPPORTED, is_retryable=True),
        refusal(r"busy", Reason.UNSUPPORTED, is_retryable=True),
    )

    def _error_text(self, document: Any) -> str:
        errors: Any = document.get("errors") or ({},)
        return "; ".join(
            f"{error.get('reason')} {error.get('field', '')}".strip() for error in errors
        )

    async def whoami(self) -> str:
        return f"user {(await self.ask('GET', '/v4/profile'))['username']}"

    async def _types(self, region: str) -> Sequence[str]:
        rows = await self.get_or_none(f"/v4/regions/{region}/availability") or ()
        return [row["plan"] for row in rows if row["available"]]

    async def _image(self, region: str) -> str:
        name = self._image_name(region)
        image = await self.get_or_none(f"/v4/images/{name}")
        # Others boot without the user data, and so with a host key that nobody knows.
        can_configure = image and "cloud-init" in image["capabilities"]
        return self._choose_image(region, {name: name} if can_configure else {})

    async def _list(self) -> Sequence[Any]:
        return await self.rows(self.path, "data", size="page_size")

    async def _request(self, order: Order) -> Any:
        return {
            "region": order.spec.region,
            "type": order.spec.machine_type,
            "image": await self._image(order.spec.region),
            "label": order.marks[0],
            "tags": list(order.marks[1:]),
            "metadata": {"user_data": order.user_data_base64},
            # It must have one; nobody gets to know it.
            "root_pass": secrets.token_urlsafe(48),
            "booted": True,
        }

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        """Accounts may put a default firewall in front of every new machine
        (techdocs.akamai.com/linode-api/reference/put-firewall-settings-2); its rules are theirs."""
        names = await self._firewalls(resource.id)
        if not names:
            return UNGUARDED
        first, last = PEER_PORTS
        return (
            f"the account's firewall {', '.join(names)} is in front of the machine: it must let in"
            f" TCP and UDP ports {first} to {last} and ICMP from {address}"
        )

    async def _firewalls(self, number: str) -> list[str]:
        answer = await self.ask("GET", f"{self._path_of(number)}/firewalls")
        return [wall["label"] for wall in answer["data"] if wall["status"] == "enabled"]

    def _read(self, instance: Any) -> Server:
        return Server(
            id=str(instance["id"]),
            marks=[instance["label"], *instance["tags"]],
            state=self._state(instance["status"]),
            region=instance["region"],
            created=instance["created"],
            address=public_ipv4(instance["ipv4"]),
        )


DRIVER = LinodeDriver
