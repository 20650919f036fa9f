"""The estate behind a bill: its sums by service and month, and its machines with their hours."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from backend.bills.calc.classes import BillCharge, ChargeKind, PurchaseKind
from backend.bills.calc.notes import BillNote
from backend.bills.calc.periods import HOUR, MONTH, period_end, period_start
from backend.bills.calc.volumes import BillVolume
from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT, HOURS_PER_MONTH

ZERO = Decimal(0)
# A bill of centuries is one with a wrong date, and hour by hour it fills the memory.
MOST_YEARS = 10
MOST_HOURS = MOST_YEARS * 366 * 24
# The last place of an amount.
SMALLEST = Decimal(1).scaleb(-15)
# So many unreadable lines are named; all are counted.
NAMED_LINES = 20


@dataclass(frozen=True)
class Sums:
    """Sums of the lines' money columns, in the bill's currency, and of their quantity."""

    billed: Decimal = ZERO
    effective: Decimal = ZERO
    """With what commitments cost spread over their use, where the bill says so; else as billed."""
    listed: Decimal | None = None
    """At list prices; None where the bill has none."""
    quantity: Decimal = ZERO
    lines: int = 0
    unused: Decimal = ZERO
    """Part of commitments that nothing used."""

    def __add__(self, other: "Sums") -> "Sums":
        listed = [listing for listing in (self.listed, other.listed) if listing is not None]
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
    purchase: PurchaseKind
    system: str = ""
    """The licensed system in their price; "" for none."""


@dataclass(frozen=True)
class Machines:
    """All machines of a bill that are alike."""

    key: MachineKey
    sums: Sums
    hours: Decimal
    """Hours of all machines together."""
    curve: Sequence[float] = ()
    """Machines that ran in each hour of the bill, where its lines are hourly."""
    resources: int = 0
    """How many different machines they were; 0 where the bill does not name them."""
    always_on: int = 0
    """How many of them ran in every hour of the bill."""
    busiest: float = 0
    """How many ran on average in the hour, day or month in which most did."""
    discount: Decimal = ZERO
    """In their sums: discounts that the bill has on lines of their own."""
    credit: Decimal = ZERO
    """Not in their sums: refunds and credits of these machines."""

    @property
    def peak(self) -> float | None:
        """The most that ran in one hour; None where the lines are not hourly."""
        return max(self.curve, default=None)


@dataclass(frozen=True)
class Unreadable:
    """Lines that could not be read: part of the bill, and a line of their own in it."""

    lines: int = 0
    amount: Decimal = ZERO
    """Sum of the amounts that could be read."""
    named: tuple[tuple[int, str], ...] = ()
    """Number of the line (the head is line 1) and what is wrong, of the first ones."""

    def with_line(self, number: int, why: str, amount: Decimal = ZERO) -> "Unreadable":
        """The sums with one line more."""
        named = self.named if len(self.named) >= NAMED_LINES else (*self.named, (number, why))
        return Unreadable(self.lines + 1, EXACT.add(self.amount, amount), named)


@dataclass(frozen=True)
class MachineUsage:
    """Statements of single lines on machines beside their sums, by MachineKey."""

    by_hour: Mapping[MachineKey, Mapping[int, float]] = field(default_factory=dict)
    """Hours since 1970 → machine hours that began in it."""
    by_resource: Mapping[MachineKey, Mapping[str, float]] = field(default_factory=dict)
    """Name of a machine, or a hash of it → its hours."""
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    """When the first and the last period of a line begins, UTC."""
    step: dt.timedelta = HOUR
    """Length of such a period: an hour, a day, a month."""
    has_even_months: bool = False
    """True where hours count each month as one of 730 hours, whatever the calendar says."""
    is_priced_by_month: bool = False
    """True where machines have a price a month, which is the same in a short one."""
    notes: Mapping[BillNote, int] = field(default_factory=dict)

    @property
    def begin(self) -> dt.datetime | None:
        """When the first period begins."""
        return None if self.first is None else period_start(self.first, self.step)

    @property
    def hours(self) -> int:
        """Hours from the first period's start to the last one's end; 0 without lines."""
        if self.begin is None or self.last is None:
            return 0
        if self.has_even_months:
            return HOURS_PER_MONTH * self._calendar_months
        return round(
            (period_end(period_start(self.last, self.step), self.step) - self.begin) / HOUR
        )

    @property
    def months(self) -> Decimal:
        """Months that the bill's amounts are of."""
        if self.is_priced_by_month and self.step >= MONTH:
            return Decimal(self._calendar_months)
        return EXACT.divide(Decimal(self.hours), Decimal(HOURS_PER_MONTH))

    @property
    def _calendar_months(self) -> int:
        if self.first is None or self.last is None:
            return 0
        return 12 * (self.last.year - self.first.year) + self.last.month - self.first.month + 1

    def running(self, machine: MachineKey) -> Iterator[float]:
        """How many machines ran on average in each period in which any did."""
        sums: dict[dt.datetime, float] = defaultdict(float)
        for hour, ran in self.by_hour.get(machine, {}).items():
            sums[period_start(moment_of(hour), self.step)] += ran
        for start, ran in sums.items():
            length = (period_end(start, self.step) - start) / HOUR
            yield ran / (HOURS_PER_MONTH if self.has_even_months else length)


