"""Machines of a bill, offers that could do their work, and what is assumed of moving there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from backend.bills.calc.beside import NO_SUPPLY, Services, Supply


class Destination(StrEnum):
    """Where the machines might go; the order is that of pages."""

    SAME_PROVIDER = "same_provider"
    COMMITTED = "committed"
    """The same provider, with commitments for the machines that always run."""
    CLOUD = "cloud"
    VPS = "vps"
    DEDICATED = "dedicated"
    OWN = "own"


SAME = (Destination.SAME_PROVIDER, Destination.COMMITTED)
# Rented by the hour: each machine of the bill becomes some that run as long as it did.
HOURLY = (*SAME, Destination.CLOUD)
# Percent.
MOST_HEADROOM = 90
HARDWARE = (Destination.DEDICATED, Destination.OWN)


@dataclass(frozen=True)
class Figure:
    """A machine's figure with its 95 % interval; higher is better."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Work:
    """Machines of a bill that are alike."""

    name: str
    provider: str
    mean: float
    """How many ran on average."""
    peak: float
    """The most at once; the mean where that is not known."""
    score: Figure
    ram_gib: float
    cost_per_month: float
    week: Sequence[float] = ()
    """How many ran in each hour of the week, from Monday 0:00 UTC; () where that is not known."""
    base: float = 0
    """How many ran at any time: those that a commitment pays for."""
    is_burstable: bool = False
    arch: str = ""
    """x86_64 or arm64; "" where that is not known."""
    region_groups: frozenset[str] = frozenset()
    """Parts of the world that its replacements may stand in; empty for any."""


@dataclass(frozen=True)
class Replacement:
    """An offer that could do the work."""

    slug: str
    name: str
    provider: str
    target: Destination
    score: Figure
    ram_gib: float
    cost_per_month: float
    committed_per_month: float | None = None
    """With a commitment of a year; None where that has no price."""
    is_burstable: bool = False
    """True if its score holds only as long as its CPU credits do."""
    arch: str = ""
    supply: Supply = NO_SUPPLY
    region_group: str = ""
    """Part of the world that it stands in; "" where that is not known, or is where one wants it."""

    def is_near(self, work: Work) -> bool:
        """True where it may stand for a machine of the work by its place."""
        return not work.region_groups or self.region_group in {"", *work.region_groups}

    def can_do(self, work: Work, assumed: "Assumptions") -> bool:
        """True if one of it could stand for a machine of the work: no machine is split into smaller
        ones, none that runs all day is replaced by one that may not, and programs run as they are
        unless they may be built anew."""
        runs = assumed.may_change_arch or "" in {self.arch, work.arch} or self.arch == work.arch
        lasts = work.is_burstable or not self.is_burstable
        return runs and lasts and self.ram_gib * assumed.usable_share(self.target) >= work.ram_gib

    def times(self, factor: float) -> "Replacement":
        """The same one at prices times a factor."""
        committed = self.committed_per_month
        return replace(
            self,
            cost_per_month=self.cost_per_month * factor,
            committed_per_month=None if committed is None else committed * factor,
        )


@dataclass(frozen=True)
class Assumptions:
    """Inputs that a bill and a price list do not say; in the bill's currency."""

    moving_cost: float
    """Once."""
    staff_per_server: float
    """A month, for each dedicated server; the cost model of one's own holds theirs."""
    spares: int
    """Servers more than needed of those, as another one takes days to get."""
    headroom_percent: float = 0
    """Share of score and memory of each server that stands, kept free; none by default, as the
    machines of the bill have in them what they keep free today."""
    spread_commitments: bool = True
    """Committed machines cost today what the bill spreads over their use; False takes the fees that
    were billed, in equal parts of all committed hours."""
    may_change_arch: bool = False
    """True if the programs run on CPUs of another architecture, too."""
    may_run_services: bool = False
    """True if managed services become software that one runs oneself, where the target has none."""
    managed_premium: float = 0.4
    """Share of their price that is for being managed; the rest buys machines for it anywhere."""
    service_hours: float = 10
    """Staff hours a month for the services run by oneself."""
    staff_hour: float = 60
    region_group: str = ""
    """Part of the world that replacements stand in; "" for that of the bill."""

    def staff(self, target: Destination) -> float:
        """A month, for each server of a target."""
        return self.staff_per_server if target is Destination.DEDICATED else 0.0

    def usable_share(self, target: Destination) -> float:
        """Share of a server that may be used: by the hour another one is there within minutes."""
        return 1.0 if target in HOURLY else 1 - self.headroom_percent / 100

    @property
    def services(self) -> Services:
        """Assumptions about managed services."""
        return Services(
            self.may_run_services, self.managed_premium, self.service_hours, self.staff_hour
        )
