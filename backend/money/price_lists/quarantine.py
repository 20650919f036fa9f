"""The gate before new prices are published: what is not plausible waits for a person.

What waits leaves the last published price in force.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from statistics import median
from types import MappingProxyType
from typing import Generic, TypeVar

from backend.foundation.units import EXACT, HOURS_PER_MONTH
from backend.money.price_lists import Key, ParsedPrice, but_currency
from backend.money.price_lists.movement import LEAST_MOVED
from backend.money.pricing.effective import Charge, price_over
from backend.money.pricing.purchase import PurchaseModel


class Anomaly(StrEnum):
    """Why a price is not plausible."""

    ABOVE_ON_DEMAND = "above_on_demand"
    PER_VCPU = "per_vcpu"
    CHANGED = "changed"
    LIST_MOVED = "list_moved"
    OTHER_CURRENCY = "other_currency"
    OLDER = "older"
    ROWS_MISSING = "rows_missing"


@dataclass(frozen=True)
class Limits:
    """Ratios beyond which a price is not plausible; at the limit itself it still is."""

    spot: Decimal = Decimal("1.05")
    """Limits as ratios to the on-demand price."""
    per_vcpu: Decimal = Decimal(8)
    """Limits as ratios to the median of the type's family, above and below."""
    change: Decimal = Decimal("0.30")
    """Limits as ratios to the price published last."""
    missing: Decimal = Decimal("0.05")
    """Share of the published rows that are not among the new ones."""
    is_currency_free: bool = False
    """True if a price may stand for one in another currency."""
    hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
    """Only to compare prices of different units."""


LIMITS = Limits()

Known = TypeVar("Known", bound=ParsedPrice)
# (provider, region, type).
Machine = tuple[str, str, str]


