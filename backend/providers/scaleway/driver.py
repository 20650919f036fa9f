"""Machines of Scaleway: Instances with a Block Storage volume (scaleway.com/en/developers/api/instance).

An Instance is made, given its user data and switched on: three calls, of which the last two are
made good when a launch is repeated. Ending it leaves its volume, which has a name of ours and is
ended as a thing of its own (Instance API, "Perform action": `sbs_volume` volumes are only detached).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from backend.foundation.errors import DriverError, Reason
from backend.providers.hoster_calls import refusal
from backend.providers.hosters import (
    IMAGE_ADVICE,
    HosterDriver,
    Order,
    Server,
    public_ipv4,
)
from backend.providers.machines import Overview, ProviderResourceState, ResourceKind

# Whole GB and not GiB; Block Storage is as fast at any size.
DISK_BYTES = 20 * 10**9


class ScalewayDriver(HosterDriver):
    """Settings: project. Secret: token, the secret key. A region is a zone, of which an id names the
    one that it is of, as in fr-par-1/11111111-…"""

    api = "https://api.scaleway.com"
    key = "server"
    # Up to six calls a launch.
    call_s = 5
    image = "debian_bookworm"
    # Types of COPARM1 have processors of Ampere (scaleway.com/en/cost-optimized-instances-based-on-arm/).
    arches = ("x86_64", "arm64")
    states: ClassVar[Mapping[str, ProviderResourceState]] = {
        # Not switched on yet: one that has switched itself off is "stopped in place", and costs.
        "stopped": ProviderResourceState.PENDING,
        "starting": ProviderResourceState.PENDING,
        "running": ProviderResourceState.RUNNING,
    }
    refusals = (
        refusal(r"quotas_exceeded|quota.* exceeded", Reason.QUOTA),
        refusal(r"out_of_stock|out of stock", Reason.CAPACITY, is_retryable=True),
        refusal(
            r"transient_state|precondition_failed|resource_locked",
            Reason.UNSUPPORTED,
            is_retryable=True,
        ),
    )

    def _credentials(self) -> Mapping[str, Any]:
        return {"headers": {"X-Auth-Token": self._access.secret.get("token", "")}}

    def _error_text(self, document: Any) -> str:
        return f"{document.get('type')} {document.get('message')}"

    async def whoami(self) -> str:
        answer = await self.ask("GET", f"/account/v3/projects/{self._project}")
        return f"project {answer['name']}"

    @property
    def _project(self) -> str:
        return str(self._settings.get("project", ""))

    def _zones(self) -> Sequence[str]:
        return list(self._settings.get("regions", ()))

    async def _types(self, region: str) -> Sequence[str]:
        path = f"/instance/v1/zones/{region}/products/servers/availability"
        names: list[str] = []
        page, is_last = 1, False
        while not is_last:
            query = {"page": str(page), "per_page": str(self.page_rows)}
            answer = await self.get_or_none(path, query=query)
            servers = answer["servers"] if answer else {}
            names += [name for name in servers if servers[name]["availability"] != "shortage"]
            page, is_last = page + 1, len(servers) < self.page_rows
        return names

    async def _image(self, region: str, arch: str = "x86_64") -> str:
        query = {"image_label": self._image_name(region), "zone": region, "type": "instance_sbs"}
        answer = await self.ask("GET", "/marketplace/v2/local-images", query=query)
        images = [image for image in answer["local_images"] if image["arch"] == arch]
        return self._choose_image(region, {image["label"]: image["id"] for image in images})

    async def _check_images(self, region: str, overview: Overview) -> None:
        """An image of one's own may be of one architecture alone, which hinders the other types."""
        await super()._check_images(region, overview)
        try:
            overview.ready("image arm64", await self._image(region, "arm64"))
        except DriverError as error:
            overview.unknown("image arm64", error.detail, IMAGE_ADVICE)

    def _path(self, region: str = "") -> str:
        return f"/instance/v1/zones/{region}/servers"

    def _path_of(self, number: str) -> str:
        return _path_of(number, "instance", "servers")

    async def _list(self) -> Sequence[Any]:
        return [instance for zone in self._zones() for instance in await self._list_instances(zone)]

    async def _list_instances(self, zone: str) -> list[Any]:
        return await self.rows(self._path(zone), "servers")

    async def _disks(self) -> Sequence[Server]:
        disks: list[Server] = []
        for zone in self._zones():
            path = f"/block/v1/zones/{zone}/volumes"
            volumes = await self.rows(path, "volumes", size="page_size")
            # After the volumes: one that is made meanwhile has its machine in the later list.
            instances = {instance["id"] for instance in await self._list_instances(zone)}
            for volume in volumes:
                used = {user["product_resource_id"] for user in volume["references"]}
                if volume["status"] != "deleted" and not used & instances:
                    disks.append(_disk(volume))
        return disks

    async def _request(self, order: Order) -> Any:
        spec = order.spec
        volume = {"name": order.name, "volume_type": "sbs_volume", "size": DISK_BYTES}
        return {
            "project": self._project,
            "name": order.marks[0],
            "tags": list(order.marks[1:]),
            "commercial_type": spec.machine_type,
            "image": await self._image(spec.region, spec.arch),
            "volumes": {"0": volume},
            # One that lives as long as the machine.
            "dynamic_ip_required": True,
        }

    async def _make(self, order: Order) -> Server:
        server = await super()._make(order)
        await self._start(server, order)
        return server

    async def _continue(self, server: Server, order: Order) -> Server:
        answer = await self.ask("GET", self._path_of(server.id))
        if answer["server"]["state"] == "stopped":
            await self._start(server, order)
        return server

    async def _start(self, server: Server, order: Order) -> None:
        path = self._path_of(server.id)
        await self.ask("PATCH", f"{path}/user_data/cloud-init", body=order.user_data)
        await self.ask("POST", f"{path}/action", body={"action": "poweron"})

    async def _end(self, number: str) -> None:
        path = self._path_of(number)
        answer = await self.get_or_none(path)
        state = answer["server"]["state"] if answer else "stopping"
        if state == "stopped":
            await self.get_or_none(path, method="DELETE")
        elif state != "stopping":
            await self.ask("POST", f"{path}/action", body={"action": "terminate"})

    async def _end_disk(self, number: str) -> None:
        await self.get_or_none(_path_of(number, "block", "volumes"), method="DELETE")

    def _read(self, instance: Any) -> Server:
        return Server(
            id=f"{instance['zone']}/{instance['id']}",
            marks=[instance["name"], *instance["tags"]],
            state=self._state(instance["state"]),
            region=instance["zone"],
            created=instance["creation_date"],
            address=public_ipv4(
                entry["address"] for entry in instance["public_ips"] if entry["family"] == "inet"
            ),
        )


def _disk(volume: Any) -> Server:
    return Server(
        id=f"{volume['zone']}/{volume['id']}",
        marks=volume["name"].split("."),
        state=ProviderResourceState.ENDING,
        region=volume["zone"],
        created=volume["created_at"],
        kind=ResourceKind.DISK,
    )


def _path_of(number: str, product: str, kind: str) -> str:
    zone, _, own = number.rpartition("/")
    return f"/{product}/v1/zones/{zone}/{kind}/{own}"


DRIVER = ScalewayDriver
