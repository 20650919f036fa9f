"""UpCloud on loopback, as https://developers.upcloud.com/1.3/ describes it: servers, plans, zones,
templates and the account, with errors as {"error": {"error_code", "error_message"}}. A server must be
stopped before it can be deleted (8-servers, Delete server), and the list shows no addresses."""

import base64
from typing import Any

from tests.fakes.hosters import HostedMachine, HosterApi, Refused
from tests.fakes.rest import Answer, Asked

PLANS = ("1xCPU-2GB", "2xCPU-4GB")
ZONES = ("de-fra1", "fi-hel1")
TEMPLATES = {"Debian GNU/Linux 12 (Bookworm)": "t-debian", "Ubuntu Server 24.04": "t-ubuntu"}
ERRORS = {
    "unauthorized": (401, "AUTHENTICATION_FAILED"),
    "forbidden": (403, "SERVER_FORBIDDEN"),
    "not_found": (404, "SERVER_NOT_FOUND"),
    "locked": (409, "SERVER_STATE_ILLEGAL"),
    "throttled": (429, "RATE_LIMITED"),
    "broken": (500, "SERVICE_ERROR"),
    "delete_failed": (503, "SERVICE_UNAVAILABLE"),
    "quota": (402, "SERVER_CORE_LIMIT_REACHED"),
    "capacity": (409, "SERVER_RESOURCES_UNAVAILABLE"),
    "invalid": (400, "ZONE_INVALID"),
}


class Upcloud(HosterApi):
    slug, machine_type, region, other_region = "upcloud", "1xCPU-2GB", "de-fra1", "fi-hel1"
    # One that is asked to end is stopped, and then gone.
    words = {"pending": "maintenance", "running": "started", "off": "stopped", "ending": "stopped"}
    secret = {"username": "subaccount", "password": "password-of-it"}
    tells_creation = False

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {}, "secret": self.secret}

    def refused(self, fault: str) -> Refused:
        status, code = ERRORS[fault]
        return Refused(status, {"error": {"error_code": code, "error_message": f"no: {code}"}})

    def is_known(self, asked: Asked) -> bool:
        pair = f"{self.secret['username']}:{self.secret['password']}".encode()
        return asked.headers.get("authorization") == f"Basic {base64.b64encode(pair).decode()}"

    def answered(self, asked: Asked) -> Answer:
        rest = asked.parts[1:]
        if rest[0] == "server":
            return self._servers(asked, rest[1:])
        match asked.method, rest:
            case "GET", ["account"]:
                limits = {"cores": 100, "memory": 307_200}
                return Answer({"account": {"username": "subaccount", "resource_limits": limits}})
            case "GET", ["plan"]:
                rows = [
                    {"name": name, "storage_size": 50, "storage_tier": "maxiops"} for name in PLANS
                ]
                return Answer({"plans": {"plan": rows}})
            case "GET", ["zone"]:
                return Answer({"zones": {"zone": [{"id": zone} for zone in ZONES]}})
            case "GET", ["storage", "template"]:
                rows = [{"title": title, "uuid": uuid} for title, uuid in TEMPLATES.items()]
                return Answer({"storages": {"storage": rows}})
        raise self.refused("not_found")

    def _servers(self, asked: Asked, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                offset, limit = int(asked.query["offset"]), int(asked.query["limit"])
                rows = [self._document(one) for one in self.shown()][offset : offset + limit]
                for row in rows:
                    del row["ip_addresses"]
                return Answer({"servers": {"server": rows}})
            case "GET", [number]:
                return Answer({"server": self._document(self.one(number))})
            case "POST", []:
                made = self._created(asked.body["server"])
                return Answer({"server": self._document(made)}, 202)
            case "POST", [number, "stop"]:
                self.fail("locked")
                self.one(number).is_off = True
                return Answer({"server": self._document(self.one(number))})
            case "DELETE", [number]:
                if not self.one(number).is_off or asked.query.get("storages") != "1":
                    raise self.refused("locked")
                self.end(number)
                return Answer({}, 204)
        raise self.refused("not_found")

    def _created(self, body: Any) -> HostedMachine:
        (disk,) = body["storage_devices"]["storage_device"]
        if body["zone"] not in ZONES or body["plan"] not in PLANS:
            raise self.refused("invalid")
        if disk["storage"] not in TEMPLATES.values() or body["metadata"] != "yes":
            raise self.refused("invalid")
        if len(body["title"]) > 255 or len(body["hostname"]) > 128:
            raise self.refused("invalid")
        return self.made(body["title"], body["zone"], body["user_data"], body)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        address = {"access": "public", "family": "IPv4", "address": one.server.address}
        inner = {"access": "utility", "family": "IPv4", "address": "10.0.0.1"}
        known = [] if self.word(one) == "maintenance" else [address]
        return {
            "uuid": one.number,
            "title": one.name,
            "state": self.word(one),
            "zone": one.region,
            "ip_addresses": {"ip_address": [inner, *known]},
        }


HOSTER = Upcloud
