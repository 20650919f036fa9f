"""What the APIs of smaller hosters have in common on loopback: machines, their lives, faults.

Machines are real SSH servers with the host key of the user data alone. One that has switched itself
off goes on costing money; a name may be given twice unless the hoster refuses that. Times are those
of `clock`.

Faults (`faults.set`). Any call: throttled, forbidden, broken, hung, garbled. A launch: quota,
capacity, lost_request, lost_answer, late (seconds unseen), slow_boot (seconds), no_sshd. An end:
locked, delete_failed, delete_lost, slow_end (seconds).
"""

import datetime as dt
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asyncssh
import yaml

from tests.fakes.hetzner import real_time
from tests.fakes.machines import Machines
from tests.fakes.rest import Answer, Asked, HangUp, RestServer
from tests.fakes.sshd import FakeSshd

NOBODY = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
CALL_FAULTS = ("throttled", "forbidden", "broken")


class Refused(Exception):
    """An answer that is an error: its status, and the body as the hoster documents it."""

    def __init__(self, status: int, document: Any, **headers: str) -> None:
        super().__init__(str(document))
        self.answer = Answer(
            document, status, {name.replace("_", "-"): text for name, text in headers.items()}
        )


@dataclass
class HostedMachine:
    """One life, also after its end: the hoster's own record."""

    number: str
    name: str
    region: str
    body: Any
    began: dt.datetime
    seen_from: dt.datetime
    runs_from: dt.datetime
    server: FakeSshd
    cloud_config: dict[str, Any]
    is_off: bool = False
    is_started: bool = False
    """Whether it has its user data; most hosters take it in the call that makes the machine."""
    has_sshd: bool = True
    ends_from: dt.datetime | None = None
    ended: dt.datetime | None = None

    @property
    def token(self) -> str:
        return self.name.partition(".")[0].removeprefix("rackrate-")

    @property
    def lifetime(self) -> dt.timedelta:
        (timer,) = self.cloud_config["bootcmd"]
        (option,) = [word for word in timer if word.startswith("--on-active=")]
        return dt.timedelta(seconds=int(option.removeprefix("--on-active=").removesuffix("s")))

    def status(self, now: dt.datetime) -> str:
        """new, pending, running, off or ending."""
        if not self.is_started:
            return "new"
        if self.ends_from is not None:
            return "ending"
        if self.is_off:
            return "off"
        return "running" if now >= self.runs_from else "pending"


class HosterApi(RestServer):
    """An account; a context. A subclass answers as one hoster does."""

    slug: str
    machine_type: str
    region: str
    other_region: str
    """Sells machines, too."""
    words: dict[str, str]
    """What the hoster calls pending, running, off and ending."""
    first = 100
    tells_creation = True

    def __init__(self, machines: Machines, *, clock: Callable[[], dt.datetime] = real_time) -> None:
        super().__init__()
        self.machines, self.clock = machines, clock
        self.record: list[HostedMachine] = []
        self.asked: list[Asked] = []

    @property
    def alive(self) -> list[HostedMachine]:
        """Those that cost money; one that is switched off does."""
        with self._lock:
            self.tick()
            return [one for one in self.record if one.ended is None]

    def tick(self) -> None:
        """Let happen what is due by now."""
        with self._lock:
            now = self.clock()
            for one in [one for one in self.record if one.ended is None]:
                if one.ends_from is not None and now >= one.ends_from:
                    one.ended = now
                elif one.is_started and now >= one.runs_from + one.lifetime:
                    one.is_off = True
                if one.ended or one.is_off:
                    self.machines.stop(one.server.address)

    # --- the protocol -------------------------------------------------------------------------

    @abstractmethod
    def refused(self, fault: str) -> Refused:
        """The hoster's documented answer to what went wrong."""

    @abstractmethod
    def is_known(self, asked: Asked) -> bool:
        """Whether the request carries the account's credentials."""

    @abstractmethod
    def answered(self, asked: Asked) -> Answer:
        """The hoster's answer where nothing goes wrong."""

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        self.tick()
        try:
            for name in CALL_FAULTS:
                self.fail(name)
            if self.faults.happens("hung") is not None:
                raise HangUp
            if self.faults.happens("garbled") is not None:
                return Answer("not what was asked for", 502)
            if not self.is_known(asked):
                raise self.refused("unauthorized")
            return self.answered(asked)
        except Refused as refused:
            return refused.answer

    def fail(self, fault: str, zone: str = "") -> None:
        if self.faults.happens(fault, zone) is not None:
            raise self.refused(fault)

    # --- machines -----------------------------------------------------------------------------

    def shown(self) -> list[HostedMachine]:
        now = self.clock()
        return [one for one in self.record if one.ended is None and now >= one.seen_from]

    def one(self, number: str) -> HostedMachine:
        for machine in self.shown():
            if machine.number == number:
                return machine
        raise self.refused("not_found")

    def word(self, machine: HostedMachine) -> str:
        return self.words[machine.status(self.clock())]

    def made(self, name: str, region: str, user_data: str, body: Any) -> HostedMachine:
        """A new machine, which begins when it has user data. Raises HangUp after it when the answer
        is lost."""
        if self.faults.happens("lost_request") is not None:
            raise HangUp
        self.fail("quota")
        self.fail("capacity", region)
        now = self.clock()
        late = self.faults.happens("late") or 0
        boot = self.faults.happens("slow_boot") or 0
        made = HostedMachine(
            self.number(region), name, region, body, now,
            now + dt.timedelta(seconds=late), now + dt.timedelta(seconds=boot),
            self.machines.start(NOBODY), {}, has_sshd=self.faults.happens("no_sshd") is None,
        )  # fmt: skip
        if user_data:
            self.begin(made, user_data)
        self.record.append(made)
        if self.faults.happens("lost_answer") is not None:
            raise HangUp
        return made

    def number(self, region: str) -> str:
        return str(self.first + len(self.record))

    def begin(self, machine: HostedMachine, user_data: str) -> None:
        """Its first boot, with what cloud-init does."""
        if not user_data.startswith("#cloud-config\n"):
            raise self.refused("invalid")
        config = machine.cloud_config = yaml.safe_load(user_data)
        machine.is_started = True
        machine.server.allow(config["users"][0]["ssh_authorized_keys"][0])
        # Those of the image are deleted.
        keys = [asyncssh.import_private_key(config["ssh_keys"]["ed25519_private"])]
        machine.server._host_keys = keys
        machine.server.refuse()
        if machine.has_sshd:
            machine.server.accept()

    def end(self, number: str) -> None:
        machine = self.one(number)
        self.fail("locked")
        self.fail("delete_failed")
        slow = self.faults.happens("slow_end") or 0
        machine.ends_from = machine.ends_from or self.clock() + dt.timedelta(seconds=slow)
        self.tick()
        if self.faults.happens("delete_lost") is not None:
            raise HangUp


def page_of(rows: list[Any], asked: Asked, size: str) -> list[Any]:
    """The rows of a numbered page."""
    page, limit = int(asked.query.get("page", 1)), int(asked.query[size])
    return rows[(page - 1) * limit : page * limit]
