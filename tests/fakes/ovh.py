"""OVHcloud Public Cloud on loopback, as https://api.ovh.com/console/#/cloud describes it: instances,
flavors, images and quota of a project, with errors as {"class", "message"}. Requests are signed as
https://help.ovhcloud.com/csm/en-api-getting-started-ovhcloud-api says."""

import hashlib
import json
import time
from typing import Any

from tests.fakes.hosters import HostedMachine, HosterApi, Refused
from tests.fakes.rest import Answer, Asked

FLAVORS = {"b3-8": ("GRA11", "SBG5"), "c3-4": ("GRA11",)}
IMAGES = {"Debian 12": "i-debian", "Ubuntu 24.04": "i-ubuntu"}
PROJECT = "0f" * 16
ERRORS = {
    "unauthorized": (403, "Client::Forbidden", "This credential is not valid"),
    "forbidden": (403, "Client::Forbidden", "This call has not been granted"),
    "not_found": (404, "Client::NotFound", "Instance not found"),
    "locked": (409, "Client::Conflict", "Instance is being modified, try later"),
    "throttled": (429, "Client::TooManyRequests", "Too many requests"),
    "broken": (500, "Server::InternalServerError", "Internal server error"),
    "delete_failed": (503, "Server::ServiceUnavailable", "Try again later"),
    "quota": (400, "Client::BadRequest", "Quota exceeded for cores, instances, ram"),
    "capacity": (400, "Client::BadRequest", "No valid host was found for this flavor"),
    "invalid": (400, "Client::BadRequest", "Invalid parameter"),
}


class Ovh(HosterApi):
    slug, machine_type, region, other_region = "ovh", "b3-8", "GRA11", "SBG5"
    words = {"pending": "BUILD", "running": "ACTIVE", "off": "SHUTOFF", "ending": "DELETING"}
    secret = {
        "application_key": "application",
        "application_secret": "application-secret",
        "consumer_key": "consumer-key",
    }
    cores_used = 0
    ahead_s = 900
    """Its clock before ours."""

    @property
    def endpoint(self) -> str:
        return self.url

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {"project": PROJECT}, "secret": self.secret}

    def refused(self, fault: str) -> Refused:
        status, kind, message = ERRORS[fault]
        headers = {"retry_after": "30"} if status == 429 else {}
        return Refused(status, {"class": kind, "message": message}, **headers)

    def is_known(self, asked: Asked) -> bool:
        if asked.path == "/1.0/auth/time":
            return True
        query = "&".join(f"{name}={value}" for name, value in asked.query.items())
        address = f"{self.url}{asked.path}" + (f"?{query}" if query else "")
        stamp = asked.headers.get("x-ovh-timestamp", "0")
        signed = "+".join([
            self.secret["application_secret"], self.secret["consumer_key"], asked.method, address,
            _sent(asked.body) if asked.body else "", stamp,
        ])  # fmt: skip
        digest = "$1$" + hashlib.sha1(signed.encode()).hexdigest()
        is_now = abs(int(stamp) - time.time() - self.ahead_s) < 60
        return is_now and asked.headers.get("x-ovh-signature") == digest

    def answered(self, asked: Asked) -> Answer:
        if asked.path == "/1.0/auth/time":
            return Answer(int(time.time()) + self.ahead_s)
        project, *rest = asked.parts[3:]
        if project != PROJECT:
            raise self.refused("not_found")
        if rest[:1] == ["instance"]:
            return self._instances(asked, rest[1:])
        region = asked.query.get("region", "")
        match asked.method, rest:
            case "GET", []:
                return Answer({"project_id": PROJECT, "description": "measured"})
            case "GET", ["quota"]:
                limits = {"maxInstances": 20, "usedInstances": len(self.shown())}
                cores = {"maxCores": 40, "usedCores": self.cores_used}
                return Answer([{"region": "GRA11", "instance": limits | cores}])
            case "GET", ["flavor"]:
                return Answer([
                    {"id": f"{name}/{region}", "name": name, "available": True, "osType": "linux"}
                    for name, regions in FLAVORS.items()
                    if region in regions
                ])  # fmt: skip
            case "GET", ["image"]:
                return Answer([{"id": number, "name": name} for name, number in IMAGES.items()])
        raise self.refused("not_found")

    def _instances(self, asked: Asked, rest: list[str]) -> Answer:
        match asked.method, rest:
            case "GET", []:
                return Answer([self._document(one) for one in self.shown()])
            case "GET", [number]:
                return Answer(self._document(self.one(number)))
            case "POST", []:
                return Answer(self._document(self._created(asked.body)))
            case "DELETE", [number]:
                self.end(number)
                return Answer(None)
        raise self.refused("not_found")

    def _created(self, body: Any) -> HostedMachine:
        name, _, region = body["flavorId"].partition("/")
        if body["region"] != region or region not in FLAVORS.get(name, ()):
            raise self.refused("invalid")
        if body["imageId"] not in IMAGES.values() or len(body["name"]) > 255:
            raise self.refused("invalid")
        return self.made(body["name"], region, body["userData"], body)

    def _document(self, one: HostedMachine) -> dict[str, Any]:
        address = {"ip": one.server.address, "type": "public", "version": 4}
        six = {"ip": "2001:db8::1", "type": "public", "version": 6}
        return {
            "id": one.number,
            "name": one.name,
            "status": self.word(one),
            "created": one.began.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": one.region,
            "ipAddresses": [] if self.word(one) == "BUILD" else [six, address],
        }


def _sent(body: Any) -> str:
    """As httpx writes JSON."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


HOSTER = Ovh
