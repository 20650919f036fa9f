"""Answers of price interfaces as observations: pure, exact, one module per provider.

A price is known (ParsedPrice), or there is a reason why it is not (Skipped): a value that is
missing or zero in an answer never becomes an amount. Parsers yield as they read. Rows that cannot
be used are yielded as Skipped; only an answer whose whole shape is unknown raises InvalidValue.
"""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT
from backend.money.money import Money
from backend.money.pricing.effective import TERM_HOURS, Charge, price_over
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import ALL_MACHINES

LARGEST_AMOUNT = Decimal(10) ** 10
# Of a key.
CURRENCY_INDEX = 10


class PriceState(StrEnum):
    KNOWN = "known"
    UNKNOWN = "unknown"
    NOT_OFFERED = "not_offered"


class SkipReason(StrEnum):
    """Why a row of an answer is no price; the later a reason stands, the nearer was the row to one."""

    NOT_A_MACHINE = "not_a_machine"
    NO_TYPE = "no_type"
    NO_REGION = "no_region"
    OTHER_LOCATION = "other_place"
    UNKNOWN_ZONE = "unknown_zone"
    OTHER_SYSTEM = "other_system"
    OTHER_SOFTWARE = "other_software"
    OTHER_LICENCE = "other_licence"
    OTHER_TENANCY = "other_tenancy"
    OTHER_CAPACITY = "other_capacity"
    OTHER_MARKET = "other_market"
    OTHER_TERMS = "other_terms"
    CUSTOM = "custom"
    FREE_OR_EXPIRED = "free_or_expired"
    SUPERSEDED = "superseded"
    NO_PRICE = "no_price"
    NOT_A_NUMBER = "not_a_number"
    ZERO = "zero"
    NEGATIVE = "negative"
    TOO_LARGE = "too_large"
    TOO_PRECISE = "too_precise"
    NO_CURRENCY = "no_currency"
    MIXED_CURRENCY = "mixed_currency"
    OTHER_UNIT = "other_unit"
    TIERED = "tiered"
    NO_COMPONENT = "no_component"
    UNEXPECTED_SHAPE = "unexpected_shape"
    DUPLICATE = "duplicate"
    AMBIGUOUS = "ambiguous"
    ANNOUNCED = "announced"
    NOT_OFFERED = "not_offered"


