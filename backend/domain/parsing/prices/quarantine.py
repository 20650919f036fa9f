"""The gate before new prices are published: what is not plausible waits for a person.

What waits leaves the last published price in force.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from statistics import median
from types import MappingProxyType

from backend.domain.parsing.prices import Key, ParsedPrice, but_currency
from backend.domain.pricing.effective import Charge, price_over
from backend.domain.pricing.purchase import PurchaseModel
from backend.domain.units import EXACT, HOURS_PER_MONTH


class Outcome(StrEnum):
    PUBLISH = "publish"
    QUARANTINE = "quarantine"
    UNCHANGED = "unchanged"


class Doubt(StrEnum):
    """Why a price is not plausible."""

    ABOVE_ON_DEMAND = "above_on_demand"
    PER_VCPU = "per_vcpu"
    CHANGED = "changed"
    OTHER_CURRENCY = "other_currency"
    OLDER = "older"
    ROWS_MISSING = "rows_missing"


@dataclass(frozen=True)
class Limits:
    """Ratios at which a price becomes doubtful; at the limit itself it is not yet."""

    spot: Decimal = Decimal("1.05")
    """Of the on-demand price."""
    per_vcpu: Decimal = Decimal(8)
    """Of the median of the type's family, above and below."""
    change: Decimal = Decimal("0.30")
    """Of the price published last."""
    missing: Decimal = Decimal("0.05")
    """Share of the published rows that are not among the new ones."""
    is_currency_free: bool = False
    """Whether a price may take the place of one in another currency."""
    hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
    """Only to set prices of different units side by side."""


LIMITS = Limits()


