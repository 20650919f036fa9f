"""The interface of a provider that rents machines; `<slug>/driver.py` implements it."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from backend.foundation.errors import DriverError, Reason
from backend.money.money import Money
from backend.providers.host_keys import HostKey

# First and last of those at which a machine may serve the network tests of another one; by TCP and
# UDP.
PEER_PORTS = (20_000, 32_003)
# What `let_in` says where nothing has to be opened.
UNGUARDED = "no firewall of the provider is in front of the machine"
# Where a page begins in the text of an error; libraries may show it as bytes.
HTML = re.compile(r"(?:b['\"])?\s*<(?:!doctype html|html)\b", re.IGNORECASE)
# The label that says which installation of ours made something.
INSTALLATION = "installation"


class ProviderResourceState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    ENDING = "ending"
    """Asked to go, or stopped; it may still cost money."""
    # GONE and ABSENT differ for billing: the first has an end to charge to, the second proves nothing until
    # the provider has had time to list what it made.
    GONE = "gone"
    """The provider knows it and says that it is over."""
    ABSENT = "absent"
    """The provider does not know it: never made, forgotten since, or not listed yet."""


OVER = (ProviderResourceState.GONE, ProviderResourceState.ABSENT)


class ResourceKind(StrEnum):
    MACHINE = "machine"
    KEY_PAIR = "key_pair"
    SECURITY_GROUP = "security_group"
    FIREWALL = "firewall"
    DISK = "disk"
    ADDRESS = "address"
    RESOURCE_GROUP = "resource_group"
    """Group of a launch whose machine is not there: never made, or taken away."""


# Kinds that cost nothing while their machine is gone.
COSTLESS = (ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP, ResourceKind.FIREWALL)


@dataclass(frozen=True)
class Access:
    """An account at a provider: what is not secret, and what is."""

    kind: str
    """accounts.AccessKind."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Not in the repr: tracebacks and assertion messages show arguments.
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)

    def in_region(self, name: str, region: str) -> str:
        """A setting that may differ by region; "" where the account leaves the choice to us."""
        value = self.settings.get(name) or ""
        return str(value.get(region, "") if isinstance(value, Mapping) else value)

    @property
    def ssh_port(self) -> int:
        return int(self.settings.get("ssh_port", 22))

    @property
    def is_private(self) -> bool:
        # Anything else, nothing included, gets a public address: without one workers outside cannot log in.
        return self.settings.get("address") == "private"


def unsupported_error(detail: str) -> DriverError:
    """Actions that the provider or the account cannot do, however often it is asked."""
    return DriverError(Reason.UNSUPPORTED, detail, retryable=False)


def plain_words(text: str) -> str:
    """The text of an error without a page that came in its place, as proxies send one."""
    page = HTML.search(text)
    return f"{text[: page.start()]}a page of HTML instead of an answer" if page else text


def time_of_label(text: str, form: str) -> dt.datetime | None:
    """The time that a label states in UTC; None where it is missing or somebody changed it."""
    try:
        return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
    except ValueError:
        return None


@dataclass(frozen=True)
class LaunchSpec:
    """The machine to start: the provider's own names for type, region and zone."""

    machine_type: str
    region: str
    arch: str
    """x86_64 or arm64."""
    lifetime_s: int
    """It ends itself, at the latest, so many seconds after its boot."""
    expires_at: dt.datetime
    """Written on it: whoever finds it later may end it."""
    public_key: str
    """In OpenSSH form; whoever has the private one may log in."""
    tag: str
    """Whose it is: the id of the workspace. `inventory` finds it by that."""
    labels: Mapping[str, str]
    """Further marks: run, owner, installation. Lower-case letters, digits and hyphens."""
    zone: str = ""
    is_spot: bool = False
    max_price_per_hour: Decimal | None = None
    """Highest price of a spot machine, in the provider's currency; None = the provider's own limit."""
    credit_mode: str = ""
    """Behaviour without CPU credits (measure.credits); "" for types that have none."""
    # How often this launch was refused everywhere before. A provider that remembers requests must not take
    # one of a later round for one of an earlier one.
    round: int = 0


@dataclass(frozen=True)
class ProviderResource:
    """Something at a provider that exists or existed, as the provider describes it."""

    id: str
    state: ProviderResourceState
    kind: ResourceKind = ResourceKind.MACHINE
    token: str = ""
    """Token of the launch that made it; "" when it carries none."""
    installation: str = ""
    """Id of the one that made it; "" when it carries none."""
    region: str = ""
    zone: str = ""
    address: str = ""
    private_address: str = ""
    """Within the network of its region, of which an account has one; "" where there is none."""
    port: int = 22
    username: str = ""
    launched_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    expires_at: dt.datetime | None = None
    detail: str = ""
    """Why it ended, in the provider's words."""
    refusal: Reason | None = None
    """Why it never ran although its launch was accepted; None where it ran or may have."""


