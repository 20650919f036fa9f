"""Machines of Scaleway: Instances with a Block Storage volume (scaleway.com/en/developers/api/instance).

An Instance is made, given its user data and switched on: three calls, of which the last two are
made good when a launch is repeated. Ending it leaves its volume, which has a name of ours and is
ended as a thing of its own (Instance API, "Perform action": `sbs_volume` volumes are only detached).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from backend.domain.errors import DriverError, Reason
from backend.providers.hoster_calls import PAGE_ROWS, numbered_pages, refusal
from backend.providers.hosters import (
    IMAGE_ADVICE,
    LibcloudDriver,
    Order,
    Server,
    public_ipv4,
)
from backend.providers.machines import Overview, ProviderResourceState, ResourceKind

# Whole GB and not GiB; Block Storage is as fast at any size.
DISK_BYTES = 20 * 10**9


class ScalewayDriver(LibcloudDriver):
    """Settings: project. Secret: token, the secret key. A region is a zone, of which an id names the
    one that it is of, as in fr-par-1/11111111-…"""

    connection = ("libcloud.compute.drivers.scaleway", "ScalewayConnection")
    host = "api.scaleway.com"
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

    def _keys(self) -> dict[str, str]:
        return {"user_id": "", **super()._keys()}

    def _opened(self) -> Any:
        opened = super()._opened()
        token = self._access.secret.get("token", "")
        # Its own says JSON of every body, and user data is none.
        opened.add_default_headers = lambda headers: {
            "Content-Type": "application/json",
            **headers,
            "X-Auth-Token": token,
        }
        return opened

    def _body(self, body: Any) -> Any:
        return body if isinstance(body, str) else super()._body(body)

    def _text(self, document: Any) -> str:
        return f"{document.get('type')} {document.get('message')}"

    def _identity(self) -> str:
        answer = self.ask("GET", f"/account/v3/projects/{self._project}")
        return f"project {answer['name']}"

    @property
    def _project(self) -> str:
        return str(self._settings.get("project", ""))

    def _zones(self) -> Iterable[str]:
        return list(self._settings.get("regions", ()))

    def _types(self, region: str) -> Iterator[str]:
        path = f"/instance/v1/zones/{region}/products/servers/availability"
        page, is_last = 1, False
        while not is_last:
            answer = self.get_or_none(f"{path}?page={page}&per_page={PAGE_ROWS}")
            servers = answer["servers"] if answer else {}
            for name, stock in servers.items():
                if stock["availability"] != "shortage":
                    yield name
            page, is_last = page + 1, len(servers) < PAGE_ROWS

    def _image(self, region: str, arch: str = "x86_64") -> str:
        label = self._access.in_region("image", region) or self.image
        query = {"image_label": label, "zone": region, "type": "instance_sbs"}
        images = self.ask("GET", "/marketplace/v2/local-images", query=query)["local_images"]
        return self._chosen(
            region, {image["label"]: image["id"] for image in images if image["arch"] == arch}
        )

    def _look_at_images(self, region: str, overview: Overview) -> None:
        """An image of one's own may be of one architecture alone, which hinders the other types."""
        super()._look_at_images(region, overview)
        try:
            overview.ready("image arm64", self._image(region, "arm64"))
        except DriverError as error:
            overview.unknown("image arm64", error.detail, IMAGE_ADVICE)

    def _servers(self) -> Iterator[Server]:
        for zone in self._zones():
            yield from map(self._read, self._instances(zone))

    def _instances(self, zone: str) -> Iterator[Any]:
        return numbered_pages(self, f"/instance/v1/zones/{zone}/servers", "servers")

    def _server(self, number: str) -> Server | None:
        answer = self.get_or_none(_path(number))
        return self._read(answer["server"]) if answer else None

    def _disks(self) -> Iterator[Server]:
        for zone in self._zones():
            path = f"/block/v1/zones/{zone}/volumes"
            volumes = list(numbered_pages(self, path, "volumes", "page_size"))
            # After the volumes: one that is made meanwhile has its machine in the later list.
            instances = {instance["id"] for instance in self._instances(zone)}
            for volume in volumes:
                used = {one["product_resource_id"] for one in volume["references"]}
                if volume["status"] != "deleted" and not used & instances:
                    yield _disk(volume)

    def _make(self, order: Order) -> Server:
        spec = order.spec
        volume = {"name": order.name, "volume_type": "sbs_volume", "size": DISK_BYTES}
        instance = {
            "project": self._project,
            "name": order.marks[0],
            "tags": list(order.marks[1:]),
            "commercial_type": spec.machine_type,
            "image": self._image(spec.region, spec.arch),
            "volumes": {"0": volume},
            # One that lives as long as the machine.
            "dynamic_ip_required": True,
        }
        path = f"/instance/v1/zones/{spec.region}/servers"
        made = self._read(self.ask("POST", path, body=instance)["server"])
        self._start(made, order)
        return made

    def _continued(self, server: Server, order: Order) -> Server:
        if self.ask("GET", _path(server.id))["server"]["state"] == "stopped":
            self._start(server, order)
        return server

    def _start(self, server: Server, order: Order) -> None:
        path, plain = _path(server.id), {"Content-Type": "text/plain"}
        self.ask("PATCH", f"{path}/user_data/cloud-init", body=order.user_data, headers=plain)
        self.ask("POST", f"{path}/action", body={"action": "poweron"})

    def _end(self, number: str) -> None:
        path = _path(number)
        answer = self.get_or_none(path)
        state = answer["server"]["state"] if answer else "stopping"
        if state == "stopped":
            self.get_or_none(path, method="DELETE")
        elif state != "stopping":
            self.ask("POST", f"{path}/action", body={"action": "terminate"})

    def _end_disk(self, number: str) -> None:
        self.get_or_none(_path(number, "block", "volumes"), method="DELETE")

    def _read(self, instance: Any) -> Server:
        return Server(
            id=f"{instance['zone']}/{instance['id']}",
            marks=[instance["name"], *instance["tags"]],
            state=self._state(instance["state"]),
            region=instance["zone"],
            created=instance["creation_date"],
            address=public_ipv4(
                one["address"] for one in instance["public_ips"] if one["family"] == "inet"
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


def _path(number: str, product: str = "instance", kind: str = "servers") -> str:
    zone, _, own = number.rpartition("/")
    return f"/{product}/v1/zones/{zone}/{kind}/{own}"


DRIVER = ScalewayDriver
