"""The estate behind a bill: its sums by service and month, and its machines with their hours."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from backend.domain.bills.classes import BillCharge, ChargeKind, Purchase
from backend.domain.bills.volumes import BillVolume
from backend.domain.errors import InvalidValue
from backend.domain.units import EXACT

ZERO = Decimal(0)
HOUR = dt.timedelta(hours=1)
# A bill of centuries is one with a wrong date, and hour by hour it fills the memory.
MOST_YEARS = 10
MOST_HOURS = MOST_YEARS * 366 * 24
# So many unreadable lines are named; all are counted.
NAMED_LINES = 20


@dataclass(frozen=True)
class Sums:
    """Of the money columns of lines, in the bill's currency, and of their quantity."""

    billed: Decimal = ZERO
    effective: Decimal = ZERO
    """With what commitments cost spread over their use, where the bill says so; else as billed."""
    listed: Decimal | None = None
    """At list prices; None where the bill has none."""
    quantity: Decimal = ZERO
    lines: int = 0
    unused: Decimal = ZERO
    """Of commitments, what nothing used."""

    def __add__(self, other: "Sums") -> "Sums":
        listed = [one for one in (self.listed, other.listed) if one is not None]
        return Sums(
            billed=EXACT.add(self.billed, other.billed),
            effective=EXACT.add(self.effective, other.effective),
            listed=sum(listed, ZERO) if listed else None,
            quantity=EXACT.add(self.quantity, other.quantity),
            lines=self.lines + other.lines,
            unused=EXACT.add(self.unused, other.unused),
        )


@dataclass(frozen=True)
class Group:
    """Lines of one month that say the same of what they charge for."""

    month: str
    currency: str
    service: str
    region: str
    charge: BillCharge
    sums: Sums


@dataclass(frozen=True, order=True)
class MachineKey:
    """Which machines count as alike."""

    provider: str
    region: str
    machine_type: str
    purchase: Purchase


@dataclass(frozen=True)
class Machines:
    """All machines of a bill that are alike."""

    key: MachineKey
    sums: Sums
    hours: Decimal
    """Of all machines together."""
    curve: Sequence[float] = ()
    """Machines that ran in each hour of the bill, where its lines are hourly."""
    resources: int = 0
    """How many different machines they were; 0 where the bill does not name them."""
    always_on: int = 0
    """How many of them ran in every hour of the bill."""

    @property
    def peak(self) -> float | None:
        """The most that ran in one hour; None where the lines are not hourly."""
        return max(self.curve, default=None)


@dataclass(frozen=True)
class Unreadable:
    """Lines that could not be read: part of the bill, and a line of their own in it."""

    lines: int = 0
    amount: Decimal = ZERO
    """Of those whose amount could be read."""
    named: tuple[tuple[int, str], ...] = ()
    """Number of the line (the head is line 1) and what is wrong, of the first ones."""

    def with_line(self, number: int, why: str, amount: Decimal = ZERO) -> "Unreadable":
        """One more."""
        named = self.named if len(self.named) >= NAMED_LINES else (*self.named, (number, why))
        return Unreadable(self.lines + 1, EXACT.add(self.amount, amount), named)


@dataclass(frozen=True)
class MachineUsage:
    """What single lines say of machines beside their sums, by MachineKey."""

    by_hour: Mapping[MachineKey, Mapping[int, float]] = field(default_factory=dict)
    """Hours since 1970 → machine hours that began in it."""
    by_resource: Mapping[MachineKey, Mapping[str, float]] = field(default_factory=dict)
    """Name of a machine, or a hash of it → its hours."""
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    """When the first and the last period of a line begins, UTC."""
    step: dt.timedelta = HOUR
    """Length of such a period: an hour, a day, a month."""

    @property
    def hours(self) -> int:
        """Hours from the first period's start to the last one's end; 0 without lines."""
        if self.first is None or self.last is None:
            return 0
        return round((self.last - self.first + self.step) / HOUR)


@dataclass(frozen=True)
class Estate:
    """What a bill contains; amounts in its currency. `total` is that of all lines, to the digit."""

    currency: str
    total: Decimal
    lines: int
    hours: int
    months: tuple[tuple[str, Decimal], ...]
    by_kind: tuple[tuple[ChargeKind, Sums], ...]
    by_service: tuple[tuple[str, ChargeKind, Sums], ...]
    """The dearest first."""
    machines: tuple[Machines, ...]
    """The dearest first."""
    unreadable: Unreadable
    volumes: tuple[tuple[BillVolume, Decimal, Decimal], ...] = ()
    """GB of all months, and what was billed for them."""
    unused: Decimal = ZERO
    """What commitments cost that nothing used."""
    idle: Decimal = ZERO
    """What was billed for things that the bill itself calls idle."""


