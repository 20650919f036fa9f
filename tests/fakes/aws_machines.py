"""The machines of the faked AWS: what moto keeps of them, and the SSH servers that they are."""

import datetime as dt
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moto.ec2.models.instances import InstanceState, StateReason

from tests.fakes.aws_calls import Call
from tests.fakes.fake.cloud import Fault
from tests.fakes.machines import Machines
from tests.fakes.sshd import FakeSshd

# A fault beside those of tests.fakes.fake.cloud: the console says nothing for so many seconds.
CONSOLE_LATE = "console_late"
TAKEN = "Server.SpotInstanceTermination: Spot instance termination"
ITSELF = "Client.InstanceInitiatedShutdown: Instance initiated shutdown"
# The launch is accepted, and then its disk cannot be decrypted
# (aws.amazon.com/premiumsupport/knowledge-center/encrypted-volumes-stops-immediately).
NO_KEY = "Client.InternalError: Client error on launch"
# The launch is accepted, and then there is no place for it
# (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html).
NO_PLACE = "Server.InsufficientInstanceCapacity: Insufficient capacity to launch the machine"
USER = "Client.UserInitiatedShutdown: User initiated shutdown"
PUBLIC = r"NetworkInterface\.\d+\.AssociatePublicIpAddress"
TIMER = re.compile(r"#!/bin/sh\nshutdown -h \+(\d+)\n")


@dataclass
class Rented:
    """One machine: the provider's own record. Times are seconds since 1970."""

    id: str
    region: str
    token: str
    tag: str
    machine_type: str
    zone: str
    public_key: str
    launched_at: float
    running_at: float
    visible_at: float
    console_at: float
    is_listening: bool
    is_public: bool
    """Whether it was to have a public address; it listens at its own all the same."""
    is_surplus: bool
    """Made by the same call as another one."""
    ends_at: float | None
    """By itself or by the provider, whatever anybody asks for."""
    why: str = ""
    ended_at: float | None = None
    """From when on it costs nothing."""
    gone_at: float | None = None
    machine: FakeSshd | None = None
    reservation: Any = field(default=None, repr=False)


class Fleet:
    """All that were ever rented. moto has every machine running at once; here it takes time."""

    def __init__(
        self,
        machines: Machines,
        *,
        minute_s: float,
        happens: Callable[..., float | None],
        backend: Callable[[str], Any],
    ) -> None:
        self.machines, self.minute_s = machines, minute_s
        self.rented: list[Rented] = []
        self._happens, self._backend = happens, backend

    def rent(self, call: Call, instance: Any, reservation: Any, *, has_key: bool) -> None:
        now = time.time()
        running_at = now + (self._happens(Fault.SLOW_BOOT) or 0)
        timer = TIMER.match(instance.user_data.decode() if instance.user_data else "")
        ends_at, why = None, ""
        if timer is not None:
            ends_at = running_at + int(timer[1]) * self.minute_s
            why = f"{ITSELF} ({instance.instance_initiated_shutdown_behavior})"
        if (lives_s := self._happens(Fault.INTERRUPTED)) is not None:
            ends_at, why = now + lives_s, TAKEN
        if not has_key:
            ends_at, why = now, NO_KEY
        if self._happens(Fault.UNPLACED, instance.placement.zone) is not None:
            ends_at, running_at, why = now, now + 3600, NO_PLACE
        backend, tags = self._backend(call.region), call.tags("instance")
        key_pair = backend.key_pairs.get(call.parameters.get("KeyName", ""))
        # AWS tells whole seconds; its record is what it tells.
        began = instance.launch_time.replace(microsecond=0)
        instance.launch_time = began
        self.rented.append(
            Rented(
                id=instance.id,
                region=call.region,
                token=tags.get("rackrate-token", ""),
                tag=tags.get("rackrate-workspace", ""),
                machine_type=instance.instance_type,
                zone=instance.placement.zone,
                public_key=key_pair.public_key if key_pair else "",
                launched_at=began.replace(tzinfo=dt.UTC).timestamp(),
                running_at=running_at,
                visible_at=now + (self._happens(Fault.LATE) or 0),
                console_at=running_at + (self._happens(CONSOLE_LATE) or 0),
                is_listening=self._happens(Fault.NO_SSHD) is None,
                is_public=call.first(PUBLIC) == "true",
                is_surplus=instance.ami_launch_index > 0,
                ends_at=ends_at,
                why=why,
                reservation=reservation,
            )
        )
        _put(instance, "pending", 0)
        instance.nics[0].public_ip = None
        if self._happens(Fault.DISK_LEFT) is not None:
            volume = backend.create_volume(size=8, zone_name=instance.placement.zone)
            volume.add_tags(tags)

    def settle(self) -> None:
        """What is due by now has happened."""
        now = time.time()
        for rented in self.rented:
            self._grow(rented, now)

    def _grow(self, rented: Rented, now: float) -> None:
        backend = self._backend(rented.region)
        instance = next(one for one in rented.reservation.instances if one.id == rented.id)
        if now < rented.visible_at:
            backend.reservations.pop(rented.reservation.id, None)
        else:
            backend.reservations.setdefault(rented.reservation.id, rented.reservation)
        if rented.ended_at is None:
            if rented.machine is None and now >= rented.running_at and instance.state == "pending":
                self._boot(rented, instance)
            if rented.ends_at is not None and now >= rented.ends_at:
                self._by_itself(rented, instance)
        elif rented.gone_at is not None and now >= rented.gone_at:
            _put(instance, "terminated", 48)

    def _boot(self, rented: Rented, instance: Any) -> None:
        rented.machine = self.machines.start(rented.public_key)
        if not rented.is_listening:
            rented.machine.refuse()
        nic = instance.nics[0]
        if rented.is_public:
            nic.public_ip = rented.machine.address
        nic.private_ip_address = rented.machine.address
        _put(instance, "running", 16)

    def _by_itself(self, rented: Rented, instance: Any) -> None:
        """Its timer rang, or the provider took it away."""
        self.switch_off(rented)
        if rented.why.endswith("(stop)"):
            _put(instance, "stopped", 80)  # and its disk goes on costing money
            rented.ends_at = None
            return
        self.over(rented, instance, rented.why, by="Service" if rented.why == TAKEN else "")

    def over(self, rented: Rented, instance: Any, why: str, *, by: str) -> None:
        """Terminated. When is told only of an end that came from outside the machine."""
        slow_s, now = self._happens(Fault.SLOW_END) or 0, int(time.time())
        if instance.state != "terminated":
            instance.terminate()
        rented.ended_at, rented.gone_at = float(now), time.time() + slow_s
        instance.state_reason = StateReason(why, why.partition(":")[0])
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now))
        instance._reason = f"{by} initiated ({at} GMT)" if by else ""
        if slow_s:
            _put(instance, "shutting-down", 32)

    def switch_off(self, rented: Rented) -> None:
        if rented.machine is not None:
            self.machines.stop(rented.machine.address)


def console(rented: Rented) -> str:
    """What Debian's image writes on its first boot."""
    return "" if rented.machine is None else rented.machine.console


def _put(instance: Any, name: str, number: int) -> None:
    instance._state = InstanceState(name, number)
