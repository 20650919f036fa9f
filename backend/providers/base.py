"""The record of a provider: everything that the rest of the product has to know about it.

Each folder beside this module declares one as `RECORD`; `backend.providers.registry` lists them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from backend.foundation.facts import Fact
from backend.foundation.texts import text as _
from backend.money.money import Money
from backend.providers.price_feeds import FeedKind
from backend.providers.rentals import BY_HOUR, Increment

WORKLOAD_IDENTITY = "workload_identity"
ASSUME_ROLE = "assume_role"
TOKEN = "token"  # noqa: S105  (the name of an authentication method)
STATIC_KEY = "static_key"
# Whole servers take 8 to 20 minutes where virtual machines take one or two, and BOOT_LIMIT_S is 15.
SLOW_BOOT_FACTOR = 3


class MachineKind(StrEnum):
    """Kind of machine that a provider mostly sells: the kind of offers that its price list adds."""

    CLOUD = "cloud"
    VPS = "vps"
    DEDICATED = "dedicated"
    ONPREM = "onprem"


class Shape(StrEnum):
    """Shape of a provider's points in charts; frontend/src/js/lib/scatter.js draws each."""

    CIRCLE = "circle"
    SQUARE = "square"
    DIAMOND = "diamond"
    STAR = "star"
    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"


class SettingForm(StrEnum):
    """How a setting is written; its pattern is that of each text in it."""

    TEXT = "text"
    BY_REGION = "by_region"
    """A text for all regions, or an object of texts by region."""
    LIST = "list"
    PAIRS = "pairs"
    """An object of names and values; the pattern is of `name=value`."""


@dataclass(frozen=True)
class Setting:
    """A setting of accounts at the provider, and its form."""

    label: str
    pattern: str
    meaning: str
    """Allowed values, for the message that refuses one."""
    hint: str = ""
    form: SettingForm = SettingForm.TEXT
    is_of_one_region: bool = False
    """True if one text cannot be meant for several regions."""
    is_identity: bool = False
    """True if it says whose machines they are: fixed while one of the account's may exist."""
    is_chosen_by_us: bool = False
    """True if we propose it for each account anew, so that nobody can guess it."""


PRIVATE = "private"
# For providers whose driver can do without public addresses.
ADDRESS = Setting(
    _("Address"),
    rf"public|{PRIVATE}",
    _("public or private is needed"),
    _(
        "private: machines get no public address; workers must reach their network. "
        "Leave blank for public."
    ),
)


@dataclass(frozen=True)
class SecretField:
    """A part of an account's secret; without a check it is one word."""

    name: str
    label: str
    check: Callable[[str, str, bool], None] | None = None
    """Given the text, its JSON pointer and whether other endpoints are allowed: raises InvalidValue.
    A field with a check may have several lines."""


@dataclass(frozen=True)
class AuthMethod:
    """A way to authenticate: settings that it needs beside the provider's, and its secret."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    secret: tuple[SecretField, ...] = ()
    # Groups of which all fields are given, or none.
    optional: tuple[tuple[SecretField, ...], ...] = ()

    @property
    def secret_fields(self) -> Mapping[str, SecretField]:
        """Every secret field that the method knows, by name."""
        every = (*self.secret, *(provider for group in self.optional for provider in group))
        return {provider.name: provider for provider in every}


# Below, what such volumes may do for each GiB is less than what they may do at all (Google's balanced disks: 6
# operations a second, cloud.google.com/compute/docs/disks/performance).
SMALL_GIB = 100


@dataclass(frozen=True)
class Volume:
    """The disk that we rent with a machine: its figures are those of this choice, not the type's."""

    type: str
    """As the provider calls it."""
    size_gib: int
    iops: int | None = None
    """Provisioned operations a second; None = the provider derives them from type and size."""
    mib_per_s: int | None = None

    @property
    def is_small(self) -> bool:
        """True if its size is what holds it back: nothing is provisioned, and larger ones of the
        type are faster."""
        return self.iops is None and self.size_gib < SMALL_GIB

    def __str__(self) -> str:
        figures = ((self.iops, "IOPS"), (self.mib_per_s, "MiB/s"))
        limits = "".join(f" {value} {unit}" for value, unit in figures if value)
        return f"{self.type} {self.size_gib} GiB{limits}"


