"""Machines of DigitalOcean: droplets (docs.digitalocean.com/reference/api)."""

from collections.abc import Iterable
from typing import Any

from backend.domain.errors import Reason
from backend.providers.hoster_calls import numbered_pages, refusal
from backend.providers.hosters import LibcloudDriver, Order, Server, public_ipv4
from backend.providers.machines import Overview, ProviderResourceState


class DigitalOceanDriver(LibcloudDriver):
    """The marks are the droplet's name: tags are objects of the account, and would stay."""

    connection = ("libcloud.common.digitalocean", "DigitalOcean_v2_Connection")
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

    def _identity(self) -> str:
        return f"account of {self.ask('GET', '/v2/account')['account']['email']}"

    def _quota(self, region: str, overview: Overview) -> None:
        account = self.ask("GET", "/v2/account")["account"]
        used, limit = len(list(self._droplets())), account["droplet_limit"]
        if account["status"] != "active":
            overview.not_ready("account", account["status"], "Ask DigitalOcean's support.")
        if used < limit:
            overview.ready("quota", f"{used} of {limit} droplets")
        else:
            overview.not_ready("quota", f"{used} of {limit} droplets", "Ask for a higher limit.")

    def _types(self, region: str) -> Iterable[str]:
        for size in numbered_pages(self, "/v2/sizes", "sizes"):
            if size["available"] and region in size["regions"]:
                yield size["slug"]

    def _image(self, region: str) -> str:
        slug = self._access.in_region("image", region) or self.image
        image = self.ask("GET", f"/v2/images/{slug}")["image"]
        return self._chosen(region, {slug: slug} if region in image["regions"] else {})

    def _droplets(self) -> Iterable[Any]:
        return numbered_pages(self, "/v2/droplets", "droplets")

    def _servers(self) -> Iterable[Server]:
        return map(self._read, self._droplets())

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(f"/v2/droplets/{number}")
        return self._read(answer["droplet"]) if answer else None

    def _make(self, order: Order) -> Server:
        droplet = {
            "name": order.name,
            "region": order.spec.region,
            "size": order.spec.machine_type,
            "image": self._access.in_region("image", order.spec.region) or self.image,
            "user_data": order.user_data,
        }
        return self._read(self.ask("POST", "/v2/droplets", body=droplet)["droplet"])

    def _end(self, number: str) -> None:
        self.get_or_none(f"/v2/droplets/{number}", method="DELETE")

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
