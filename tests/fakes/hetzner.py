"""Hetzner Cloud on loopback: the part of its REST API that rents a machine, and real machines.

It refuses what Hetzner refuses: unknown tokens, a second server or SSH key of a name, labels out of
their rules. The host key in the user data becomes the machine's, and the timer in it switches the
machine off, which goes on costing money. Times are those of `clock`.

Faults (`faults.set`). Any call: throttled, forbidden, broken, hung, garbled. A launch: quota,
capacity, lost_request, lost_answer, late (seconds unseen), slow_boot (seconds), create_failed,
start_failed, no_sshd. An end: locked, delete_failed, delete_lost, slow_end (seconds).
"""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import asyncssh
import yaml

from tests.fakes.machines import Machines
from tests.fakes.rest import Answer, Asked, HangUp, RestServer
from tests.fakes.sshd import FakeSshd

# Locations by type of server.
TYPES = {"cx22": ("fsn1", "nbg1"), "cax11": ("fsn1",)}
IMAGES = ("debian-12", "ubuntu-24.04")
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
CALL_FAULTS = (
    ("throttled", 429, "rate_limit_exceeded"),
    ("forbidden", 403, "forbidden"),
    ("broken", 503, "unavailable"),
)


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


def real_time() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass
class Server:
    """One life, also after its end: the provider's own record."""

    number: int
    body: dict[str, Any]
    public_key: str
    began: dt.datetime
    seen_from: dt.datetime
    runs_from: dt.datetime
    server: FakeSshd
    cloud_config: dict[str, Any]
    is_start_failed: bool = False
    is_off: bool = False
    ends_from: dt.datetime | None = None
    ended: dt.datetime | None = None
    actions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def token(self) -> str:
        return str(self.body["labels"].get("rackrate-token", ""))

    @property
    def lifetime(self) -> dt.timedelta:
        (timer,) = self.cloud_config["bootcmd"]
        (option,) = [word for word in timer if word.startswith("--on-active=")]
        return dt.timedelta(seconds=int(option.removeprefix("--on-active=").removesuffix("s")))

    def status(self, now: dt.datetime) -> str:
        if self.ends_from is not None:
            return "deleting"
        if self.is_start_failed or self.is_off:
            return "off"
        if now >= self.runs_from:
            return "running"
        # It is switched off for a moment before its first start.
        return "initializing" if now < self.began + (self.runs_from - self.began) / 2 else "off"