class NoPrice(Exception):
    """Raised inside the parsers, and turned into Skipped there, where a row is no price."""

    def __init__(self, reason: SkipReason, detail: object = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


Key = tuple[str, ...]


def but_currency(key: Key) -> Key:
    """Key of a price in whatever currency; `key` is that of a ParsedPrice."""
    return (*key[:CURRENCY_INDEX], *key[CURRENCY_INDEX + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPrice:
    """A price as quoted, never rounded. Names are those of the catalog's columns.

    `amount` is in `currency` per `unit`; `setup_amount` is paid once at the start beside it (the
    upfront part of a reservation); `monthly_cap` is the most that a calendar month costs. `region`
    "" = every region that has no row of its own. `upfront` is "", none, partial or all. `plan`
    tells commitments of one term apart (standard, convertible, compute, ec2_instance).
    `sustained_use` names the table of discounts in pricing.billing: "", n1 or n2.
    Raises InvalidValue for an amount that is no Decimal above zero, or a bad currency.
    """

    provider: str
    offer: str
    region: str
    purchase_model: PurchaseModel
    amount: Decimal
    currency: str
    unit: PriceUnit
    source: str
    raw_id: str
    zone: str = ""
    operating_system: str = "linux"
    tenancy: str = "shared"
    term: str = ""
    upfront: str = ""
    plan: str = ""
    setup_amount: Decimal | None = None
    monthly_cap: Decimal | None = None
    sustained_use: str = ""
    tax_basis: str = "net"
    tax_rate: Decimal | None = None
    """The rate the provider states beside the net price, as a ratio."""
    basis: str = "machine"
    included: Mapping[str, object] = field(default_factory=dict)
    valid_from: dt.date | None = None
    """First day; a later one than that of its list announces the price."""
    valid_until: dt.date | None = None
    """Last day."""
    applies_to: str = ALL_MACHINES
    note: str = ""

    def __post_init__(self) -> None:
        Money(self.amount, self.currency)
        if not 0 < self.amount < LARGEST_AMOUNT:
            raise InvalidValue("amount", f"{self.amount} is not above zero and below 10^10")
        for extra in (self.setup_amount, self.monthly_cap):
            if extra is not None and Money(extra, self.currency).amount <= 0:
                raise InvalidValue("amount", f"{extra} is not above zero")
        if self.term and self.term not in TERM_HOURS:
            raise InvalidValue("term", f"{self.term!r} is not one of {', '.join(TERM_HOURS)}")

    @property
    def state(self) -> PriceState:
        return PriceState.KNOWN

    @property
    def key(self) -> Key:
        """Key of the price: two observations that agree in it supersede each other."""
        return (
            self.provider,
            self.region,
            self.zone,
            self.offer,
            self.operating_system,
            self.tenancy,
            self.purchase_model,
            self.term,
            self.upfront,
            self.plan,
            self.currency,
            self.basis,
        )

    @property
    def terms(self) -> tuple[object, ...]:
        """Payment and its terms: equal for two observations of an unchanged price."""
        included = json.dumps(self.included, sort_keys=True, default=str) if self.included else ""
        return (
            self.amount,
            self.unit,
            self.setup_amount,
            self.monthly_cap,
            self.sustained_use,
            self.tax_basis,
            self.tax_rate,
            included,
            self.valid_until,
            self.applies_to,
        )

    def begins_after(self, day: dt.date | None) -> bool:
        """True for a price announced on that day; without a day none is."""
        return day is not None and self.valid_from is not None and self.valid_from > day

    @property
    def tiers(self) -> tuple[tuple[Decimal | None, Decimal], ...]:
        """(cumulative hours of a month, price per hour); the last bound None is without limit.

        Under a cap the price holds up to the hours that reach it, and nothing is paid beyond.
        """
        if self.monthly_cap is None or self.unit is not PriceUnit.HOUR:
            return ((None, self.amount),)
        return ((EXACT.divide(self.monthly_cap, self.amount), self.amount), (None, Decimal(0)))

    def hourly_effective(self, hours_per_month: Decimal) -> Decimal | None:
        """Price of an hour over the whole term, hourly + upfront / hours of the term, to 34 digits.

        None for a price paid once without a term. A setup fee without a term is left out: over
        how many months it is spread is the reader's choice.
        """
        charge = Charge(self.amount, self.unit, self.term, self.setup_amount)
        return price_over(charge, "hour", hours_per_month)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedType:
    """A machine type in an answer; unknown figures are None, unknown words ""."""

    provider: str
    region: str
    name: str
    kind: str = ""
    """Kind of the offer, where it is not what the provider mostly sells."""
    arch: str = ""
    cpu_model: str = ""
    vcpu_count: Decimal | None = None
    vcpu_kind: str = ""
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    disk_kind: str = ""
    gpu_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that is no price, and why. `offer` and `region` are "" where it names none."""

    reason: SkipReason
    provider: str
    raw_id: str
    detail: str = ""
    offer: str = ""
    region: str = ""
    purchase_model: str = ""

    @property
    def state(self) -> PriceState:
        return (
            PriceState.NOT_OFFERED if self.reason is SkipReason.NOT_OFFERED else PriceState.UNKNOWN
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedExtra:
    """A price beside the machine's own (an address, traffic), so that both can be shown apart."""

    provider: str
    region: str
    name: str
    amount: Decimal
    currency: str
    unit: str
    source: str
    monthly_cap: Decimal | None = None
    note: str = ""


Result = ParsedPrice | ParsedType | ParsedExtra | Skipped