@dataclass(frozen=True, kw_only=True)
class ProviderRecord:
    """A provider's properties; the defaults are those of a provider nobody declared."""

    slug: str
    name: str
    short_name: str
    homepage: str = ""
    kind: MachineKind = MachineKind.VPS
    colour: str = ""
    """Colour of its swatches and points, as #rrggbb; "" for the colour of all others."""
    dark_colour: str = ""
    """On a dark background, where `colour` would be hard to see."""
    shape: Shape = Shape.CIRCLE
    is_hollow: bool = True
    """Points are hollow and bars hatched: set where another provider has the same colour."""

    auth_methods: Mapping[str, AuthMethod] = field(default_factory=dict)
    """By accounts.AccessKind, the preferred ones first; empty where accounts are of no use."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Settings of accounts, beside those that every provider has."""
    required_settings: tuple[str, ...] = ()
    rents_machines: bool = False
    """True if `driver.py` rents machines there."""
    volume: Callable[[str], Volume] | None = None
    """Machine type → its own disk as `driver.py` rents it; None where the type decides."""
    priced_disk: str = ""
    """The type of volume that the catalogue's price of a disk is for; others have no known price."""
    region: re.Pattern[str] = re.compile(r"[a-z][a-z0-9-]{0,40}")
    example_region: str = ""
    family: re.Pattern[str] | None = None
    """The part of a machine type's name that types of one family share."""
    lines: Mapping[str, str] = field(default_factory=dict)
    """Patterns of names of offers, in the order in which they are tried → their line for people."""
    single: re.Pattern[str] | None = None
    """Names of offers of which there may be one only, such as the lots of an auction."""
    burstable: re.Pattern[str] | None = None
    """Names of machine types whose CPUs are burstable, where its price list does not say so."""
    shared: re.Pattern[str] | None = None
    """Names of machine types that share their CPUs with others, where its price list does not say so."""
    other_vcpu_kind: str = ""
    """Kind of the CPUs of all other types, where its price list does not say so."""
    size_figures: Callable[[str], Mapping[str, Any]] | None = None
    """Machine type → figures of it that its name tells, where its price list does not state them."""
    credit_modes: tuple[str, ...] = ()
    """Modes of CPU credits (measure.credits) that burstable types are sold in, as far as known; the
    first is that in which `driver.py` rents them unless another one is chosen."""
    credit_surcharge: Callable[[str], Money] | None = None
    """Machine type → what an hour of one vCPU costs beside the price in the mode unlimited."""
    slow_boot: re.Pattern[str] | None = None
    """Names of machine types that boot for longer than others, such as whole servers."""
    last_login_s: int = 120
    """So long before a rented machine ends itself its results are to be collected."""
    calls_per_s: float = 5
    """How many calls an account may make, on average; those that end machines may be as many."""
    calls_at_once: int = 20
    """How many of them without a pause."""
    increment: Increment = BY_HOUR
    """Smallest time charged, with its earlier rules.

    Hours begun where that is not known, so that a cap is never too low.
    """

    incidents: tuple[Fact, ...] = ()
    """Published incidents on its customers' machines: part of what is bought."""

    feeds: tuple[FeedKind, ...] = ()
    """The price lists, those first that others are joined on."""

    @property
    def sells_machines(self) -> bool:
        """Else it only publishes exchange rates."""
        return not any(feed.are_rates for feed in self.feeds)

    def vcpu_kind_of(self, machine_type: str) -> str:
        """The kind of the type's CPUs; "" where neither name nor provider say it."""
        for pattern, kind in ((self.burstable, "burstable"), (self.shared, "shared")):
            if pattern is not None and pattern.match(machine_type):
                return kind
        return self.other_vcpu_kind

    def boot_limit_s(self, machine_type: str, usual_s: int) -> int:
        """Seconds within which a machine of the type is logged in to, or given up."""
        is_slow = self.slow_boot is not None and self.slow_boot.search(machine_type)
        return SLOW_BOOT_FACTOR * usual_s if is_slow else usual_s

    def family_of(self, machine_type: str) -> str:
        """Types of one family are priced alike per vCPU; the whole name where it names none."""
        match = self.family.match(machine_type) if self.family else None
        return match[0] if match else machine_type

    def line_of(self, name: str) -> str:
        """Line for people that an offer belongs to; "" where the name tells none."""
        lines = self.lines.items()
        return next((line for pattern, line in lines if re.match(pattern, name)), "")