@dataclass(frozen=True)
class Estate:
    """Content of a bill; amounts in its currency. `total` is that of all lines, to the digit."""

    currency: str
    total: Decimal
    lines: int
    hours: int
    month_count: Decimal
    """How many months its amounts are of: of 730 hours, or of the calendar where prices are monthly."""
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
    """Cost of commitments that nothing used."""
    idle: Decimal = ZERO
    """Cost of things that the bill itself calls idle."""
    notes: Mapping[BillNote, int] = field(default_factory=dict)
    """Readings that somebody should check, with the number of lines."""


def estate(groups: Iterable[Group], usage: MachineUsage, unreadable: Unreadable) -> Estate:
    """The estate of all groups of one bill. InvalidValue for a bill of several currencies, or of
    nothing."""
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
    currencies = sorted({line.currency for line in listed if line.currency})
    if not currencies:
        raise InvalidValue("/currency", "no line of the bill names its currency")
    if len(currencies) > 1:
        raise InvalidValue(
            "/currency", f"the bill mixes {', '.join(currencies)}: import one currency at a time"
        )
    months: dict[str, Decimal] = defaultdict(Decimal)
    kinds: dict[ChargeKind, Sums] = defaultdict(Sums)
    services: dict[tuple[str, ChargeKind], Sums] = defaultdict(Sums)
    for entry in listed:
        months[entry.month] = EXACT.add(months[entry.month], entry.sums.billed)
        kinds[entry.charge.kind] += entry.sums
        services[entry.service, entry.charge.kind] += entry.sums
    machines = machine_groups(listed, usage)
    return Estate(
        currency=currencies[0],
        total=EXACT.add(sum(months.values(), ZERO), unreadable.amount),
        lines=sum(line.sums.lines for line in listed) + unreadable.lines,
        hours=usage.hours,
        month_count=usage.months,
        months=tuple(sorted(months.items())),
        by_kind=tuple((kind, kinds[kind]) for kind in ChargeKind if kind in kinds),
        by_service=tuple(
            (service, kind, sums)
            for (service, kind), sums in sorted(
                services.items(), key=lambda item: (-item[1].billed, item[0])
            )
        ),
        machines=tuple(sorted(machines, key=lambda line: (-line.sums.billed, line.key))),
        unreadable=unreadable,
        volumes=tuple(_volumes(listed)),
        unused=sum((line.sums.unused for line in listed), ZERO),
        idle=sum((line.sums.billed for line in listed if line.charge.is_idle), ZERO),
        notes=_notes(usage),
    )


def _notes(usage: MachineUsage) -> dict[BillNote, int]:
    names = [ran for of_each in usage.by_resource.values() for ran in of_each.values()]
    # One percent is the rounding of hours, and the hour that summer time adds.
    over = sum(1 for ran in names if ran > usage.hours * 1.01 + 1)
    return {**usage.notes, **({BillNote.MORE_HOURS_THAN_TIME: over} if over else {})}


def _volumes(groups: Sequence[Group]) -> Iterator[tuple[BillVolume, Decimal, Decimal]]:
    for volume in BillVolume:
        of = [group for group in groups if group.charge.volume is volume]
        if not of:
            continue
        gb = sum(
            (Fraction(line.sums.quantity) * line.charge.gb_per_unit for line in of), Fraction(0)
        )
        billed = ZERO
        for line in of:
            billed = EXACT.add(billed, line.sums.billed)
        yield volume, EXACT.divide(Decimal(gb.numerator), Decimal(gb.denominator)), billed


