"""Scaleway on loopback, as https://www.scaleway.com/en/developers/api/instance/ and …/block/ describe
them: Instances of zones, their actions and user data, volumes, images of the marketplace and the project,
with errors as {"type", "message"}. A new Instance is stopped and has no user data; the action terminate
only detaches volumes of Block Storage (Instance API, "Perform action")."""

from typing import Any

from tests.fakes.hosters import HostedMachine, HosterApi, Refused, page_of
from tests.fakes.rest import Answer, Asked, HangUp

TYPES = {
    "PLAY2-PICO": ("fr-par-1", "nl-ams-1"),
    "DEV1-S": ("fr-par-1",),
    "COPARM1-2C-8G": ("fr-par-1",),
}
IMAGES = {"debian_bookworm": "6c1d-debian", "ubuntu_noble": "6c1d-ubuntu"}
# By label too, of types whose processors are Ampere's.
ARM_IMAGES = {"debian_bookworm": "6c1d-debian-arm64"}
PROJECT = "105bdce1-64c0-48ab-899d-868455867ecf"
ERRORS = {
    "unauthorized": (401, "denied_authentication"),
    "forbidden": (403, "permissions_denied"),
    "not_found": (404, "not_found"),
    "locked": (409, "transient_state"),
    "throttled": (429, "too_many_requests"),
    "broken": (500, "internal_error"),
    "delete_failed": (503, "temporary_unavailable"),
    "quota": (403, "quotas_exceeded"),
    "capacity": (503, "out_of_stock"),
    "invalid": (400, "invalid_arguments"),
}


