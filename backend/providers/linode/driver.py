"""Machines of Linode, which is now a part of Akamai (techdocs.akamai.com/linode-api)."""

import asyncio
import base64
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from backend.domain.errors import Reason
from backend.providers.hoster_calls import numbered_pages, refusal
from backend.providers.hosters import LibcloudDriver, Order, Server, public_ipv4
from backend.providers.machines import (
    PEER_PORTS,
    UNGUARDED,
    ProviderResource,
    ProviderResourceState,
)

INSTANCES = "/v4/linode/instances"


class LinodeDriver(LibcloudDriver):
    """A label has 64 characters at most and is unique: it is the first mark, the others are tags."""

    connection = ("libcloud.common.linode", "LinodeConnectionV4")
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

    def _text(self, document: Any) -> str:
        errors: Any = document.get("errors") or ({},)
        return "; ".join(
            f"{error.get('reason')} {error.get('field', '')}".strip() for error in errors
        )

    def _identity(self) -> str:
        return f"user {self.ask('GET', '/v4/profile')['username']}"

    def _types(self, region: str) -> Iterable[str]:
        rows = self.get_or_none(f"/v4/regions/{region}/availability") or ()
        return [row["plan"] for row in rows if row["available"]]

    def _image(self, region: str) -> str:
        name = self._access.in_region("image", region) or self.image
        image = self.get_or_none(f"/v4/images/{name}")
        # Others boot without the user data, and so with a host key that nobody knows.
        can_configure = image and "cloud-init" in image["capabilities"]
        return self._chosen(region, {name: name} if can_configure else {})

    def _servers(self) -> Iterable[Server]:
        return map(self._read, numbered_pages(self, INSTANCES, "data", "page_size"))

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(f"{INSTANCES}/{number}")
        return self._read(answer) if answer else None

    def _make(self, order: Order) -> Server:
        instance = {
            "region": order.spec.region,
            "type": order.spec.machine_type,
            "image": self._image(order.spec.region),
            "label": order.marks[0],
            "tags": list(order.marks[1:]),
            "metadata": {"user_data": base64.b64encode(order.user_data.encode()).decode()},
            # It must have one; nobody gets to know it.
            "root_pass": secrets.token_urlsafe(48),
            "booted": True,
        }
        return self._read(self.ask("POST", INSTANCES, body=instance))

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        """Accounts may put a default firewall in front of every new machine
        (techdocs.akamai.com/linode-api/reference/put-firewall-settings-2); its rules are theirs."""
        names = await asyncio.to_thread(self._firewalls, resource.id)
        if not names:
            return UNGUARDED
        first, last = PEER_PORTS
        return (
            f"the account's firewall {', '.join(names)} is in front of the machine: it must let in"
            f" TCP and UDP ports {first} to {last} and ICMP from {address}"
        )

    def _firewalls(self, number: str) -> list[str]:
        listed = self.ask("GET", f"{INSTANCES}/{number}/firewalls")["data"]
        return [one["label"] for one in listed if one["status"] == "enabled"]

    def _end(self, number: str) -> None:
        self.get_or_none(f"{INSTANCES}/{number}", method="DELETE")

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
