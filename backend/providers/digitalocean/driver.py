"""Machines of DigitalOcean: droplets (docs.digitalocean.com/reference/api)."""

from collections.abc import Sequence
from typing import Any

from backend.foundation.errors import Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import HosterDriver, Order, Server, public_ipv4
from backend.providers.machines import Overview, ProviderResourceState


class DigitalOceanDriver(HosterDriver):
    """The marks are the droplet's name: tags are objects of the account, and would stay."""

    api = "https://api.digitalocean.com"
    path, key = "/v2/droplets", "droplet"
    image = "debian-12-x64"
    states = {"new": ProviderResourceState.PENDING, "active": ProviderResourceState.RUNNING}
    refusals = (
        refusal(r"exceed your droplet limit|droplet limit", Reason.QUOTA),
        refusal(
            r"size .*(not available|unavailable|restricted)", Reason.CAPACITY, is_retryable=True
        ),
        refusal(
            r"region .*(not available|unavailable|disabled)", Reason.CAPACITY, is_retryable=True
        ),
        refusal(r"pending event", Reason.UNSUPPORTED, is_retryable=True),
    )

    async def whoami(self) -> str:
        return f"account of {(await self._account())['email']}"

    async def _account(self) -> Any:
        return (await self.ask("GET", "/v2/account"))["account"]

    async def _quota(self, region: str, overview: Overview) -> None:
        account = await self._account()
        used, limit = len(await self._list()), account["droplet_limit"]
        if account["status"] != "active":
            overview.not_ready("account", account["status"], "Ask DigitalOcean's support.")
        if used < limit:
            overview.ready("quota", f"{used} of {limit} droplets")
        else:
            overview.not_ready("quota", f"{used} of {limit} droplets", "Ask for a higher limit.")

    async def _types(self, region: str) -> Sequence[str]:
        sizes = await self.rows("/v2/sizes", "sizes")
        return [size["slug"] for size in sizes if size["available"] and region in size["regions"]]

    async def _image(self, region: str) -> str:
        slug = self._image_name(region)
        image = (await self.ask("GET", f"/v2/images/{slug}"))["image"]
        return self._choose_image(region, {slug: slug} if region in image["regions"] else {})

    async def _list(self) -> Sequence[Any]:
        return await self.rows(self.path, "droplets")

    async def _request(self, order: Order) -> Any:
        return {
            "name": order.name,
            "region": order.spec.region,
            "size": order.spec.machine_type,
            "image": self._image_name(order.spec.region),
            "user_data": order.user_data,
        }

    def _read(self, droplet: Any) -> Server:
        networks = droplet["networks"].get("v4", ())
        return Server(
            id=str(droplet["id"]),
            marks=droplet["name"].split("."),
            state=self._state(droplet["status"]),
            region=droplet["region"]["slug"],
            created=droplet["created_at"],
            address=public_ipv4(
                network["ip_address"] for network in networks if network["type"] == "public"
            ),
        )


DRIVER = DigitalOceanDriver
