"""Linode on loopback, as https://techdocs.akamai.com/linode-api/reference/api describes it: instances,
images, what a region has left and the profile, with errors as {"errors": [{"reason", "field"}]}.
Labels are unique and have 3 to 64 characters, tags 3 to 50."""

import base64
from typing import Any, ClassVar

from tests.fakes.hosters import HostedMachine, HosterApi, Refused, page_of
from tests.fakes.rest import Answer, Asked

TYPES = {"g6-nanode-1": ("eu-central", "nl-ams"), "g6-dedicated-2": ("eu-central",)}
IMAGES = {"linode/debian12": ["cloud-init"], "linode/debian9": []}
ERRORS = {
    "unauthorized": (401, "Invalid Token"),
    "forbidden": (403, "Unauthorized"),
    "not_found": (404, "Not found"),
    "locked": (400, "Linode busy."),
    # techdocs.akamai.com/linode-api/reference/rate-limits
    "throttled": (429, "Too many requests"),
    "broken": (500, "Internal Server Error"),
    "delete_failed": (503, "Service unavailable"),
    "quota": (400, "Account Limit reached. Please open a support ticket."),
    "capacity": (400, "The selected region does not have capacity for this plan."),
    "invalid": (400, "is not valid"),
    "double": (400, "Label must be unique among your linodes"),
}


class Linode(HosterApi):
    slug, machine_type, region, other_region = "linode", "g6-nanode-1", "eu-central", "nl-ams"
    words = {"pending": "booting", "running": "running", "off": "offline", "ending": "deleting"}
    token = "a-token-of-the-account"
    firewalls: ClassVar[list[dict[str, str]]] = []
    """In front of every machine (techdocs.akamai.com/linode-api/reference/get-linode-firewalls)."""

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {}, "secret": {"token": self.token}}

    def refused(self, fault: str) -> Refused:
        status, reason = ERRORS[fault]
        headers = {"retry_after": "30"} if status == 429 else {}
        return Refused(status, {"errors": [{"reason": reason}]}, **headers)

    def is_known(self, asked: Asked) -> bool:
        return asked.headers.get("authorization") == f"Bearer {self.token}"

    def answered(self, asked: Asked) -> Answer:
        rest = asked.parts[1:]
        if rest[:2] == ["linode", "instances"]:
            return self._instances(asked, rest[2:])
        match asked.method, rest:
            case "GET", ["profile"]:
                return Answer({"username": "ops"})
            case "GET", ["images", *name] if "/".join(name) in IMAGES:
                name = "/".join(name)
                return Answer({"id": name, "capabilities": IMAGES[name]})
            case "GET", ["regions", region, "availability"]:
                return Answer([
                    {"region": region, "plan": name, "available": region in regions}
                    for name, regions in TYPES.items()
                ])  # fmt: skip
        raise self.refused("not_found")

    def _instances(self, asked: Asked, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                rows = [self._document(one) for one in self.shown()]
                return Answer({"data": page_of(rows, asked, "page_size")})
            case "GET", [number]:
                return Answer(self._document(self.one(number)))
            case "GET", [number, "firewalls"]:
                self.one(number)
                return Answer({"data": self.firewalls})
            case "POST", []:
                return Answer(self._document(self._created(asked.body)))
            case "DELETE", [number]:
                self.end(number)
                return Answer({})
        raise self.refused("not_found")

    def _created(self, body: Any) -> HostedMachine:
        texts_fit = len(body["label"]) <= 64 and all(3 <= len(one) <= 50 for one in body["tags"])
        if not texts_fit or body["region"] not in TYPES.get(body["type"], ()):
            raise self.refused("invalid")
        if body["image"] not in IMAGES or not body["root_pass"]:
            raise self.refused("invalid")
        if any(one.name == body["label"] and one.ended is None for one in self.record):
            raise self.refused("double")
        user_data = base64.b64decode(body["metadata"]["user_data"], validate=True).decode()
        return self.made(body["label"], body["region"], user_data, body)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        status = self.word(one)
        return {
            "id": int(one.number),
            "label": one.name,
            "tags": one.body["tags"],
            "status": status,
            # Times are UTC and do not say so.
            "created": one.began.strftime("%Y-%m-%dT%H:%M:%S"),
            "region": one.region,
            "ipv4": [] if status == "booting" else [one.server.address],
        }


HOSTER = Linode