def estate(groups: Iterable[Group], usage: MachineUsage, unreadable: Unreadable) -> Estate:
    """Of all groups of one bill. InvalidValue for a bill of several currencies, or of nothing."""
    listed = list(groups)
    if not listed:
        why = "".join(f"; line {line}: {why}" for line, why in unreadable.named[:1])
        raise InvalidValue("/file", f"no line of the bill can be read{why}")
    if usage.first and usage.last and usage.hours > MOST_HOURS:
        spans = f"{usage.first:%Y-%m} to {usage.last:%Y-%m}"
        raise InvalidValue(
            "/file", f"its lines are of {spans}: at most {MOST_YEARS} years are a bill"
        )
    # A line that names none, such as a tax, is of the bill's only one.
    currencies = sorted({one.currency for one in listed if one.currency})
    if not currencies:
        raise InvalidValue("/currency", "no line of the bill names its currency")
    if len(currencies) > 1:
        raise InvalidValue(
            "/currency", f"the bill mixes {', '.join(currencies)}: import one currency at a time"
        )
    months: dict[str, Decimal] = defaultdict(Decimal)
    kinds: dict[ChargeKind, Sums] = defaultdict(Sums)
    services: dict[tuple[str, ChargeKind], Sums] = defaultdict(Sums)
    machines: dict[MachineKey, tuple[Sums, Fraction]] = {}
    for one in listed:
        months[one.month] = EXACT.add(months[one.month], one.sums.billed)
        kinds[one.charge.kind] += one.sums
        services[one.service, one.charge.kind] += one.sums
        if one.charge.kind is ChargeKind.MACHINE:
            key = machine_key(one.charge, one.region)
            sums, hours = machines.get(key, (Sums(), Fraction(0)))
            hours += Fraction(one.sums.quantity) * one.charge.hours_per_unit
            machines[key] = (sums + one.sums, hours)
    dearest = sorted(machines.items(), key=lambda item: (-item[1][0].billed, item[0]))
    return Estate(
        currency=currencies[0],
        total=EXACT.add(sum(months.values(), ZERO), unreadable.amount),
        lines=sum(one.sums.lines for one in listed) + unreadable.lines,
        hours=usage.hours,
        months=tuple(sorted(months.items())),
        by_kind=tuple((kind, kinds[kind]) for kind in ChargeKind if kind in kinds),
        by_service=tuple(
            (service, kind, sums)
            for (service, kind), sums in sorted(
                services.items(), key=lambda item: (-item[1].billed, item[0])
            )
        ),
        machines=tuple(_machines(key, *of, usage) for key, of in dearest),
        unreadable=unreadable,
        volumes=tuple(_volumes(listed)),
        unused=sum((one.sums.unused for one in listed), ZERO),
        idle=sum((one.sums.billed for one in listed if one.charge.is_idle), ZERO),
    )


def _volumes(groups: Sequence[Group]) -> Iterator[tuple[BillVolume, Decimal, Decimal]]:
    for volume in BillVolume:
        of = [one for one in groups if one.charge.volume is volume]
        if not of:
            continue
        gb = sum((Fraction(one.sums.quantity) * one.charge.gb_per_unit for one in of), Fraction(0))
        billed = ZERO
        for one in of:
            billed = EXACT.add(billed, one.sums.billed)
        yield volume, EXACT.divide(Decimal(gb.numerator), Decimal(gb.denominator)), billed


def machine_key(charge: BillCharge, region: str) -> MachineKey:
    """Which machines a charge of a region counts among."""
    return MachineKey(charge.provider, region, charge.machine_type, charge.purchase)


def _machines(key: MachineKey, sums: Sums, hours: Fraction, usage: MachineUsage) -> Machines:
    whole = Machines(key, sums, EXACT.divide(Decimal(hours.numerator), Decimal(hours.denominator)))
    of_each = usage.by_resource.get(key, {})
    # What a machine that ran all the time lacks is the rounding of its hours.
    always = sum(1 for ran in of_each.values() if ran > usage.hours - 0.01)
    whole = replace(whole, resources=len(of_each), always_on=always)
    if usage.step > HOUR or usage.first is None:
        return whole
    begin = hour_of(usage.first)
    by_hour = usage.by_hour.get(key, {})
    return replace(whole, curve=[by_hour.get(begin + at, 0.0) for at in range(usage.hours)])


def hour_of(moment: dt.datetime) -> int:
    """Whole hours since 1970, of a moment in UTC."""
    return int(moment.timestamp() // 3600)
