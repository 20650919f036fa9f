"""DigitalOcean on loopback, as https://docs.digitalocean.com/reference/api/digitalocean describes it:
droplets, sizes, images and the account, with errors as {"id", "message", "request_id"}."""

import re
from typing import Any

from tests.fakes.hosters import HostedMachine, HosterApi, Refused, page_of
from tests.fakes.rest import Answer, Asked

SIZES = {"s-1vcpu-1gb": ("fra1", "ams3"), "c-2": ("fra1",)}
IMAGES = ("debian-12-x64", "ubuntu-24-04-x64")
# Of each fault: status, id, message, headers.
ERRORS: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "unauthorized": (401, "Unauthorized", "Unable to authenticate you", {}),
    "forbidden": (403, "Forbidden", "You are not authorized to perform this operation", {}),
    "not_found": (404, "not_found", "The resource you were accessing could not be found.", {}),
    "locked": (422, "unprocessable_entity", "Droplet already has a pending event.", {}),
    # docs.digitalocean.com/reference/api, Rate Limit: RateLimit-Reset is a Unix time, Retry-After seconds
    "throttled": (429, "too_many_requests", "API Rate limit exceeded.", {"retry_after": "30"}),
    "broken": (500, "server_error", "Unexpected server-side error", {}),
    "delete_failed": (503, "service_unavailable", "Try again later", {}),
    "quota": (422, "unprocessable_entity",
              "creating this/these droplet(s) will exceed your droplet limit", {}),
    "capacity": (422, "unprocessable_entity", "Size is not available in this region.", {}),
    "invalid": (422, "unprocessable_entity", "You specified an invalid image.", {}),
}  # fmt: skip


class DigitalOcean(HosterApi):
    slug, machine_type, region, other_region = "digitalocean", "s-1vcpu-1gb", "fra1", "ams3"
    words = {"pending": "new", "running": "active", "off": "off", "ending": "archive"}
    token = "a-token-of-the-account"
    droplet_limit = 10
    status = "active"

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {}, "secret": {"token": self.token}}

    def refused(self, fault: str) -> Refused:
        status, name, message, headers = ERRORS[fault]
        return Refused(status, {"id": name, "message": message, "request_id": "1"}, **headers)

    def is_known(self, asked: Asked) -> bool:
        return asked.headers.get("authorization") == f"Bearer {self.token}"

    def answered(self, asked: Asked) -> Answer:
        kind, *rest = asked.parts[1:]
        if kind == "droplets":
            return self._droplets(asked, rest)
        match asked.method, kind, rest:
            case "GET", "account", []:
                account = {"email": "ops@example.com", "droplet_limit": self.droplet_limit}
                return Answer({"account": account | {"status": self.status}})
            case "GET", "sizes", []:
                rows = [
                    {"slug": slug, "available": True, "regions": list(regions)}
                    for slug, regions in SIZES.items()
                ]
                return Answer({"sizes": page_of(rows, asked, "per_page")})
            case "GET", "images", [slug] if slug in IMAGES:
                return Answer({"image": {"slug": slug, "regions": ["fra1", "ams3"]}})
        raise self.refused("not_found")

    def _droplets(self, asked: Asked, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                rows = [self._document(one) for one in self.shown()]
                return Answer({"droplets": page_of(rows, asked, "per_page")})
            case "GET", [number]:
                return Answer({"droplet": self._document(self.one(number))})
            case "POST", []:
                return Answer({"droplet": self._document(self._created(asked.body))}, 202)
            case "DELETE", [number]:
                self.end(number)
                return Answer({}, 204)
        raise self.refused("not_found")

    def _created(self, body: Any) -> HostedMachine:
        # "only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)", at most 255
        if not re.fullmatch(r"[A-Za-z0-9.-]{1,255}", body["name"]):
            raise self.refused("invalid")
        if body["region"] not in SIZES.get(body["size"], ()) or body["image"] not in IMAGES:
            raise self.refused("invalid")
        return self.made(body["name"], body["region"], body["user_data"], body)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        # A droplet has no address while it is new.
        is_new = self.word(one) == "new"
        address = {"ip_address": one.server.address, "type": "public"}
        return {
            "id": int(one.number),
            "name": one.name,
            "status": self.word(one),
            "created_at": one.began.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": {"slug": one.region},
            "networks": {"v4": [] if is_new else [address], "v6": []},
            "tags": [],
        }


HOSTER = DigitalOcean
