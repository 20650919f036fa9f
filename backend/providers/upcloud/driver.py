"""Machines of UpCloud: servers with a disk of their own (developers.upcloud.com/1.3)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from backend.domain.errors import DriverError, Reason
from backend.providers.hoster_calls import PAGE_ROWS, refusal
from backend.providers.hosters import LibcloudDriver, Order, Server, public_ipv4
from backend.providers.machines import Overview, ProviderResourceState, unsupported

SERVERS = "/1.3/server"


class UpcloudDriver(LibcloudDriver):
    """Secret: username and password of a subaccount. A server is stopped before it can be deleted."""

    connection = ("libcloud.compute.drivers.upcloud", "UpcloudConnection")
    image = "debian-gnu-linux-12"
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        "maintenance": ProviderResourceState.PENDING,
        "started": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"_LIMIT_REACHED|INSUFFICIENT_CREDITS|TRIAL_", Reason.QUOTA),
        refusal(r"_RESOURCES_UNAVAILABLE", Reason.CAPACITY, is_retryable=True),
    )

    def _keys(self) -> dict[str, str]:
        secret = self._access.secret
        return {"user_id": secret.get("username", ""), "key": secret.get("password", "")}

    def _text(self, document: Any) -> str:
        error = document.get("error") or {}
        return f"{error.get('error_code')} {error.get('error_message')}"

    def _identity(self) -> str:
        return f"account {self._account()['username']}"

    def _account(self) -> Any:
        return self.ask("GET", "/1.3/account")["account"]

    def _quota(self, region: str, overview: Overview) -> None:
        limits = self._account()["resource_limits"]
        overview.unknown("quota", f"{limits['cores']} cores and {limits['memory']} MB in all")

    def _types(self, region: str) -> Iterable[str]:
        zones = self.ask("GET", "/1.3/zone")["zones"]["zone"]
        if region not in {zone["id"] for zone in zones}:
            return []
        return [plan["name"] for plan in self._plans()]

    def _plans(self) -> Any:
        return self.ask("GET", "/1.3/plan")["plans"]["plan"]

    def _image(self, region: str) -> str:
        templates = self.ask("GET", "/1.3/storage/template")["storages"]["storage"]
        return self._chosen(region, {template["title"]: template["uuid"] for template in templates})

    def _servers(self) -> Iterator[Server]:
        offset = 0
        while True:
            query = {"limit": str(PAGE_ROWS), "offset": str(offset)}
            rows = self.ask("GET", SERVERS, query=query)["servers"]["server"]
            yield from map(self._read, rows)
            if len(rows) < PAGE_ROWS:
                return
            offset += PAGE_ROWS

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(f"{SERVERS}/{number}")
        return self._read(answer["server"]) if answer else None

    def _make(self, order: Order) -> Server:
        spec = order.spec
        plans = [plan for plan in self._plans() if plan["name"] == spec.machine_type]
        if not plans:
            raise unsupported(f"{spec.machine_type} is no plan")
        disk = {
            "action": "clone",
            "storage": self._image(spec.region),
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
        return self._read(self.ask("POST", SERVERS, body={"server": server})["server"])

    def _end(self, number: str) -> None:
        server = self.get_or_none(f"{SERVERS}/{number}")
        if server is None:
            return
        state = server["server"]["state"]
        if state == "started":
            stop = {"stop_server": {"stop_type": "hard"}}
            self.ask("POST", f"{SERVERS}/{number}/stop", body=stop)
        if state in {"started", "maintenance"}:
            raise DriverError(Reason.UNSUPPORTED, "it has to stop first", retryable=True)
        # With its disk, which costs without a server, too.
        self.get_or_none(f"{SERVERS}/{number}?storages=1&backups=delete", method="DELETE")

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