def machine_key(charge: BillCharge, region: str) -> MachineKey:
    """Which machines a charge of a region counts among."""
    return MachineKey(charge.provider, region, charge.machine_type, charge.purchase, charge.system)


def machine_groups(groups: Sequence[Group], usage: MachineUsage) -> list[Machines]:
    """Machines that are alike, each with the discounts and refunds that are theirs."""
    sums: dict[MachineKey, Sums] = defaultdict(Sums)
    hours: dict[MachineKey, Fraction] = defaultdict(Fraction)
    for group in groups:
        if group.charge.kind is ChargeKind.MACHINE and not group.charge.is_correction:
            key = machine_key(group.charge, group.region)
            sums[key] += group.sums
            hours[key] += Fraction(group.sums.quantity) * group.charge.hours_per_unit
    gross = {key: of.billed for key, of in sums.items()}
    discounts: dict[MachineKey, Decimal] = defaultdict(Decimal)
    credited: dict[MachineKey, Decimal] = defaultdict(Decimal)
    for group in groups:
        if not group.charge.is_correction:
            continue
        for key, part in _shares(group, gross, hours):
            if group.charge.kind is ChargeKind.MACHINE:
                sums[key] += part
                discounts[key] = EXACT.add(discounts[key], part.billed)
            else:
                credited[key] = EXACT.add(credited[key], part.billed)
    return [
        replace(
            _machines(key, sums[key], hours[key], usage),
            discount=discounts[key],
            credit=credited[key],
        )
        for key in gross
    ]


def _shares(
    group: Group, gross: Mapping[MachineKey, Decimal], hours: Mapping[MachineKey, Fraction]
) -> Iterator[tuple[MachineKey, Sums]]:
    """A correction among the machines that it is of, by what they were billed with."""
    charge = group.charge
    of = [key for key in gross if key.provider == charge.provider]
    if charge.machine_type:
        of = [key for key in of if key.machine_type == charge.machine_type]
    if group.region:
        of = [key for key in of if key.region == group.region]
    # Many corrections name neither the system nor how the machine was bought.
    for name in ("purchase", "system"):
        stated = getattr(charge, name)
        if charge.machine_type or stated:
            of = [key for key in of if getattr(key, name) == stated] or of
    weights = {key: Fraction(gross[key]) for key in of if gross[key] > 0}
    weights = weights or {key: hours[key] for key in of if hours[key] > 0}
    whole = sum(weights.values(), Fraction(0))
    left, effective_left, lines = group.sums.billed, group.sums.effective, group.sums.lines
    for at, (key, weight) in enumerate(weights.items(), 1):
        billed, effective = left, effective_left
        if at < len(weights):
            billed = _part(group.sums.billed, weight / whole)
            effective = _part(group.sums.effective, weight / whole)
        yield key, Sums(billed=billed, effective=effective, lines=lines)
        left, effective_left = (
            EXACT.subtract(left, billed),
            EXACT.subtract(effective_left, effective),
        )
        lines = 0


def _part(amount: Decimal, share: Fraction) -> Decimal:
    whole = EXACT.multiply(amount, Decimal(share.numerator))
    return EXACT.divide(whole, Decimal(share.denominator)).quantize(SMALLEST)


def _machines(
    key: MachineKey,
    sums: Sums,
    hours: Fraction,
    usage: MachineUsage,
) -> Machines:
    of_each = usage.by_resource.get(key, {})
    whole = Machines(
        key,
        sums,
        EXACT.divide(Decimal(hours.numerator), Decimal(hours.denominator)),
        resources=len(of_each),
        # What a machine that ran all the time lacks is the rounding of its hours.
        always_on=sum(1 for ran in of_each.values() if ran > usage.hours - 0.01),
        busiest=max(usage.running(key), default=0.0),
    )
    if usage.step > HOUR or usage.begin is None:
        return whole
    begin = hour_of(usage.begin)
    by_hour = usage.by_hour.get(key, {})
    return replace(whole, curve=[by_hour.get(begin + at, 0.0) for at in range(usage.hours)])


def hour_of(moment: dt.datetime) -> int:
    """Whole hours since 1970, of a moment in UTC."""
    return int(moment.timestamp() // 3600)


def moment_of(hour: int) -> dt.datetime:
    """When an hour since 1970 begins, in UTC."""
    return dt.datetime.fromtimestamp(hour * 3600, dt.UTC)