class Scaleway(HosterApi):
    """A launch has one fault more: start_lost, between the Instance and its start."""

    slug, machine_type, region, other_region = "scaleway", "PLAY2-PICO", "fr-par-1", "nl-ams-1"
    words = {
        "new": "stopped",
        "pending": "starting",
        "running": "running",
        "off": "stopped in place",
        "ending": "stopping",
    }
    token = "3c6b5a1e-0000-4000-8000-a0a0a0a0a0a0"

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        settings = {"project": PROJECT}
        return {"access": "token", "settings": settings, "secret": {"token": self.token}}

    @property
    def volumes(self) -> list[HostedMachine]:
        """The machines whose volume exists: it costs, with and without its machine."""
        return [one for one in self.record if not one.body.get("is_volume_deleted")]

    def refused(self, fault: str) -> Refused:
        status, kind = ERRORS[fault]
        return Refused(status, {"type": kind, "message": f"no: {kind}"})

    def is_known(self, asked: Asked) -> bool:
        return asked.headers.get("x-auth-token") == self.token

    def answered(self, asked: Asked) -> Answer:
        match asked.method, asked.parts:
            case "GET", ["account", "v3", "projects", project] if project == PROJECT:
                return Answer({"id": project, "name": "benchmarks"})
            case "GET", ["marketplace", "v2", "local-images"]:
                return Answer({"local_images": self._images(asked.query)})
            case _, ["instance", "v1", "zones", zone, "servers", *rest]:
                return self._instances(asked, zone, rest)
            case "GET", ["instance", "v1", "zones", zone, "products", "servers", "availability"]:
                servers = {
                    name: {"availability": "available" if zone in zones else "shortage"}
                    for name, zones in TYPES.items()
                }
                return Answer({"servers": servers})
            case _, ["block", "v1", "zones", zone, "volumes", *rest]:
                return self._volumes(asked, zone, rest)
        raise self.refused("not_found")

    def _images(self, query: Any) -> list[Any]:
        label = query["image_label"]
        is_sold = any(query["zone"] in zones for zones in TYPES.values())
        if not is_sold or query["type"] != "instance_sbs":
            return []
        # Arm first: whoever takes the first one of the label must look at its architecture.
        return [
            {"id": images[label], "label": label, "arch": arch, "type": query["type"]}
            for arch, images in (("arm64", ARM_IMAGES), ("x86_64", IMAGES))
            if label in images
        ]

    def _instances(self, asked: Asked, zone: str, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                rows = [self._document(one) for one in self.shown() if one.region == zone]
                return Answer({"servers": page_of(rows, asked, "per_page")})
            case "GET", [number]:
                return Answer({"server": self._document(self.one(f"{zone}/{number}"))})
            case "POST", []:
                return Answer({"server": self._document(self._created(zone, asked.body))}, 201)
            case "PATCH", [number, "user_data", "cloud-init"]:
                if not asked.headers["content-type"].startswith("text/plain"):
                    raise self.refused("invalid")
                self._new(f"{zone}/{number}").body["user_data"] = asked.body
                return Answer({}, 204)
            case "POST", [number, "action"]:
                return self._acted(self._new(f"{zone}/{number}"), asked.body["action"])
            case "DELETE", [number]:
                if self.one(f"{zone}/{number}").is_started:
                    raise self.refused("locked")
                self.end(f"{zone}/{number}")
                return Answer({}, 204)
        raise self.refused("not_found")

    def _created(self, zone: str, body: Any) -> HostedMachine:
        volume = body["volumes"]["0"]
        if zone not in TYPES.get(body["commercial_type"], ()) or body["project"] != PROJECT:
            raise self.refused("invalid")
        is_arm = body["commercial_type"].startswith("COPARM1")
        images = (ARM_IMAGES if is_arm else IMAGES).values()
        if body["image"] not in images or volume["size"] % 10**9:
            raise self.refused("invalid")
        return self.made(body["name"], zone, "", body)

    def _new(self, number: str) -> HostedMachine:
        """Also one that is not shown yet."""
        unseen = [one for one in self.record if one.number == number and not one.is_started]
        return unseen[0] if unseen else self.one(number)

    def number(self, region: str) -> str:
        return f"{region}/{super().number(region)}"

    def _acted(self, one: HostedMachine, action: str) -> Answer:
        if action == "poweron" and not one.is_started:
            if self.faults.happens("start_lost") is not None:
                raise HangUp
            self.begin(one, one.body["user_data"])
        elif action == "terminate" and one.is_started:
            self.end(one.number)
        else:
            raise self.refused("locked")
        return Answer({"task": {"status": "pending"}}, 202)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        state = self.word(one)
        address = {"address": one.server.address, "family": "inet", "dynamic": True}
        return {
            "id": one.number.rpartition("/")[2],
            "zone": one.region,
            "name": one.name,
            "tags": one.body["tags"],
            "state": state,
            "creation_date": one.began.isoformat(timespec="microseconds"),
            "public_ips": [] if state in {"stopped", "starting"} else [address],
        }

    def _volumes(self, asked: Asked, zone: str, rest: list[str]) -> Answer:
        now = self.clock()
        known = [one for one in self.volumes if one.region == zone and now >= one.seen_from]
        match asked.method, rest:
            case "GET", []:
                return Answer(
                    {"volumes": page_of([self._volume(one) for one in known], asked, "page_size")}
                )
            case "DELETE", [number]:
                for one in known:
                    if one.number == f"{zone}/{number}":
                        if one.ended is None:
                            raise self.refused("locked")
                        one.body["is_volume_deleted"] = True
                        return Answer({}, 204)
        raise self.refused("not_found")

    def _volume(self, one: HostedMachine) -> dict[str, Any]:
        number = one.number.rpartition("/")[2]
        used = {"product_resource_type": "instance_server", "product_resource_id": number}
        return {
            "id": number,
            "name": one.body["volumes"]["0"]["name"],
            "zone": one.region,
            "created_at": one.began.isoformat(timespec="microseconds"),
            "status": "in_use" if one.ended is None else "available",
            "references": [used] if one.ended is None else [],
        }


HOSTER = Scaleway