class PriceCheck(Generic[Known]):
    """The new prices of one provider and region beside those published last.

    Each key occurs once in both. `beside` are published on-demand prices of other lists, with which
    spot prices and commitments are compared. `vcpus` is what is known of the types and `family`
    returns the family of a type's name; without a count of vCPUs, a family's median or an
    on-demand price that comparison is left out. Without `previous` there is nothing to compare
    with: every plausible price passes.
    """

    def __init__(
        self,
        prices: Sequence[ParsedPrice],
        previous: Iterable[Known] = (),
        *,
        beside: Iterable[ParsedPrice] = (),
        vcpus: Mapping[Machine, Decimal | None] = MappingProxyType({}),
        family: Callable[[str], str] = str,
        limits: Limits = LIMITS,
    ) -> None:
        self._limits = limits
        self._published = {price.key: price for price in previous}
        keys = {price.key for price in prices}
        self.missing = [price for key, price in self._published.items() if key not in keys]
        """Vanished prices are stale, not gone: feeds have dropped whole series for days."""
        self.is_incomplete = bool(self._published) and (
            len(self.missing) > limits.missing * len(self._published)
        )
        """True if so much vanished that none of the new prices can be relied on."""
        self._moved = self._direction(prices)
        self._replaced = {but_currency(price.key): price for price in self.missing}
        self._on_demand = _on_demand([*beside, *self._published.values(), *prices])
        self._per_vcpu = _per_vcpu(prices, vcpus, family)

    def is_unchanged(self, price: ParsedPrice) -> bool:
        """True if it is published already on the same terms."""
        old = self._published.get(price.key)
        return old is not None and old.terms == price.terms

    def anomalies(self, price: ParsedPrice) -> dict[Anomaly, str]:
        """Why a new price is not plausible, with its figures; empty for a plausible one."""
        old = self._published.get(price.key)
        details = {
            Anomaly.ABOVE_ON_DEMAND: self._above_on_demand(price),
            Anomaly.PER_VCPU: self._far_from_family(price),
            Anomaly.CHANGED: "" if old is None else self._change_words(price, old),
            Anomaly.LIST_MOVED: "" if old is None else self._why_with_list(price, old),
            Anomaly.OTHER_CURRENCY: self._other_currency(price) if old is None else "",
            Anomaly.OLDER: "" if old is None else _older(price, old),
            Anomaly.ROWS_MISSING: (
                "rows of the last answer are missing" if self.is_incomplete else ""
            ),
        }
        return {anomaly: detail for anomaly, detail in details.items() if detail}

    def _above_on_demand(self, price: ParsedPrice) -> str:
        machine = self._on_demand.get(_beside(price))
        if machine is None or price.purchase_model is PurchaseModel.ON_DEMAND:
            return ""
        hourly, full = self._hourly(price), self._hourly(machine)
        if hourly is None or full is None or not self._is_above(price, hourly, full):
            return ""
        return f"{_short(hourly)} an hour, on demand {_short(full)}"

    def _is_above(self, price: ParsedPrice, hourly: Decimal, full: Decimal) -> bool:
        if price.purchase_model is PurchaseModel.SPOT:
            return hourly > self._limits.spot * full
        if price.purchase_model is PurchaseModel.RESERVED:
            # Nobody would commit to a price that is no lower.
            return hourly >= full
        # Some plans give no discount on some types.
        return hourly > full

    def _far_from_family(self, price: ParsedPrice) -> str:
        each, middle = self._per_vcpu.get(price.key, (Decimal(1), Decimal(1)))
        limit = self._limits.per_vcpu
        if each <= limit * middle and middle <= limit * each:
            return ""
        return f"{_short(each)} per vCPU, median of the family {_short(middle)}"

    def _change_words(self, price: ParsedPrice, old: ParsedPrice) -> str:
        now, before = self._comparable(price), self._comparable(old)
        if abs(now - before) > self._limits.change * before:
            return f"{_short(before)} before, {_short(now)} now"
        # A cap may move although the hour does not.
        now, before = self._monthly(price), self._monthly(old)
        if abs(now - before) > self._limits.change * before:
            return f"{_short(before)} a month before, {_short(now)} now"
        return ""

    def _direction(self, prices: Sequence[ParsedPrice]) -> int:
        """1 or -1 where most prices of the list rose or fell beyond the limit, else 0."""
        pairs = [
            (price, old) for price in prices if (old := self._published.get(price.key)) is not None
        ]
        moves = [self._sign(price, old) for price, old in pairs if self._change_words(price, old)]
        for sign in (1, -1):
            if moves.count(sign) >= max(LEAST_MOVED, len(pairs) // 2 + 1):
                return sign
        return 0

    def _sign(self, price: ParsedPrice, old: ParsedPrice) -> int:
        now, before = self._monthly(price), self._monthly(old)
        return (now > before) - (now < before)

    def _why_with_list(self, price: ParsedPrice, old: ParsedPrice) -> str:
        """A price that follows its list waits with it: one decision takes over all of it."""
        if not self._moved or self._sign(price, old) != self._moved:
            return ""
        return f"most prices of the list {'rose' if self._moved > 0 else 'fell'} with it"

    def _other_currency(self, price: ParsedPrice) -> str:
        # Without an exchange rate amounts of two currencies cannot be compared.
        old = self._replaced.get(but_currency(price.key))
        if old is None or self._limits.is_currency_free:
            return ""
        new, before = self._comparable(price), self._comparable(old)
        now = f"{_short(new)} {price.currency} now"
        return f"{_short(before)} {old.currency} before, {now}"

    def _monthly(self, price: ParsedPrice) -> Decimal:
        charge = Charge(price.amount, price.unit, price.term, price.setup_amount, price.monthly_cap)
        return price_over(charge, "month", self._limits.hours_per_month) or price.amount

    def _hourly(self, price: ParsedPrice) -> Decimal | None:
        return price.hourly_effective(self._limits.hours_per_month)

    def _comparable(self, price: ParsedPrice) -> Decimal:
        return self._hourly(price) or price.amount


def _machine(price: ParsedPrice) -> Machine:
    return price.provider, price.region, price.offer


def _beside(price: ParsedPrice) -> tuple[str, ...]:
    """Properties that an on-demand price and another one of the same machine share."""
    return (*_machine(price), price.operating_system, price.tenancy, price.currency, price.basis)


def _on_demand(prices: Iterable[ParsedPrice]) -> dict[tuple[str, ...], ParsedPrice]:
    """The on-demand price of each machine; a later one replaces an earlier one."""
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


def _older(price: ParsedPrice, old: ParsedPrice) -> str:
    """An old file read late does not replace a newer price."""
    new, present = price.valid_from, old.valid_from
    if new is None or present is None or new >= present:
        return ""
    return f"from {new}, while the price in force is from {present}"


def _short(amount: Decimal) -> str:
    """Six digits, without the zeros that a database column appends."""
    text = f"{amount:.6g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