class Inventory(list[ProviderResource]):
    """Resources with our tag; `unread` says why each silent region did not answer."""

    def __init__(
        self,
        resources: Iterable[ProviderResource] = (),
        unread: Mapping[str, DriverError] | None = None,
    ) -> None:
        super().__init__(resources)
        self.unread = dict(unread or {})

    def add(self, region: str, answer: "Iterable[ProviderResource] | BaseException") -> None:
        """Add the answer of a region: one that the account has not opted into must not hide the
        machines of the others. Raises anything but a DriverError."""
        if isinstance(answer, DriverError):
            self.unread[region] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            self.extend(answer)


class Readiness(StrEnum):
    READY = "ready"
    NOT_READY = "not_ready"
    UNKNOWN = "unknown"
    """The provider does not say, or was not asked because of an earlier line."""


@dataclass(frozen=True)
class Preflight:
    """A thing that a launch needs, looked at before anything is paid for."""

    region: str
    """"" for what concerns all of them."""
    topic: str
    state: Readiness
    detail: str
    advice: str = ""


class Overview:
    """Lines on a region, in the order in which they were looked at."""

    def __init__(self, region: str) -> None:
        self.region = region
        self.lines: list[Preflight] = []

    def is_ready(self) -> bool:
        return all(line.state != Readiness.NOT_READY for line in self.lines)

    def ready(self, topic: str, detail: str) -> None:
        self._add(topic, Readiness.READY, detail)

    def not_ready(self, topic: str, detail: str, advice: str) -> None:
        self._add(topic, Readiness.NOT_READY, detail, advice)

    def unknown(self, topic: str, detail: str, advice: str = "") -> None:
        self._add(topic, Readiness.UNKNOWN, detail, advice)

    def look(self, topic: str, work: Callable[[], str], advice: str) -> None:
        """Ready with what the work says of it, or not, with why it failed and the advice."""
        try:
            self.ready(topic, work())
        except DriverError as error:
            self.not_ready(topic, error.detail, advice)

    def look_at_address(self, access: Access) -> None:
        """How workers reach the machines."""
        if bastion := access.settings.get("bastion"):
            self.ready("address", f"machines are logged in to through the bastion {bastion}")
        elif access.is_private:
            advice = "Name a bastion there, unless a VPN or peering leads to it."
            self.unknown("address", "private: the workers must reach the network", advice)
        else:
            self.ready("address", "public")

    def _add(self, topic: str, state: Readiness, detail: str, advice: str = "") -> None:
        self.lines.append(Preflight(self.region, topic, state, detail, advice))


@dataclass(frozen=True)
class MachineListing:
    """A machine type that a provider sells in a region."""

    name: str
    region: str


class ProviderBill(Protocol):
    """A provider's bill for our machines; `<slug>/bill.py` reads it where it can be read."""

    async def month(self, first: dt.date, end: dt.date) -> Mapping[str, Money]:
        """By token of the launch, from the first day to the day before `end`. Raises DriverError."""
        ...


class ProviderDriver(Protocol):
    """A provider, reached with one account. Every call raises DriverError; neither its detail nor
    a log line contains a secret.

    Retries are the engine's: a call here tries once, within about 20 s. `retryable` says whether
    the same call may succeed later.
    """

    async def whoami(self) -> str:
        """Who the provider says we are; AUTH when it does not know us."""
        ...

    async def offers(self) -> Sequence[MachineListing]:
        """Machine types on sale."""
        ...

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        """Where in the region the type is sold; empty where the provider has no zones, or the
        account leaves no choice. UNSUPPORTED when the region does not sell it."""
        ...

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        """True if a launch in the region would be let pass. Nothing that costs is made, and what
        is made carries the tag and is gone afterwards."""
        ...

    async def rehearse(self, spec: LaunchSpec) -> None:
        """Ask whether the launch would be let pass; refused as `launch` would be. Nothing is made.
        Does nothing at a provider that has no such question."""
        ...

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        """Start a machine; the same token never starts a second one.

        Tags, lifetime and expiry are set in the same call. Reasons: CAPACITY (try another zone),
        QUOTA, AUTH, UNSUPPORTED, and TIMEOUT when nobody knows whether it was made.
        """
        ...

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        """The resource as it is now; GONE and ABSENT are the provider's word."""
        ...

    async def terminate(self, resource: ProviderResource) -> None:
        """Ask for the end of a resource of any kind; asking twice, or for one that is gone, is
        fine. What cannot go before another one is gone raises a retryable error."""
        ...

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """Everything at the provider that carries our tag, of every kind, in every region that the
        account names; with a token or region only that. What is over need not be in it.

        Some regions may stay unread, unless a launch is looked for: then each of them counts."""
        ...

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        """Open the machine to that address, and to no other, for the network tests: PEER_PORTS, and
        ping. Returns in words what was done. Asking twice is fine; what was opened ends with the
        machine."""
        ...

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """The host key's type and fingerprint from the machine's console, None until it is there.

        Of several keys the one that we prefer (backend.providers.host_keys.TYPES)."""
        ...
