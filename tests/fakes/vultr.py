"""Vultr on loopback, as https://www.vultr.com/api/ describes it: instances, operating systems and what
a region has left, with errors as {"error", "status"}. An instance without an address shows 0.0.0.0."""

import base64
from typing import Any

from tests.fakes.hosters import HostedMachine, HosterApi, Refused
from tests.fakes.rest import Answer, Asked

PLANS = {"vc2-1c-1gb": ("fra", "ams"), "vhp-1c-1gb-amd": ("fra",)}
SYSTEMS = {2136: "Debian 12 x64 (bookworm)", 2284: "Ubuntu 24.04 LTS x64"}
ERRORS = {
    "unauthorized": (401, "Invalid API token."),
    "forbidden": (403, "Unauthorized IP address: 192.0.2.1"),
    "not_found": (404, "Invalid instance."),
    "locked": (400, "Server is currently locked. Please try again later."),
    "throttled": (429, "Rate limit exceeded."),
    "broken": (500, "Internal server error."),
    "delete_failed": (503, "Try again later."),
    "quota": (403, "You have reached the maximum number of active virtual machines for this account."),
    "capacity": (400, "Plan is not available in the selected region."),
    "invalid": (400, "Invalid plan chosen."),
}  # fmt: skip


class Vultr(HosterApi):
    slug, machine_type, region, other_region = "vultr", "vc2-1c-1gb", "fra", "ams"
    words = {"pending": "pending", "running": "active", "off": "active", "ending": "suspended"}
    token = "a-key-of-the-account"
    page_rows = 2

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {}, "secret": {"token": self.token}}

    def refused(self, fault: str) -> Refused:
        status, message = ERRORS[fault]
        return Refused(status, {"error": message, "status": status})

    def is_known(self, asked: Asked) -> bool:
        return asked.headers.get("authorization") == f"Bearer {self.token}"

    def answered(self, asked: Asked) -> Answer:
        kind, *rest = asked.parts[1:]
        if kind == "instances":
            return self._instances(asked, rest)
        match asked.method, kind, rest:
            case "GET", "account", []:
                return Answer({"account": {"email": "ops@example.com", "name": "ops"}})
            case "GET", "os", []:
                rows = [{"id": number, "name": name} for number, name in SYSTEMS.items()]
                return self._page("os", rows, asked)
            case "GET", "regions", [region, "availability"]:
                plans = [name for name, regions in PLANS.items() if region in regions]
                return Answer({"available_plans": plans})
        raise self.refused("not_found")

    def _page(self, key: str, rows: list[Any], asked: Asked) -> Answer:
        begin = int(asked.query.get("cursor", "0"))
        end = begin + self.page_rows
        links = {"next": str(end) if end < len(rows) else "", "prev": ""}
        return Answer({key: rows[begin:end], "meta": {"total": len(rows), "links": links}})

    def _instances(self, asked: Asked, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                return self._page("instances", [self._document(one) for one in self.shown()], asked)
            case "GET", [number]:
                return Answer({"instance": self._document(self.one(number))})
            case "POST", []:
                return Answer({"instance": self._document(self._created(asked.body))}, 202)
            case "DELETE", [number]:
                self.end(number)
                return Answer({}, 204)
        raise self.refused("not_found")

    def _created(self, body: Any) -> HostedMachine:
        if body["region"] not in PLANS.get(body["plan"], ()) or body["os_id"] not in SYSTEMS:
            raise self.refused("invalid")
        user_data = base64.b64decode(body["user_data"], validate=True).decode()
        return self.made(body["label"], body["region"], user_data, body)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        status = one.status(self.clock())
        return {
            "id": one.number,
            "label": one.name,
            "status": self.word(one),
            "power_status": "running" if status == "running" else "stopped",
            "server_status": "none" if status == "pending" else "ok",
            "date_created": one.began.isoformat(timespec="seconds"),
            "region": one.region,
            "main_ip": "0.0.0.0" if status == "pending" else one.server.address,
        }


HOSTER = Vultr