@dataclass(frozen=True)
class Decision:
    """What becomes of one new price; `doubts` are empty unless it waits."""

    price: ParsedPrice
    outcome: Outcome
    doubts: tuple[Doubt, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """Decisions in the order of the new prices, and the published ones that vanished.

    What vanished is stale, not gone: feeds have dropped whole series for days.
    """

    decisions: tuple[Decision, ...]
    missing: tuple[ParsedPrice, ...]
    is_torn: bool = False
    """Whether so many vanished that the answer is not whole."""


Machine = tuple[str, str, str]
"""(provider, region, type)."""


def verdict(
    prices: Sequence[ParsedPrice],
    previous: Iterable[ParsedPrice] = (),
    *,
    beside: Iterable[ParsedPrice] = (),
    vcpus: Mapping[Machine, Decimal | None] = MappingProxyType({}),
    family: Callable[[str], str] = str,
    limits: Limits = LIMITS,
) -> Verdict:
    """What becomes of the new prices of one provider and place, given those published last.

    Each key occurs once in both. `beside` are published on-demand prices of other lists, with which
    spot prices and commitments are compared. `vcpus` is what is known of the types and `family`
    returns the family of a type's name; without a count of vCPUs, a family's median or an
    on-demand price that comparison is left out. Without `previous` there is nothing to compare
    with: every plausible price is published. When too many of the published rows are missing, no
    new price is published, for the answer is incomplete.
    """
    published = {price.key: price for price in previous}
    missing = _missing(prices, published)
    is_torn = bool(published) and len(missing) > limits.missing * len(published)
    doubtful = _Gate(
        limits=limits,
        published=published,
        replaced={but_currency(price.key): price for price in missing},
        on_demand=_on_demand([*beside, *published.values(), *prices]),
        per_vcpu=_per_vcpu(prices, vcpus, family),
    )
    decisions = [doubtful.decision(price, is_torn=is_torn) for price in prices]
    return Verdict(tuple(decisions), tuple(missing), is_torn)


def _missing(
    prices: Sequence[ParsedPrice], published: Mapping[Key, ParsedPrice]
) -> list[ParsedPrice]:
    new = {price.key for price in prices}
    return [price for key, price in published.items() if key not in new]


def _machine(price: ParsedPrice) -> Machine:
    return price.provider, price.region, price.offer


def _beside(price: ParsedPrice) -> tuple[str, ...]:
    """What an on-demand price and another one of the same machine have in common."""
    return (*_machine(price), price.operating_system, price.tenancy, price.currency, price.basis)


def _on_demand(prices: Iterable[ParsedPrice]) -> dict[tuple[str, ...], ParsedPrice]:
    """The on-demand price of each machine; a later one takes the place of an earlier one."""
    return {
        _beside(price): price for price in prices if price.purchase_model is PurchaseModel.ON_DEMAND
    }


def _per_vcpu(
    prices: Iterable[ParsedPrice],
    vcpus: Mapping[Machine, Decimal | None],
    family: Callable[[str], str],
) -> dict[Key, tuple[Decimal, Decimal]]:
    """(price per vCPU, median of its family) of the on-demand prices whose vCPUs are known."""
    each: dict[Key, Decimal] = {}
    families: dict[tuple[str, ...], list[Key]] = {}
    for price in prices:
        count = vcpus.get(_machine(price))
        if price.purchase_model is PurchaseModel.ON_DEMAND and count:
            each[price.key] = EXACT.divide(price.amount, count)
            kind = family(price.offer)
            alike = (price.provider, price.region, kind, price.currency, price.unit)
            families.setdefault(alike, []).append(price.key)
    return {
        key: (each[key], median([each[other] for other in keys]))
        for keys in families.values()
        for key in keys
    }


@dataclass(frozen=True)
class _Gate:
    limits: Limits
    published: Mapping[Key, ParsedPrice]
    replaced: Mapping[Key, ParsedPrice]
    """Published ones that vanished, by their keys without the currency."""
    on_demand: Mapping[tuple[str, ...], ParsedPrice]
    per_vcpu: Mapping[Key, tuple[Decimal, Decimal]]

    def decision(self, price: ParsedPrice, *, is_torn: bool) -> Decision:
        held = self.published.get(price.key)
        if held is not None and held.terms == price.terms:
            return Decision(price, Outcome.UNCHANGED)
        found = {
            Doubt.ABOVE_ON_DEMAND: self._above_on_demand(price),
            Doubt.PER_VCPU: self._far_from_family(price),
            Doubt.CHANGED: "" if held is None else self._changed(price, held),
            Doubt.OTHER_CURRENCY: self._other_currency(price) if held is None else "",
            Doubt.OLDER: "" if held is None else _older(price, held),
            Doubt.ROWS_MISSING: "rows of the last answer are missing" if is_torn else "",
        }
        doubts = tuple(doubt for doubt, detail in found.items() if detail)
        if not doubts:
            return Decision(price, Outcome.PUBLISH)
        detail = "; ".join(filter(None, found.values()))
        return Decision(price, Outcome.QUARANTINE, doubts, detail)

    def _above_on_demand(self, price: ParsedPrice) -> str:
        machine = self.on_demand.get(_beside(price))
        if machine is None or price.purchase_model is PurchaseModel.ON_DEMAND:
            return ""
        hourly, full = self._hourly(price), self._hourly(machine)
        if hourly is None or full is None or not self._is_above(price, hourly, full):
            return ""
        return f"{_short(hourly)} an hour, on demand {_short(full)}"

    def _is_above(self, price: ParsedPrice, hourly: Decimal, full: Decimal) -> bool:
        if price.purchase_model is PurchaseModel.SPOT:
            return hourly > self.limits.spot * full
        if price.purchase_model is PurchaseModel.RESERVED:
            return hourly >= full
        # Some plans give no discount on some types.
        return hourly > full

    def _far_from_family(self, price: ParsedPrice) -> str:
        each, middle = self.per_vcpu.get(price.key, (Decimal(1), Decimal(1)))
        limit = self.limits.per_vcpu
        if each <= limit * middle and middle <= limit * each:
            return ""
        return f"{_short(each)} per vCPU, median of the family {_short(middle)}"

    def _changed(self, price: ParsedPrice, held: ParsedPrice) -> str:
        new, old = self._comparable(price), self._comparable(held)
        if abs(new - old) > self.limits.change * old:
            return f"{_short(old)} before, {_short(new)} now"
        # A cap may move although the hour does not.
        new, old = self._monthly(price), self._monthly(held)
        if abs(new - old) > self.limits.change * old:
            return f"{_short(old)} a month before, {_short(new)} now"
        return ""

    def _other_currency(self, price: ParsedPrice) -> str:
        """Without a rate of exchange nothing tells how much two currencies differ."""
        old = self.replaced.get(but_currency(price.key))
        if old is None or self.limits.is_currency_free:
            return ""
        new, before = self._comparable(price), self._comparable(old)
        told = f"{_short(new)} {price.currency} now"
        return f"{_short(before)} {old.currency} before, {told}"

    def _monthly(self, price: ParsedPrice) -> Decimal:
        charge = Charge(price.amount, price.unit, price.term, price.setup_amount, price.monthly_cap)
        return price_over(charge, "month", self.limits.hours_per_month) or price.amount

    def _hourly(self, price: ParsedPrice) -> Decimal | None:
        return price.hourly_effective(self.limits.hours_per_month)

    def _comparable(self, price: ParsedPrice) -> Decimal:
        return self._hourly(price) or price.amount


def _older(price: ParsedPrice, held: ParsedPrice) -> str:
    """An old file read late does not take the place of a newer price."""
    new, old = price.effective_from, held.effective_from
    if new is None or old is None or new >= old:
        return ""
    return f"from {new}, while the price in force is from {old}"


def _short(amount: Decimal) -> str:
    """Six digits, without the zeros that a database column appends."""
    text = f"{amount:.6g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