class Hetzner(RestServer):
    """A project; a context."""

    slug, machine_type, region, other_region = "hetzner", "cx22", "fsn1", "nbg1"
    tells_creation = True
    token = "a-token-of-the-project"

    def __init__(self, machines: Machines, *, clock: Callable[[], dt.datetime] = real_time) -> None:
        super().__init__()
        self.machines = machines
        self.clock = clock
        self.record: list[Server] = []
        self.keys: dict[int, dict[str, Any]] = {}
        self.asked: list[Asked] = []
        self._last = 100

    @property
    def endpoint(self) -> str:
        return f"{self.url}/v1"

    def account(self) -> dict[str, Any]:
        return {"access": "token", "settings": {}, "secret": {"token": self.token}}

    @property
    def alive(self) -> list[Server]:
        """Servers that cost money; one that is switched off does."""
        with self._lock:
            self.tick()
            return [server for server in self.record if server.ended is None]

    def tick(self) -> None:
        """Let happen what is due by now."""
        with self._lock:
            now = self.clock()
            for server in [one for one in self.record if one.ended is None]:
                if server.ends_from is not None and now >= server.ends_from:
                    server.ended = now
                elif now >= server.runs_from + server.lifetime:
                    server.is_off = True
                if server.ended or server.is_off:
                    self.machines.stop(server.server.address)

    # --- the protocol -------------------------------------------------------------------------

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        self.tick()
        try:
            return self._answer(asked)
        except Refused as refused:
            error = {"code": refused.code, "message": f"no: {refused.code}", "details": None}
            limits = {"RateLimit-Limit": "3600", "RateLimit-Remaining": "0"}
            reset = {"RateLimit-Reset": str(int(self.clock().timestamp()) + 30)}
            headers = limits | reset if refused.status == 429 else {}
            return Answer({"error": error}, refused.status, headers)

    def _answer(self, asked: Asked) -> Answer:
        for name, status, code in CALL_FAULTS:
            if self.faults.happens(name) is not None:
                raise Refused(status, code)
        if self.faults.happens("hung") is not None:
            raise HangUp
        if self.faults.happens("garbled") is not None:
            return Answer("not what was asked for", 502)
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            raise Refused(401, "unauthorized")
        kind, *rest = asked.parts[1:]
        name = "_".join(["", asked.method.lower(), *(["one"] if rest else []), kind, *rest[1:]])
        handler = getattr(self, name, None)
        if handler is not None:
            answer: Answer = handler(asked, *rest[:1])
        elif asked.method == "GET" and not rest:
            answer = self._list(kind, self._shown(kind), asked)
        else:
            raise Refused(404, "not_found")
        return answer

    def _get_one_servers(self, _: Asked, number: str) -> Answer:
        return Answer({"server": self._document(self._server(number))})

    def _get_one_servers_actions(self, asked: Asked, number: str) -> Answer:
        return self._list("actions", self._server(number).actions, asked)

    def _get_one_ssh_keys(self, _: Asked, number: str) -> Answer:
        if int(number) not in self.keys:
            raise Refused(404, "not_found")
        return Answer({"ssh_key": self.keys[int(number)]})

    def _delete_one_ssh_keys(self, asked: Asked, number: str) -> Answer:
        self._get_one_ssh_keys(asked, number)
        del self.keys[int(number)]
        return Answer({})

    def _list(self, kind: str, found: list[Any], asked: Asked) -> Answer:
        name, selector = asked.query.get("name"), asked.query.get("label_selector")
        if name is not None:
            found = [one for one in found if one["name"] == name]
        for condition in selector.split(",") if selector else ():
            key, _, value = condition.partition("==")
            found = [one for one in found if one["labels"].get(key) == value]
        page, size = int(asked.query.get("page", 1)), int(asked.query.get("per_page", 25))
        following = page + 1 if page * size < len(found) else None
        pagination = {"page": page, "next_page": following, "total_entries": len(found)}
        part = found[(page - 1) * size : page * size]
        return Answer({kind: part, "meta": {"pagination": pagination}})

    def _shown(self, kind: str) -> list[dict[str, Any]]:
        if kind == "ssh_keys":
            return list(self.keys.values())
        if kind == "server_types":
            return [
                {"name": name, "prices": [{"location": location} for location in locations]}
                for name, locations in TYPES.items()
            ]
        return [self._document(server) for server in self.record if self._is_shown(server)]

    def _is_shown(self, server: Server) -> bool:
        return server.ended is None and self.clock() >= server.seen_from

    def _server(self, number: str) -> Server:
        for server in self.record:
            if str(server.number) == number and self._is_shown(server):
                return server
        raise Refused(404, "not_found")

    def _document(self, server: Server) -> dict[str, Any]:
        return {
            "id": server.number,
            "name": server.body["name"],
            "status": server.status(self.clock()),
            "created": server.began.isoformat(timespec="seconds"),
            "public_net": {"ipv4": {"ip": server.server.address}},
            "datacenter": {"name": "dc", "location": {"name": server.body["location"]}},
            "labels": server.body["labels"],
        }

    # --- what is made and ended ---------------------------------------------------------------

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _post_ssh_keys(self, asked: Asked) -> Answer:
        body = asked.body
        _check_labels(body["labels"])
        for known in self.keys.values():
            if known["name"] == body["name"] or known["public_key"] == body["public_key"]:
                raise Refused(409, "uniqueness_error")
        number = self._next()
        self.keys[number] = {**body, "id": number, "created": self.clock().isoformat()}
        return Answer({"ssh_key": self.keys[number]}, 201)

    def _post_servers(self, asked: Asked) -> Answer:
        body = asked.body
        if self.faults.happens("lost_request") is not None:
            raise HangUp
        self._check(body)
        now, number = self.clock(), self._next()
        (key,) = body["ssh_keys"]
        late = self.faults.happens("late") or 0
        boot = self.faults.happens("slow_boot") or 0
        machine = self.machines.start(self.keys[key]["public_key"])
        config = yaml.safe_load(body["user_data"])
        injected = asyncssh.import_private_key(config["ssh_keys"]["ed25519_private"])
        machine._host_keys = [injected]  # cloud-init deletes those of the image
        machine.refuse()
        if self.faults.happens("no_sshd") is None:
            machine.accept()
        made = Server(
            number,
            body,
            self.keys[key]["public_key"],
            now,
            now + dt.timedelta(seconds=late),
            now + dt.timedelta(seconds=boot),
            machine,
            config,
            is_start_failed=self.faults.happens("start_failed") is not None,
        )
        start = "error" if made.is_start_failed else "running" if boot else "success"
        error = {"code": "action_failed", "message": "it does not start"}
        made.actions = [
            {"command": "create_server", "status": "success", "error": None},
            {
                "command": "start_server",
                "status": start,
                "error": error if start == "error" else None,
            },
        ]
        self.record.append(made)
        if self.faults.happens("lost_answer") is not None:
            raise HangUp
        action: dict[str, Any] = {"command": "create_server", "status": "running", "error": None}
        if self.faults.happens("create_failed") is not None:
            made.ended = now
            self.machines.stop(machine.address)
            error = {"code": "placement_error", "message": "no place"}
            action |= {"status": "error", "error": error}
        return Answer({"server": self._document(made), "action": action}, 201)

    def _check(self, body: dict[str, Any]) -> None:
        _check_labels(body["labels"])
        if any(one.body["name"] == body["name"] and one.ended is None for one in self.record):
            raise Refused(409, "uniqueness_error")
        if body["location"] not in TYPES.get(body["server_type"], ()):
            raise Refused(422, "invalid_input")
        if body["image"] not in IMAGES or not body["user_data"].startswith("#cloud-config\n"):
            raise Refused(422, "invalid_input")
        if self.faults.happens("quota") is not None:
            raise Refused(403, "resource_limit_exceeded")
        if self.faults.happens("capacity", body["location"]) is not None:
            raise Refused(412, "resource_unavailable")

    def _delete_one_servers(self, _: Asked, number: str) -> Answer:
        server = self._server(number)
        if self.faults.happens("locked") is not None:
            raise Refused(423, "locked")
        if self.faults.happens("delete_failed") is not None:
            raise Refused(503, "unavailable")
        slow = self.faults.happens("slow_end") or 0
        server.ends_from = server.ends_from or self.clock() + dt.timedelta(seconds=slow)
        self.tick()
        if self.faults.happens("delete_lost") is not None:
            raise HangUp
        return Answer({"action": {"command": "delete_server", "status": "running", "error": None}})


def _check_labels(labels: dict[str, str]) -> None:
    for text in (*labels, *labels.values()):
        if not LABEL.fullmatch(text):
            raise Refused(422, "invalid_input")


HOSTER = Hetzner
