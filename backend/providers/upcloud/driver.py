"""Machines of UpCloud: servers with a disk of their own (developers.upcloud.com/1.3)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from backend.foundation.errors import DriverError, Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import HosterDriver, Order, Server, public_ipv4
from backend.providers.machines import Overview, ProviderResourceState, unsupported_error


class UpcloudDriver(HosterDriver):
    """Secret: username and password of a subaccount. A server is stopped before it can be deleted."""

    api = "https://api.upcloud.com"
    path, key = "/1.3/server", "server"
    image = "debian-gnu-linux-12"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "maintenance": ProviderResourceState.PENDING,
        "started": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"_LIMIT_REACHED|INSUFFICIENT_CREDITS|TRIAL_", Reason.QUOTA),
        refusal(r"_RESOURCES_UNAVAILABLE", Reason.CAPACITY, is_retryable=True),
    )

    def _credentials(self) -> Mapping[str, Any]:
        secret = self._access.secret
        return {"auth": (secret.get("username", ""), secret.get("password", ""))}

    def _error_text(self, document: Any) -> str:
        error = document.get("error") or {}
        return f"{error.get('error_code')} {error.get('error_message')}"

    async def whoami(self) -> str:
        return f"account {(await self._account())['username']}"

    async def _account(self) -> Any:
        return (await self.ask("GET", "/1.3/account"))["account"]

    async def _quota(self, region: str, overview: Overview) -> None:
        limits = (await self._account())["resource_limits"]
        overview.unknown("quota", f"{limits['cores']} cores and {limits['memory']} MB in all")

    async def _types(self, region: str) -> Sequence[str]:
        zones = (await self.ask("GET", "/1.3/zone"))["zones"]["zone"]
        if region not in {zone["id"] for zone in zones}:
            return []
        return [plan["name"] for plan in await self._plans()]

    async def _plans(self) -> Any:
        return (await self.ask("GET", "/1.3/plan"))["plans"]["plan"]

    async def _image(self, region: str) -> str:
        answer = await self.ask("GET", "/1.3/storage/template")
        templates = answer["storages"]["storage"]
        return self._choose_image(
            region, {template["title"]: template["uuid"] for template in templates}
        )

    async def _list(self) -> Sequence[Any]:
        rows: list[Any] = []
        is_last = False
        while not is_last:
            query = {"limit": str(self.page_rows), "offset": str(len(rows))}
            page = (await self.ask("GET", self.path, query=query))["servers"]["server"]
            rows += page
            is_last = len(page) < self.page_rows
        return rows

    async def _request(self, order: Order) -> Any:
        spec = order.spec
        plans = [plan for plan in await self._plans() if plan["name"] == spec.machine_type]
        if not plans:
            raise unsupported_error(f"{spec.machine_type} is no plan")
        disk = {
            "action": "clone",
            "storage": await self._image(spec.region),
            "title": order.marks[0],
            "size": plans[0]["storage_size"],
            "tier": plans[0]["storage_tier"],
        }
        server = {
            "zone": spec.region,
            "title": order.name,
            "hostname": order.marks[0],
            "plan": spec.machine_type,
            "metadata": "yes",
            "user_data": order.user_data,
            # Templates with cloud-init want a key here, too; the login is that of the user data.
            "login_user": {
                "create_password": "no",
                "ssh_keys": {"ssh_key": [" ".join(spec.public_key.split()[:2])]},
            },
            "storage_devices": {"storage_device": [disk]},
        }
        return {"server": server}

    async def _end(self, number: str) -> None:
        path = self._path_of(number)
        answer = await self.get_or_none(path)
        if answer is None:
            return
        state = answer["server"]["state"]
        if state == "started":
            stop = {"stop_server": {"stop_type": "hard"}}
            await self.ask("POST", f"{path}/stop", body=stop)
        if state in {"started", "maintenance"}:
            raise DriverError(Reason.UNSUPPORTED, "it has to stop first", retryable=True)
        # With its disk, which costs without a server, too.
        query = {"storages": "1", "backups": "delete"}
        await self.get_or_none(path, method="DELETE", query=query)

    def _read(self, server: Any) -> Server:
        # The list leaves addresses out; one server and a new one have them.
        addresses = (server.get("ip_addresses") or {}).get("ip_address", ())
        return Server(
            id=server["uuid"],
            marks=server["title"].split("."),
            state=self._state(server["state"]),
            region=server["zone"],
            created="",
            address=public_ipv4(
                address["address"]
                for address in addresses
                if address["access"] == "public" and address["family"] == "IPv4"
            ),
        )


DRIVER = UpcloudDriver
